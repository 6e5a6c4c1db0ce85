package simulation

// task is a kind of prompt, and how it is answered.
type task struct {
	name    string
	agent   bool // by an agent with tools in a sandbox; otherwise by one answer
	tokens  int  // of an answer, about
	prompts []string
	answers []string
	tools   []tool
}

type tool struct{ name, arguments, failure string }

var tasks = []task{
	{
		name: "gsm8k", tokens: 260,
		prompts: []string{
			"Natalia sold clips to 48 of her friends in April, and then half as many in May. How many clips did she sell altogether?",
			"A robe takes 2 bolts of blue fiber and half that much white fiber. How many bolts in total does it take?",
			"Weng earns $12 an hour. Yesterday, she did 50 minutes of babysitting. How much did she earn?",
		},
		answers: []string{"#### 72", "#### 3", "#### 10", "The answer is 11."},
	},
	{
		name: "cmath", tokens: 320,
		prompts: []string{
			"小明有 48 颗糖，分给弟弟一半后又买了 15 颗。他现在有多少颗糖？",
			"一列火车每小时行驶 120 千米，从甲地到乙地用了 3.5 小时。两地相距多少千米？",
			"鸡兔同笼，共有头 35 个、脚 94 只。鸡和兔各有多少只？",
		},
		answers: []string{"答：39 颗", "答：420 千米", "答：鸡 23 只，兔 12 只", "答：鸡 12 只，兔 23 只"},
	},
	{
		name: "swe", agent: true, tokens: 180,
		prompts: []string{
			"The test test_parse_empty fails with IndexError. Find the reason and fix it.\n\n```python\ndef head(xs):\n    return xs[0]\n```",
			"Add a --json flag to the command line, and a test for it.",
		},
		answers: []string{"All tests pass.", "I could not find the reason."},
		tools: []tool{
			{"bash", `{"command": "pytest -x tests/test_parse.py"}`, "exit status 1: 1 failed, 12 passed"},
			{"read_file", `{"path": "src/parse.py", "lines": [1, 80]}`, "no such file: src/parse.py"},
			{"edit_file", `{"path": "src/parse.py", "old": "xs[0]", "new": "xs[0] if xs else None"}`, "the text to replace is there twice"},
		},
	},
	{
		name: "web-zh", agent: true, tokens: 220,
		prompts: []string{
			"查一下明天上海的天气，再告诉我要不要带伞 ☔",
			"帮我比较三款笔记本电脑的价格，并用表格列出来。",
		},
		answers: []string{"明天有小雨，建议带伞。", "抱歉，我没有找到结果。"},
		tools: []tool{
			{"search", `{"query": "上海 明天 天气"}`, "TimeoutError: 搜索服务超时"},
			{"open_page", `{"url": "https://weather.example/shanghai?day=1"}`, "HTTP 503"},
		},
	},
}

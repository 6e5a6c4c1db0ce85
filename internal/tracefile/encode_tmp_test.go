package tracefile
import ("testing";"math/rand/v2")

func BenchmarkStr(b *testing.B) {
	r := rand.New(rand.NewPCG(1,2))
	var en, zh [300]string
	for i := range en { en[i] = english(r); zh[i] = chinese(r) }
	for fn, f := range map[string]func([]byte,string) []byte{"cur": appendString} {
	for n, s := range map[string][]string{"short": {"xtuner.task_name"}, "path":{"rollout.controller.generate"},"five":{"gsm8k"},"en": en[:], "zh": zh[:]} {
		b.Run(n+"/"+fn, func(b *testing.B) {
			b.SetBytes(int64(len(s[0])))
			var buf []byte
			k := 0
			for b.Loop() { buf = f(buf[:0], s[k]); k++; if k==len(s) {k=0} }
		})
	}}
}

"""The usual way to know the runs of a trace file: parse every line. Usage: usual.py FILE MOST_BYTES"""

import json, sys, time

started, read = time.monotonic(), 0
runs = {}
with open(sys.argv[1], "rb") as file:
    for line in file:
        for rs in json.loads(line)["resourceSpans"]:
            named = {a["key"]: a["value"].get("stringValue") for a in rs["resource"].get("attributes", ())}
            for scope in rs["scopeSpans"]:
                for span in scope["spans"]:
                    run = named.get("run.id")
                    for a in span.get("attributes", ()):
                        if a["key"] == "run.id":
                            run = a["value"].get("stringValue")
                    r = runs.setdefault(run, {"spans": 0, "errors": 0, "traces": set(), "first": 1 << 63, "last": 0})
                    r["spans"] += 1
                    r["errors"] += span.get("status", {}).get("code") == 2
                    r["traces"].add(span["traceId"])
                    r["first"] = min(r["first"], int(span["startTimeUnixNano"]))
                    r["last"] = max(r["last"], int(span["endTimeUnixNano"]))
        read += len(line)
        if read >= int(sys.argv[2]):
            break
print(json.dumps({
    "seconds": time.monotonic() - started, "cpu_seconds": time.process_time(), "bytes": read, "runs": len(runs),
    "spans": sum(r["spans"] for r in runs.values()), "traces": sum(len(r["traces"]) for r in runs.values()),
}))

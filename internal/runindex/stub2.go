package runindex

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"time"
)

const lineRefBytes = 40

type processName struct{ Process, NamedBy string }

func processNameOf(attrs pcommon.Map) processName {
	p := processName{Process: "unknown"}
	for _, key := range []string{"k8s.pod.name", "host.name", "service.instance.id"} {
		if v, ok := attrs.Get(key); ok && v.AsString() != "" {
			p = processName{Process: v.AsString(), NamedBy: key}
			break
		}
	}
	if v, ok := attrs.Get("process.pid"); ok && p.NamedBy != "" {
		p.Process += ":" + v.AsString()
	}
	return p
}

func (s *Snapshot) Run(id string) *RunInfo {
	for _, r := range s.Runs {
		if r.ID == id {
			return r
		}
	}
	return nil
}
func (r *RunInfo) Live(now time.Time) bool { return now.Sub(r.Changed) < LiveFor }

package runidprocessor

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/runspan/runspan/internal/runid"
)

// tagger writes what was decided on spans and resources.
type tagger struct {
	spans, resources, source bool
	copyToSpans              []string
}

// span writes the run of a span, its service and how the run was found to its attributes m, of
// which a is what was read.
func (t *tagger) span(m pcommon.Map, a *attributes, run, service string, from source) {
	// What is there is put right first: adding to m may move it, away from the values of a.
	if a.hasRun {
		putText(a.run, run)
	}
	if a.hasService && t.spans {
		putText(a.service, service)
	}
	putSource := from >= sourceAlias
	if a.hasSource {
		if putSource {
			putText(a.source, sourceNames[from])
		} else if a.source.Str() == runid.SourceFallback {
			// A collector before this one found no run; since then the span got one.
			removeKey(m, runid.AttributeRunIDSource)
		}
	}
	if a.repeated {
		removeRepeated(m, t.spans)
	}

	addRun := t.spans && !a.hasRun
	addService := t.spans && !a.hasService
	addSource := t.source && putSource && !a.hasSource
	// Growing to what is needed allocates less than append, which doubles.
	m.EnsureCapacity(m.Len() + toInt(addRun) + toInt(addService) + toInt(addSource))
	if addService {
		m.PutStr(runid.AttributeServiceName, service)
	}
	if addRun {
		m.PutStr(runid.AttributeRunID, run)
	}
	if addSource {
		m.PutStr(runid.AttributeRunIDSource, sourceNames[from])
	}
}

// resource writes the run and the service of a resource to its attributes.
func (t *tagger) resource(m pcommon.Map, run, service string) {
	var a attributes
	a.read(m)
	if a.hasRun {
		putText(a.run, run)
	}
	if a.hasService && t.resources {
		putText(a.service, service)
	}
	if a.repeated {
		removeRepeated(m, t.resources)
	}
	if !t.resources {
		return
	}
	if !a.hasService {
		m.PutStr(runid.AttributeServiceName, service)
	}
	if !a.hasRun {
		m.PutStr(runid.AttributeRunID, run)
	}
}

// copies adds the configured attributes of a resource to a span that lacks them.
func (t *tagger) copies(resource, span pcommon.Map) {
	for _, key := range t.copyToSpans {
		from, ok := resource.Get(key)
		if !ok {
			continue
		}
		if to, existing := span.GetOrPutEmpty(key); !existing {
			from.CopyTo(to)
		}
	}
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

package runidprocessor

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/runspan/runspan/internal/runid"
)

// attributes is what one pass over the attributes of a span or a resource finds: the values under
// the three keys that the processor writes. The values point into the map: they must not be used after
// something was added to it or removed from it.
type attributes struct {
	run, service, source          pcommon.Value
	hasRun, hasService, hasSource bool

	// repeated: one of the three keys stands there more than once, which OTLP forbids and
	// decoders let pass. Readers differ in which of them they take.
	repeated bool
}

// read finds attributes in m in one pass: a call of Map.Get for each key would be a pass for each.
// Whether there are aliases is left to another one, which most spans do not need: it looks at the first
// byte of each key, which this does not, and waits for the memory that it is in.
func (a *attributes) read(m pcommon.Map) {
	for key, value := range m.All() {
		switch key {
		case runid.AttributeRunID:
			if a.hasRun {
				a.repeated = true
				continue
			}
			a.run, a.hasRun = value, true
		case runid.AttributeServiceName:
			if a.hasService {
				a.repeated = true
				continue
			}
			a.service, a.hasService = value, true
		case runid.AttributeRunIDSource:
			if a.hasSource {
				a.repeated = true
				continue
			}
			a.source, a.hasSource = value, true
		}
	}
}

// aliases are the attributes by which other tools name a run, in order.
type aliases struct {
	rank map[string]int // place in the list

	// lengths holds, by the first byte of a key, the lengths (up to 63) of the keys that begin
	// with it, as bits. Almost every attribute of a span is none of them and is told apart by
	// this alone, at 1 ns instead of the 10 ns of a look into the map.
	lengths [256]uint64
}

// noAliases is what is looked for where the source is off.
var noAliases = newAliases(nil)

func newAliases(keys []string) *aliases {
	a := &aliases{rank: make(map[string]int, len(keys))}
	for i, key := range keys {
		a.rank[key] = i
		a.lengths[key[0]] |= lengthBit(key)
	}
	return a
}

func lengthBit(key string) uint64 { return 1 << min(len(key), 63) }

// mayHold is false if key is none of the aliases; true means that it is most likely one.
func (a *aliases) mayHold(key string) bool {
	return key != "" && a.lengths[key[0]]&lengthBit(key) != 0
}

// first returns the run id under the alias that comes first in the list and holds one, or "". What
// is no run id is counted in seen.
func (a *aliases) first(m pcommon.Map, j judge, seen *[numIgnored]int) string {
	best, found := len(a.rank), ""
	if best == 0 {
		return ""
	}
	for key, value := range m.All() {
		if !a.mayHold(key) {
			continue
		}
		rank, ok := a.rank[key]
		if !ok {
			continue
		}
		id, why := j.value(value)
		if why != notIgnored {
			seen[why]++
			continue
		}
		if rank < best {
			best, found = rank, id
		}
	}
	return found
}

// serviceName returns the service that a resource with these attributes names, unknown_service if
// it names none or a blank one. A value of another type becomes its text.
func (a *attributes) serviceName() string {
	if !a.hasService {
		return runid.UnknownService
	}
	s := a.service.AsString()
	if strings.TrimSpace(s) == "" {
		return runid.UnknownService
	}
	return s
}

// removeRepeated leaves the first attribute under each of the keys that the processor writes. The
// service stays as it is where the processor does not write it.
func removeRepeated(m pcommon.Map, withService bool) {
	var run, service, source bool
	m.RemoveIf(func(key string, _ pcommon.Value) bool {
		switch key {
		case runid.AttributeRunID:
			return again(&run)
		case runid.AttributeRunIDSource:
			return again(&source)
		case runid.AttributeServiceName:
			return withService && again(&service)
		}
		return false
	})
}

// again returns whether seen was set, and sets it.
func again(seen *bool) bool {
	was := *seen
	*seen = true
	return was
}

// putText makes v the string s, and leaves it alone if it is that already: setting it allocates.
func putText(v pcommon.Value, s string) {
	if v.Type() != pcommon.ValueTypeStr || v.Str() != s {
		v.SetStr(s)
	}
}

// removeKey takes key out of m and says whether it was there. Unlike Map.Remove it keeps the order
// of the others.
func removeKey(m pcommon.Map, key string) (was bool) {
	m.RemoveIf(func(k string, _ pcommon.Value) bool {
		if k != key {
			return false
		}
		was = true
		return true
	})
	return was
}

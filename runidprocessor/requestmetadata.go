package runidprocessor

import (
	"net/url"
	"strings"

	"go.opentelemetry.io/collector/client"
)

// baggageHeader carries W3C baggage (https://www.w3.org/TR/baggage/).
const baggageHeader = "baggage"

// runOfRequest returns the run that the headers of a request name, or "". What is no run id is
// counted in seen, and the next header is asked.
func runOfRequest(md client.Metadata, cfg *MetadataConfig, j judge, seen *[numIgnored]int) string {
	for _, key := range cfg.Keys {
		for _, value := range md.Get(key) {
			id, why := j.text(value)
			if why == notIgnored {
				return id
			}
			seen[why]++
		}
	}
	if cfg.BaggageKey == "" {
		return ""
	}
	for _, header := range md.Get(baggageHeader) {
		for member := range strings.SplitSeq(header, ",") {
			value, ok := baggageValue(member, cfg.BaggageKey)
			if !ok {
				continue
			}
			id, why := j.text(value)
			if why == notIgnored {
				return id
			}
			seen[why]++
		}
	}
	return ""
}

// baggageValue returns the value of a baggage member, `key=value;properties`, if its key is key.
// One member at a time: a library that parses the whole header gives nothing where another
// member, of which we know nothing, is malformed.
func baggageValue(member, key string) (string, bool) {
	member, _, _ = strings.Cut(member, ";")
	k, v, ok := strings.Cut(member, "=")
	if !ok || strings.TrimSpace(k) != key {
		return "", false
	}
	v = strings.TrimSpace(v)
	if decoded, err := url.PathUnescape(v); err == nil {
		v = decoded
	}
	return v, true
}

package producer

import (
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/runspan/runspan/internal/runid"
)

// childVariable marks the environment that a Runtime made: such a process starts no viewer, whatever
// its settings say.
const childVariable = "RUNSPAN_CHILD"

// environment looks a variable up, "" for one that is not set: to OpenTelemetry they are the same.
type environment func(name string) string

func (env environment) get(name string) string { return strings.TrimSpace(env(name)) }

// otlp looks up a variable of the exporter.
func (env environment) otlp(suffix string) string { return env.get(env.otlpName(suffix)) }

// otlpName is the variable of the exporter that counts: the one for traces, then the one for all signals.
func (env environment) otlpName(suffix string) string {
	if name := "OTEL_EXPORTER_OTLP_TRACES_" + suffix; env.get(name) != "" {
		return name
	}
	return "OTEL_EXPORTER_OTLP_" + suffix
}

// pairs decodes the exporter's headers.
func (env environment) pairs(suffix string) map[string]string { return parsePairs(env.otlp(suffix)) }

// resourceAttributes decodes OTEL_RESOURCE_ATTRIBUTES.
func (env environment) resourceAttributes() map[string]string {
	return parsePairs(env.get("OTEL_RESOURCE_ATTRIBUTES"))
}

// parsePairs decodes key=value,key=value with percent-encoding. What is no pair is left out, as the
// SDKs do.
func parsePairs(text string) map[string]string {
	pairs := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		pairs[key] = value
	}
	return pairs
}

// formatPairs is the way back, sorted by key.
func formatPairs(pairs map[string]string) string {
	texts := make([]string, 0, len(pairs))
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		// A + stands for a space only in forms.
		texts = append(texts, key+"="+strings.ReplaceAll(url.QueryEscape(pairs[key]), "+", "%20"))
	}
	return strings.Join(texts, ",")
}

// variables are the files and the ends of the variables that name them.
func (t *TLS) variables() iter.Seq2[*string, string] {
	return func(yield func(*string, string) bool) {
		_ = yield(&t.CAFile, "CERTIFICATE") && yield(&t.CertFile, "CLIENT_CERTIFICATE") && yield(&t.KeyFile, "CLIENT_KEY")
	}
}

// childEnv makes the environment for child processes that send to e. What of env would lead them
// elsewhere is overruled: an empty value counts as unset.
func (s *settings) childEnv(e endpoint, env environment) map[string]string {
	attributes := maps.Clone(s.attributes)
	if s.RunID != "" {
		attributes[runid.AttributeRunID] = s.RunID
	}
	vars := map[string]string{
		childVariable:                        "1",
		"OTEL_RESOURCE_ATTRIBUTES":           formatPairs(attributes),
		"OTEL_TRACES_EXPORTER":               "otlp",
		"OTEL_METRICS_EXPORTER":              "none",
		"OTEL_LOGS_EXPORTER":                 "none",
		"OTEL_EXPORTER_OTLP_ENDPOINT":        e.base(),
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": e.traces(),
		"OTEL_TRACES_SAMPLER":                "parentbased_traceidratio",
		"OTEL_TRACES_SAMPLER_ARG":            strconv.FormatFloat(s.SampleRatio, 'g', -1, 64),
	}
	// Where nobody named the service, the program does.
	if s.ServiceName != runid.UnknownService {
		vars["OTEL_SERVICE_NAME"] = s.ServiceName
	}
	both := func(suffix, value string) {
		vars["OTEL_EXPORTER_OTLP_"+suffix] = value
		vars["OTEL_EXPORTER_OTLP_TRACES_"+suffix] = value
	}
	both("PROTOCOL", string(e.protocol))
	// Python's exporter takes an empty value for "false", and vLLM asks for the variable.
	both("INSECURE", strconv.FormatBool(!e.secure()))

	overrule := func(suffix, value string) {
		for _, name := range []string{"OTEL_EXPORTER_OTLP_" + suffix, "OTEL_EXPORTER_OTLP_TRACES_" + suffix} {
			if value != "" || env.get(name) != "" {
				vars[name] = value
			}
		}
	}
	overrule("HEADERS", formatPairs(s.Headers))
	for file, suffix := range s.TLS.variables() {
		overrule(suffix, *file)
	}
	return vars
}

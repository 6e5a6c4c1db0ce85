//go:generate go tool -modfile ../../internal/tools/go.mod mdatagen metadata.yaml

// Package jaegerexporter contains the jaeger exporter: it hands spans to collectors that take
// Jaeger's own gRPC protocol, usually on port 14250. A Jaeger takes OTLP too: this one is for
// collectors that have only the old port open, and for configs that still name it.
//
// The translation is contrib's pkg/translator/jaeger; what Jaeger would show wrongly is corrected in
// message.go, which also keeps messages below the server's limit. What a server's answer means is in
// answer.go.
package jaegerexporter

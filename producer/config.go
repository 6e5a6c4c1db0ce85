package producer

import "log/slog"

// Mode says where the spans of this process go.
type Mode string

// The modes.
const (
	// ModeOff: nowhere; nothing is installed.
	ModeOff Mode = "off"
	// ModeExternal: to a collector that somebody else starts and stops.
	ModeExternal Mode = "external"
	// ModeLocal: to a collector that this process has started.
	ModeLocal Mode = "local"
)

// Protocol is how spans travel, as OTEL_EXPORTER_OTLP_PROTOCOL names it.
type Protocol string

// The protocols.
const (
	ProtocolGRPC Protocol = "grpc"
	ProtocolHTTP Protocol = "http/protobuf"
)

// Config of Start. The zero value is off.
type Config struct {
	// Enabled switches tracing. Default: off, and no other setting is looked at.
	Enabled bool `json:"enabled" yaml:"enabled"`

	// ServiceName says which kind of process of the run this is. Default: OTEL_SERVICE_NAME, then
	// service.name of OTEL_RESOURCE_ATTRIBUTES, then "unknown_service".
	ServiceName string `json:"service_name" yaml:"service_name"`

	// ServiceVersion is the version of the program. Default: service.version of
	// OTEL_RESOURCE_ATTRIBUTES, then none. Children do not get it.
	ServiceVersion string `json:"service_version" yaml:"service_version"`

	// ServiceInstance tells this process from others of its kind. Default: service.instance.id of
	// OTEL_RESOURCE_ATTRIBUTES, then a random UUID. Children do not get it.
	ServiceInstance string `json:"service_instance" yaml:"service_instance"`

	// RunID names the run. Default: run.id of OTEL_RESOURCE_ATTRIBUTES, then a new one by NewRunID.
	RunID string `json:"run_id" yaml:"run_id"`

	// Endpoint is the URL of a collector: http or https, host and port; with HTTP it may have a path,
	// behind which /v1/traces is put unless it is there. Default:
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT (as it is), then OTEL_EXPORTER_OTLP_ENDPOINT.
	Endpoint string `json:"endpoint" yaml:"endpoint"`

	// Protocol is ProtocolGRPC or ProtocolHTTP. Default: HTTP for an endpoint with a path or port 4318,
	// gRPC for port 4317; else OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, then OTEL_EXPORTER_OTLP_PROTOCOL,
	// then gRPC. For an endpoint of the environment those variables come first.
	Protocol Protocol `json:"protocol" yaml:"protocol"`

	// Headers go with each request, a token for example. Default: OTEL_EXPORTER_OTLP_TRACES_HEADERS,
	// then OTEL_EXPORTER_OTLP_HEADERS. Children get them in their environment.
	Headers map[string]string `json:"headers" yaml:"headers"`

	// TLS is for an https endpoint whose certificate the system does not know, or that asks for one.
	TLS TLS `json:"tls" yaml:"tls"`

	// SampleRatio is the part of the traces that begin here which is sent, from 0 to 1. A caller's
	// decision stands. Default, and 0: OTEL_TRACES_SAMPLER and its _ARG, then 1.
	SampleRatio float64 `json:"sample_ratio" yaml:"sample_ratio"`

	// LocalCollector starts a collector where no endpoint is known. Default: off.
	LocalCollector bool `json:"local_collector" yaml:"local_collector"`

	// Local says how the local collector is started.
	Local Local `json:"local" yaml:"local"`

	// TraceJSONL is the path of the file that an external collector writes, for the viewer to read. It
	// does not configure, create or touch that file, and children do not get it. No default.
	TraceJSONL string `json:"trace_jsonl" yaml:"trace_jsonl"`

	// Viewer says whether a viewer is started beside this process.
	Viewer Viewer `json:"viewer" yaml:"viewer"`

	// NoSpans is for launchers, which make no spans themselves: what is local is started and Env is
	// made, but no tracer provider is installed. Default: off.
	NoSpans bool `json:"-" yaml:"-"`

	// Logger gets what a person should know: warnings, and what went wrong behind Start. Default:
	// slog.Default().
	Logger *slog.Logger `json:"-" yaml:"-"`
}

// TLS holds paths of PEM files.
type TLS struct {
	// CAFile has the authorities that are trusted. Default: OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE,
	// then OTEL_EXPORTER_OTLP_CERTIFICATE, then those of the system.
	CAFile string `json:"ca_file" yaml:"ca_file"`

	// CertFile is this process's own certificate, for a collector that asks for one, and KeyFile its
	// key. Default: OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE and _KEY, then those without TRACES.
	CertFile string `json:"cert_file" yaml:"cert_file"`
	KeyFile  string `json:"key_file" yaml:"key_file"`
}

// Local says how the local collector is started.
type Local struct {
	// OutputDir is the folder in which the run gets its own. Default: "data".
	OutputDir string `json:"output_dir" yaml:"output_dir"`

	// Host is the address or name by which children reach this host. Default: the source address of
	// the route to the outside, then the first address of the host's own name. The collector listens
	// there and on loopback; on all addresses where Host is none of this host's own. 0.0.0.0 and :: stand for the default, and
	// the collector listens on all addresses.
	Host string `json:"host" yaml:"host"`

	// GRPCPort and HTTPPort are where the collector listens. Default, and 0: free ports.
	GRPCPort int `json:"grpc_port" yaml:"grpc_port"`
	HTTPPort int `json:"http_port" yaml:"http_port"`

	// Binary is the path of otelcol-runspan. Default: the one beside this program, then the one in
	// PATH.
	Binary string `json:"binary" yaml:"binary"`
}

// Viewer says whether a viewer is started beside this process, as a child that ends with Shutdown. A
// viewer that does not start is logged and fails nothing else.
type Viewer struct {
	// Enabled starts `runspan view` for the run. Default: off.
	Enabled bool `json:"enabled" yaml:"enabled"`

	// Host is where its pages are served. Default: 127.0.0.1.
	Host string `json:"host" yaml:"host"`

	// Port is where its pages are served. Default, and 0: 18318, or a free one when that is taken.
	Port int `json:"port" yaml:"port"`

	// JaegerQueryURL is a Jaeger to which its pages link. Default: none.
	JaegerQueryURL string `json:"jaeger_query_url" yaml:"jaeger_query_url"`

	// Binary is the path of runspan. Default: the one beside this program, then the one in PATH.
	Binary string `json:"binary" yaml:"binary"`
}

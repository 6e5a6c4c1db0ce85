package producer

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/runspan/runspan/internal/runid"
)

// The keys of the resource, as the semantic conventions name them.
const (
	attributeServiceVersion  = "service.version"
	attributeServiceInstance = "service.instance.id"
)

// settings are a Config and an environment, decided and checked.
type settings struct {
	Config // Protocol, Headers, TLS, SampleRatio and the names are the ones to use

	mode       Mode
	endpoint   endpoint          // with ModeExternal
	attributes map[string]string // of the resource, beside the names
	child      bool              // started with the environment of another Runtime
	warnings   []string
}

// resolve decides the mode and checks what goes together. It looks at nothing but its arguments.
func resolve(cfg Config, env environment) (settings, error) {
	s := settings{Config: cfg, mode: ModeOff}
	if !cfg.Enabled || strings.EqualFold(env.get("OTEL_SDK_DISABLED"), "true") {
		return s, nil
	}
	raw := s.rawEndpoint(env)
	if err := s.checkProtocol(&raw, env); err != nil {
		return s, err
	}
	if err := s.decide(raw); err != nil {
		return s, err
	}
	if s.mode == ModeOff {
		return s, nil
	}
	s.child = env.get(childVariable) != ""
	s.warnOfNoEffect(raw)
	if err := s.checkViewer(raw); err != nil {
		return s, err
	}
	if err := s.name(env); err != nil {
		return s, err
	}
	if err := s.sampling(env); err != nil {
		return s, err
	}
	return s, s.transport(env)
}

// rawEndpoint finds the endpoint: what Config says, or else the environment.
func (s *settings) rawEndpoint(env environment) rawEndpoint {
	if s.Endpoint != "" {
		return rawEndpoint{value: s.Endpoint, setting: "Endpoint"}
	}
	// Another exporter was asked for; the endpoint is left over.
	if exporter := env.get("OTEL_TRACES_EXPORTER"); exporter != "" && !strings.Contains(exporter, "otlp") {
		return rawEndpoint{}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if value := env.get(name); value != "" {
			return rawEndpoint{value: value, setting: name, asIs: strings.Contains(name, "TRACES")}
		}
	}
	return rawEndpoint{}
}

func (s *settings) checkProtocol(raw *rawEndpoint, env environment) error {
	var ok bool
	if raw.protocol, ok = parseProtocol(string(s.Protocol)); !ok {
		return settingError("Protocol", "%q is no protocol: take grpc or http/protobuf", s.Protocol)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		text := env.get(name)
		if text == "http/json" { // same port, same path; this SDK speaks protobuf
			text = string(ProtocolHTTP)
		}
		if raw.hint, ok = parseProtocol(text); !ok {
			s.warn("%s %q is not known here and has no effect", name, text)
		}
		if raw.hint != "" {
			break
		}
	}
	return nil
}

// decide finds the mode.
func (s *settings) decide(raw rawEndpoint) error {
	if raw.value != "" {
		var warning string
		var err error
		if s.endpoint, warning, err = parseEndpoint(raw); err != nil {
			return err
		}
		if warning != "" {
			s.warn("%s", warning)
		}
		s.mode, s.Protocol = ModeExternal, s.endpoint.protocol
		return nil
	}
	if s.TraceJSONL != "" {
		return &SettingError{
			Settings: []string{"TraceJSONL", "Endpoint"},
			Problem:  "TraceJSONL is the file that an external collector writes, and there is no Endpoint: set Endpoint, or remove TraceJSONL",
		}
	}
	if !s.LocalCollector {
		if s.Viewer.Enabled {
			s.warn("there is no endpoint and no local collector: tracing is off, and no viewer is started")
		}
		return nil
	}
	s.mode = ModeLocal
	s.Protocol = raw.protocol
	if s.Protocol == "" {
		s.Protocol = ProtocolGRPC
	}
	if err := checkHost(s.Local.Host); err != nil {
		return err
	}
	for name, port := range map[string]int{"Local.GRPCPort": s.Local.GRPCPort, "Local.HTTPPort": s.Local.HTTPPort} {
		if port < 0 || port > 65535 {
			return settingError(name, "%d is no port: take 1 to 65535, or 0 for a free one", port)
		}
	}
	if s.Local.GRPCPort != 0 && s.Local.GRPCPort == s.Local.HTTPPort {
		return &SettingError{
			Settings: []string{"Local.GRPCPort", "Local.HTTPPort"},
			Problem:  fmt.Sprintf("Local.GRPCPort and Local.HTTPPort are both %d: take two ports", s.Local.GRPCPort),
		}
	}
	return nil
}

// warnOfNoEffect names the settings that are there and are not looked at.
func (s *settings) warnOfNoEffect(raw rawEndpoint) {
	type setting struct {
		name string
		set  bool
	}
	warn := func(why string, settings ...setting) {
		var names []string
		for _, s := range settings {
			if s.set {
				names = append(names, s.name)
			}
		}
		if len(names) > 0 {
			s.warn("%s: no effect %s", strings.Join(names, ", "), why)
		}
	}
	if s.mode == ModeExternal {
		warn("with the endpoint of "+raw.setting+": no local collector is started",
			setting{"Local.OutputDir", s.Local.OutputDir != ""}, setting{"Local.Host", s.Local.Host != ""},
			setting{"Local.GRPCPort", s.Local.GRPCPort != 0}, setting{"Local.HTTPPort", s.Local.HTTPPort != 0},
			setting{"Local.Binary", s.Local.Binary != ""})
	} else {
		warn("with a local collector", setting{"Headers", len(s.Headers) > 0}, setting{"TLS", s.TLS != TLS{}})
	}
	if !s.Viewer.Enabled {
		warn("without Viewer.Enabled", setting{"Viewer.Host", s.Viewer.Host != ""}, setting{"Viewer.Port", s.Viewer.Port != 0},
			setting{"Viewer.JaegerQueryURL", s.Viewer.JaegerQueryURL != ""})
	}
}

func (s *settings) checkViewer(raw rawEndpoint) error {
	if !s.Viewer.Enabled {
		return nil
	}
	if s.child {
		s.Viewer.Enabled = false // the run's viewer is where the run was started
		return nil
	}
	if s.Viewer.Port < 0 || s.Viewer.Port > 65535 {
		return settingError("Viewer.Port", "%d is no port: take 1 to 65535, or 0", s.Viewer.Port)
	}
	if s.mode == ModeExternal && s.TraceJSONL == "" {
		return &SettingError{
			Settings: []string{"Viewer.Enabled", "TraceJSONL"},
			Problem: "Viewer.Enabled with the external endpoint of " + raw.setting +
				" needs TraceJSONL, the path of the file that its collector writes",
		}
	}
	return nil
}

// name finds who this process is.
func (s *settings) name(env environment) error {
	s.attributes = env.resourceAttributes()
	take := func(setting *string, key string) {
		if *setting == "" {
			*setting = s.attributes[key]
		}
		delete(s.attributes, key)
	}
	if s.ServiceName == "" {
		s.ServiceName = env.get("OTEL_SERVICE_NAME")
	}
	take(&s.ServiceName, runid.AttributeServiceName)
	if s.ServiceName == "" {
		s.ServiceName = runid.UnknownService
	}
	take(&s.ServiceVersion, attributeServiceVersion)
	take(&s.ServiceInstance, attributeServiceInstance)
	setting := "RunID"
	if s.RunID == "" {
		setting = "OTEL_RESOURCE_ATTRIBUTES"
	}
	take(&s.RunID, runid.AttributeRunID)
	if s.RunID == "" {
		return nil
	}
	if err := checkRunID(s.RunID, setting); err != nil {
		return err
	}
	if s.mode == ModeLocal {
		return checkFolderName(s.RunID, setting)
	}
	return nil
}

// sampling finds the ratio. That of the environment may be 0, by which nothing is sent.
func (s *settings) sampling(env environment) error {
	if !(s.SampleRatio >= 0 && s.SampleRatio <= 1) {
		return settingError("SampleRatio", "%v is no part of all traces: take 0 to 1", s.SampleRatio)
	}
	if s.SampleRatio != 0 {
		return nil
	}
	s.SampleRatio = 1
	switch name, text := env.get("OTEL_TRACES_SAMPLER"), env.get("OTEL_TRACES_SAMPLER_ARG"); name {
	case "", "always_on", "parentbased_always_on":
	case "always_off", "parentbased_always_off":
		s.SampleRatio = 0
	case "traceidratio", "parentbased_traceidratio":
		if text == "" {
			break
		}
		ratio, err := strconv.ParseFloat(text, 64)
		if err != nil || !(ratio >= 0 && ratio <= 1) {
			s.warn("OTEL_TRACES_SAMPLER_ARG %q is no number from 0 to 1: all traces are sent", text)
			break
		}
		s.SampleRatio = ratio
	default:
		s.warn("OTEL_TRACES_SAMPLER %q is not known here: all traces are sent", name)
	}
	return nil
}

// transport finds the headers and the certificates of an external collector. A local one is somebody
// else: the token of the environment is none of its business.
func (s *settings) transport(env environment) error {
	if s.mode == ModeLocal {
		s.Headers, s.TLS = nil, TLS{}
		return nil
	}
	s.Headers = maps.Clone(s.Headers)
	headersOf := ""
	if s.Headers == nil {
		s.Headers, headersOf = env.pairs("HEADERS"), env.otlpName("HEADERS")
	}
	if err := s.checkHeaders(headersOf); err != nil {
		return err
	}
	given := s.TLS != TLS{}
	for file, suffix := range s.TLS.variables() {
		if *file == "" && !given {
			*file = env.otlp(suffix)
		}
	}
	if !s.endpoint.secure() {
		if given {
			return &SettingError{
				Settings: []string{"TLS", "Endpoint"},
				Problem:  "TLS has files, and the endpoint " + s.endpoint.traces() + " is spoken to in plain text: write https://, or remove TLS",
			}
		}
		s.TLS = TLS{}
	}
	if (s.TLS.CertFile == "") != (s.TLS.KeyFile == "") {
		names := []string{"TLS.CertFile", "TLS.KeyFile"}
		if !given {
			names = []string{env.otlpName("CLIENT_CERTIFICATE"), env.otlpName("CLIENT_KEY")}
		}
		return &SettingError{
			Settings: names,
			Problem:  "one of " + names[0] + " and " + names[1] + " is missing: a certificate goes with its key",
		}
	}
	return nil
}

func (s *settings) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

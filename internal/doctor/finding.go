package doctor

import "strings"

// Finding is one thing that can be wrong.
type Finding struct {
	// Name is what --json says.
	Name string
	// Code is the exit code; findings of one kind share it.
	Code int
	// Means is what was seen, in general.
	Means string
	// Change is what to do about it. Words in braces stand for values.
	Change string
}

// with returns Change with its values, given as pairs of a word and what it stands for.
func (f *Finding) with(pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		pairs[i] = "{" + pairs[i] + "}"
	}
	return strings.NewReplacer(pairs...).Replace(f.Change)
}

// Findings returns everything that can be found, in the order of the way of a span.
func Findings() []Finding {
	list := make([]Finding, len(findings))
	for i, f := range findings {
		list[i] = *f
	}
	return list
}

var findings = []*Finding{
	nameNotFound, loopback, refused, noAnswer,
	tlsExpected, plainText, redirect, certificateAuthority, certificateName, certificateTime, clientCertificate,
	grpcOnHTTP, httpOnGRPC, notOTLP, wrongPath,
	tokenMissing, tokenWrong,
	noTraces, rejected, busy,
	clock,
	fileMissing, fileUnreadable, fileNotWritten, fileNotSame, fileChanged,
	viewerUnreachable, viewerNotOne, viewerToken, viewerHost, viewerWithoutRun,
	jaegerUnreachable, jaegerNotOne, jaegerWithoutTrace,
}

var (
	nameNotFound = &Finding{
		"name-not-found", 10, "the host's name has no address here",
		"--endpoint {endpoint}: correct the name; a Service of another Kubernetes namespace is NAME.NAMESPACE.svc",
	}
	loopback = &Finding{
		"loopback", 11, "the address is this machine's (pod's, container's) own, and nothing listens there",
		"--endpoint {endpoint}: start a collector here, or name the host or Service where one runs, for example http://otel-collector.NAMESPACE.svc:{port}; a collector on another host takes only what comes to RUNSPAN_OTLP_GRPC=0.0.0.0:4317 (RUNSPAN_OTLP_HTTP=0.0.0.0:4318), not what comes to its 127.0.0.1",
	}
	refused = &Finding{
		"refused", 12, "the host is there and nothing listens on the port",
		"--endpoint {endpoint}: start the collector, or correct the port {port} (4317 is gRPC, 4318 HTTP); one that listens on 127.0.0.1 only is not reached from elsewhere: RUNSPAN_OTLP_GRPC=0.0.0.0:4317, RUNSPAN_OTLP_HTTP=0.0.0.0:4318",
	}
	noAnswer = &Finding{
		"no-answer", 13, "no answer within `--timeout`, or no route to the host",
		"--endpoint {endpoint}: correct the address, or let port {port} through (firewall, security group, NetworkPolicy); where the collector is only slow, raise --timeout {timeout}",
	}
	tlsExpected = &Finding{
		"tls-expected", 14, "the endpoint is http and the server speaks TLS",
		"--endpoint {endpoint}: write {instead}, with --ca FILE (OTEL_EXPORTER_OTLP_CERTIFICATE) where its certificate is signed by an authority of your own",
	}
	plainText = &Finding{
		"plain-text", 14, "the endpoint is https and the server speaks no TLS",
		"--endpoint {endpoint}: write {instead}, or give the collector a certificate (tls: of its otlp receiver)",
	}
	redirect = &Finding{
		"redirect", 14, "the server sends the client elsewhere, which SDKs do not follow",
		"--endpoint {endpoint}: write {instead}",
	}
	certificateAuthority = &Finding{
		"certificate-authority", 14, "the server's certificate is signed by an authority that is not trusted here",
		"--ca {ca} (OTEL_EXPORTER_OTLP_CERTIFICATE): name the file with the certificate of the authority that signed the collector's",
	}
	certificateName = &Finding{
		"certificate-name", 14, "the server's certificate is of other names",
		"--endpoint {endpoint}: use one of the names of the certificate ({names}), or have {host} put into it",
	}
	certificateTime = &Finding{
		"certificate-time", 14, "the server's certificate is not valid yet, or not any more",
		"--endpoint {endpoint}: renew the collector's certificate; where it is valid today, set the clock of this host",
	}
	clientCertificate = &Finding{
		"client-certificate", 14, "the server wants a certificate of the client, or refuses the one that it got",
		"--cert {cert} --key FILE (OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, OTEL_EXPORTER_OTLP_CLIENT_KEY): name a certificate that the collector's client_ca_file has signed, and its key",
	}
	grpcOnHTTP = &Finding{
		"grpc-on-http", 15, "gRPC was sent to a port that speaks OTLP/HTTP",
		"--endpoint {endpoint}: write the port of gRPC (4317 where this one is 4318), or let the program speak HTTP (OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf; --protocol http)",
	}
	httpOnGRPC = &Finding{
		"http-on-grpc", 15, "HTTP was sent to a port that speaks OTLP/gRPC",
		"--endpoint {endpoint}: write the port of HTTP (4318 where this one is 4317), or let the program speak gRPC (OTEL_EXPORTER_OTLP_PROTOCOL=grpc; --protocol grpc)",
	}
	notOTLP = &Finding{
		"not-otlp", 15, "a server answers that speaks neither OTLP/gRPC nor OTLP/HTTP for traces",
		"--endpoint {endpoint}: name the collector's OTLP port (4317 gRPC, 4318 HTTP); where it is that, its config has no receiver otlp in a pipeline of traces on it",
	}
	wrongPath = &Finding{
		"path", 16, "OTLP/HTTP is taken at another path",
		"--endpoint {endpoint}: write {instead}; an SDK adds /v1/traces to OTEL_EXPORTER_OTLP_ENDPOINT and nothing to OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
	}
	tokenMissing = &Finding{
		"token-missing", 17, "the collector wants a token and got none",
		"--header authorization='Bearer TOKEN', and OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20TOKEN for the program",
	}
	tokenWrong = &Finding{
		"token-wrong", 17, "the collector refuses the token that it got",
		"--header authorization='Bearer TOKEN' (OTEL_EXPORTER_OTLP_HEADERS): ask for the token that the collector expects (its bearertokenauth or oidc); SDKs want the blank behind Bearer as %20",
	}
	noTraces = &Finding{
		"no-traces", 18, "a gRPC server answers that takes no traces",
		"--endpoint {endpoint}: name the collector's OTLP port; where it is that, add the receiver otlp to a pipeline of traces in its config (service.pipelines)",
	}
	rejected = &Finding{
		"rejected", 18, "the collector refuses the test span for good, and says why",
		"the collector's config at {endpoint}: what it said names the reason",
	}
	busy = &Finding{
		"busy", 18, "the collector asks to come again later: out of memory or disk, or starting",
		"the collector at {endpoint}: look into its log; a full disk and memory_limiter are the usual reasons",
	}
	clock = &Finding{
		"clock", 19, "the clock of this host and that of the server differ by more than two seconds",
		"the clock of this host or of {host}: set it, and keep it by NTP (timedatectl, chrony); spans stand at the time of the host that made them",
	}
	fileMissing = &Finding{
		"file-missing", 20, "the collector took the span, and there is no such file here",
		"--trace-jsonl {file}: name the file that the collector behind {endpoint} writes (path of its run_file exporter), as this host sees it; in a pod, mount the collector's volume; with one file per run, write {run.id} where its path has it",
	}
	fileUnreadable = &Finding{
		"file-unreadable", 20, "the file cannot be read",
		"--trace-jsonl {file}: name a file that this user may read",
	}
	fileNotWritten = &Finding{
		"file-not-written", 20, "the collector took the span, and nobody writes this file",
		"--trace-jsonl {file}: it is a copy, or of another volume or collector; name the file that the collector behind {endpoint} writes (path of its run_file exporter)",
	}
	fileNotSame = &Finding{
		"file-not-same", 20, "the collector took the span, and this file is written without it",
		"--trace-jsonl {file}: name the file that the collector behind {endpoint} writes (path of its run_file exporter); where it is that one, a filter or sampling in that collector's pipeline drops the span",
	}
	fileChanged = &Finding{
		"file-changed", 20, "the span is in the file under another run or service",
		"the collector's config at {endpoint}: a processor overwrites run.id or service.name; take it out",
	}
	viewerUnreachable = &Finding{
		"viewer-unreachable", 21, "the viewer does not answer",
		"--viewer {viewer}: start the viewer, or correct its address (`runspan view` and RUNSPAN_VIEWER; 127.0.0.1 is this machine only)",
	}
	viewerNotOne = &Finding{
		"viewer-not-one", 21, "a server answers that is no viewer",
		"--viewer {viewer}: name the address of the viewer's page (default http://127.0.0.1:18318), with the path under which a proxy shows it",
	}
	viewerToken = &Finding{
		"viewer-token", 21, "the viewer wants a token, or refuses the one that it got",
		"--viewer-header authorization='Bearer TOKEN': give the token that the viewer expects",
	}
	viewerHost = &Finding{
		"viewer-host", 21, "the viewer does not answer under this name",
		"the viewer's allowed_hosts: add the host of --viewer {viewer}",
	}
	viewerWithoutRun = &Finding{
		"viewer-without-run", 21, "the viewer answers and does not show the run",
		"--viewer {viewer}: start it with the file that the collector behind {endpoint} writes (path of its run_file exporter)",
	}
	jaegerUnreachable = &Finding{
		"jaeger-unreachable", 22, "Jaeger's query API does not answer",
		"--jaeger {jaeger}: start Jaeger, or correct the address of its query API (port 16686)",
	}
	jaegerNotOne = &Finding{
		"jaeger-not-one", 22, "a server answers that is no Jaeger query API",
		"--jaeger {jaeger}: name the address of Jaeger's pages (port 16686), with its base path",
	}
	jaegerWithoutTrace = &Finding{
		"jaeger-without-trace", 22, "Jaeger answers and does not have the trace",
		"--jaeger {jaeger}: name the Jaeger to which the collector behind {endpoint} delivers, or make it deliver there (RUNSPAN_JAEGER, the address of Jaeger's OTLP/gRPC); otelcol_receiver_run_file_backend_up is 0 while it cannot be reached, otelcol_receiver_run_file_backlog_bytes is what waits before the span",
	}
)

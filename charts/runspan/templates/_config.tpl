{{- /* The collector's configuration before `config` is merged over it. The reasons for the limits are
in configs/local.yaml. */ -}}
{{- define "runspan.config.default" -}}
{{- $folder := include "runspan.folder" . -}}
{{- $traces := .Values.traces -}}
{{- $shared := ne $traces.layout "perRun" -}}
{{- $log := and .Values.jaeger.enabled (eq .Values.backends "log") -}}
{{- $fanout := and .Values.jaeger.enabled (eq .Values.backends "fanout") -}}
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 0.0.0.0:4317
        max_recv_msg_size_mib: 8
        include_metadata: true
        keepalive:
          server_parameters: {max_connection_age: 60s, max_connection_age_grace: 30s}
        {{- include "runspan.config.server" . | nindent 8 }}
      http:
        endpoint: 0.0.0.0:4318
        max_request_body_size: 8388608
        include_metadata: true
        {{- include "runspan.config.server" . | nindent 8 }}
  {{- if $log }}
  run_file/jaeger:
    include: [{{ printf "%s/%s" $folder ($shared | ternary "traces.jsonl" "runs/*/traces.jsonl") | quote }}]
    places: /places
  {{- end }}
processors:
  memory_limiter:
    check_interval: 500ms
    {{- with include "runspan.memory" (dict "resources" .Values.collector.resources "percent" 70) }}
    limit_mib: {{ . }}
    spike_limit_mib: {{ include "runspan.memory" (dict "resources" $.Values.collector.resources "percent" 20) }}
    {{- else }}
    limit_percentage: 70
    spike_limit_percentage: 20
    {{- end }}
  run_id: {}
exporters:
  {{- if $shared }}
  run_file:
    path: {{ $folder }}/traces.jsonl
    {{- include "runspan.config.file" . | nindent 4 }}
  {{- end }}
  {{- if ne $traces.layout "shared" }}
  run_file/per_run:
    path: {{ $folder }}/runs/{run.id}/traces.jsonl
    {{- include "runspan.config.file" . | nindent 4 }}
  {{- end }}
  {{- if .Values.jaeger.enabled }}
  otlp_grpc/jaeger:
    endpoint: {{ include "runspan.jaegerEndpoint" . }}
    tls: {insecure: {{ .Values.jaeger.insecure }}}
    compression: none
    {{- if $log }}
    sending_queue: {enabled: false}
    retry_on_failure: {initial_interval: 500ms, max_interval: 5s, max_elapsed_time: 0s}
    {{- else }}
    {{- include "runspan.config.queue" (dict "storage" "file_storage/jaeger" "bytes" .Values.fanout.queueBytes) | nindent 4 }}
    {{- end }}
  {{- end }}
extensions:
  health_check:
    endpoint: 0.0.0.0:13133
  {{- if .Values.auth.existingSecret }}
  bearertokenauth:
    filename: /etc/runspan/auth/tokens
  {{- end }}
  {{- if $fanout }}
  file_storage/jaeger: {{- include "runspan.config.storage" "/places/queue" | nindent 4 }}
  {{- end }}
service:
  extensions:
    - health_check
    {{- if .Values.auth.existingSecret }}
    - bearertokenauth
    {{- end }}
    {{- if $fanout }}
    - file_storage/jaeger
    {{- end }}
  telemetry:
    logs:
      sampling: {enabled: true, tick: 1h, initial: 1, thereafter: 0}
      disable_zap_resource: true
      disable_caller: true
    metrics:
      readers:
        - pull:
            exporter:
              prometheus:
                host: 0.0.0.0
                port: 8888
                without_scope_info: true
                without_units: true
                without_type_suffix: true
  pipelines:
    traces/in:
      receivers: [otlp]
      processors: [memory_limiter, run_id]
      exporters:
        {{- if $shared }}
        - run_file
        {{- end }}
        {{- if ne $traces.layout "shared" }}
        - run_file/per_run
        {{- end }}
        {{- if $fanout }}
        - otlp_grpc/jaeger
        {{- end }}
    {{- if $log }}
    traces/jaeger:
      receivers: [run_file/jaeger]
      exporters: [otlp_grpc/jaeger]
    {{- end }}
{{- end -}}

{{- /* TLS and tokens of an OTLP server. */ -}}
{{- define "runspan.config.server" -}}
{{- if .Values.auth.existingSecret }}
auth: {authenticator: bearertokenauth}
{{- end }}
{{- if .Values.tls.existingSecret }}
tls:
  cert_file: /etc/runspan/tls/tls.crt
  key_file: /etc/runspan/tls/tls.key
  reload_interval: 1h
  {{- if .Values.tls.clientCA }}
  client_ca_file: /etc/runspan/tls/ca.crt
  client_ca_file_reload: true
  {{- end }}
{{- end }}
{{- end -}}

{{- /* Durability, lock, rotation and retention of a run_file exporter. */ -}}
{{- define "runspan.config.file" -}}
{{- with .Values.traces }}
durability: {{ .durability }}
lock: {{ .lock | ternary "on" "off" | quote }}
{{- with .rotation }}
rotation:
  max_bytes: {{ include "runspan.bytes" (default "0" .maxBytes) }}
  max_age: {{ default "0" .maxAge | quote }}
{{- end }}
{{- with .retention }}
retention:
  max_age: {{ default "0" .maxAge | quote }}
  max_bytes: {{ include "runspan.bytes" (default "0" .maxBytes) }}
  min_free: {{ include "runspan.bytes" (default "0" .minFree) }}
  run_idle: {{ .runIdle }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A queue on disk in front of a backend that may be down for as long as it likes. */ -}}
{{- define "runspan.config.queue" -}}
retry_on_failure: {max_elapsed_time: 0s, max_interval: 30s}
sending_queue:
  storage: {{ .storage }}
  sizer: bytes
  queue_size: {{ include "runspan.bytes" .bytes }}
  num_consumers: 4
  batch: {sizer: bytes, flush_timeout: 200ms, min_size: 0, max_size: 3145728}
{{- end -}}

{{- define "runspan.config.storage" -}}
directory: {{ . }}
create_directory: true
compaction: {on_start: true, directory: {{ . }}, cleanup_on_start: true}
{{- end -}}

{{- define "runspan.config" -}}
{{- $config := mergeOverwrite (include "runspan.config.default" . | fromYaml) (deepCopy .Values.config) -}}
{{- include "runspan.withoutNulls" $config -}}
{{- toYaml $config -}}
{{- end -}}

{{- /* Removes what is null, in place. */ -}}
{{- define "runspan.withoutNulls" -}}
{{- $map := . -}}
{{- range $key, $value := $map -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $map $key -}}
{{- else if kindIs "map" $value -}}
{{- include "runspan.withoutNulls" $value -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Forwards from a pod's loopback to the Service. RUNSPAN_OTLP_GRPC=127.0.0.1:14317 in a driver's pod. */ -}}
{{- define "runspan.config.sidecar" -}}
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: ${env:RUNSPAN_OTLP_GRPC:-127.0.0.1:4317}
        max_recv_msg_size_mib: 8
        include_metadata: true
processors:
  memory_limiter: {check_interval: 500ms, limit_percentage: 70, spike_limit_percentage: 20}
  # Here too: the headers of a request, which may name the run, end here.
  run_id: {}
exporters:
  otlp_grpc/runspan:
    endpoint: {{ include "runspan.scheme" . }}://{{ include "runspan.host" . }}:4317
    {{- if .Values.tls.existingSecret }}
    tls: {ca_file: /etc/runspan/tls/ca.crt}
    {{- else }}
    tls: {insecure: true}
    {{- end }}
    {{- if .Values.auth.existingSecret }}
    auth: {authenticator: bearertokenauth}
    {{- end }}
    compression: none
    {{- include "runspan.config.queue" (dict "storage" "file_storage/queue" "bytes" .Values.sidecar.queueBytes) | nindent 4 }}
extensions:
  health_check:
    endpoint: 0.0.0.0:13134
  file_storage/queue: {{- include "runspan.config.storage" "/queue" | nindent 4 }}
  {{- if .Values.auth.existingSecret }}
  bearertokenauth:
    filename: /etc/runspan/auth/tokens
  {{- end }}
service:
  extensions: [health_check, file_storage/queue{{ if .Values.auth.existingSecret }}, bearertokenauth{{ end }}]
  telemetry:
    logs:
      sampling: {enabled: true, tick: 1h, initial: 1, thereafter: 0}
      disable_zap_resource: true
      disable_caller: true
    metrics: {level: none}
  pipelines:
    traces:
      receivers: [otlp]
      processors: [memory_limiter, run_id]
      exporters: [otlp_grpc/runspan]
{{- end -}}

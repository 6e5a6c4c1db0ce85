{{- define "runspan.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- (contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name)) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "runspan.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "runspan.labels" -}}
{{ include "runspan.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end -}}

{{- define "runspan.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "runspan.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "runspan.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{- define "runspan.tracesClaim" -}}
{{ default (printf "%s-traces" (include "runspan.fullname" .)) .Values.traces.persistence.existingClaim }}
{{- end -}}

{{- define "runspan.placesClaim" -}}
{{ default (printf "%s-places" (include "runspan.fullname" .)) .Values.places.persistence.existingClaim }}
{{- end -}}

{{- /* The folder with traces.jsonl or runs/, as the pod sees it. */ -}}
{{- define "runspan.folder" -}}
{{ clean (printf "%s/%s" .Values.traces.mountPath .Values.traces.folder) }}
{{- end -}}

{{- define "runspan.host" -}}
{{ .Values.service.name }}.{{ .Release.Namespace }}.svc
{{- end -}}

{{- define "runspan.scheme" -}}
{{ empty .Values.tls.existingSecret | ternary "http" "https" }}
{{- end -}}

{{- /* HOST:PORT of the Jaeger that gets the spans. */ -}}
{{- define "runspan.jaegerEndpoint" -}}
{{ default (printf "%s-jaeger.%s.svc:4317" (include "runspan.fullname" .) .Release.Namespace) .Values.jaeger.endpoint }}
{{- end -}}

{{- define "runspan.jaegerTrial" -}}
{{- if and .Values.jaeger.enabled (not .Values.jaeger.endpoint) }}true{{ end -}}
{{- end -}}

{{- /* A Kubernetes quantity as a whole number of bytes. */ -}}
{{- define "runspan.bytes" -}}
{{- $text := toString . -}}
{{- $unit := regexFind "[A-Za-z]*$" $text -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 -}}
{{- if or (not (hasKey $units $unit)) (not (regexMatch "^[0-9.]+[A-Za-z]*$" $text)) -}}
{{- fail (printf "%q is no size: write a number of bytes, or for example 512Mi or 5Gi" $text) -}}
{{- end -}}
{{- printf "%.0f" (mulf (trimSuffix $unit $text | float64) (get $units $unit)) -}}
{{- end -}}

{{- /* So many percent of a memory limit, in MiB; nothing where there is no limit. */ -}}
{{- define "runspan.memory" -}}
{{- with ((.resources).limits).memory -}}
{{- printf "%.0f" (floor (divf (mulf (include "runspan.bytes" . | float64) $.percent) 104857600)) -}}
{{- end -}}
{{- end -}}

{{- define "runspan.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "runspan.podSettings" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* What makes no sense together is refused here, with the setting to change. */ -}}
{{- define "runspan.check" -}}
{{- with .Values -}}
{{- if and (eq .backends "fanout") (not .jaeger.enabled) -}}
{{- fail "backends: fanout sends to Jaeger: set jaeger.enabled, or leave backends at log" -}}
{{- end -}}
{{- if eq .backends "fanout" -}}
{{- if and (not .places.persistence.existingClaim) (gt (mulf 2 (include "runspan.bytes" .fanout.queueBytes | float64)) (include "runspan.bytes" .places.persistence.size | float64)) -}}
{{- fail (printf "fanout.queueBytes %s is more than half of places.persistence.size %s: the queue's file needs up to twice of it" .fanout.queueBytes .places.persistence.size) -}}
{{- end -}}
{{- end -}}
{{- $minFree := include "runspan.bytes" (default "0" .traces.retention.minFree) | float64 -}}
{{- if and $minFree (not .traces.persistence.existingClaim) (gt (mulf 2 $minFree) (include "runspan.bytes" .traces.persistence.size | float64)) -}}
{{- fail (printf "traces.retention.minFree %s is more than half of traces.persistence.size %s: lower it, or enlarge the claim" .traces.retention.minFree .traces.persistence.size) -}}
{{- end -}}
{{- if and $minFree (eq (include "runspan.bytes" (default "0" .traces.rotation.maxBytes)) "0") (not .traces.rotation.maxAge) (ne .traces.layout "perRun") -}}
{{- fail "traces.retention.minFree deletes closed segments: set traces.rotation.maxBytes, or minFree to \"0\"" -}}
{{- end -}}
{{- if and .ingress.enabled (not .viewer.enabled) -}}
{{- fail "ingress is for the viewer: set viewer.enabled" -}}
{{- end -}}
{{- if .ingress.enabled -}}
{{- if not .ingress.host -}}
{{- fail "ingress.host is missing: the name under which the viewer is reached" -}}
{{- end -}}
{{- if not .ingress.auth.type -}}
{{- fail "ingress.auth.type is missing: the viewer shows everything to everybody who reaches it; choose basic, external or annotations" -}}
{{- end -}}
{{- if and (eq .ingress.auth.type "basic") (not .ingress.auth.basicSecret) -}}
{{- fail "ingress.auth.basicSecret is missing: a Secret with the key auth (htpasswd)" -}}
{{- end -}}
{{- if and (eq .ingress.auth.type "external") (not .ingress.auth.externalURL) -}}
{{- fail "ingress.auth.externalURL is missing: the address that says who may come in" -}}
{{- end -}}
{{- if and (eq .ingress.auth.type "annotations") (not .ingress.annotations) -}}
{{- fail "ingress.annotations is empty: ingress.auth.type annotations says that they ask for authentication" -}}
{{- end -}}
{{- end -}}
{{- if and .tls.clientCA (not .tls.existingSecret) -}}
{{- fail "tls.clientCA needs tls.existingSecret" -}}
{{- end -}}
{{- end -}}
{{- end -}}

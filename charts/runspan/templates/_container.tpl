{{- /* What the collector and the check of its configuration have in common: what a configuration can refer to. */ -}}
{{- define "runspan.collector.env" -}}
{{- with include "runspan.memory" (dict "resources" .Values.collector.resources "percent" 80) }}
- name: GOMEMLIMIT
  value: {{ . }}MiB
{{- end }}
{{- with .Values.collector.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "runspan.collector.mounts" -}}
{{- if .Values.auth.existingSecret }}
- name: auth
  mountPath: /etc/runspan/auth
  readOnly: true
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: tls
  mountPath: /etc/runspan/tls
  readOnly: true
{{- end }}
{{- with .Values.collector.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "runspan.collector.volumes" -}}
{{- if .Values.auth.existingSecret }}
- name: auth
  secret:
    secretName: {{ .Values.auth.existingSecret }}
    defaultMode: 0440
    items:
      - key: {{ .Values.auth.key }}
        path: tokens
{{- end }}
{{- if .Values.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ .Values.tls.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- with .Values.collector.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

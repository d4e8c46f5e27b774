{{- define "docent.name" -}}
{{- if contains "docent" .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-docent" .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "docent.selector" -}}
app.kubernetes.io/name: docent
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "docent.labels" -}}
{{ include "docent.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "docent.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "docent.isPostgres" -}}
{{- if eq .Values.store.kind "postgres" }}true{{ end -}}
{{- end -}}

{{- /* The secret with the store URL. */ -}}
{{- define "docent.storeSecret" -}}
{{- with .Values.store.postgres -}}
{{- if .existingSecret -}}
{{ .existingSecret }}
{{- else if .url -}}
{{ include "docent.name" $ }}-store
{{- else -}}
{{- fail "set store.postgres.existingSecret to a secret with the store URL" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "docent.settings" -}}
{{- if hasKey .Values.settings "store" }}{{ fail "set store.kind, not settings.store" }}{{ end -}}
{{- if hasKey .Values.settings "listen" }}{{ fail "the server listens on port 8080 of the pod: set service.port, not settings.listen" }}{{ end -}}
{{- if hasKey .Values.settings "tls-cert" }}{{ fail "probes and metrics of this chart speak HTTP: end TLS at the ingress, not with settings.tls-cert" }}{{ end -}}
{{- toToml .Values.settings -}}
{{- end -}}

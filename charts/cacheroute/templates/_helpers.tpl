{{- define "cacheroute.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "cacheroute.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "cacheroute.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "cacheroute.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "cacheroute.selectorLabels" -}}
app.kubernetes.io/name: {{ include "cacheroute.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "cacheroute.labels" -}}
{{ include "cacheroute.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "cacheroute.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "cacheroute.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* An image of values (.image) with a default tag (.default) */ -}}
{{- define "cacheroute.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .default .image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "cacheroute.operatorTlsSecret" -}}
{{- default (printf "%s-xds" (include "cacheroute.fullname" .)) .Values.tls.operatorSecret -}}
{{- end -}}

{{- define "cacheroute.gatewayTlsSecret" -}}
{{- default (printf "%s-xds-gateway" (include "cacheroute.fullname" .)) .Values.tls.gatewaySecret -}}
{{- end -}}

{{- /* The names that the operator's certificate has, the first of which Envoys look for, and those of the gateway's */ -}}
{{- define "cacheroute.operatorTlsNames" -}}
{{- $service := printf "%s.%s" (include "cacheroute.fullname" .) .Release.Namespace -}}
{{ list (print $service ".svc") $service (print $service ".svc.cluster.local") | toJson }}
{{- end -}}
{{- define "cacheroute.gatewayTlsNames" -}}
{{ list (printf "%s.gateway.cacheroute.dev" .Values.gateway.name) | toJson }}
{{- end -}}

{{- define "cacheroute.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "cacheroute.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- /* How a Prometheus that looks for annotations finds a pod (.port, .path, .root); a PodMonitor replaces them */ -}}
{{- define "cacheroute.scrapeAnnotations" -}}
{{- if not .root.Values.podMonitor.enabled -}}
prometheus.io/scrape: "true"
prometheus.io/port: {{ .port | quote }}
prometheus.io/path: {{ .path }}
{{- end -}}
{{- end -}}

{{- /* What the operator may do in a namespace that it watches */ -}}
{{- define "cacheroute.namespacedRules" -}}
- apiGroups: [cacheroute.dev]
  resources: [routingplans]
  verbs: [get, list, watch]
- apiGroups: [cacheroute.dev]
  resources: [routingplans/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, update, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end -}}

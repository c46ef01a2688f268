{{- /* What a gateway's proxies say of their listener, in the node metadata of their bootstrap */ -}}
{{- define "cacheroute.nodeSettings" -}}
{{- $tls := .Values.gateway.tls -}}
{{- if and (ne $tls.clientCertificates "none") (not (and $tls.secretName $tls.clientCaSecretName)) -}}
{{- fail "gateway.tls.clientCertificates: needs gateway.tls.secretName and gateway.tls.clientCaSecretName" -}}
{{- end -}}
{{- $providers := list -}}
{{- range .Values.gateway.jwt.providers -}}
{{- $one := deepCopy . -}}
{{- if kindIs "map" .jwks -}}{{- $_ := set $one "jwks" (toJson .jwks) -}}{{- end -}}
{{- $providers = append $providers $one -}}
{{- end -}}
{{- with $providers }}
jwt: {{ toJson . }}
{{- end }}
{{- with $tls.secretName }}
tls:
  secrets: /etc/envoy
  {{- if ne $tls.clientCertificates "none" }}
  clientCertificates: {{ $tls.clientCertificates }}
  {{- end }}
{{- end }}
{{- end -}}

{{- /* The clusters that key sets of token providers come from */ -}}
{{- define "cacheroute.jwksClusters" -}}
{{- range .Values.gateway.jwt.providers }}
{{- if .jwksUri }}
{{- $uri := urlParse .jwksUri }}
{{- $secure := eq $uri.scheme "https" }}
{{- $port := trimPrefix ":" (trimPrefix $uri.hostname $uri.host) }}
- name: jwks-{{ .name }}
  type: STRICT_DNS
  connect_timeout: 2s
  load_assignment:
    cluster_name: jwks-{{ .name }}
    endpoints:
    - lb_endpoints:
      - endpoint:
          address:
            socket_address:
              address: {{ $uri.hostname }}
              port_value: {{ default (ternary "443" "80" $secure) $port }}
  {{- if $secure }}
  transport_socket:
    name: envoy.transport_sockets.tls
    typed_config:
      '@type': type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
      sni: {{ $uri.hostname }}
      common_tls_context:
        validation_context:
          trusted_ca:
            filename: {{ default "/etc/ssl/certs/ca-certificates.crt" .caFile }}
          match_typed_subject_alt_names:
          - san_type: DNS
            matcher:
              exact: {{ $uri.hostname }}
  {{- end }}
{{- end }}
{{- end }}
{{- end -}}

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

{{- /* Bytes of memory that Envoy may take: 80 % of the container's limit, so that a flood is refused before the kernel ends the pod; without a limit 1 TiB */ -}}
{{- define "cacheroute.maxHeapBytes" -}}
{{- $limit := dig "limits" "memory" "1Ti" (.Values.gateway.resources | default dict) | toString -}}
{{- $units := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- $unit := regexFind "(k|[MGT]|[KMGT]i)?$" $limit -}}
{{- $number := trimSuffix $unit $limit -}}
{{- if not (and (hasKey $units $unit) (regexMatch "^[0-9]+([.][0-9]+)?(e[+]?[0-9]+)?$" $number)) -}}
{{- fail (printf "gateway.resources.limits.memory: %q is no size such as 1Gi" $limit) -}}
{{- end -}}
{{- mulf (float64 $number) (get $units $unit) 0.8 | int64 -}}
{{- end -}}

"""Generate everything that is derived from the code: `make docs`; with --check, tell what is stale."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from cacheroute.controllers.settings import OperatorSettings
from cacheroute.kube.crd import text as crd_text
from cacheroute.prom.metrics import Metrics
from cacheroute.proxy.bootstrap import BootstrapSettings, Place, bootstrap
from cacheroute.proxy.settings import DEFAULT_BODY_BYTES
from cacheroute.proxy.tls import secret_files
from cacheroute.proxy.xds_client_tls import CA_SDS, CERTIFICATE_SDS, XdsClientTls, sds_files
from scripts.chart_values import described
from scripts.command_reference import command_reference
from scripts.field_reference import field_reference

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "charts" / "cacheroute"


_NODE_SETTINGS = '{{- with (include "cacheroute.nodeSettings" . | trim) }}{{ nindent 6 . }}{{ end }}\n'
_JWKS_CLUSTERS = '{{- with (include "cacheroute.jwksClusters" . | trim) }}{{ nindent 2 . }}{{ end }}\n'
_MAX_BODY = "maxBodyBytes: {{ .Values.gateway.maxBodyBytes | int64 }}\n"
_BOOTSTRAP_VALUES = (
    ("port_value: 0", "port_value: {{ .Values.service.xdsPort }}"),
    (f"maxBodyBytes: {DEFAULT_BODY_BYTES}\n", _MAX_BODY + _NODE_SETTINGS),
    ("max_heap_size_bytes: 1", 'max_heap_size_bytes: {{ include "cacheroute.maxHeapBytes" . }}'),
    ("dynamic_resources:\n", _JWKS_CLUSTERS + "dynamic_resources:\n"),
)
"""What of the bootstrap is a value of the chart, and the template that takes its place."""

CHART_SDS, CHART_CERTIFICATES = "/etc/envoy", "/etc/envoy-xds-tls"
"""Where the gateway's pods have the SDS files and the certificates."""


def chart_bootstrap(tls: XdsClientTls | None) -> str:
    """Return the gateway's bootstrap with the chart's values in place of names; Helm's `tpl` fills them in."""
    settings = BootstrapSettings(
        gateway="{{ .Values.gateway.name }}",
        xds=Place('{{ include "cacheroute.fullname" . }}.{{ .Release.Namespace }}.svc', 0),
        tls=tls,
        max_heap_bytes=1,
    )
    apart = json.loads(json.dumps(bootstrap(settings)))
    text = yaml.safe_dump(apart, sort_keys=False, width=1000)
    for plain, template in _BOOTSTRAP_VALUES:
        text = text.replace(plain, template, 1)
    return text


def chart_client_tls(name: str) -> str:
    """Return a file that tells the gateway's Envoys where the certificates towards clients are."""
    files = secret_files("/etc/envoy-tls/tls.crt", "/etc/envoy-tls/tls.key", "/etc/envoy-client-ca/ca.crt")
    return yaml.safe_dump(files[name], sort_keys=False)


def chart_sds(name: str) -> str:
    """Return a file that tells the gateway's Envoys where their certificates are."""
    return yaml.safe_dump(sds_files(CHART_CERTIFICATES)[name], sort_keys=False)


def chart_readme() -> str:
    """Return the chart's page: how to install it, and every value with its default."""
    source = (CHART / "values.yaml").read_text("utf-8")
    rows = [f"| `{one.path}` | `{one.default}` | {one.text} |" for one in described(source)]
    return "\n".join((_CHART_PAGE, "| value | default | meaning |", "|---|---|---|", *rows, ""))


def settings_reference() -> str:
    """Return the page of the operator's settings."""
    prefix = str(OperatorSettings.model_config["env_prefix"])
    rows = [
        f"| `{prefix}{name.upper()}` | `{json.dumps(field.default)}` | {field.description} |"
        for name, field in OperatorSettings.model_fields.items()
    ]
    return "\n".join((_SETTINGS_PAGE, "| variable | default | meaning |", "|---|---|---|", *rows, ""))


_CHART_PAGE = """# Helm chart of CacheRoute

The operator, and a fleet of Envoys that it serves. Needs Kubernetes 1.30 or newer, and a Prometheus that scrapes the
gateway pods (they carry the usual `prometheus.io` annotations; `podMonitor.enabled` is for the Prometheus operator).

```
docker build -f operator/Dockerfile -t REGISTRY/cacheroute:0.1.0 . && docker push REGISTRY/cacheroute:0.1.0
helm install cacheroute charts/cacheroute --namespace cacheroute-system --create-namespace \\
  --set image.repository=REGISTRY/cacheroute --set prometheus.url=http://PROMETHEUS.NAMESPACE.svc:9090
```

The end-to-end tests install this chart with an image that they build without Docker; nothing here has run
`operator/Dockerfile` itself.

Helm never upgrades or deletes CRDs; after an upgrade of the chart: `kubectl apply -f charts/cacheroute/crds/`.
"""
_SETTINGS_PAGE = """# Settings of the operator

Environment variables of `cacheroute operator`; each is also a flag (`--xds-bind`), which wins. The Helm chart sets them
from its values.
"""

GENERATED: Mapping[str, Callable[[], str]] = {
    "crds/routingplans.yaml": crd_text,
    "charts/cacheroute/crds/routingplans.yaml": crd_text,
    "charts/cacheroute/files/bootstrap.yaml": lambda: chart_bootstrap(None),
    "charts/cacheroute/files/bootstrap-tls.yaml": lambda: chart_bootstrap(XdsClientTls(CHART_SDS)),
    "charts/cacheroute/files/xds-certificate.yaml": lambda: chart_sds(CERTIFICATE_SDS),
    "charts/cacheroute/files/certificate.yaml": lambda: chart_client_tls("certificate.yaml"),
    "charts/cacheroute/files/client-ca.yaml": lambda: chart_client_tls("client-ca.yaml"),
    "charts/cacheroute/files/xds-ca.yaml": lambda: chart_sds(CA_SDS),
    "charts/cacheroute/README.md": chart_readme,
    "docs/reference/settings.md": settings_reference,
    "docs/reference/cli.md": command_reference,
    "docs/reference/routingplan.md": field_reference,
    "docs/reference/metrics.md": lambda: Metrics().reference(),
}
"""Every generated file and what generates it."""


def stale() -> list[str]:
    """Return the generated files that are not what the code generates."""
    return [name for name, make in GENERATED.items() if _content(ROOT / name) != make()]


def main(arguments: list[str]) -> int:
    """Write what is stale, or only tell it."""
    names = stale()
    for name in names:
        if arguments == ["--check"]:
            sys.stderr.write(f"generate: {name} is stale; run `make docs`\n")
            continue
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(GENERATED[name](), encoding="utf-8")
        sys.stdout.write(f"generated {name}\n")
    return 1 if names and arguments == ["--check"] else 0


def _content(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

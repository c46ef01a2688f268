"""Generate everything that is derived from the code: `make docs`; with --check, tell what is stale."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from cacheroute.kube.crd import text as crd_text
from cacheroute.prom.metrics import Metrics
from cacheroute.proxy.bootstrap import BootstrapSettings, Place, bootstrap

ROOT = Path(__file__).resolve().parent.parent


def chart_bootstrap() -> str:
    """Return the gateway's bootstrap with the chart's values in place of names; Helm's `tpl` fills them in."""
    settings = BootstrapSettings(
        gateway="{{ .Values.gateway.name }}",
        xds=Place('{{ include "cacheroute.fullname" . }}.{{ .Release.Namespace }}.svc', 0),
    )
    text = yaml.safe_dump(bootstrap(settings), sort_keys=False, width=1000)
    return text.replace("port_value: 0", "port_value: {{ .Values.service.xdsPort }}")


GENERATED: Mapping[str, Callable[[], str]] = {
    "crds/routingplans.yaml": crd_text,
    "charts/cacheroute/crds/routingplans.yaml": crd_text,
    "charts/cacheroute/files/bootstrap.yaml": chart_bootstrap,
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

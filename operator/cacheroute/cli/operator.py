"""`cacheroute operator`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.running import run_until_signal


def operator(
    prometheus_url: Annotated[
        str | None, typer.Option(help="Base URL of the Prometheus that scrapes the gateways.")
    ] = None,
    prometheus_timeout_seconds: Annotated[
        float | None, typer.Option(help="For one measurement, which is four queries; default 20.")
    ] = None,
    prometheus_token_file: Annotated[
        Path | None, typer.Option(help="File with a bearer token for Prometheus.")
    ] = None,
    prometheus_ca_file: Annotated[
        Path | None, typer.Option(help="Certificates trusted for Prometheus.")
    ] = None,
    prometheus_verify: Annotated[
        bool | None, typer.Option(help="Check the certificate of Prometheus.")
    ] = None,
    xds_bind: Annotated[
        str | None, typer.Option(help="HOST:PORT where proxies connect; default 0.0.0.0:18000.")
    ] = None,
    xds_tls_certificate: Annotated[
        Path | None, typer.Option(help="Certificate that proxies are shown, PEM; default plain text.")
    ] = None,
    xds_tls_key: Annotated[Path | None, typer.Option(help="Key of that certificate, PEM.")] = None,
    xds_tls_client_ca: Annotated[
        Path | None, typer.Option(help="Certificates, PEM, that sign those of proxies.")
    ] = None,
    http_bind: Annotated[
        str | None,
        typer.Option(help="HOST:PORT of /healthz /readyz /metrics /status /plans; default 0.0.0.0:8080."),
    ] = None,
    watch_namespaces: Annotated[
        str | None, typer.Option(help="Comma-separated namespaces to watch; default all.")
    ] = None,
    log_format: Annotated[str | None, typer.Option(help="text or json.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
) -> None:
    """Run the operator in a cluster.

    Watches RoutingPlans, vLLM pods and GPU nodes, plans each control interval from the rates that Prometheus has,
    and serves the routes to Envoy. Every option is also an environment variable, CACHEROUTE_XDS_BIND for instance.
    """
    from pydantic import ValidationError

    from cacheroute.controllers.logs import configure_logs
    from cacheroute.controllers.operator import compose
    from cacheroute.controllers.settings import OperatorSettings
    from cacheroute.domain.errors import StoreError
    from cacheroute.proxy.errors import GatewayError

    given: dict[str, Any] = {
        "prometheus_url": prometheus_url,
        "prometheus_timeout_seconds": prometheus_timeout_seconds,
        "prometheus_token_file": prometheus_token_file,
        "prometheus_ca_file": prometheus_ca_file,
        "prometheus_verify": prometheus_verify,
        "xds_bind": xds_bind,
        "xds_tls_certificate": xds_tls_certificate,
        "xds_tls_key": xds_tls_key,
        "xds_tls_client_ca": xds_tls_client_ca,
        "http_bind": http_bind,
        "watch_namespaces": watch_namespaces,
        "log_format": log_format,
        "log_level": log_level,
    }
    try:
        settings = OperatorSettings(**{name: value for name, value in given.items() if value is not None})
        configure_logs(form=settings.log_format, level=settings.log_level)
        code = run_until_signal(lambda stop: compose(settings).run(stop))
    except ValidationError as error:
        first = error.errors()[0]
        fail(f"setting {'.'.join(map(str, first['loc']))}: {first['msg']}, got {first['input']!r}", USAGE)
    except ValueError as error:
        fail(str(error), USAGE)
    except (StoreError, GatewayError, OSError) as error:
        fail(f"cannot serve: {error}")
    raise typer.Exit(code)

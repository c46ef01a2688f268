"""`cacheroute standalone`."""

from pathlib import Path
from typing import Annotated

import typer

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.running import run_until_signal


def standalone(
    plans: Annotated[
        Path, typer.Option("--file", "-f", help="YAML file with one or more RoutingPlans; watched.")
    ],
    destinations: Annotated[
        Path,
        typer.Option(help="YAML file: 'destinations: [{name, address, port, pool}]'; watched and probed."),
    ],
    gateway_stats: Annotated[
        list[str],
        typer.Option(help="URL of a gateway's counters, http://HOST:PORT/stats/prometheus; repeatable."),
    ],
    state: Annotated[Path, typer.Option(help="Folder where the plans in force are kept.")] = Path(
        "cacheroute-state"
    ),
    xds_bind: Annotated[str, typer.Option(help="HOST:PORT where proxies connect.")] = "127.0.0.1:18000",
    xds_insecure: Annotated[
        bool,
        typer.Option(
            "--xds-insecure", help="Let --xds-bind be another address than loopback: xDS is plain text here."
        ),
    ] = False,
    http_bind: Annotated[str, typer.Option(help="HOST:PORT of /healthz /readyz /metrics /status /plans.")] = (
        "127.0.0.1:8081"
    ),
    log_format: Annotated[str, typer.Option(help="text or json.")] = "text",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Plan and serve routes without Kubernetes.

    The same loop as the operator: RoutingPlans and destinations come from files, rates from the gateway's own
    counters, plans in force are kept as files, and Envoy connects to --xds-bind (`cacheroute gateway run`).
    A pool named in spec.nodePools takes the destinations that name it; node selectors are not looked at.
    """
    from cacheroute.controllers.addresses import check_plain_text, parse_address, parse_urls
    from cacheroute.controllers.file_world import InputFileError
    from cacheroute.controllers.logs import configure_logs
    from cacheroute.controllers.runtime import Servers
    from cacheroute.controllers.standalone import StandaloneOptions
    from cacheroute.controllers.standalone import standalone as compose
    from cacheroute.proxy.errors import GatewayError

    try:
        configure_logs(form=log_format, level=log_level)
        servers = Servers(xds=parse_address(xds_bind), http=parse_address(http_bind))
        check_plain_text(servers.xds, allowed=xds_insecure)
        options = StandaloneOptions(plans, destinations, state, parse_urls(gateway_stats), servers)
    except ValueError as error:
        fail(str(error), USAGE)
    try:
        code = run_until_signal(lambda stop: compose(options).run(stop))
    except InputFileError as error:
        fail(str(error), USAGE)
    except (GatewayError, OSError) as error:
        fail(f"cannot serve: {error}")
    raise typer.Exit(code)

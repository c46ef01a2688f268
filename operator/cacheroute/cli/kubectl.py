"""The kubectl plugin: `kubectl cacheroute status | keys | plan | gateways`."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.table import Table
from typer.main import get_command

from cacheroute.cli import kubectl_tables as tables
from cacheroute.cli.errors import fail
from cacheroute.cli.main import complain
from cacheroute.domain.plan_document import to_document
from cacheroute.kube.errors import ClusterReadError
from cacheroute.kube.reader import Access, ClusterReader

app = typer.Typer(
    name="kubectl cacheroute",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="See what CacheRoute plans and serves in a cluster. Reads only.",
)


class Output(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Namespace; default: that of the context.")
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Look at every namespace.")]
Context = Annotated[str | None, typer.Option(help="Context of the kubeconfig; default: the current one.")]
Kubeconfig = Annotated[
    str | None, typer.Option(help="Kubeconfig file; default: $KUBECONFIG, else ~/.kube/config.")
]
Format = Annotated[Output, typer.Option("--output", "-o", help="table or json.")]
Name = Annotated[str, typer.Argument(help="Name of the RoutingPlan.")]


@app.command()
def status(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Format = Output.TABLE,
) -> None:
    """Show every RoutingPlan: is it ready, what does it serve, and why not."""
    plans = _reader(Access(kubeconfig, context, namespace, all_namespaces)).plans()
    _print(output, [_summary(plan) for plan in plans], lambda: tables.status_table(plans))


@app.command()
def gateways(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Format = Output.TABLE,
) -> None:
    """Show the Envoy proxies of every RoutingPlan: connected, in sync, refused and why."""
    plans = _reader(Access(kubeconfig, context, namespace, all_namespaces)).plans()
    _print(output, tables.gateway_rows(plans), lambda: tables.gateway_table(plans))


@app.command()
def plan(
    name: Name,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Format = Output.TABLE,
) -> None:
    """Show the plan in force by destination; with -o json the whole plan."""
    stored = _reader(Access(kubeconfig, context, namespace)).stored_plan(name)
    _print(output, to_document(stored), lambda: tables.plan_table(name, stored))


@app.command()
def keys(
    name: Name,
    destination: Annotated[str | None, typer.Option(help="Only the keys of this pod.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many keys, busiest first.")] = 50,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Format = Output.TABLE,
) -> None:
    """Show the planned keys, busiest first, with their destinations and standbys."""
    stored = _reader(Access(kubeconfig, context, namespace)).stored_plan(name)
    rows = tables.key_rows(stored, destination)
    _print(output, rows[:limit], lambda: tables.key_table(name, rows[:limit], len(rows)))


def _reader(access: Access) -> ClusterReader:
    return ClusterReader(access)


def _summary(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = plan["metadata"]
    return {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "spec": plan["spec"],
        "status": plan.get("status", {}),
    }


def _print(output: Output, document: Mapping[str, Any] | Sequence[Any], table: Callable[[], Table]) -> None:
    if output is Output.JSON:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        tables.show(table())


def main() -> None:
    """Run the plugin; whatever goes wrong ends in one line."""
    try:
        get_command(app)(prog_name="kubectl cacheroute", standalone_mode=False)
    except ClusterReadError as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None
    except Exception as error:  # noqa: BLE001 - a defect of ours is one line for users, too
        complain(error)


if __name__ == "__main__":
    main()

"""The kubectl plugin: `kubectl cacheroute status | keys | plan | explain | diff | gateways | hold | resume`."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table
from typer.main import get_command

from cacheroute.cli import kubectl_tables as tables
from cacheroute.cli.comparison_view import print_comparison
from cacheroute.cli.diff import ExitCode, Limit
from cacheroute.cli.errors import FAILURE, USAGE, fail
from cacheroute.cli.explanation_view import print_explanation
from cacheroute.cli.main import complain
from cacheroute.cli.output import Format, Output, write
from cacheroute.cli.plan_file import read_plan_file
from cacheroute.cli.tables import show
from cacheroute.controllers.file_world import InputFileError
from cacheroute.domain.comparison import compare
from cacheroute.domain.errors import DomainError
from cacheroute.domain.explanation import explain as explained
from cacheroute.domain.explanation import plannable
from cacheroute.domain.plan_document import to_document
from cacheroute.domain.spec import Mode
from cacheroute.kube.editor import ClusterEditor
from cacheroute.kube.errors import ClusterReadError, ClusterWriteError
from cacheroute.kube.reader import Access, ClusterReader

app = typer.Typer(
    name="kubectl cacheroute",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="See what CacheRoute plans and serves in a cluster. Only hold and resume write anything: spec.mode.",
)


Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", help="Namespace; default: that of the context.")
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Look at every namespace.")]
Context = Annotated[str | None, typer.Option(help="Context of the kubeconfig; default: the current one.")]
Kubeconfig = Annotated[
    str | None, typer.Option(help="Kubeconfig file; default: $KUBECONFIG, else ~/.kube/config.")
]
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
    plans = ClusterReader(Access(kubeconfig, context, namespace, all_namespaces)).plans()
    _print(output, [_summary(plan) for plan in plans], lambda: tables.status_table(plans))
    if output is Output.TABLE:
        for line in tables.comparisons(plans):
            typer.echo(line)


@app.command()
def gateways(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Format = Output.TABLE,
) -> None:
    """Show the Envoy proxies of every RoutingPlan: connected, in sync, refused and why."""
    plans = ClusterReader(Access(kubeconfig, context, namespace, all_namespaces)).plans()
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
    stored = ClusterReader(Access(kubeconfig, context, namespace)).stored_plan(name)
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
    stored = ClusterReader(Access(kubeconfig, context, namespace)).stored_plan(name)
    rows = tables.key_rows(stored, destination)
    _print(output, rows[:limit], lambda: tables.key_table(name, rows[:limit], len(rows)))


@app.command()
def explain(
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key, as requests carry it.")],
    name: Annotated[
        str | None,
        typer.Argument(help="Name of the RoutingPlan; not needed where the namespace has only one."),
    ] = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Format = Output.TABLE,
) -> None:
    """Explain one key: where its requests go, why, and who serves it when a pod dies."""
    plannable(key)
    stored = ClusterReader(Access(kubeconfig, context, namespace)).stored_plan_of(name)
    print_explanation(explained(stored, key), output)


@app.command()
def diff(
    name: Name,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A plan as a file, or - .")],
    limit: Limit = 50,
    exit_code: ExitCode = False,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    output: Format = Output.TABLE,
) -> None:
    """Show what would move from the plan in force to that of a file, as `cacheroute plan --save` writes it.

    Exit code: 0, equal or not; with --exit-code 1 where they differ.
    """
    other = read_plan_file(file)
    stored = ClusterReader(Access(kubeconfig, context, namespace)).stored_plan(name)
    found = compare(stored, other)
    print_comparison(found, output, limit)
    raise typer.Exit(FAILURE if exit_code and found.different else 0)


@app.command()
def hold(
    name: Name, namespace: Namespace = None, context: Context = None, kubeconfig: Kubeconfig = None
) -> None:
    """Keep the plan in force: from now on only what is lost for good is replaced. `resume` undoes it.

    Sets spec.mode of an Active RoutingPlan to Hold; needs the right to patch RoutingPlans. It refuses Canary and Shadow,
    because Hold routes every request of planned keys by plan.
    """
    _switch(name, Access(kubeconfig, context, namespace), Mode.ACTIVE, Mode.HOLD)


@app.command()
def resume(
    name: Name, namespace: Namespace = None, context: Context = None, kubeconfig: Kubeconfig = None
) -> None:
    """Plan again each interval after `hold`.

    Sets spec.mode of a RoutingPlan on Hold to Active; needs the right to patch RoutingPlans.
    """
    _switch(name, Access(kubeconfig, context, namespace), Mode.HOLD, Mode.ACTIVE)


def _switch(name: str, access: Access, before: Mode, after: Mode) -> None:
    editor = ClusterEditor(access)
    changed = editor.switch_mode(name, before, after)
    done = f"mode {before} to {after}" if changed else f"is in mode {after} already, nothing changed"
    typer.echo(f"RoutingPlan {editor.ref(name)}: {done}")


def _summary(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = plan["metadata"]
    return {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "spec": plan["spec"],
        "status": plan.get("status", {}),
    }


def _print(output: Output, document: Mapping[str, Any] | Sequence[Any], table: Callable[[], Table]) -> None:
    if output is Output.TABLE:
        show(table())
    else:
        write(document, output)


def main() -> None:
    """Run the plugin; whatever goes wrong ends in one line."""
    try:
        code = get_command(app)(prog_name="kubectl cacheroute", standalone_mode=False)
    except (ClusterReadError, ClusterWriteError) as error:
        fail(str(error))
    except (DomainError, InputFileError) as error:
        fail(str(error), USAGE)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None
    except Exception as error:  # noqa: BLE001 - a defect of ours is one line for users, too
        complain(error)
    raise SystemExit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()

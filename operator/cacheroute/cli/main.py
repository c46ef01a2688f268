"""The `cacheroute` command."""

import importlib
import os
import sys
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from cacheroute import __version__
from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.running import INTERRUPTED

COMMANDS = {
    "operator": "cacheroute.cli.operator",
    "standalone": "cacheroute.cli.standalone",
    "plan": "cacheroute.cli.plan",
    "diff": "cacheroute.cli.diff",
    "explain": "cacheroute.cli.explain",
    "simulate": "cacheroute.cli.simulate",
    "replay": "cacheroute.cli.replay",
    "engine": "cacheroute.cli.engine",
    "demo": "cacheroute.cli.demo",
}
"""Commands and the modules that define a function of that name."""

TRACEBACK = "CACHEROUTE_TRACEBACK"
"""Environment variable that lets tracebacks through, for those who mend us."""

app = typer.Typer(
    name="cacheroute",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Planned prefix-affinity routing for vLLM fleets: send a tenant's requests to where its KV cache is.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cacheroute {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and end.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Planned prefix-affinity routing for vLLM fleets: send a tenant's requests to where its KV cache is."""


def build() -> typer.Typer:
    """Mount every command; the modules import what they need when they run."""
    for name, module in COMMANDS.items():
        app.command(name)(getattr(importlib.import_module(module), name))
    for name in ("gateway", "trace"):
        app.add_typer(importlib.import_module(f"cacheroute.cli.{name}").app, name=name)
    return app


def main() -> None:
    """Run the command line; whatever goes wrong ends in one line."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its own lines would stand beside ours
    try:
        code = get_command(build()).main(prog_name="cacheroute", standalone_mode=False)
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None
    except (KeyboardInterrupt, typer.Abort):
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        complain(error)
    raise SystemExit(code if isinstance(code, int) else 0)


def complain(error: Exception) -> NoReturn:
    """End with one line: typer's usage errors say themselves what is wrong, anything else is a defect of ours."""
    if not hasattr(error, "format_message"):
        kind = type(error).__name__
        fail(f"this is a defect of CacheRoute, please report it ({kind}: {error}); {TRACEBACK}=1 shows where")
    message = error.format_message().replace("Value error, ", "")
    if not message:
        raise SystemExit(USAGE)
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "cacheroute"
    fail(f"{message.rstrip('.')}. See `{path} --help`.", USAGE)


if __name__ == "__main__":
    main()

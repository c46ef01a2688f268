"""The `cacheroute` command."""

import importlib
import sys

import typer
from typer.main import get_command

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.running import INTERRUPTED

COMMANDS = {
    "operator": "cacheroute.cli.operator",
    "standalone": "cacheroute.cli.standalone",
    "engine": "cacheroute.cli.engine",
    "demo": "cacheroute.cli.demo",
}
"""Commands and the modules that define a function of that name."""

app = typer.Typer(
    name="cacheroute",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    help="Planned prefix-affinity routing for vLLM fleets: send a tenant's requests to where its KV cache is.",
)


def build() -> typer.Typer:
    """Mount every command; the modules import what they need when they run."""
    for name, module in COMMANDS.items():
        app.command(name)(getattr(importlib.import_module(module), name))
    app.add_typer(importlib.import_module("cacheroute.cli.gateway").app, name="gateway")
    return app


def main() -> None:
    """Run the command line; whatever goes wrong ends in one line."""
    try:
        code = get_command(build()).main(prog_name="cacheroute", standalone_mode=False)
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None
    except (KeyboardInterrupt, typer.Abort):
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        complain(error)
        raise
    raise SystemExit(code if isinstance(code, int) else 0)


def complain(error: Exception) -> None:
    """End with one line where ``error`` is the user's: typer's usage errors say themselves what is wrong."""
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "cacheroute"
        message = error.format_message()
        if not message:
            sys.stdout.write((context.get_help() if context else "") + "\n")
            raise SystemExit(USAGE)
        fail(f"{message} See `{path} --help`.", USAGE)


if __name__ == "__main__":
    main()

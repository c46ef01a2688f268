"""The `cacheroute` command."""

import importlib
import sys

import typer

app = typer.Typer(
    name="cacheroute",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Planned prefix-affinity routing for vLLM fleets: send a tenant's requests to where its KV cache is.",
)
COMMANDS = {
    "operator": "cacheroute.cli.operator",
    "standalone": "cacheroute.cli.standalone",
    "engine": "cacheroute.cli.engine",
    "demo": "cacheroute.cli.demo",
}
"""Commands and the modules that define a function of that name."""


def build() -> typer.Typer:
    """Mount every command."""
    for name, module in COMMANDS.items():
        app.command(name)(getattr(importlib.import_module(module), name))
    app.add_typer(importlib.import_module("cacheroute.cli.gateway").app, name="gateway")
    return app


def main() -> None:
    """Run the command line; whatever goes wrong ends in one line."""
    try:
        build()()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()

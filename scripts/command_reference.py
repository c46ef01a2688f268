"""The reference page of the commands, from the texts that their --help prints."""

from typing import Any

import typer
from typer.cli import get_docs_for_click
from typer.main import get_command

from cacheroute.cli import kubectl, main

_PAGE = """# Commands

What `--help` says of every command: of [`cacheroute`](#cacheroute), and of the plugin
[`kubectl cacheroute`](#kubectl-cacheroute), which kubectl finds when `kubectl-cacheroute` is on PATH.
"""


def command_reference() -> str:
    """Return the page."""
    apps = {"cacheroute": main.build(), "kubectl cacheroute": kubectl.app}
    return "\n".join((_PAGE, *(_section(name, app) for name, app in apps.items())))


def _section(name: str, app: typer.Typer) -> str:
    command = get_command(app)
    _tell_all(command)
    text: str = get_docs_for_click(
        obj=command, ctx=typer.Context(command, info_name=name), indent=1, name=name
    )
    return text.rstrip() + "\n"


def _tell_all(command: Any) -> None:
    """List subcommands with their whole first sentence; typer cuts it after 45 characters otherwise."""
    for one in getattr(command, "commands", {}).values():
        one.short_help = one.get_short_help_str(limit=200)
        _tell_all(one)

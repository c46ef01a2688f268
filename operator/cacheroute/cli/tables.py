"""Tables for people: one style, and nothing is read as markup."""

import sys

from rich import box
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

_WIDTH = 10_000


def show(*things: RenderableType) -> None:
    """Print things; without a terminal they are as wide as they need to be, so that nothing is cut."""
    console = Console(soft_wrap=True)
    if console.is_terminal:
        for thing in things:
            console.print(thing)
    else:
        sys.stdout.write(text(*things))


def text(*things: RenderableType) -> str:
    """Return what ``show`` writes into a file: as wide as needed, without spaces at the ends of lines."""
    console = Console(width=_WIDTH, soft_wrap=True, color_system=None, force_terminal=False)
    with console.capture() as captured:
        for thing in things:
            console.print(thing)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def table(*headers: str, title: str | None = None) -> Table:
    """Return an empty table."""
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for header in headers:
        made.add_column(header, overflow="fold")
    return made


def facts(*rows: tuple[str, str], title: str | None = None) -> Table:
    """Return a block of names and values; rows without a value are left out."""
    made = Table(box=None, show_header=False, title=title, title_justify="left", pad_edge=False)
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        if value:
            add(made, name, value)
    return made


def add(made: Table, *cells: object) -> None:
    """Add a row; what comes from a cluster or a file is shown as it is, never read as markup."""
    made.add_row(*(escape(str(cell)) for cell in cells))

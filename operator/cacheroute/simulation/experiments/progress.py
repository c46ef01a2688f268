"""A progress bar on a terminal."""

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cacheroute.simulation.experiments.sweep import Tell


@contextlib.contextmanager
def progress_bar(title: str) -> Iterator[Tell]:
    """Yield what a sweep tells its progress to; only a terminal shows it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _done, _all: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)

"""What the user sees: a live table on a terminal, lines elsewhere, and the summary."""

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cacheroute.demo.board import Board
from cacheroute.demo.result import WANTED_POINTS, Result
from cacheroute.demo.tally import Fate

LINE_SECONDS = 5.0
"""Without a terminal there is a line so often."""
BAR = 24
LATE_MS = 50.0
"""A generator later than this did not keep its schedule."""


class View:
    """Shows progress; with ``quiet`` only on standard error, so that standard output can be read by a script."""

    def __init__(self, *, quiet: bool) -> None:
        self.console = Console(stderr=quiet, highlight=False)
        self._live: Live | None = None
        self._lines = 0

    @property
    def live(self) -> bool:
        """Whether there is a terminal to draw on."""
        return self.console.is_terminal

    def say(self, message: str) -> None:
        """Print one line."""
        self.console.print(Text("• ", style="cyan") + Text(message), soft_wrap=True)

    def update(self, board: Board) -> None:
        """Draw the table anew; without a terminal, print a line now and then."""
        if self.live:
            self.draw(Group(Text(_heading(board), style="bold"), _table(board), _counts(board)))
        elif board.seconds >= LINE_SECONDS * (self._lines + 1):
            self._lines += 1
            self.say(line(board))

    def end_phase(self) -> None:
        """Take the live table away."""
        self._lines = 0
        if self._live is not None:
            self._live.stop()
            self._live = None

    def conclude(self, table: Table, sentences: list[str]) -> None:
        """Print a table and sentences under it."""
        self.console.print(table)
        for sentence in sentences:
            self.console.print(sentence)

    def draw(self, picture: RenderableType) -> None:
        """Replace what is drawn; for terminals only."""
        if self._live is None:
            self._live = Live(console=self.console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(picture, refresh=True)


def line(board: Board) -> str:
    """Return a board as one line."""
    fates = board.fates
    return (
        f"  {board.phase.name} {board.seconds:.0f}/{board.phase.total:.0f} s: token hit {board.hit_percent:.0f} %, "
        f"answered {fates[Fate.ANSWERED]}, failed {fates[Fate.FAILED]}, cut {fates[Fate.CUT]}, "
        f"plan {board.plan or 'none yet'}"
    )


def _heading(board: Board) -> str:
    done = min(1.0, board.seconds / board.phase.total)
    bar = "━" * round(BAR * done) + "╌" * (BAR - round(BAR * done))
    return f"{board.phase.title}  {bar} {board.seconds:.0f}/{board.phase.total:.0f} s"


def _table(board: Board) -> Table:
    table = Table("engine", "state")
    for heading in ("requests", "token hit", "load, requests/s"):
        table.add_column(heading, justify="right")
    for row in board.rows:
        state = "[green]up[/green]" if row.running else "[red]killed[/red]"
        hit = f"{row.hit_percent:.0f} %" if row.requests else "–"
        table.add_row(row.engine, state, str(row.requests), hit, f"{row.load:.1f}")
    return table


def _counts(board: Board) -> Text:
    fates = board.fates
    return Text(
        f"token hit {board.hit_percent:.1f} %   answered {fates[Fate.ANSWERED]}   failed {fates[Fate.FAILED]}   "
        f"cut streams {fates[Fate.CUT]}   plan {board.plan or 'none yet'}"
    )


def summary(result: Result) -> Table:
    """Return the table of the phases."""
    table = Table("", title="CacheRoute demo")
    for heading in ("flat", "planned", "engine killed"):
        table.add_column(heading, justify="right")
    rows = (
        ("served token hit", "{:.1f} %", "hit_percent"),
        ("TTFT p50", "{:.0f} ms", "ttft_p50_ms"),
        ("TTFT p99", "{:.0f} ms", "ttft_p99_ms"),
        ("max / mean load", "{:.2f}", "max_over_mean"),
        ("requests answered", "{}", "requests"),
        ("generator late, p99", "{:.0f} ms", "lag_p99_ms"),
    )
    columns = (result.flat, result.planned, result.failover.figures)
    for name, form, attribute in rows:
        table.add_row(name, *(form.format(getattr(column, attribute)) for column in columns))
    return table


def verdict(result: Result) -> list[str]:
    """Return the sentences under the table."""
    sentences = [_comparison(result), _failure(result), _reason(result)]
    if max(result.flat.lag_p99_ms, result.planned.lag_p99_ms) > LATE_MS:
        sentences.append(
            "[yellow]The generator was late: this machine is too slow or too busy for this --rate, times to the first "
            "token are those of an overloaded machine.[/yellow]"
        )
    return sentences + [f"[red]failed: {complaint}[/red]" for complaint in result.damage.complaints]


def _failure(result: Result) -> str:
    failover, harm = result.failover, result.damage
    token = f" ({harm.cut_before_first_token} before its first token)" if harm.cut else ""
    return (
        f"Killed {failover.engine} with SIGKILL under load: {harm.failed} failed requests, {harm.cut} streams that it had "
        f"begun were cut{token}. {failover.keys_moved} keys moved, it had {failover.keys}; plan repaired after "
        f"{failover.repair_seconds:.1f} s; once it was back, {failover.keys_away} keys were elsewhere than before."
    )


def _reason(result: Result) -> str:
    setup = result.setup
    times = setup["cacheBlocks"] * setup["engines"] / setup["blocksNeeded"]
    return (
        f"Why: {result.tenants} of {setup['tenants']} tenants sent requests; the prefixes of all fill "
        f"{setup['blocksNeeded']} KV blocks and an engine keeps {setup['cacheBlocks']}, {times:.1f} times its share. "
        "Flat routing wants each on every engine, a plan on one. Both arms got the same requests, the first part of each "
        "only warmed the caches and is not counted."
    )


def _comparison(result: Result) -> str:
    style = "green" if result.good else "red"
    goal = f"wanted: {WANTED_POINTS:+.0f} points and no failed request"
    return (
        f"[{style}]Planned routing: {result.points:+.1f} points of served token hit, {result.damage.failed} failed "
        f"requests[/{style}] ({goal}), in {result.seconds:.0f} s."
    )

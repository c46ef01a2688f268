"""What the user sees: a live table on a terminal, lines elsewhere, and the summary."""

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cacheroute.demo.result import Result
from cacheroute.demo.tally import Fate, Tally


class View:
    """Shows progress; with ``quiet`` only on standard error, so that standard output can be read by a script."""

    def __init__(self, *, quiet: bool) -> None:
        self.console = Console(stderr=quiet)
        self._live: Live | None = None

    def say(self, message: str) -> None:
        """Print one line."""
        self.console.print(Text("• ", style="cyan") + Text(message))

    def start(self) -> None:
        """Show the live table where there is a terminal."""
        if self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False, transient=True)
            self._live.start()

    def update(self, phase: str, tally: Tally, engines: dict[str, bool]) -> None:
        """Draw the table anew."""
        if self._live is not None:
            self._live.update(
                Group(Text(phase, style="bold"), _table(tally, engines), _counts(tally)), refresh=True
            )

    def stop(self) -> None:
        """Take the live table away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def summary(self, result: Result) -> None:
        """Print the result."""
        self.console.print(_summary(result))
        for line in _verdict(result):
            self.console.print(line)


def _table(tally: Tally, engines: dict[str, bool]) -> Table:
    table = Table("engine", "state", "requests", "token hit")
    for name, running in engines.items():
        sums = tally.by_destination[name]
        hit = f"{100 * sums['cached'] / sums['prompt']:.0f} %" if sums["prompt"] else "–"
        table.add_row(name, "up" if running else "[red]killed[/red]", str(sums["requests"]), hit)
    return table


def _counts(tally: Tally) -> Text:
    fates = tally.fates
    return Text(
        f"answered {fates[Fate.ANSWERED]}   failed {fates[Fate.FAILED]}   cut streams {fates[Fate.CUT]}"
    )


def _summary(result: Result) -> Table:
    table = Table("", "flat (power of two)", "planned", title="CacheRoute demo")
    rows = (
        ("served token hit", "{:.1f} %", "hit_percent"),
        ("time to first token, p50", "{:.0f} ms", "ttft_p50_ms"),
        ("time to first token, p99", "{:.0f} ms", "ttft_p99_ms"),
        ("busiest engine / mean", "{:.2f}", "max_over_mean"),
        ("requests", "{}", "requests"),
        ("generator late, p99", "{:.0f} ms", "lag_p99_ms"),
    )
    for name, form, attribute in rows:
        table.add_row(
            name,
            form.format(getattr(result.flat, attribute)),
            form.format(getattr(result.planned, attribute)),
        )
    return table


def _verdict(result: Result) -> list[str]:
    setup = result.setup
    kill = (
        f"one engine killed with SIGKILL: {result.failed_requests} failed requests, {result.cut_streams} streams that it "
        f"had begun were cut, {result.keys_moved} keys moved (it had {result.keys_of_killed})"
    )
    why = (
        f"{setup['tenants']} tenants need {setup['blocksNeeded']} KV blocks, one engine keeps {setup['cacheBlocks']}: "
        "flat routing cannot keep them warm everywhere, a plan needs to keep each in one place"
    )
    lines = [
        kill,
        why,
        f"{result.seconds:.0f} s; planned routing is {result.points:+.1f} points of served token hit",
    ]
    lines += [f"[red]failed: {complaint}[/red]" for complaint in result.complaints]
    return lines

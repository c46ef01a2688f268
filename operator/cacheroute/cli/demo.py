"""`cacheroute demo`."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol, TypeVar

import orjson
import typer
import uvloop

from cacheroute.cli.errors import FAILURE, USAGE, fail
from cacheroute.cli.running import INTERRUPTED, interruptible

if TYPE_CHECKING:
    from cacheroute.demo.scenario import DemoOptions
    from cacheroute.demo.view import View

PLAIN_SECONDS, DRIFT_SECONDS, DRIFT_INTERVAL = 30.0, 100.0, 10
"""Defaults: measured seconds, and the control interval with --drift."""


class Outcome(Protocol):
    """What a demonstration found."""

    @property
    def good(self) -> bool:
        """Whether it is what was wanted."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON types."""


Played = TypeVar("Played", bound=Outcome)


def demo(
    engines: Annotated[int, typer.Option(min=2, max=64, help="Simulated vLLM engines.")] = 6,
    tenants: Annotated[
        int, typer.Option(min=10, max=9999, help="Tenants; each has a prompt prefix of its own.")
    ] = 900,
    rate: Annotated[float, typer.Option(min=1, max=2000, help="Requests/s of all tenants together.")] = 64.0,
    seconds: Annotated[
        float | None,
        typer.Option(min=5, max=600, help="Measured seconds of each arm; default 30, with --drift 100."),
    ] = None,
    warmup: Annotated[
        float, typer.Option(min=5, max=600, help="Seconds before them that only warm the caches.")
    ] = 20.0,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of tenants, prompts and arrivals.")] = 1,
    drift: Annotated[
        bool, typer.Option("--drift", help="Compare the policies Paper and Stable while rates drift.")
    ] = False,
    interval: Annotated[
        int | None,
        typer.Option(min=2, max=300, help="Control interval of --drift, seconds; default 10."),
    ] = None,
    output: Annotated[str, typer.Option("--output", "-o", help="table or json.")] = "table",
    keep: Annotated[bool, typer.Option(help="Keep the run's folder (logs, files, plan).")] = False,
) -> None:
    """Watch planned routing beat flat load balancing through a real Envoy, and survive a killed engine.

    Starts simulated vLLM engines, Envoy and standalone mode on loopback addresses of this run's own. Many tenants with
    very unequal rates send streamed chat completions on a fixed schedule, whatever became of the earlier ones:

    1. **flat**: every request to the less loaded of two random engines. The plan is made, but only reported.

    2. **planned**: the same requests, each tenant to the engine that the plan gives it.

    3. **killed**: one engine gets SIGKILL under load; its tenants go to their standbys, and come back with it.

    With --drift it compares two planners instead, each on a fleet of its own, with the same requests of tenants whose
    rates walk at random: **Paper** plans from scratch each interval, **Stable** from the plan in force.

    It takes a bit over 2 minutes, with --drift under 5, and needs Linux, two cores and about 1 GB. Envoy is fetched
    once where there is none. With -o json the result goes to standard output and progress to standard error. The run's
    folder is kept, and named, when something went wrong.

    Exit code: 0 if planned wins by at least 15 points of served token hit (with --drift: Stable by at least 5) and no
    request failed, else 1; 2 for a wrong option; 130 after Ctrl-C. A stream that the killed engine had begun to answer
    cannot be saved and is counted apart.
    """
    from cacheroute.demo.scenario import DemoOptions

    if output not in ("table", "json"):
        fail(f"--output {output!r}: choose table or json", USAGE)
    if interval is not None and not drift:
        fail(f"--interval {interval}: is for --drift; add --drift or leave it out", USAGE)
    options = DemoOptions(
        engines=engines,
        tenants=tenants,
        rate=rate,
        seconds=seconds or (DRIFT_SECONDS if drift else PLAIN_SECONDS),
        warmup_seconds=warmup,
        seed=seed,
    )
    if drift:
        _drift(options, interval or DRIFT_INTERVAL, output, keep=keep)
    _plain(options, output, keep=keep)


def _plain(options: "DemoOptions", output: str, *, keep: bool) -> NoReturn:
    from cacheroute.demo.run import run
    from cacheroute.demo.view import View, summary, verdict

    view = View(quiet=output == "json")
    result = _played(lambda folder: run(options, view, folder), view, keep=keep)
    _told(result, output, lambda: view.conclude(summary(result), verdict(result)))


def _drift(demo: "DemoOptions", interval: int, output: str, *, keep: bool) -> NoReturn:
    from cacheroute.demo.drift_run import DriftOptions, run_drift
    from cacheroute.demo.drift_view import summary, verdict
    from cacheroute.demo.view import View

    for name, value in (("--seconds", demo.seconds), ("--warmup", demo.warmup_seconds)):
        if value % interval:
            fail(f"{name} {value:g}: use a multiple of --interval {interval}", USAGE)
    view = View(quiet=output == "json")
    result = _played(lambda folder: run_drift(DriftOptions(demo, interval), view, folder), view, keep=keep)
    _told(result, output, lambda: view.conclude(summary(result), verdict(result)))


def _told(result: Outcome, output: str, conclude: Callable[[], None]) -> NoReturn:
    if output == "json":
        sys.stdout.write(orjson.dumps(result.document(), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        conclude()
    raise typer.Exit(0 if result.good else FAILURE)


def _played(play: Callable[[Path], Coroutine[None, None, Played]], view: "View", *, keep: bool) -> Played:
    """Run the demonstration in a folder of its own, which is kept when something went wrong."""
    from cacheroute.demo.errors import DemoError
    from cacheroute.proxy.envoy_binary import find_or_fetch
    from cacheroute.proxy.errors import GatewayError

    try:
        find_or_fetch(None, os.environ, view.say)
    except (GatewayError, OSError) as error:
        fail(f"no Envoy: {error}; $CACHEROUTE_ENVOY names one", FAILURE)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    folder = Path(tempfile.mkdtemp(prefix="cacheroute-demo-"))
    kept = True
    try:
        result = uvloop.run(interruptible(play(folder)))
        kept = keep or not result.good
    except DemoError as error:
        fail(str(error), FAILURE)
    except (asyncio.CancelledError, KeyboardInterrupt):
        kept = keep
        raise SystemExit(INTERRUPTED) from None
    finally:
        if kept:
            view.say(f"logs and files are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return result

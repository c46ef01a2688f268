"""`cacheroute demo`."""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer
import uvloop

from cacheroute.cli.errors import FAILURE, USAGE, fail
from cacheroute.cli.running import INTERRUPTED, interruptible

if TYPE_CHECKING:
    from cacheroute.demo.result import Result
    from cacheroute.demo.scenario import DemoOptions
    from cacheroute.demo.view import View


def demo(
    engines: Annotated[int, typer.Option(min=2, max=64, help="Simulated vLLM engines.")] = 6,
    tenants: Annotated[
        int, typer.Option(min=10, max=9999, help="Tenants; each has a prompt prefix of its own.")
    ] = 900,
    rate: Annotated[float, typer.Option(min=1, max=2000, help="Requests/s of all tenants together.")] = 64.0,
    seconds: Annotated[float, typer.Option(min=5, max=600, help="Measured seconds of each arm.")] = 30.0,
    warmup: Annotated[
        float, typer.Option(min=5, max=600, help="Seconds before them that only warm the caches.")
    ] = 20.0,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Of tenants, prompts and arrivals.")] = 1,
    output: Annotated[str, typer.Option("--output", "-o", help="table or json.")] = "table",
    keep: Annotated[bool, typer.Option(help="Keep the run's folder (logs, files, plan).")] = False,
) -> None:
    """Watch planned routing beat flat load balancing through a real Envoy, and survive a killed engine.

    Starts simulated vLLM engines, Envoy and standalone mode on loopback addresses of this run's own. Many tenants with
    very unequal rates send streamed chat completions on a fixed schedule, whatever became of the earlier ones:

    1. **flat**: every request to the less loaded of two random engines. The plan is made, but only reported.

    2. **planned**: the same requests, each tenant to the engine that the plan gives it.

    3. **killed**: one engine gets SIGKILL under load; its tenants go to their standbys, and come back with it.

    It takes a bit over 2 minutes and needs Linux, two cores and about 1 GB. Envoy is fetched once where there is none.
    With -o json the result goes to standard output and progress to standard error. The run's folder is kept, and
    named, when something went wrong.

    Exit code: 0 if planned wins by at least 15 points of served token hit and no request failed, else 1; 2 for a wrong
    option; 130 after Ctrl-C. A stream that the killed engine had begun to answer cannot be saved and is counted apart.
    """
    from cacheroute.demo.scenario import DemoOptions
    from cacheroute.demo.view import View

    if output not in ("table", "json"):
        fail(f"--output {output!r}: choose table or json", USAGE)
    view = View(quiet=output == "json")
    options = DemoOptions(
        engines=engines, tenants=tenants, rate=rate, seconds=seconds, warmup_seconds=warmup, seed=seed
    )
    result = _played(options, view, keep=keep)
    if output == "json":
        sys.stdout.write(orjson.dumps(result.document(), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        view.summary(result)
    raise typer.Exit(0 if result.good else FAILURE)


def _played(options: "DemoOptions", view: "View", *, keep: bool) -> "Result":
    """Run the demonstration in a folder of its own, which is kept when something went wrong."""
    from cacheroute.demo.errors import DemoError
    from cacheroute.demo.run import run
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
        result = uvloop.run(interruptible(run(options, view, folder)))
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

"""`cacheroute demo`."""

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import orjson
import typer
import uvloop

from cacheroute.cli.errors import FAILURE, USAGE, fail
from cacheroute.cli.running import interruptible


def demo(
    engines: Annotated[int, typer.Option(min=2, max=64, help="Simulated vLLM engines.")] = 6,
    tenants: Annotated[
        int, typer.Option(min=10, max=20_000, help="Tenants; each has a prompt prefix of its own.")
    ] = 600,
    rate: Annotated[float, typer.Option(min=1, max=2000, help="Requests/s of all tenants together.")] = 48.0,
    seconds: Annotated[float, typer.Option(min=5, max=600, help="Measured seconds of each arm.")] = 30.0,
    seed: Annotated[int, typer.Option(min=0, help="Of tenants, prompts and arrivals.")] = 1,
    output: Annotated[str, typer.Option("--output", "-o", help="table or json.")] = "table",
    keep: Annotated[bool, typer.Option(help="Keep the run's folder (logs, files, plan).")] = False,
) -> None:
    """Watch planned routing beat flat load balancing through a real Envoy, and survive a killed engine.

    Starts simulated engines, Envoy and standalone mode on loopback addresses of this run's own, sends the same requests
    first flat, then planned, kills an engine with SIGKILL under load and brings it back. Takes about 2 minutes.
    Exit code: 0 if planned wins by at least 15 points of served token hit and no request failed, else 1.
    """
    from cacheroute.demo.errors import DemoError
    from cacheroute.demo.run import Demo, DemoOptions
    from cacheroute.demo.view import View
    from cacheroute.proxy.envoy_binary import find_or_fetch
    from cacheroute.proxy.errors import GatewayError

    if output not in ("table", "json"):
        fail(f"--output {output!r}: choose table or json", USAGE)
    view = View(quiet=output == "json")
    folder = Path(tempfile.mkdtemp(prefix="cacheroute-demo-"))
    options = DemoOptions(engines=engines, tenants=tenants, rate=rate, seconds=seconds, seed=seed)
    kept = keep
    try:
        find_or_fetch(None, os.environ, view.say)
        result = uvloop.run(interruptible(Demo(options, view, folder).run()))
        kept = kept or not result.good
    except (DemoError, GatewayError) as error:
        kept = True
        fail(str(error), FAILURE)
    except asyncio.CancelledError:
        raise SystemExit(130) from None
    finally:
        if kept:
            view.say(f"logs and files are in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if output == "json":
        sys.stdout.write(orjson.dumps(result.document(), option=orjson.OPT_INDENT_2).decode() + "\n")
    else:
        view.summary(result)
    raise typer.Exit(0 if result.good else FAILURE)

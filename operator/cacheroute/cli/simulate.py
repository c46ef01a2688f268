"""`cacheroute simulate`."""

from typing import TYPE_CHECKING, Annotated

import typer

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.output import Format, Output, note, write
from cacheroute.cli.simulation_options import (
    BackendName,
    Cluster,
    Destinations,
    Engine,
    Jobs,
    KvTokens,
    Objective,
    finite,
    read,
    workers,
)
from cacheroute.cli.trace import Field, Form, complaints, fields_of

if TYPE_CHECKING:
    from cacheroute.simulation.experiments.cell import Outcome
    from cacheroute.simulation.fleet.state import Work
    from cacheroute.simulation.shadow.series import Series
    from cacheroute.simulation.traces.trace import Trace

_POLICIES = (
    "flat, sticky, chwbl, dualmap, preble, llmd, sglang, lmetric, cacheroute (the paper's planner), stable"
)


def simulate(
    trace: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A trace of requests; without it traffic is made up."),
    ] = None,
    form: Form = None,
    field: Field = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help=f"Give it several times: {_POLICIES}. Default: flat and stable."),
    ] = None,
    load: Annotated[
        list[float] | None,
        typer.Option(
            min=0.001,
            max=100_000,
            help="Offered requests/s, several times for a ladder; FILE is played faster or slower. Default: 30, 60, 100, "
            "160, 240; with FILE its own load.",
        ),
    ] = None,
    destinations: Destinations = 30,
    engine: Engine = "70b-fp8",
    kv_cache_tokens: KvTokens = None,
    slowdown: Annotated[
        float,
        typer.Option(
            min=0.1, max=1000, help="A token takes so many times as long to compute as measured on H100."
        ),
    ] = 1.0,
    objective: Objective = 3.5,
    keys: Annotated[int, typer.Option(min=1, max=128_824, help="Made-up traffic: tenants.")] = 128,
    seconds: Annotated[float, typer.Option(min=3, max=86_400, help="Made-up traffic: its length.")] = 60.0,
    arrivals: Annotated[
        str, typer.Option(help="Made-up traffic: poisson, gamma or bootstrap (both in bursts, CV 1.9).")
    ] = "poisson",
    drift: Annotated[
        float,
        typer.Option(
            min=0, max=5, help="Made-up traffic: sigma of the lognormal step that rates make each interval."
        ),
    ] = 0.0,
    template_tokens: Annotated[
        int, typer.Option(min=0, max=100_000, help="Start of the prompts that all requests share.")
    ] = 512,
    prefix_tokens: Annotated[
        int, typer.Option(min=0, max=100_000, help="Then what the requests of one key share.")
    ] = 320,
    document_tokens: Annotated[
        int, typer.Option(min=0, max=100_000, help="Then one of the key's documents; made-up traffic only.")
    ] = 304,
    documents: Annotated[int, typer.Option(min=1, max=10_000, help="How many documents a key has.")] = 8,
    turn_tokens: Annotated[
        int, typer.Option(min=1, max=100_000, help="Then what is new in every request.")
    ] = 64,
    output_tokens: Annotated[int, typer.Option(min=1, max=10_000, help="Mean length of answers.")] = 128,
    capacity: Annotated[
        float, typer.Option(min=1e-6, max=1e6, help="Planner: requests/s of one destination at its knee.")
    ] = 6.0,
    warm: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Planner: prefixes that one destination keeps warm.")
    ] = 32,
    interval: Annotated[int, typer.Option(min=1, max=3600, help="Planner: seconds between two plans.")] = 60,
    seeds: Annotated[int, typer.Option(min=1, max=20, help="Simulations of each load and policy.")] = 1,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="The first seed.")] = 0,
    limit: Annotated[int, typer.Option(min=2, max=5_000_000, help="Most requests of FILE.")] = 200_000,
    jobs: Jobs = -1,
    backend: BackendName = "loky",
    cluster: Cluster = None,
    output: Format = Output.TABLE,
) -> None:
    """Simulate policies on a fleet of engines: hit, time to the first token, imbalance, capacity at the objective.

    The requests are made up from the options, or read from FILE. Every policy gets the same requests; planned ones are
    planned again each interval, from the past only. The first third of the time fills caches and is not judged.

    Example: `cacheroute simulate --policy flat --policy preble --policy stable --load 100 --load 200 --load 400`

    Exit code: 0; 1 where the extra `simulation` is not installed; 2 where an option or the file cannot be used.
    """
    with complaints():
        from cacheroute.simulation.experiments.progress import progress_bar
        from cacheroute.simulation.experiments.sweep import sweep
        from cacheroute.simulation.experiments.traffic import Drift, Traffic
        from cacheroute.simulation.shadow.series import Series
        from cacheroute.simulation.workloads.arrivals import Arrivals
        from cacheroute.simulation.workloads.tenants import Prompts

        if arrivals not in set(Arrivals):
            fail(f"--arrivals {arrivals}: it is one of {', '.join(Arrivals)}", USAGE)
        for name, tokens in (
            ("template", template_tokens),
            ("prefix", prefix_tokens),
            ("document", document_tokens),
        ):
            if tokens % 16:
                fail(f"--{name}-tokens {tokens}: it must be a multiple of 16, the block of a KV cache", USAGE)
        who = workers(jobs, backend, cluster)
        prompts = Prompts(
            template_tokens, prefix_tokens, document_tokens, documents, turn_tokens, output_tokens
        )
        moving = Drift(drift, float(interval)) if drift else None
        traffic = Traffic(keys, 1.0, seconds, prompts, Arrivals(arrivals), drift=moving)
        series = Series(
            policies=tuple(dict.fromkeys(policy or ("flat", "stable"))),
            loads=tuple(sorted(set(load or ()))),
            seeds=tuple(range(seed, seed + seeds)),
            destinations=destinations,
            engine=engine,
            kv_tokens=kv_cache_tokens,
            slowdown=slowdown,
            objective=objective,
            capacity=capacity,
            warm=warm,
            interval_seconds=float(interval),
        )
        source = (
            traffic
            if trace is None
            else _work(
                read(trace, form, fields_of(field or []), limit), series, (template_tokens, prefix_tokens)
            )
        )
        series, cells = series.cells(source)
        with progress_bar("simulating") as tell:
            outcomes = [ran.outcome for ran in sweep(cells, who, tell)]
    _print(series, outcomes, output)


def _work(trace: "Trace", series: "Series", shared: tuple[int, int]) -> "Work":
    from cacheroute.simulation.traces.blocks import Sharing, prepare

    if trace.blocks is None:
        note(
            f"the trace does not say what prompts have in common: --template-tokens {shared[0]} and --prefix-tokens "
            f"{shared[1]} are taken for it"
        )
    return prepare(trace, Sharing(*shared), series.tokens).work


def _print(series: "Series", outcomes: list["Outcome"], output: Output) -> None:
    found = series.document(outcomes)
    if output is not Output.TABLE:
        write(finite(found), output)
        return
    from cacheroute.cli.replay_tables import show_simulation

    show_simulation(found)

"""`cacheroute replay`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.eviction import replay_evictions
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
    write_whole,
)
from cacheroute.cli.trace import Field, Form, complaints, fields_of

if TYPE_CHECKING:
    from cacheroute.simulation.shadow.replay import Answer
    from cacheroute.simulation.traces.blocks import Prepared


def replay(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Your traffic: an access log or another trace of requests.")
    ],
    destinations: Destinations,
    engine: Engine = "70b-fp8",
    form: Form = None,
    field: Field = None,
    policy: Annotated[
        str,
        typer.Option(
            help="What flat routing is compared with: stable (the operator's default), cacheroute (the paper's "
            "planner), or a router without plans: sticky, chwbl, dualmap, preble, llmd, sglang, lmetric."
        ),
    ] = "stable",
    objective: Objective = 3.5,
    template_tokens: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Tokens at the start of every prompt that all requests share, such as one system prompt. Only used "
            "where FILE does not say what prompts consist of.",
        ),
    ] = 0,
    prefix_tokens: Annotated[
        int,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Tokens after them that the requests of one key share, such as a tenant's instructions.",
        ),
    ] = 0,
    capacity: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            max=1e6,
            help="Requests/s of one destination at its latency knee, for the planner; default: what one holds with flat "
            "routing in the simulation.",
        ),
    ] = None,
    warm: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=1_000_000,
            help="Prefixes that one destination keeps warm; default: half of its KV cache over the mean prompt.",
        ),
    ] = None,
    interval: Annotated[
        int, typer.Option(min=1, max=3600, help="Seconds between two plans, each from the past only.")
    ] = 60,
    window: Annotated[
        int, typer.Option(min=1, max=86_400, help="Seconds over which rates are measured.")
    ] = 300,
    kv_cache_tokens: KvTokens = None,
    limit: Annotated[
        int, typer.Option(min=2, max=5_000_000, help="Most requests that are replayed, the first ones.")
    ] = 200_000,
    seeds: Annotated[
        int,
        typer.Option(
            min=2, max=10, help="Each searches for the capacity by itself; more, narrower intervals."
        ),
    ] = 3,
    eviction: Annotated[
        list[str] | None,
        typer.Option(
            help="Replay no fleet but one cache, as large as the KV caches of 1, 2, 4 … destinations, that evicts by: fifo, "
            "lru, arc, s3-fifo, gdsf, lhd, sieve, belady (knows the future). Several times, or `all`. Of the other options it uses --engine, --kv-cache-tokens, --limit and how FILE is read."
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a report with plots to this file.")] = None,
    jobs: Jobs = -1,
    backend: BackendName = "loky",
    cluster: Cluster = None,
    output: Format = Output.TABLE,
) -> None:
    """Tell what a plan would do to your own traffic: flat against planned routing on a simulated fleet.

    FILE is replayed twice on the same simulated vLLM engines. You get the served token hit, the time to the first token,
    the load that the fleet holds at the objective, the GPUs that today's load needs, the keys that gain most, and in
    one sentence whether affinity is worth it, with its uncertainty. Nothing is sent anywhere.

    Where FILE does not say what prompts consist of, the turns of a session extend each other, and --template-tokens and
    --prefix-tokens say what else is shared. Without both, and without sessions, nothing can be found in a cache.

    Example: `cacheroute replay access.jsonl --destinations 30 --engine 70b-fp8 --prefix-tokens 600 --html report.html`

    Does another eviction find more? `cacheroute replay access.jsonl --destinations 30 --eviction all`

    Exit code: 0; 1 where the extra `simulation` is not installed; 2 where an option or the file cannot be used.
    """
    if window < interval:
        fail(
            f"--window {window} is shorter than --interval {interval}: a plan needs the rates since the last",
            USAGE,
        )
    if html is not None and not html.parent.is_dir():
        fail(f"{html}: cannot be written: there is no directory {html.parent}", USAGE)
    if eviction:
        if html is not None or template_tokens or prefix_tokens:
            fail(
                "--eviction goes without --html, --template-tokens and --prefix-tokens: it makes a table only, of sessions or blocks",
                USAGE,
            )
        source = (file, form, fields_of(field or []), limit)
        replay_evictions(source, (destinations, engine, kv_cache_tokens), eviction, jobs, output)
        return
    with complaints():
        from cacheroute.simulation.experiments.policies import named
        from cacheroute.simulation.experiments.progress import progress_bar
        from cacheroute.simulation.shadow.cautions import cautions
        from cacheroute.simulation.shadow.replay import Question, ask
        from cacheroute.simulation.traces.blocks import Sharing, prepare

        who = workers(jobs, backend, cluster)
        named(policy)
        question = Question(
            destinations, engine, policy, objective, capacity, warm, interval, window, kv_cache_tokens, seeds
        )
        trace = read(file, form, fields_of(field or []), limit)
        sharing = Sharing(template_tokens, prefix_tokens)
        prepared = prepare(trace, sharing, question.tokens)
        with progress_bar("replaying") as tell:
            answer = ask(question, prepared.work, who, tell)
        told = cautions(trace, sharing, answer)
    if html is not None:
        from cacheroute.simulation.shadow.page import page

        write_whole(html, page(answer, prepared.keys, prepared.left_out, Path(file).name, told))
        note(f"the report is in {html}")
    _print(answer, prepared, told, output)


def _print(answer: "Answer", prepared: "Prepared", told: tuple[str, ...], output: Output) -> None:
    from cacheroute.simulation.shadow.verdict import document, verdict

    found = document(answer, prepared.keys, prepared.left_out, told)
    if output is not Output.TABLE:
        write(finite(found), output)
        return
    from cacheroute.cli.replay_tables import show_replay

    show_replay(found, verdict(answer))

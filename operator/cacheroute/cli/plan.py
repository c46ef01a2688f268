"""`cacheroute plan`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cacheroute.cli.errors import USAGE, fail
from cacheroute.cli.output import Format, Output, note, progress, write
from cacheroute.cli.table_format import TableFormat
from cacheroute.domain.spec import Balance, PolicyName
from cacheroute.planning.options import AdmissionRule

if TYPE_CHECKING:
    from cacheroute.cli.plan_inputs import PlanInputs
    from cacheroute.cli.rates_file import RatesFile
    from cacheroute.domain.plan import Plan

_MAX_RATE = 1e6
_STABLE = "Policy Stable. "


def plan(
    rates: Annotated[
        str, typer.Argument(metavar="RATES", help="CSV or Parquet file; - reads CSV from standard input.")
    ],
    form: Annotated[
        TableFormat | None,
        typer.Option("--format", case_sensitive=False, help="Of RATES; default: by the end of its name."),
    ] = None,
    destinations: Annotated[
        int | None, typer.Option(min=1, max=4096, help="How many destinations there are, all alike.")
    ] = None,
    capacity: Annotated[
        float | None,
        typer.Option(
            min=1e-6, max=_MAX_RATE, help="Requests/s of one destination at its latency knee, such as 2.5."
        ),
    ] = None,
    warm: Annotated[
        int | None,
        typer.Option(min=0, max=1_000_000, help="Prefixes that one destination keeps warm, such as 128."),
    ] = None,
    kv_cache_tokens: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000_000, help="KV cache of one destination, for --admission Bytes."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            help="YAML file with a RoutingPlan: pools, planning, overrides; its mode is not used.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Which RoutingPlan of the file, where it has several.")
    ] = None,
    destinations_file: Annotated[
        Path | None,
        typer.Option(help="YAML file: 'destinations: [{name, address, port, pool}]', as for standalone."),
    ] = None,
    policy: Annotated[
        PolicyName | None,
        typer.Option(
            case_sensitive=False, help="Stable: from the plan before, with few moves. Paper: from scratch."
        ),
    ] = None,
    max_imbalance: Annotated[
        int | None,
        typer.Option(min=1, max=100, help=f"{_STABLE}How far above the mean a load may be, percent."),
    ] = None,
    rewarm_budget: Annotated[
        int | None, typer.Option(min=0, max=100, help=f"{_STABLE}Share of the rate that may move, percent.")
    ] = None,
    hysteresis: Annotated[
        int | None,
        typer.Option(min=0, max=90, help=f"{_STABLE}Advantage of keys that have warm slots, percent."),
    ] = None,
    admission: Annotated[
        AdmissionRule | None,
        typer.Option(
            case_sensitive=False,
            help=f"{_STABLE}What warm slots are given for: the highest rates, or prefill saved per byte.",
        ),
    ] = None,
    balance: Annotated[
        Balance | None,
        typer.Option(
            case_sensitive=False, help=f"{_STABLE}What is spread evenly: requests or prompt tokens."
        ),
    ] = None,
    interval: Annotated[
        int | None, typer.Option(min=1, max=3600, help="Control interval, seconds, in which moves must pay.")
    ] = None,
    previous: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN",
            help="Plan in force to start from, as the next interval would. A destination of it that is not there any "
            "more is gone for good.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the plan to this file; gzipped where the name ends in .gz.")
    ] = None,
    output: Format = Output.TABLE,
) -> None:
    """Make one plan from a file of rates, with the planner of the operator.

    RATES has a column **key** and either

    1. **rate**, requests/s, one row for each key; an empty key stands for requests without one; or

    2. **time**, seconds, one row for each request. Then the predicted hits are also checked on the second half of these
    arrivals.

    A column **prompt_tokens** is used where it is there: tokens/s of the key with rate, tokens of the request with time.
    Further columns are not looked at.

    The fleet is --destinations N with --capacity and --warm, or -f with --destinations-file, or that of --previous.
    A plan that --save wrote, that standalone mode keeps, or that `kubectl cacheroute plan NAME -o json` prints can be
    given to --previous, `cacheroute diff` and `cacheroute explain`. Options given win over the file's spec.

    Example: `cacheroute plan rates.csv --destinations 30 --capacity 2.5 --warm 128 --save plan.json.gz`

    Exit code: 0; 2 where an option or a file cannot be used.
    """
    from cacheroute.cli.plan_inputs import FleetOptions, plan_inputs
    from cacheroute.controllers.file_world import InputFileError
    from cacheroute.planning.errors import PlanningInputError

    given: dict[str, Any] = {
        "policy": policy,
        "max_imbalance_percent": max_imbalance,
        "rewarm_budget_percent": rewarm_budget,
        "hysteresis_percent": hysteresis,
        "admission": admission,
        "balance": balance,
        "interval_seconds": interval,
    }
    if name is not None and file is None:
        fail("--name says which RoutingPlan of a file; give the file by -f", USAGE)
    options = FleetOptions(destinations, destinations_file, capacity, warm, kv_cache_tokens)
    try:
        before = _previous(previous)
        inputs = plan_inputs(
            (file, name) if file else None,
            options,
            {field: value for field, value in given.items() if value is not None},
            before,
        )
        measured = _measured(rates, form, inputs)
        made = _made(inputs, before, measured)
        _save(made, save)
        _print(made, inputs, measured, output)
    except (InputFileError, PlanningInputError) as error:
        fail(str(error), USAGE)


def _previous(path: str | None) -> "Plan | None":
    from cacheroute.cli.plan_file import read_plan_file

    if path is None:
        return None
    with progress(f"reading {path}"):
        return read_plan_file(path)


def _measured(path: str, form: TableFormat | None, inputs: "PlanInputs") -> "RatesFile":
    from cacheroute.cli.rates_file import read_rates
    from cacheroute.controllers.file_world import InputFileError

    with progress(f"reading {path}"):
        measured = read_rates(path, form, max_key_length=inputs.spec.max_key_length, now=time.time())
    if inputs.spec.needs_tokens and measured.rates.prompt_tokens is None:
        raise InputFileError(f"{path}: --balance Tokens and --admission Bytes need a column prompt_tokens")
    if measured.refused:
        note(measured.refused)
    return measured


def _made(inputs: "PlanInputs", before: "Plan | None", measured: "RatesFile") -> "Plan":
    from cacheroute.controllers.file_world import InputFileError
    from cacheroute.domain.interval import next_plan

    keys, size = len(measured.rates.keys), len(inputs.fleet.destinations)
    with progress(f"planning {keys:,} keys on {size:,} destinations"):
        made = next_plan(inputs.spec, before, inputs.fleet, measured.rates, measured.rates.time)
    if made is None:
        raise InputFileError("there is no destination to plan on")
    return made


def _print(made: "Plan", inputs: "PlanInputs", measured: "RatesFile", output: Output) -> None:
    from cacheroute.cli.observed import observed
    from cacheroute.cli.plan_tables import show_plan
    from cacheroute.domain.plan_document import to_document

    if output is not Output.TABLE:
        write(to_document(made), output)
        return
    arrivals = measured.arrivals
    seen = observed(arrivals, made, inputs.spec, measured.rates) if arrivals else None
    show_plan(made, inputs.spec, seen)


def _save(made: "Plan", path: Path | None) -> None:
    from cacheroute.cli.plan_file import save_plan

    if path is not None:
        save_plan(path, made)
        note(f"plan {made.version} is in {path}")

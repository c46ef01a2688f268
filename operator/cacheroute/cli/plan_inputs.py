"""What `cacheroute plan` plans for and on: a RoutingPlan and its destinations, from options or from files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cacheroute.controllers.file_world import (
    DestinationEntry,
    InputFileError,
    read_destinations,
    read_plans,
)
from cacheroute.domain.fleet import Destination, Fleet, Pool
from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef, PlanSpec
from cacheroute.planning.options import AdmissionRule

POOL = "default"


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """What options say of the fleet; None is not given.

    Attributes:
        count: number of destinations.
        file: destinations.yaml.
        capacity: requests/s of one destination.
        warm: warm slots of one destination.
        kv_cache_tokens: KV cache of one destination, tokens.
    """

    count: int | None = None
    file: Path | None = None
    capacity: float | None = None
    warm: int | None = None
    kv_cache_tokens: int | None = None

    @property
    def changes(self) -> Mapping[str, Any]:
        """What is given of a pool's capacity, by the names of Pool."""
        given = {
            "requests_per_second": self.capacity,
            "warm_prefixes": self.warm,
            "kv_cache_tokens": self.kv_cache_tokens,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """What to plan for and on."""

    spec: PlanSpec
    fleet: Fleet


def plan_inputs(
    file: tuple[Path, str | None] | None,
    options: FleetOptions,
    planning: Mapping[str, Any],
    previous: Plan | None,
) -> PlanInputs:
    """Put together the spec and the fleet; a destination of ``previous`` that is not in it is gone for good.

    Args:
        file: RoutingPlans as YAML, and which of them; None to go by options alone.
        options: of the fleet.
        planning: fields of PlanningSpec that options give.
        previous: the plan in force.

    Raises:
        InputFileError: a file cannot be used, or something is missing; the message names the option.
    """
    if options.count is not None and options.file is not None:
        raise InputFileError("--destinations and --destinations-file exclude each other")
    entries = read_destinations(options.file) if options.file else ()
    names = _pool_names(entries, previous)
    spec = _from_file(*file, options) if file else _from_options(names, options, previous)
    spec = replace(
        spec,
        planning=replace(spec.planning, **planning),
        failover=replace(spec.failover, replacement_grace_seconds=0),
    )
    _check_bytes(spec)
    return PlanInputs(spec, _fleet(spec, entries, options, previous))


def _pool_names(entries: Iterable[DestinationEntry], previous: Plan | None) -> tuple[str, ...]:
    named = {entry.pool for entry in entries}
    if not named and previous is not None:
        named = {seat.pool for seat in previous.seats}
    return tuple(sorted(named)) or (POOL,)


def _from_options(pools: tuple[str, ...], options: FleetOptions, previous: Plan | None) -> PlanSpec:
    known = previous.basis.pools if previous else ()
    if set(pools) <= {pool.name for pool in known} and not options.changes:
        return _spec(known)
    if len(pools) > 1:
        raise InputFileError(f"there are {len(pools)} pools, {', '.join(pools)}: give their capacities by -f")
    if options.capacity is None or options.warm is None:
        raise InputFileError(
            "--capacity and --warm are needed: requests/s of one destination at its latency knee, and prefixes that "
            "it keeps warm; or give a RoutingPlan by -f"
        )
    return _spec((Pool(pools[0], options.capacity, options.warm, options.kv_cache_tokens),))


def _spec(pools: tuple[Pool, ...]) -> PlanSpec:
    return PlanSpec(
        ref=PlanRef("default", "plan"),
        generation=1,
        created=0.0,
        gateway="default",
        models=("*",),
        pools=pools,
        key_sources=(KeySource(KeySourceKind.HEADER, "x-tenant-id"),),
    )


def _from_file(path: Path, name: str | None, options: FleetOptions) -> PlanSpec:
    specs = [spec for ref, spec in read_plans(path).items() if name in (None, ref.name)]
    if len(specs) != 1:
        known = ", ".join(ref.name for ref in read_plans(path))
        raise InputFileError(f"{path}: has RoutingPlans {known}: choose one of them by --name")
    spec = specs[0]
    if not options.changes:
        return spec
    if len(spec.pools) > 1:
        raise InputFileError(f"{path}: has {len(spec.pools)} pools; change their capacities in the file")
    return replace(spec, pools=(replace(spec.pools[0], **options.changes),))


def _check_bytes(spec: PlanSpec) -> None:
    unknown = [pool.name for pool in spec.pools if pool.kv_cache_tokens is None]
    if spec.planning.admission is AdmissionRule.BYTES and unknown:
        raise InputFileError(
            "--admission Bytes needs --kv-cache-tokens, or capacity.kvCacheTokens in every pool"
        )


def _fleet(
    spec: PlanSpec, entries: tuple[DestinationEntry, ...], options: FleetOptions, previous: Plan | None
) -> Fleet:
    if entries:
        return _on_pools(spec, [(entry.name, entry.pool) for entry in entries], str(options.file))
    if options.count is not None:
        return _numbered(spec, options.count)
    if previous is None:
        raise InputFileError(
            "--destinations is needed: how many there are; or list them by --destinations-file"
        )
    seated = [(seat.destination, seat.pool) for seat in previous.seats if seat.destination is not None]
    return _on_pools(spec, seated, "the previous plan")


def _on_pools(spec: PlanSpec, members: list[tuple[str, str]], whence: str) -> Fleet:
    pools = {pool.name for pool in spec.pools}
    stray = next(((name, pool) for name, pool in members if pool not in pools), None)
    if stray is not None:
        known = ", ".join(sorted(pools))
        raise InputFileError(
            f"{whence}: destination {stray[0]!r}: pool {stray[1]!r} is not one of the plan's: {known}"
        )
    return _of(members)


def _numbered(spec: PlanSpec, count: int) -> Fleet:
    """Numbers have as many digits as the largest fleet needs, so that a further destination renames no other."""
    if len(spec.pools) > 1:
        names = ", ".join(pool.name for pool in spec.pools)
        raise InputFileError(
            f"--destinations {count}: there are pools {names}: list them by --destinations-file"
        )
    return _of((f"destination-{number:04d}", spec.pools[0].name) for number in range(count))


def _of(members: Iterable[tuple[str, str]]) -> Fleet:
    return Fleet(
        tuple(Destination(name=name, address="0.0.0.0", port=0, pool=pool) for name, pool in sorted(members))
    )

"""RoutingPlans and destinations from YAML files that are watched; destinations are probed at /health."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog
import yaml
from pydantic import BaseModel, ConfigDict, Field, IPvAnyAddress, ValidationError

from cacheroute.domain.fleet import Destination, DestinationState, Fleet
from cacheroute.domain.spec import InvalidSpec, PlanRef, PlanSpec
from cacheroute.kube.convert import to_spec
from cacheroute.kube.errors import InvalidRoutingPlanError

POLL_SECONDS = 0.5

_log = structlog.get_logger(__name__)


class InputFileError(ValueError):
    """An input file cannot be used: file, row where known, and what to do."""


class DestinationEntry(BaseModel):
    """One model server in destinations.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=253)
    address: IPvAnyAddress
    port: int = Field(default=8000, ge=1, le=65535)
    pool: str


class DestinationFile(BaseModel):
    """The content of destinations.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    destinations: tuple[DestinationEntry, ...] = Field(max_length=4096)


def read_plans(path: Path) -> dict[PlanRef, PlanSpec]:
    """Read every RoutingPlan of a YAML file.

    Raises:
        InputFileError: the file, one document or one field cannot be used.
    """
    specs: dict[PlanRef, PlanSpec] = {}
    for number, document in enumerate(_documents(path), start=1):
        try:
            spec = to_spec(document)
        except InvalidRoutingPlanError as error:
            raise InputFileError(f"{path}: document {number}: {error}") from error
        if spec.ref in specs:
            raise InputFileError(f"{path}: document {number}: RoutingPlan {spec.ref} stands there twice")
        specs[spec.ref] = spec
    if not specs:
        raise InputFileError(f"{path}: has no RoutingPlan; see `cacheroute standalone --help` for an example")
    return specs


def read_destinations(path: Path) -> tuple[DestinationEntry, ...]:
    """Read destinations.yaml.

    Raises:
        InputFileError: the file or one field cannot be used.
    """
    documents = _documents(path)
    try:
        entries = DestinationFile.model_validate(documents[0] if documents else None).destinations
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "document"
        raise InputFileError(f"{path}: {field}: {first['msg']}") from error
    names = [entry.name for entry in entries]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputFileError(f"{path}: destination {twice!r} stands there twice; names are unique")
    return entries


def _documents(path: Path) -> list[Any]:
    try:
        return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one is not None]
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputFileError(f"{path}: is not UTF-8 text: byte {error.start}") from error
    except yaml.MarkedYAMLError as error:
        row = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputFileError(f"{path}:{row}: is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InputFileError(f"{path}: is not YAML: {error}") from error


class FileWorld:
    """What the files say and the probes see. A file that becomes unusable leaves its last good content in force."""

    def __init__(self, plans: Path, destinations: Path) -> None:
        self._plans_file, self._destinations_file = plans, destinations
        self._specs = read_plans(plans)
        self._entries = read_destinations(destinations)
        self._complaint: str | None = None
        self._stamps = self._stat()
        self._states: dict[str, DestinationState] = {}

    @property
    def entries(self) -> tuple[DestinationEntry, ...]:
        """The destinations that the file lists."""
        return self._entries

    def specs(self) -> Mapping[PlanRef, PlanSpec]:
        """Return the RoutingPlans of the last good file."""
        return self._specs

    def invalid(self) -> Mapping[PlanRef, InvalidSpec]:
        """Return every plan while its file is unusable."""
        if self._complaint is None:
            return {}
        return {ref: InvalidSpec(spec.generation, self._complaint) for ref, spec in self._specs.items()}

    def fleet(self, spec: PlanSpec) -> Fleet:
        """Return the destinations on the plan's pools; those never seen healthy are lost."""
        pools = {pool.name for pool in spec.pools}
        listed = sorted(self._entries, key=lambda entry: entry.name)
        used = {entry.pool for entry in listed}
        return Fleet(
            destinations=tuple(
                Destination(
                    name=entry.name,
                    address=str(entry.address),
                    port=entry.port,
                    pool=entry.pool,
                    state=self._states.get(entry.name, DestinationState.LOST),
                )
                for entry in listed
                if entry.pool in pools
            ),
            unpooled=tuple(entry.name for entry in listed if entry.pool not in pools),
            empty_pools=tuple(sorted(pools - used)),
        )

    def observe(self, name: str, state: DestinationState) -> bool:
        """Take what a probe saw; tells whether that is news."""
        news = self._states.get(name) is not state
        self._states[name] = state
        return news

    async def watch(self, changed: Callable[[], None]) -> None:
        """Read the files again whenever they change, until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            stamps = self._stat()
            if stamps != self._stamps:
                self._stamps = stamps
                self._read_again()
                changed()

    def _read_again(self) -> None:
        try:
            self._specs = _with_generations(read_plans(self._plans_file), self._specs)
            self._entries = read_destinations(self._destinations_file)
            self._complaint = None
        except InputFileError as error:
            self._complaint = str(error)
            _log.error("input file not used, the last good one stays in force", error=self._complaint)

    def _stat(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(path) for path in (self._plans_file, self._destinations_file))


def _with_generations(
    new: dict[PlanRef, PlanSpec], old: Mapping[PlanRef, PlanSpec]
) -> dict[PlanRef, PlanSpec]:
    """Count a spec's generation up when it changes, as the API server does."""
    result = {}
    for ref, spec in new.items():
        former = old.get(ref)
        if former is None:
            result[ref] = spec
            continue
        same = replace(spec, generation=former.generation, created=former.created)
        result[ref] = former if same == former else replace(same, generation=former.generation + 1)
    return result


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino

"""RoutingPlans and destinations from YAML files that are watched; destinations are probed at /health."""

import asyncio
import re
from collections import Counter
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
from cacheroute.kube.names import API_VERSION, KIND

POLL_SECONDS = 0.5
MAX_FILE_BYTES = 4 * 1024 * 1024
"""4,096 destinations are about 0.4 MB."""
MAX_NAME_LENGTH = 128
"""A plan's file is called after its namespace and its name; both together must fit into a file name."""
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_NAME = re.compile(r"[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?")

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


_Server = tuple[str, str, int]
"""Name, address and port: what was probed is known of it whatever pool it is in."""


def _server(entry: DestinationEntry) -> _Server:
    return entry.name, str(entry.address), entry.port


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
        if not _names_a_file(spec.ref):
            raise InputFileError(
                f"{path}: document {number}: metadata: {str(spec.ref)!r} is no NAMESPACE/NAME of lower case letters, "
                f"digits and '-', at most 63/{MAX_NAME_LENGTH} of them"
            )
        if spec.ref in specs:
            raise InputFileError(f"{path}: document {number}: RoutingPlan {spec.ref} stands there twice")
        specs[spec.ref] = spec
    if not specs:
        raise InputFileError(
            f"{path}: has no RoutingPlan: a document with apiVersion {API_VERSION} and kind {KIND}"
        )
    return specs


def read_destinations(path: Path) -> tuple[DestinationEntry, ...]:
    """Read destinations.yaml.

    Raises:
        InputFileError: the file or one field cannot be used.
    """
    documents = _documents(path)
    if len(documents) > 1:
        raise InputFileError(f"{path}: has {len(documents)} documents; put all destinations into one")
    try:
        entries = DestinationFile.model_validate(documents[0] if documents else None).destinations
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "document"
        raise InputFileError(f"{path}: {field}: {first['msg']}") from error
    twice = next(
        (name for name, times in Counter(entry.name for entry in entries).items() if times > 1), None
    )
    if twice is not None:
        raise InputFileError(f"{path}: destination {twice!r} stands there twice; names are unique")
    return entries


def _names_a_file(ref: PlanRef) -> bool:
    good = _NAMESPACE.fullmatch(ref.namespace) and _NAME.fullmatch(ref.name)
    return bool(good) and len(ref.name) <= MAX_NAME_LENGTH


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InputFileError(f"{path}: is over {MAX_FILE_BYTES >> 20} MiB; is it the right file?")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputFileError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputFileError(f"{path}: is not UTF-8 text: byte {error.start}") from error


def _documents(path: Path) -> list[Any]:
    text = _text(path)
    try:
        return [one for one in yaml.safe_load_all(text) if one is not None]
    except yaml.MarkedYAMLError as error:
        row = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputFileError(f"{path}:{row}: is not YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InputFileError(f"{path}: is not YAML: {' '.join(str(error).split())}") from error
    except (ValueError, LookupError, AttributeError, RecursionError) as error:  # PyYAML lets these through
        raise InputFileError(f"{path}: has a value that YAML cannot hold: {error}") from error


class FileWorld:
    """What the files say and the probes see. A file that becomes unusable leaves its last good content in force."""

    def __init__(self, plans: Path, destinations: Path) -> None:
        self._plans_file, self._destinations_file = plans, destinations
        self._specs = read_plans(plans)
        self._entries = read_destinations(destinations)
        self._complaint: str | None = None
        self._stamps = self._stat()
        self._states: dict[_Server, DestinationState] = {}

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
                    state=self._states.get(_server(entry), DestinationState.LOST),
                )
                for entry in listed
                if entry.pool in pools
            ),
            unpooled=tuple(entry.name for entry in listed if entry.pool not in pools),
            empty_pools=tuple(sorted(pools - used)),
        )

    def observe(self, entry: DestinationEntry, state: DestinationState) -> bool:
        """Take what a probe saw; tells whether that is news. Another address is another server, not seen yet."""
        if entry not in self._entries:
            return False
        news = self._states.get(_server(entry)) is not state
        self._states[_server(entry)] = state
        return news

    async def watch(self, changed: Callable[[], None]) -> None:
        """Read the files again whenever they change, until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            stamps = self._stat()
            if stamps != self._stamps:
                self._stamps = stamps
                await self._read_again()
                changed()

    async def _read_again(self) -> None:
        """Take both files or none; long ones are read beside the loop."""
        try:
            specs = await asyncio.to_thread(read_plans, self._plans_file)
            entries = await asyncio.to_thread(read_destinations, self._destinations_file)
        except InputFileError as error:
            self._complaint = str(error)
            _log.error("input file not used, the last good one stays in force", error=self._complaint)
            return
        self._specs, self._entries = _with_generations(specs, self._specs), entries
        listed = {_server(entry) for entry in entries}
        self._states = {server: state for server, state in self._states.items() if server in listed}
        self._complaint = None
        _log.info("input files read again", plans=len(specs), destinations=len(entries))

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

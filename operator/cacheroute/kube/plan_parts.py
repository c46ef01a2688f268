"""A plan as the ConfigMaps that hold it, and the order in which they are written. Pure.

The first ConfigMap (number 0) is the head: it holds the first part and says which other numbers belong to the
plan, and the checksum of the whole. A new plan takes numbers that the former one does not use, and replacing
the head puts it in force: at any moment the head and what it names is one complete plan.
"""

import gzip
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cacheroute.domain.errors import PlanFormatError, StoreError
from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import from_document, to_document
from cacheroute.domain.spec import PlanRef
from cacheroute.kube.names import (
    ANNOTATION_CHECKSUM,
    ANNOTATION_PARTS,
    ANNOTATION_REVISION,
    ANNOTATION_VERSION,
)

PART_BYTES = 900 * 1024
"""Content of one ConfigMap; the API server takes up to 1 MiB."""
MAX_PARTS = 64
MAX_NUMBER = 2 * MAX_PARTS
"""Numbers are below this: those of a plan and of the one that replaces it."""
HEAD = 0
CONTENT = "plan.json.gz"
"""The key of a ConfigMap's binaryData that holds its part."""
_PREFIX = "cacheroute-plan-"
_MAX_NAME = 253
_MAX_LABEL = 63
_SUFFIX = len("-") + len(str(MAX_NUMBER))


@dataclass(frozen=True, slots=True)
class Put:
    """Write one ConfigMap, new or in place of the former one of that number."""

    number: int
    content: bytes
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete one ConfigMap."""

    number: int


def config_map_name(ref: PlanRef, number: int) -> str:
    """Return the name of a stored plan's ConfigMap."""
    return f"{_PREFIX}{shortened(ref.name, _MAX_NAME - len(_PREFIX) - _SUFFIX)}-{number}"


def label_value(ref: PlanRef) -> str:
    """Return the label value that all ConfigMaps of a stored plan have."""
    return shortened(ref.name, _MAX_LABEL)


def shortened(name: str, length: int) -> str:
    """Return ``name``, cut and told apart by a hash where it is longer than ``length``."""
    if len(name) <= length:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:10]
    return f"{name[: length - len(digest) - 1].rstrip('-.')}-{digest}"


def pack(plan: Plan) -> bytes:
    """Return the plan as deterministic gzip."""
    text = json.dumps(to_document(plan), separators=(",", ":"), sort_keys=True)
    return gzip.compress(text.encode(), mtime=0)


def unpack(packed: bytes) -> Plan:
    """Read a plan back.

    Raises:
        PlanFormatError: it is no stored plan.
    """
    try:
        return from_document(json.loads(gzip.decompress(packed)))
    except (OSError, EOFError, ValueError) as error:
        raise PlanFormatError(f"is no stored plan: {error}") from error


def saving(plan: Plan, former: Sequence[int], present: Iterable[int]) -> tuple[Put | Delete, ...]:
    """Return the steps that put ``plan`` in force, in order; after each of them a complete plan can be read.

    Args:
        plan: to store.
        former: the numbers that the head names now; empty where there is none.
        present: the numbers of all ConfigMaps that are there, also those that an interrupted save left.

    Raises:
        StoreError: the plan is too large.
    """
    packed = pack(plan)
    parts = [packed[start : start + PART_BYTES] for start in range(0, len(packed), PART_BYTES)]
    if len(parts) > MAX_PARTS:
        raise StoreError(
            f"plan {plan.version} has {len(packed)} bytes, over {MAX_PARTS} ConfigMaps; admit fewer keys"
        )
    taken = {HEAD, *former}
    free = (number for number in range(1, MAX_NUMBER) if number not in taken)
    numbers = (HEAD, *(number for number, _ in zip(free, parts[1:], strict=False)))
    body = [Put(number, part, {}) for number, part in zip(numbers[1:], parts[1:], strict=True)]
    head = Put(HEAD, parts[0], _annotations(plan, packed, numbers))
    leftovers = sorted(set(present) - set(numbers))
    return (*body, head, *(Delete(number) for number in leftovers))


def part_numbers(annotations: Mapping[str, str]) -> tuple[int, ...]:
    """Return the numbers that a head names.

    Raises:
        PlanFormatError: it is no head.
    """
    text = annotations.get(ANNOTATION_PARTS, "")
    try:
        numbers = tuple(int(one) for one in text.split(","))
    except ValueError as error:
        raise PlanFormatError(
            f"annotation {ANNOTATION_PARTS} is {text!r}, not numbers with commas"
        ) from error
    if numbers[0] != HEAD or not all(0 <= one < MAX_NUMBER for one in numbers):
        raise PlanFormatError(
            f"annotation {ANNOTATION_PARTS} is {text!r}, not 0 and numbers below {MAX_NUMBER}"
        )
    return numbers


def joined(annotations: Mapping[str, str], parts: Sequence[bytes]) -> Plan:
    """Return the plan that a head and its parts hold.

    Raises:
        PlanFormatError: they do not belong together, or are no plan.
    """
    packed = b"".join(parts)
    if hashlib.sha256(packed).hexdigest() != annotations.get(ANNOTATION_CHECKSUM):
        raise PlanFormatError("the content does not match its checksum")
    return unpack(packed)


def _annotations(plan: Plan, packed: bytes, numbers: Sequence[int]) -> dict[str, str]:
    return {
        ANNOTATION_VERSION: plan.version,
        ANNOTATION_REVISION: plan.revision,
        ANNOTATION_PARTS: ",".join(str(one) for one in numbers),
        ANNOTATION_CHECKSUM: hashlib.sha256(packed).hexdigest(),
    }

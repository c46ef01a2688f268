import copy
from typing import Any

import pytest

from cacheroute.domain.errors import PlanFormatError
from cacheroute.domain.observation import Event
from cacheroute.domain.plan import Plan
from cacheroute.domain.plan_document import from_document, to_document
from cacheroute.domain.reconcile import reconcile
from tests.domain.builders import fleet, observe


@pytest.fixture
def plan() -> Plan:
    first = reconcile(1.0, observe(fleet("a", "b", "c")), Event.INTERVAL).plan
    repaired = reconcile(2.0, observe(fleet("a", "c"), plan=first), Event.CHANGED).plan
    assert repaired is not None
    return repaired


def test_a_plan_survives_its_document(plan: Plan) -> None:
    again = from_document(to_document(plan))
    assert again == plan
    assert (again.version, again.revision, again.installed, again.summary) == (
        plan.version,
        plan.revision,
        plan.installed,
        plan.summary,
    )


def damaged(document: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    result = copy.deepcopy(document)
    where: Any = result
    for step in path[:-1]:
        where = where[step]
    if value is ...:
        del where[path[-1]]
    else:
        where[path[-1]] = value
    return result


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("format",), "other/v9", "format is 'other/v9'"),
        (("version",), "0123456789ab", "content has version"),
        (("seats",), ..., "seats"),
        (("seats",), 7, "TypeError"),
        (("groups", 0, "keys"), "abc", "list of strings"),
        (("groups", 0, "rates"), [], "0 rates"),
        (("groups", 0), [], "must be an object"),
        (("policy",), "Guess", "Guess"),
        (("summary", "coverage"), "much", "much"),
        (("nextSeat",), None, "TypeError"),
        (("nextSeat",), float("inf"), "OverflowError"),
        (("nextSeat",), 0, "below nextSeat"),
        (("seats",), [], "not in seats"),
        (("seats", 0, "index"), 1, "one number each"),
        (("seats", 0, "destination"), 7, "string or null"),
    ],
)
def test_a_damaged_document_is_refused_with_its_field(
    plan: Plan, path: tuple[Any, ...], value: object, complaint: str
) -> None:
    with pytest.raises(PlanFormatError, match=complaint):
        from_document(damaged(to_document(plan), path, value))


@pytest.mark.parametrize("document", [None, [], "x", 3])
def test_what_is_no_object_is_no_plan(document: object) -> None:
    with pytest.raises(PlanFormatError, match="must be an object"):
        from_document(document)

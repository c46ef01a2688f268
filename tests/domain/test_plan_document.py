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


def test_a_plan_of_a_version_that_recorded_less_is_read_and_routes_alike(plan: Plan) -> None:
    document = to_document(plan)
    del document["changes"], document["basis"]
    for group in document["groups"]:
        del group["moves"]
    former = {"keysKnown", "keysAdmitted", "slotsUsed", "slotsTotal", "coverage", "imbalance", "overloaded"}
    document["summary"] = {name: value for name, value in document["summary"].items() if name in former}
    again = from_document(document)
    assert (again, again.revision) == (plan, plan.revision)


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("rates", float("nan"), "rates"),
        ("rates", -1.0, "rates"),
        ("keys", "\ud800", "cannot be shown"),
        ("keys", "a\x1b[31m", "cannot be shown"),
    ],
)
def test_what_no_planner_makes_is_refused(plan: Plan, field: str, value: object, complaint: str) -> None:
    document = to_document(plan)
    document["groups"][0][field][0] = value
    with pytest.raises(PlanFormatError, match=complaint):
        from_document(document)


def test_a_key_twice_or_a_standby_that_is_a_seat_is_refused(plan: Plan) -> None:
    twice, own = to_document(plan), to_document(plan)
    for part in ("keys", "rates", "moves"):
        twice["groups"][1][part].append(twice["groups"][0][part][0])
    own["groups"][0]["standbys"] = own["groups"][0]["seats"]
    for document in (twice, own):
        with pytest.raises(PlanFormatError, match="plan document: a"):
            from_document(document)

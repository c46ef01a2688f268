"""Endpoints suit the routes that proxies still have, however many versions ago they were made."""

from dataclasses import replace

from cacheroute.domain.spec import PlanRef
from cacheroute.domain.table import RoutingTable, TableGroup
from cacheroute.proxy.compile import compile_tables
from cacheroute.proxy.route_history import RouteHistory
from cacheroute.proxy.tuning import Tuning
from tests.proxy.builders import table

ONE = table(groups=(TableGroup((0, 1), (), ("a", "b")),))
TWO = replace(ONE, groups=(TableGroup((1, 2), (), ("a", "b")),))
THREE = replace(ONE, groups=(TableGroup((0, 2), (), ("a", "b")),))


def choices(one: RoutingTable) -> dict[PlanRef, tuple[TableGroup, ...]]:
    return compile_tables((one,), Tuning()).choices


def seats(history: RouteHistory, *in_use: str) -> set[tuple[int, ...]]:
    return {group.seats for one in history.former((THREE,), choices(THREE), in_use) for group in one.groups}


def test_routes_that_a_proxy_has_are_suited_and_others_are_not() -> None:
    history = RouteHistory()
    history.add("1", choices(ONE), ())
    history.add("2", choices(TWO), ("1",))
    assert seats(history, "1", "2") == {(0, 1), (1, 2), (0, 2)}
    assert seats(history, "2") == {(1, 2), (0, 2)}


def test_nothing_differs_where_all_have_the_same_choices() -> None:
    history = RouteHistory()
    history.add("1", choices(replace(THREE, groups=(replace(THREE.groups[0], keys=("b",)),))), ())
    assert history.former((THREE,), choices(THREE), ("1",)) == ()
    assert history.former((THREE,), choices(THREE), ()) == ()


def test_versions_that_nobody_uses_are_forgotten_and_the_rest_is_bounded() -> None:
    history = RouteHistory()
    history.add("1", choices(ONE), ())
    history.add("2", choices(TWO), ())
    assert seats(history, "1") == set()
    used = [str(number) for number in range(100)]
    for number in used:
        history.add(number, choices(ONE), used)
    assert [number for number in used if seats(history, number)] == used[-8:]


def test_keys_are_not_kept() -> None:
    history = RouteHistory()
    history.add("1", choices(ONE), ())
    assert [group.keys for one in history.former((THREE,), choices(THREE), ("1",)) for group in one.groups][
        1:
    ] == [()]

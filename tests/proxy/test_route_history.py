"""Endpoints suit the routes that proxies still have, however many versions ago they were made."""

from dataclasses import replace

from cacheroute.domain.table import TableGroup
from cacheroute.proxy.route_history import RouteHistory
from tests.proxy.builders import table

ONE = table(groups=(TableGroup((0, 1), (), ("a", "b")),))
TWO = replace(ONE, groups=(TableGroup((1, 2), (), ("a", "b")),))
THREE = replace(ONE, groups=(TableGroup((0, 2), (), ("a", "b")),))


def seats(history: RouteHistory, *in_use: str) -> set[tuple[int, ...]]:
    return {group.seats for one in history.former((THREE,), in_use) for group in one.groups}


def test_routes_that_a_proxy_has_are_suited_and_others_are_not() -> None:
    history = RouteHistory()
    history.add("1", (ONE,), ())
    history.add("2", (TWO,), ("1",))
    assert seats(history, "1", "2") == {(0, 1), (1, 2), (0, 2)}
    assert seats(history, "2") == {(1, 2), (0, 2)}


def test_nothing_differs_where_all_have_the_same_choices() -> None:
    history = RouteHistory()
    history.add("1", (replace(THREE, groups=(replace(THREE.groups[0], keys=("b",)),)),), ())
    assert history.former((THREE,), ("1",)) == ()
    assert history.former((THREE,), ()) == ()


def test_versions_that_nobody_uses_are_forgotten_and_the_rest_is_bounded() -> None:
    history = RouteHistory()
    history.add("1", (ONE,), ())
    history.add("2", (TWO,), ())
    assert seats(history, "1") == set()
    used = [str(number) for number in range(100)]
    for number in used:
        history.add(number, (ONE,), used)
    assert [number for number in used if seats(history, number)] == used[-8:]


def test_keys_are_not_kept() -> None:
    history = RouteHistory()
    history.add("1", (ONE,), ())
    assert [group.keys for one in history.former((THREE,), ("1",)) for group in one.groups][1:] == [()]

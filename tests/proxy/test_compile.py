from dataclasses import replace
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.domain.table import RoutingTable, TableGroup
from cacheroute.proxy.clusters import cluster, endpoints
from cacheroute.proxy.compile import bridge, compile_tables
from cacheroute.proxy.listener import listener
from cacheroute.proxy.names import model_name, set_name
from cacheroute.proxy.node import ProxyNode
from cacheroute.proxy.snapshot import CLUSTERS, ROUTES
from cacheroute.proxy.snapshot import ENDPOINTS as ENDPOINTS_TYPE
from cacheroute.proxy.tuning import Tuning
from tests.proxy.builders import ENDPOINTS, endpoint, route_configuration, table

TUNING = Tuning()


def domains(*tables: RoutingTable) -> list[str]:
    routes: Any = route_configuration(tables)
    return [domain for host in routes.virtual_hosts for domain in host.domains]


def owners(*tables: RoutingTable) -> dict[str, str]:
    routes: Any = route_configuration(tables)
    start = next(host for host in routes.virtual_hosts if host.name == "unknown-model")
    return dict(start.metadata.filter_metadata["cacheroute"]["gateway"]["models"])


def sets(one: RoutingTable) -> dict[str, set[str]]:
    assignment: Any = endpoints(one)
    hosts = [host for locality in assignment.endpoints for host in locality.lb_endpoints]
    lb = [host.metadata.filter_metadata["envoy.lb"] for host in hosts]
    return {fields["destination"]: set(fields["set"]) for fields in lb}


def versions(*tables: RoutingTable) -> dict[str, str]:
    resources = compile_tables(tables, TUNING).snapshot.resources
    return {kind: "".join(one.version for one in resources[kind].values()) for kind in resources}


def test_loss_and_replacement_of_a_destination_change_endpoints_only() -> None:
    before, lost = versions(table()), versions(table(endpoints=ENDPOINTS[1:]))
    replaced = versions(table(endpoints=(*ENDPOINTS[1:], endpoint(9, 0))))
    for after in (lost, replaced):
        assert after[ENDPOINTS_TYPE] != before[ENDPOINTS_TYPE]
        assert {kind: after[kind] for kind in (CLUSTERS, ROUTES)} == {
            kind: before[kind] for kind in (CLUSTERS, ROUTES)
        }


def test_moved_keys_change_routes_only() -> None:
    moved = table(groups=(TableGroup((1,), (0,), ("alice",)),))
    same_sets = table(groups=(TableGroup((0,), (1,), ("alice",)),))
    before, after = versions(same_sets), versions(moved)
    assert after[ROUTES] != before[ROUTES]
    assert (after[CLUSTERS], after[ENDPOINTS_TYPE]) == (before[CLUSTERS], before[ENDPOINTS_TYPE])


def test_endpoints_are_in_the_sets_of_their_seats() -> None:
    shared = set_name((0, 1))
    assert sets(table()) == {
        "pod-1": {"s0", shared},
        "pod-2": {"s1", shared},
        "pod-3": {"s2"},
        "pod-4": set(),
        "pod-5": set(),
    }


def test_the_same_tables_give_the_same_bytes() -> None:
    one, two = compile_tables([table()], TUNING).snapshot, compile_tables([table()], TUNING).snapshot
    assert one == two
    assert one.version != compile_tables([], TUNING).snapshot.version


def test_no_key_and_no_model_stands_twice_and_bad_keys_are_left_out() -> None:
    bad = TableGroup((0,), (1,), ("*", "UPPER", "with blank", "line\nbreak", "x" * 65, "good"))
    other = table("other", ("llama", "LLaMA", "qwen"))
    found = domains(table(groups=(bad,)), other)
    assert sorted(found) == sorted(set(found))
    assert [one for one in found if one.startswith("p/inference/llama/")] == [
        "p/inference/llama/good",
        "p/inference/llama/*",
    ]
    assert owners(table(), other) == {"llama": "inference/llama", "qwen": "inference/other"}


@given(st.text(min_size=1, max_size=40))
def test_a_models_spelling_is_plain_whatever_its_name(model: str) -> None:
    domain = model_name(model)
    assert domain.isascii()
    assert domain.isprintable()
    assert domain == "*" or "*" not in domain
    assert domain == domain.lower()


def test_different_models_have_different_spellings() -> None:
    names = ["a b", "a%20b", "ab", "a*b", "ä"]
    assert len({model_name(name) for name in names}) == len(names)
    assert model_name("Meta-Llama/Llama-3.3") == "meta-llama/llama-3.3"


def test_a_clusters_content_does_not_depend_on_its_plan() -> None:
    assert cluster(table(), TUNING) == cluster(table(endpoints=(), groups=()), TUNING)
    assert cluster(table(), TUNING) != cluster(table(), replace(TUNING, connect_milliseconds=1))


@pytest.mark.parametrize("groups", [(), table().groups])
def test_every_plan_has_a_cold_tail(groups: tuple[TableGroup, ...]) -> None:
    assert "p/inference/llama/*" in domains(table(groups=groups))


def test_a_key_that_is_partly_planned_has_two_routes_and_each_names_its_arm() -> None:
    for percent, expected in ((0, [("flat", 0)]), (30, [("plan", 30), ("flat", 0)]), (100, [("plan", 0)])):
        routes: Any = route_configuration([replace(table(), planned_percent=percent)])
        found = {
            domain: [
                (route.metadata.filter_metadata["cacheroute"]["arm"], fraction(route))
                for route in host.routes
            ]
            for host in routes.virtual_hosts
            for domain in host.domains
            if domain.startswith("p/")
        }
        assert found.pop("p/inference/llama/*") == [("", 0)]
        assert found == {
            f"p/inference/llama/{key}": expected for key in ("alice", "org/team:a", "bob", "shared")
        }


def fraction(route: Any) -> int:
    return int(route.match.runtime_fraction.default_value.numerator)


def test_a_reported_plan_needs_one_virtual_host_for_all_its_keys() -> None:
    routes: Any = route_configuration([replace(table(), planned_percent=0)])
    assert len([one for one in routes.virtual_hosts if one.name.startswith("p/")]) == 2


def test_a_change_of_mode_changes_routes_only() -> None:
    compiled = [versions(replace(table(), planned_percent=percent)) for percent in (0, 10, 100)]
    assert len({one[ROUTES] for one in compiled}) == 3
    assert len({(one[CLUSTERS], one[ENDPOINTS_TYPE]) for one in compiled}) == 1


def test_where_answers_explain_nothing_no_name_of_a_pod_is_compiled_for_them() -> None:
    silent = replace(table(), explain=False)
    compiled: Any = endpoints(silent)
    assert "pod-1" in str(endpoints(table()))
    assert "pod-1" not in str(compiled)
    assert 'key: "version"' in str(route_configuration([table()]))
    assert 'key: "version"' not in str(route_configuration([silent]))


def test_a_bridge_has_the_sets_of_both_tables() -> None:
    old, new = table(), table(groups=(TableGroup((1, 2), (0,), ("shared",)),))
    both = compile_tables([table(groups=(*old.groups, *new.groups))], TUNING).snapshot.of(ENDPOINTS_TYPE)
    assert bridge([old], [new]) == both
    assert bridge([], [new]) == {}
    assert bridge([old], [table(endpoints=ENDPOINTS[1:])]) == {}


@pytest.mark.parametrize(("minor", "bounded"), [(37, False), (38, False), (39, True), (40, True)])
def test_only_proxies_that_know_bounds_of_counters_get_them(minor: int, *, bounded: bool) -> None:
    text = str(json_format.MessageToDict(listener(ProxyNode("x", "y", (1, minor)), TUNING)))
    assert ("maxCounters" in text) is bounded

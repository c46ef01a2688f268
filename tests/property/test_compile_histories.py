"""Whatever a gateway's plans were before, what its proxies are served is what it would be had they never been different."""

from collections.abc import Sequence
from dataclasses import replace

from envoy.config.route.v3 import route_pb2
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.domain.failover import FailoverSpec, LimitsSpec, RetryRule
from cacheroute.domain.keys import KeySource, KeySourceKind
from cacheroute.domain.spec import PlanRef
from cacheroute.domain.table import RoutingTable, TableGroup
from cacheroute.proxy.clusters import cluster, endpoints
from cacheroute.proxy.compile import Compilation, compile_tables
from cacheroute.proxy.compile_plan import compile_plan
from cacheroute.proxy.names import cluster_name
from cacheroute.proxy.routes import entrance, plan_hosts
from cacheroute.proxy.snapshot import part, resource
from cacheroute.proxy.tuning import Tuning
from tests.proxy.builders import GROUPS, SOURCES, endpoint, table

TUNINGS = (Tuning(), Tuning(connect_milliseconds=1))
ONE_GROUP = (TableGroup((2,), (0, 1), ("alice", "bob")),)

tables = st.builds(
    RoutingTable,
    ref=st.sampled_from([PlanRef("inference", name) for name in ("a", "b", "c")]),
    version=st.sampled_from(["v1", "v2"]),
    models=st.sampled_from([(), ("llama",), ("*",), ("llama", "mistral")]),
    key_sources=st.sampled_from([SOURCES, (KeySource(KeySourceKind.COOKIE, "session"),)]),
    max_key_length=st.sampled_from([4, 64]),
    endpoints=st.sampled_from([(), (endpoint(1, 0), endpoint(2, 2)), (endpoint(1, 2, draining=True),)]),
    groups=st.sampled_from([(), GROUPS, ONE_GROUP]),
    planned_percent=st.sampled_from([0, 5, 100]),
    explain=st.booleans(),
    failover=st.sampled_from([FailoverSpec(), FailoverSpec(retry=RetryRule.NOT_STARTED)]),
    limits=st.sampled_from([LimitsSpec(), LimitsSpec(max_requests=3)]),
)
gateways = st.lists(tables, max_size=3, unique_by=lambda one: one.ref)


def served(made: Compilation) -> tuple[object, ...]:
    return (made.snapshot, made.choices)


@given(st.lists(st.tuples(gateways, st.sampled_from(TUNINGS)), min_size=2, max_size=6))
def test_the_past_makes_no_difference(history: Sequence[tuple[Sequence[RoutingTable], Tuning]]) -> None:
    made = None
    for plans, tuning in history:
        made = compile_tables(plans, tuning, made)
        assert served(made) == served(compile_tables(plans, tuning))
        assert made.plans.keys() == {one.ref for one in plans}


@given(tables, st.sampled_from(TUNINGS))
def test_a_source_leaves_nothing_out_that_its_part_needs(whole: RoutingTable, tuning: Tuning) -> None:
    compiled = compile_plan(whole, tuning, None)
    name = cluster_name(whole.ref)
    assert compiled.cluster.result == resource(name, cluster(whole, tuning))
    assert compiled.endpoints.result == resource(name, endpoints(whole))
    assert compiled.hosts.result == part(route_pb2.RouteConfiguration(virtual_hosts=plan_hosts(whole)))
    (start,) = compile_tables([whole], tuning).entrance.source
    assert entrance([start]) == entrance([whole])


def test_what_did_not_change_is_not_compiled_again() -> None:
    one, two = table(), table("other", ("other",))
    before = compile_tables([one, two], TUNINGS[0])
    lost = replace(one, endpoints=one.endpoints[1:])
    after = compile_tables([lost, replace(two, groups=ONE_GROUP)], TUNINGS[0], before)
    kept, changed = after.plans[one.ref], after.plans[two.ref]
    assert kept.hosts is before.plans[one.ref].hosts
    assert kept.endpoints != before.plans[one.ref].endpoints
    assert changed.cluster is before.plans[two.ref].cluster
    assert changed.hosts != before.plans[two.ref].hosts
    assert compile_tables([lost, two], TUNINGS[0], before).routes is before.routes

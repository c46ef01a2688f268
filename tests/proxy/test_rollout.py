"""One proxy tries a changed table before the others see it."""

from cacheroute.proxy.rollout import CANARY_SECONDS, ProxyId, Rollout
from cacheroute.proxy.snapshot import CLUSTERS, ENDPOINTS, ROUTES, Resource, Snapshot, snapshot

A, B, C = ("a", 3), ("b", 1), ("c", 2)


def version(routes: int, endpoints: int = 1, clusters: tuple[str, ...] = ("llama",)) -> Snapshot:
    return snapshot(
        {
            ROUTES: [Resource("cacheroute", f"r{routes}", b"")],
            CLUSTERS: [Resource(name, "c1", b"") for name in clusters],
            ENDPOINTS: [Resource(name, f"e{endpoints}", b"") for name in clusters],
        }
    )


def routes(rollout: Rollout, proxy: ProxyId) -> str | None:
    seen = rollout.view(proxy)
    assert seen is not None
    one = seen.of(ROUTES).get("cacheroute")
    return one.version if one else None


def accepted(*proxies: ProxyId) -> Rollout:
    """Return a rollout whose proxies all have version 1."""
    rollout = Rollout()
    rollout.published(version(1), 0.0)
    rollout.step(proxies, 0.0)
    rollout.accepted()
    return rollout


def trial(*proxies: ProxyId) -> Rollout:
    """Return a rollout whose canary tries version 2."""
    rollout = accepted(*proxies)
    rollout.published(version(2), 10.0)
    rollout.step(proxies, 10.0)
    return rollout


def test_there_is_nothing_to_see_before_the_first_snapshot() -> None:
    assert Rollout().view(A) is None


def test_the_lowest_name_tries_a_changed_table_and_the_others_keep_theirs() -> None:
    rollout = trial(B, A, C)
    assert (rollout.canary, routes(rollout, A)) == ("a", "r2")
    assert [routes(rollout, one) for one in (B, C)] == ["r1", "r1"]


def test_when_it_is_accepted_everybody_is_offered_it() -> None:
    rollout = trial(A, B)
    rollout.accepted()
    assert (routes(rollout, B), rollout.deadline, rollout.canary) == ("r2", None, "")


def test_the_canary_is_waited_for_and_not_for_ever() -> None:
    rollout = trial(A, B)
    assert rollout.deadline == 10.0 + CANARY_SECONDS
    rollout.step((A, B), 10.0 + CANARY_SECONDS - 0.01)
    assert routes(rollout, B) == "r1"
    rollout.step((A, B), 10.0 + CANARY_SECONDS)
    assert routes(rollout, B) == "r2"


def test_tables_that_follow_each_other_do_not_prolong_the_wait() -> None:
    rollout = trial(A, B)
    rollout.published(version(3), 11.0)
    rollout.step((A, B), 11.0)
    assert (routes(rollout, A), routes(rollout, B)) == ("r3", "r1")
    assert rollout.deadline == 10.0 + CANARY_SECONDS


def test_what_it_rejects_nobody_else_sees_and_it_goes_back_itself() -> None:
    rollout = trial(A, B)
    rollout.rejected(ROUTES, [Resource("cacheroute", "r2", b"")])
    assert [routes(rollout, one) for one in (A, B, C)] == ["r1"] * 3
    rollout.accepted()
    rollout.step((B,), 99.0)
    assert routes(rollout, B) == "r1"


def test_a_rejection_of_something_older_means_nothing() -> None:
    rollout = trial(A, B)
    rollout.published(version(3), 10.5)
    rollout.rejected(ROUTES, [Resource("cacheroute", "r2", b"")])
    assert routes(rollout, A) == "r3"


def test_the_table_after_a_rejected_one_is_tried_again() -> None:
    rollout = trial(A, B)
    rollout.rejected(ROUTES, [Resource("cacheroute", "r2", b"")])
    rollout.published(version(3), 20.0)
    rollout.step((A, B), 20.0)
    assert (routes(rollout, A), routes(rollout, B)) == ("r3", "r1")
    rollout.published(version(1), 21.0)
    assert (routes(rollout, A), rollout.deadline) == ("r1", None)


def test_endpoints_are_offered_to_everybody_at_once() -> None:
    for rollout in (accepted(A, B), trial(A, B)):
        table = 2 if rollout.canary else 1
        rollout.published(version(table, endpoints=2), 10.5)
        for proxy in (A, B, C):
            seen = rollout.view(proxy)
            assert seen is not None
            assert seen.of(ENDPOINTS)["llama"].version == "e2"


def test_endpoints_after_a_rejection_do_not_try_the_rejected_table_again() -> None:
    rollout = trial(A, B)
    rollout.rejected(ROUTES, [Resource("cacheroute", "r2", b"")])
    rollout.published(version(2, endpoints=2), 20.0)
    rollout.step((A, B), 20.0)
    seen = rollout.view(A)
    assert seen is not None
    assert (routes(rollout, A), seen.of(ENDPOINTS)["llama"].version) == ("r1", "e2")


def test_a_removed_cluster_stays_where_the_routes_still_name_it() -> None:
    rollout = accepted(A, B)
    rollout.published(version(1, clusters=("llama", "gone")), 1.0)
    rollout.accepted()
    rollout.published(version(2), 10.0)
    rollout.step((A, B), 10.0)
    held, tried = rollout.view(B), rollout.view(A)
    assert held is not None
    assert tried is not None
    assert held.of(CLUSTERS).keys() == held.of(ENDPOINTS).keys() == {"llama", "gone"}
    assert tried.of(CLUSTERS).keys() == {"llama"}


def test_when_the_canary_goes_the_next_one_tries() -> None:
    rollout = trial(A, B, C)
    rollout.step((C, B), 11.0)
    assert (rollout.canary, routes(rollout, B), routes(rollout, C)) == ("b", "r2", "r1")


def test_a_newcomer_with_a_lower_name_does_not_take_over_a_trial() -> None:
    rollout = trial(B, C)
    rollout.step((A, B, C), 11.0)
    assert (rollout.canary, routes(rollout, A)) == ("b", "r1")


def test_a_proxy_alone_is_offered_everything_at_once() -> None:
    rollout = trial(A)
    assert routes(rollout, A) == "r2"


def test_without_proxies_the_next_that_connects_tries() -> None:
    rollout = accepted(A)
    rollout.published(version(2), 10.0)
    rollout.step((), 10.0)
    rollout.step((B,), 100.0)
    assert (rollout.canary, rollout.deadline) == ("b", 100.0 + CANARY_SECONDS)


def test_where_no_good_table_is_known_the_others_keep_what_they_have() -> None:
    rollout = Rollout()
    rollout.published(version(1), 0.0)
    rollout.step((A, B), 0.0)
    held = rollout.view(B)
    assert held is not None
    assert (held.of(ROUTES), held.of(CLUSTERS)) == ({}, {})
    assert held.of(ENDPOINTS).keys() == {"llama"}
    assert all(held.withholds(kind, "anything") for kind in (ROUTES, CLUSTERS, ENDPOINTS))


def test_what_another_proxy_rejects_later_is_taken_back_from_all() -> None:
    rollout = trial(A, B)
    rollout.accepted()
    rollout.rejected(ROUTES, [Resource("cacheroute", "r2", b"")])
    assert [routes(rollout, one) for one in (A, B)] == ["r1", "r1"]


def test_whatever_changes_a_view_changes_the_revision() -> None:
    rollout = trial(A, B)
    seen = [rollout.revision]
    rollout.step((A, B), 10.5)
    assert rollout.revision == seen[-1]
    rollout.accepted()
    seen.append(rollout.revision)
    rollout.rejected(ROUTES, [Resource("cacheroute", "r2", b"")])
    seen.append(rollout.revision)
    rollout.published(version(3), 20.0)
    seen.append(rollout.revision)
    assert seen == sorted(set(seen))

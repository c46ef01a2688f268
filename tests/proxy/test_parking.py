"""A rejected version is parked for all proxies of a gateway."""

from cacheroute.domain.gateways import Rejection
from cacheroute.proxy.parking import Parking
from cacheroute.proxy.snapshot import CLUSTERS, ROUTES, Resource, Snapshot, snapshot

WHY = Rejection("envoy-1", "Rejected", "duplicate domain")


def version(number: int) -> Resource:
    return Resource("cacheroute", f"v{number}", b"")


def routes(one: Resource) -> Snapshot:
    return snapshot({ROUTES: [one], CLUSTERS: [Resource("llama", "c1", b"")]})


def parked() -> Parking:
    parking = Parking()
    parking.published(routes(version(1)))
    parking.accepted(ROUTES, [version(1)])
    parking.published(routes(version(2)))
    parking.rejected(ROUTES, [version(2)], WHY)
    return parking


def test_where_nothing_was_rejected_the_snapshot_is_offered_as_it_is() -> None:
    whole = routes(version(1))
    assert Parking().offered(whole) is whole


def test_the_last_good_version_is_offered_instead_and_the_rest_stays() -> None:
    offered = parked().offered(routes(version(2)))
    assert offered.of(ROUTES) == {"cacheroute": version(1)}
    assert offered.of(CLUSTERS).keys() == {"llama"}


def test_what_was_never_good_is_left_out() -> None:
    parking = Parking()
    parking.rejected(ROUTES, [version(1)], WHY)
    assert parking.offered(routes(version(1))).of(ROUTES) == {}


def test_each_proxy_that_rejects_is_named_until_a_new_version_comes() -> None:
    parking = parked()
    parking.rejected(ROUTES, [version(2)], Rejection("envoy-0", "Rejected", "duplicate domain"))
    assert [one.node for one in parking.rejections] == ["envoy-0", "envoy-1"]
    parking.published(routes(version(3)))
    assert parking.rejections == ()
    assert parking.offered(routes(version(3))).of(ROUTES) == {"cacheroute": version(3)}


def test_a_late_acknowledgement_of_a_parked_version_does_not_make_it_good() -> None:
    parking = parked()
    parking.accepted(ROUTES, [version(2)])
    assert parking.offered(routes(version(2))).of(ROUTES) == {"cacheroute": version(1)}


def test_a_version_that_one_proxy_accepted_first_and_another_rejected_gives_way_to_the_one_before() -> None:
    parking = Parking()
    for number in (1, 2):
        parking.accepted(ROUTES, [version(number)])
    parking.rejected(ROUTES, [version(2)], WHY)
    assert parking.offered(routes(version(2))).of(ROUTES) == {"cacheroute": version(1)}


def test_where_there_is_none_before_what_one_proxy_accepted_is_better_than_nothing() -> None:
    parking = Parking()
    parking.accepted(ROUTES, [version(1)])
    parking.rejected(ROUTES, [version(1)], WHY)
    assert parking.offered(routes(version(1))).of(ROUTES) == {"cacheroute": version(1)}


def test_resources_that_are_gone_are_forgotten() -> None:
    parking = parked()
    parking.published(snapshot({ROUTES: []}))
    parking.published(routes(version(2)))
    assert parking.offered(routes(version(2))).of(ROUTES) == {"cacheroute": version(2)}


def test_what_was_never_good_is_not_taken_from_proxies_that_have_another_version() -> None:
    parking = Parking()
    parking.rejected(ROUTES, [version(1)], WHY)
    offered = parking.offered(routes(version(1)))
    assert offered.withholds(ROUTES, "cacheroute")
    assert not offered.withholds_some(CLUSTERS)

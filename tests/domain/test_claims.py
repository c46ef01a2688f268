from dataclasses import replace

from cacheroute.domain.claims import resolve_claims
from tests.domain.builders import spec


def test_the_older_plan_keeps_the_model() -> None:
    old, young = spec("old", ("m", "n"), created=1.0), spec("young", ("M",), created=2.0)
    claims = resolve_claims([young, old])
    assert claims[old.ref].accepted
    assert not claims[young.ref].accepted
    assert "inference/old" in claims[young.ref].message


def test_names_decide_between_plans_of_one_age() -> None:
    a, b = spec("a"), spec("b")
    assert resolve_claims([b, a])[a.ref].accepted


def test_another_gateway_is_another_claim() -> None:
    a, b = spec("a"), replace(spec("b"), gateway="other")
    assert all(claim.accepted for claim in resolve_claims([a, b]).values())


def test_a_plan_that_lost_claims_nothing() -> None:
    first, second, third = spec("1", ("m",)), spec("2", ("m", "n")), spec("3", ("n",))
    claims = resolve_claims([first, second, third])
    assert [claims[one.ref].accepted for one in (first, second, third)] == [True, False, True]

from dataclasses import replace

from cacheroute.domain.conditions import ConditionStatus
from cacheroute.domain.judgement import rates_available
from tests.domain.builders import rates


def test_cut_keys_are_told_and_the_rates_are_still_good() -> None:
    good = rates({"a": 1.0})
    for measured, said in (
        (replace(good, uncounted=12.0), "dropped 12.00 additions/s"),
        (replace(good, cut=True), "lowest rates are cold"),
    ):
        condition = rates_available(measured)
        assert (condition.status, condition.reason) == (ConditionStatus.TRUE, "KeysCut")
        assert said in condition.message
    assert rates_available(good).reason == "Measured"

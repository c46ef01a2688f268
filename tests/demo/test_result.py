"""The outcome, as JSON and in words."""

import math

import orjson
import pytest

from cacheroute.demo.result import Damage, Failover, Result, damage
from cacheroute.demo.tally import Fate, Figures, Record
from cacheroute.demo.view import verdict


def arm(hit: float, lag: float = 1.0, ttft: float = 20.0) -> Figures:
    return Figures(100, hit, 1.05, ttft, ttft, lag, {"cold": 100})


def result(flat: float = 60.0, planned: float = 90.0, failed: int = 0, lag: float = 1.0) -> Result:
    return Result(
        flat=arm(flat, lag),
        planned=arm(planned, ttft=math.nan),
        failover=Failover("engine-2", arm(85.0), keys=70, keys_moved=70, keys_away=0, repair_seconds=0.31),
        damage=Damage(
            failed, cut=3, cut_before_first_token=1, complaints=("killed: HTTP 503",) * bool(failed)
        ),
        tenants=640,
        seconds=131.0,
        setup={"engines": 6, "tenants": 900, "blocksNeeded": 54000, "cacheBlocks": 13500},
    )


@pytest.mark.parametrize(
    ("flat", "planned", "failed", "good"),
    [(60.0, 75.0, 0, True), (60.0, 74.9, 0, False), (60.0, 90.0, 1, False), (90.0, 60.0, 0, False)],
)
def test_good_needs_fifteen_points_and_no_failure(
    flat: float, planned: float, failed: int, *, good: bool
) -> None:
    assert result(flat, planned, failed).good is good


def test_the_document_has_what_scripts_read_and_is_json() -> None:
    document = orjson.loads(orjson.dumps(result().document()))
    for one in ("flat", "planned"):
        assert {"hitPercent", "maxOverMean", "ttftP99Ms"} <= document[one].keys()
    assert document["planned"]["ttftP99Ms"] is None
    assert (document["failedRequests"], document["cutStreams"], document["keysMoved"]) == (0, 3, 70)
    assert (document["seconds"], document["hitPoints"], document["good"]) == (131.0, 30.0, True)


def test_the_words_name_failures_and_a_late_generator() -> None:
    plain, bad = " ".join(verdict(result())), " ".join(verdict(result(failed=1, lag=400.0)))
    assert "+30.0 points" in plain
    assert "keeps 13500, 1.5 times its share" in plain
    assert "late" not in plain
    assert "killed: HTTP 503" in bad
    assert "generator was late" in bad


def test_damage_tells_cut_from_failed() -> None:
    found = damage(
        [
            Record("killed", 1.0, 1, Fate.ANSWERED, first_token=0.1),
            Record("killed", 1.0, 2, Fate.CUT, first_token=0.1),
            Record("killed", 1.0, 3, Fate.CUT),
            *(Record("flat", 1.0, 4, Fate.FAILED, complaint=f"HTTP {number}") for number in range(5)),
        ]
    )
    assert (found.failed, found.cut, found.cut_before_first_token) == (5, 2, 1)
    assert found.complaints == ("flat: HTTP 0", "flat: HTTP 1", "flat: HTTP 2")

"""The outcome of --drift."""

import orjson
import pytest

from cacheroute.demo.drift_result import DriftResult
from cacheroute.demo.drift_run import DriftOptions
from cacheroute.demo.drift_view import line, summary, verdict
from cacheroute.demo.ledger import Arm, Course, Ledger, Row
from cacheroute.demo.result import Damage
from cacheroute.demo.scenario import DemoOptions
from cacheroute.demo.shift import Shift
from cacheroute.demo.tally import Fate, Figures, Record
from cacheroute.domain.spec import PolicyName


def arm(policy: PolicyName, hit: float, moved: int) -> Arm:
    found = Figures(100, hit, 1.05, 20.0, 90.0, 1.0, {"planned": 100})
    rows = tuple(
        Row(number, True, found, Shift(keys=200, moved=moved, cold_percent=4.0, admitted=30))
        for number in (2, 3)
    )
    return Arm(policy, found, rows, failed=0)


def result(stable: float = 80.0, paper: float = 70.0, failed: int = 0) -> DriftResult:
    return DriftResult(
        stable=arm(PolicyName.STABLE, stable, 10),
        paper=arm(PolicyName.PAPER, paper, 170),
        damage=Damage(failed, 0, 0, ("Paper: HTTP 503",) * bool(failed)),
        seconds=260.0,
        setup={"engines": 6},
    )


@pytest.mark.parametrize(
    ("stable", "paper", "failed", "good"),
    [(75.0, 70.0, 0, True), (74.9, 70.0, 0, False), (80.0, 70.0, 1, False), (70.0, 80.0, 0, False)],
)
def test_good_needs_five_points_and_no_failure(
    stable: float, paper: float, failed: int, *, good: bool
) -> None:
    assert result(stable, paper, failed).good is good


def test_the_document_has_what_scripts_read_and_is_json() -> None:
    document = orjson.loads(orjson.dumps(result().document()))
    for one, moved in (("stable", 5.0), ("paper", 85.0)):
        assert {"hitPercent", "maxOverMean", "ttftP99Ms"} <= document[one].keys()
        assert document[one]["failedRequests"] == 0
        assert document[one]["keysMovedPercentPerInterval"] == moved
        assert document[one]["coldRatePercentPerInterval"] == 4.0
        assert document[one]["keysAdmittedPerInterval"] == 30.0
        assert len(document[one]["perInterval"]) == document["intervals"] == 2
    assert (document["gainPoints"], document["failedRequests"], document["seconds"]) == (10.0, 0, 260.0)


def test_the_words_and_the_table_have_both_policies() -> None:
    words = " ".join(verdict(result(failed=1)))
    assert "+10.0 points" in words
    assert "1 failed requests" in words
    assert "Paper: HTTP 503" in words
    table = summary(result())
    assert [str(column.header) for column in table.columns] == ["", "Paper", "Stable"]
    assert len(list(table.columns[2].cells)) == len(list(table.columns[0].cells))
    assert list(table.columns[1].cells)[:4] == ["70.0 %", "170 (85.0 %)", "30", "4.0 %"]


def test_a_line_tells_an_interval() -> None:
    ledger = Ledger(PolicyName.STABLE, Course(10, 2, 3), engines=2)
    ledger.add(Record("Stable", 25.0, 1, Fate.ANSWERED, "engine-0", prompt_tokens=100, cached_tokens=90))
    told = line(ledger.row(2), ledger)
    assert told == "  Stable 1/3: token hit 90.0 %, keys moved 0 of 0 (0.0 %), new 0, max/mean 2.00, failed 0"
    assert "warm-up: token hit –" in line(ledger.row(0), ledger)


def test_the_default_has_ten_intervals_for_each_policy_and_ends_in_five_minutes() -> None:
    options = DriftOptions(DemoOptions(seconds=100.0))
    assert (options.course.warm, options.course.counted) == (2, 10)
    assert options.expected_seconds <= 300
    assert options.arrivals().seconds.max() < options.course.total


def test_only_the_policy_differs() -> None:
    options = DriftOptions(DemoOptions())
    paper, stable = (
        options.plan_file(policy, "Active", 10) for policy in (PolicyName.PAPER, PolicyName.STABLE)
    )
    assert paper.policy is PolicyName.PAPER
    assert (paper.window_seconds, paper.interval_seconds, paper.warm_prefixes) == (
        stable.window_seconds,
        stable.interval_seconds,
        stable.warm_prefixes,
    )

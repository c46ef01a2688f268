import math
from dataclasses import replace

import pytest

from cacheroute.domain.rates import Rates, RatesReason, RatesUnavailable
from cacheroute.prom.interpret import AnswerError, Measured, figures, outcome, scalar, vector
from tests.domain.builders import spec

NUMBERS = {
    ("requests", "plan"): 540.0,
    ("requests", "flat"): 60.0,
    ("requests", ""): 3000.0,
    ("prompt_tokens", "plan"): 90.0,
    ("cached_tokens", "plan"): 38.0,
    ("prompt_tokens", ""): 10.0,
    ("cached_tokens", ""): 2.0,
    ("errors", "flat"): 3.0,
    ("ttft_p50", "plan"): 120.4,
    ("ttft_p99", "plan"): math.nan,
}


def measured(by_key: dict[str, float], reporting: int = 2) -> Measured:
    return Measured(by_key, reporting, time=5.0, numbers=NUMBERS)


def judged(by_key: dict[str, float], reporting: int = 2, proxies: int = 2) -> RatesReason:
    result = outcome(spec(), measured(by_key, reporting), proxies, "the source")
    assert isinstance(result, RatesUnavailable)
    assert result.message.startswith("the source")
    return result.reason


def test_good_numbers_are_rates_in_bytewise_order() -> None:
    result = outcome(
        spec(), measured({"b": 2.0, "a": 1.0, "": 0.5, "!": 0.25, "Not-canonical": 0.25}), 2, "s"
    )
    assert isinstance(result, Rates)
    assert result.keys == ("a", "b")
    assert result.values.tolist() == [1.0, 2.0]
    assert (result.unkeyed, result.rejected) == (1.0, 0.5)
    assert result.served is not None
    assert result.served.hit_percent == pytest.approx(40.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1.0])
def test_a_number_that_is_no_rate_is_never_zero(value: float) -> None:
    assert judged({"a": 1.0, "b": value}) is RatesReason.NOT_FINITE


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_one_bad_number_of_many_is_left_out_and_told(value: float) -> None:
    result = outcome(spec(), measured({f"key-{i:03d}": 1.0 for i in range(99)} | {"bad": value}), 2, "s")
    assert isinstance(result, Rates)
    assert (len(result.keys), result.unusable, result.unkeyed) == (99, 1, 0.0)
    assert "bad" not in result.keys
    assert judged({f"key-{i:03d}": 1.0 for i in range(98)} | {"bad": value}) is RatesReason.NOT_FINITE


def test_the_keys_with_the_highest_rates_are_planned_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cacheroute.prom.interpret.MAX_KEYS", 2)
    numbers = replace(measured({"a": 1.0, "c": 1.0, "b": 1.0, "d": 3.0, "!": 5.0}), numbers={})
    result = outcome(spec(), numbers, 2, "s")
    assert isinstance(result, Rates)
    assert (result.keys, result.unkeyed, result.rejected) == (("a", "d"), 7.0, 5.0)


def test_no_traffic_is_not_a_plan_for_nobody() -> None:
    assert judged({}) is RatesReason.EMPTY
    assert judged({"a": 0.0}) is RatesReason.EMPTY


def test_stale_and_partial() -> None:
    assert judged({"a": 1.0}, reporting=0) is RatesReason.STALE
    assert judged({"a": 1.0}, reporting=1, proxies=3) is RatesReason.PARTIAL
    assert isinstance(outcome(spec(), measured({"a": 1.0}, reporting=1), 2, "s"), Rates)


def test_tokens_that_nobody_reports_are_unknown() -> None:
    numbers = Measured({"a": 1.0}, 1, time=0.0, numbers={("prompt_tokens", ""): math.nan})
    result = outcome(spec(), numbers, 1, "s")
    assert isinstance(result, Rates)
    assert result.served is None


def test_vectors_and_scalars_are_read() -> None:
    sample = {"metric": {"routing_key": "a"}, "value": [1.0, "2.5"]}
    assert vector([sample, {"metric": {}, "value": [1.0, "NaN"]}])["a"] == 2.5
    assert scalar([sample]) == 2.5
    assert scalar([]) is None


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        "x",
        [1],
        [{}],
        [{"metric": 3, "value": [0, "1"]}],
        [{"metric": {}, "value": "1"}],
        [{"metric": {}, "value": [1]}],
        [{"metric": {}, "value": [1, "one"]}],
        [{"metric": {}, "value": [1, None]}],
    ],
)
def test_malformed_answers_are_refused(answer: object) -> None:
    with pytest.raises(AnswerError):
        vector(answer)


def test_two_values_for_one_question_are_refused() -> None:
    with pytest.raises(AnswerError, match="one value"):
        scalar([{"metric": {}, "value": [1, "1"]}, {"metric": {}, "value": [1, "2"]}])


def test_tokens_are_in_the_order_of_the_keys_and_others_are_unkeyed() -> None:
    numbers = Measured(
        {"a": 1.0, "b": 2.0, "": 1.0},
        1,
        time=0.0,
        tokens_by_key={"b": 200.0, "": 50.0, "gone": 5.0, "a": float("nan")},
    )
    measured = outcome(spec(), numbers, 1, "here")
    assert isinstance(measured, Rates)
    assert measured.prompt_tokens is not None
    assert measured.prompt_tokens.tolist() == [0.0, 200.0]
    assert measured.unkeyed_prompt_tokens == 55.0


def test_both_arms_are_told_and_what_is_not_measured_is_absent() -> None:
    result = outcome(spec(), measured({"a": 1.0}), 2, "s")
    assert isinstance(result, Rates)
    assert result.arms is not None
    plan, flat = result.arms.plan, result.arms.flat
    assert plan is not None
    assert flat is not None
    assert plan.hit_percent == pytest.approx(42.22, abs=0.01)
    assert (plan.requests, plan.ttft_p50, plan.ttft_p99) == (540.0, 120.4, None)
    assert (flat.requests, flat.hit_percent, flat.error_percent) == (60, None, 5.0)


def test_without_requests_of_admitted_keys_there_are_no_arms() -> None:
    numbers = Measured({"a": 1.0}, 2, time=0.0, numbers={("requests", ""): 5.0, ("requests", "plan"): 0.0})
    result = outcome(spec(), numbers, 2, "s")
    assert isinstance(result, Rates)
    assert result.arms is None


def test_requests_that_no_key_shows_are_unkeyed_when_keys_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = measured({"a": 4.0, "b": 1.0})
    whole = outcome(spec(), numbers, 2, "s")
    flooded = outcome(spec(), replace(numbers, uncounted=9.0), 2, "s")
    monkeypatch.setattr("cacheroute.prom.interpret.MAX_KEYS", 1)
    cut = outcome(spec(), numbers, 2, "s")
    assert isinstance(whole, Rates)
    assert isinstance(flooded, Rates)
    assert isinstance(cut, Rates)
    assert (whole.unkeyed, whole.cut, whole.uncounted) == (0.0, False, 0.0)
    assert (flooded.unkeyed, flooded.cut, flooded.uncounted) == (7.0, False, 9.0)
    assert (cut.keys, cut.unkeyed, cut.cut) == (("a",), 8.0, True)


def test_figures_are_read_by_figure_and_arm() -> None:
    result = [
        {"metric": {"figure": "requests", "arm": "plan"}, "value": [1, "5"]},
        {"metric": {"figure": "uncounted"}, "value": [1, "2"]},
    ]
    assert figures(result) == {("requests", "plan"): 5.0, ("uncounted", ""): 2.0}

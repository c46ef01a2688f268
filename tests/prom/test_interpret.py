import math

import pytest

from cacheroute.domain.rates import Rates, RatesReason, RatesUnavailable
from cacheroute.prom.interpret import AnswerError, Measured, outcome, scalar, vector
from tests.domain.builders import spec


def measured(by_key: dict[str, float], reporting: int = 2) -> Measured:
    return Measured(by_key, reporting, prompt_tokens=100.0, cached_tokens=40.0, time=5.0)


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
    result = outcome(spec(), measured({"a": 1.0, "c": 1.0, "b": 1.0, "d": 3.0, "!": 5.0}), 2, "s")
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
    numbers = Measured({"a": 1.0}, 1, prompt_tokens=None, cached_tokens=None, time=0.0)
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
        prompt_tokens=1.0,
        cached_tokens=0.0,
        time=0.0,
        tokens_by_key={"b": 200.0, "": 50.0, "gone": 5.0, "a": float("nan")},
    )
    measured = outcome(spec(), numbers, 1, "here")
    assert isinstance(measured, Rates)
    assert measured.prompt_tokens is not None
    assert measured.prompt_tokens.tolist() == [0.0, 200.0]
    assert measured.unkeyed_prompt_tokens == 55.0

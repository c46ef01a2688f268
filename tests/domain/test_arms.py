from cacheroute.domain.arms import ArmFigures, Arms

PLAN = ArmFigures(9000, 0, 1e6, 712_000, 120, 900)
FLAT = ArmFigures(1000, 1, 1e5, 38_000, 340, 2100)


def test_one_sentence_compares_both_arms() -> None:
    assert Arms(PLAN, FLAT, 300).sentence() == (
        "plan against flat over 300 s: served token hit 71.2 % against 38.0 %, TTFT p50 120 ms against 340 ms, "
        "p99 900 ms against 2100 ms, errors 0.00 % against 0.10 % (9000 against 1000 requests)"
    )


def test_what_was_not_measured_is_not_compared_and_few_requests_are_told() -> None:
    few = ArmFigures(20, 0, 0, 0, None, None)
    assert Arms(PLAN, few, 300).sentence() == (
        "plan against flat over 300 s: errors 0.00 % against 0.00 % (9000 against 20 requests; too few to decide by)"
    )


def test_one_arm_alone_says_what_to_do() -> None:
    assert "went flat; mode Canary has both" in Arms(None, FLAT, 300).sentence()
    assert "went by plan" in Arms(PLAN, None, 300).sentence()

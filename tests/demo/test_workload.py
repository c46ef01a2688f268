"""Tenants, prompts and arrivals."""

import numpy as np
import pytest

from cacheroute.demo.workload import MAX_SHARE, Prompts, Shape, arrivals, shares, text

SHAPE = Shape()


def test_shares_are_unequal_capped_and_sum_to_one() -> None:
    share = shares(900, seed=1)
    assert share.sum() == pytest.approx(1.0)
    assert share.max() == pytest.approx(MAX_SHARE, rel=1e-3)
    assert np.sort(share)[-36:].sum() > 0.35


def test_few_tenants_can_still_share_everything() -> None:
    assert shares(10, seed=1).sum() == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_requests() -> None:
    share = shares(50, seed=3)
    one, other = (arrivals(share, rate=20.0, seconds=30.0, seed=4) for _ in range(2))
    assert one.seconds.tolist() == other.seconds.tolist()
    assert one.tenant.tolist() == other.tenant.tolist()
    assert one.seconds.tolist() != arrivals(share, 20.0, 30.0, seed=5).seconds.tolist()


def test_arrivals_are_in_order_and_about_as_many_as_the_rate_says() -> None:
    schedule = arrivals(shares(50, seed=3), rate=100.0, seconds=30.0, seed=4)
    assert (np.diff(schedule.seconds) >= 0).all()
    assert schedule.seconds[-1] < 30.0
    assert 2800 < schedule.seconds.size < 3200


def test_text_has_four_bytes_for_each_token() -> None:
    assert len(text(10, 1, 2)) == 40
    assert text(10, 1, 2) == text(10, 1, 2) != text(10, 1, 3)


def test_prompts_share_a_template_and_a_tenants_context_but_no_question() -> None:
    prompts = Prompts(SHAPE, seed=1)
    first, second, other = prompts.prompt(7, 1), prompts.prompt(7, 2), prompts.prompt(8, 3)
    assert len(first) == 4 * SHAPE.prompt
    context = 4 * (SHAPE.shared + SHAPE.context)
    assert first[:context] == second[:context]
    assert first[context:] != second[context:]
    assert first[: 4 * SHAPE.shared] == other[: 4 * SHAPE.shared]
    assert first[4 * SHAPE.shared : context] != other[4 * SHAPE.shared : context]


def test_one_engine_cannot_keep_everybody_but_keeps_its_share() -> None:
    cache = SHAPE.cache_blocks(tenants=900, engines=6)
    assert SHAPE.blocks_needed(150) < cache < SHAPE.blocks_needed(900) / 2


def test_a_few_tenants_leave_room_for_running_requests() -> None:
    assert SHAPE.cache_blocks(tenants=10, engines=10) == 512

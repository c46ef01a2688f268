from collections.abc import Iterator

import pytest

from cacheroute.domain.errors import PlanFormatError, StoreError
from cacheroute.domain.plan import Plan
from cacheroute.domain.spec import PlanRef
from cacheroute.kube import plan_parts
from cacheroute.kube.names import ANNOTATION_PARTS
from cacheroute.kube.plan_parts import (
    HEAD,
    MAX_NUMBER,
    Delete,
    Put,
    config_map_name,
    joined,
    label_value,
    pack,
    part_numbers,
    saving,
    unpack,
)
from tests.kube.plans import plan

Shelf = dict[int, Put]


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_parts, "PART_BYTES", 1024)


def read(shelf: Shelf) -> Plan:
    annotations = shelf[HEAD].annotations
    return joined(annotations, [shelf[number].content for number in part_numbers(annotations)])


def states(shelf: Shelf, new: Plan) -> Iterator[Shelf]:
    """Yield what is stored after each step, the shelf itself being changed."""
    former = part_numbers(shelf[HEAD].annotations) if HEAD in shelf else ()
    for step in saving(new, former, shelf):
        if isinstance(step, Delete):
            del shelf[step.number]
        else:
            shelf[step.number] = step
        yield shelf


def save(shelf: Shelf, new: Plan) -> None:
    for _ in states(shelf, new):
        pass


def test_packing_is_deterministic_and_comes_back() -> None:
    assert pack(plan()) == pack(plan())
    assert unpack(pack(plan())) == plan()


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 200), (200, 1), (200, 300), (300, 120)])
def test_at_every_moment_one_complete_plan_can_be_read(before: int, after: int) -> None:
    shelf: Shelf = {}
    old, new = plan(before, "old"), plan(after, "new")
    save(shelf, old)
    versions = [read(state).version for state in states(shelf, new)]
    assert set(versions) <= {old.version, new.version}
    assert versions == sorted(versions, key=[old.version, new.version].index)
    assert versions[-1] == new.version
    assert set(shelf) == set(part_numbers(shelf[HEAD].annotations))


@pytest.mark.parametrize("steps", range(12))
def test_a_save_after_an_interrupted_one_leaves_nothing_behind(steps: int) -> None:
    shelf: Shelf = {}
    save(shelf, plan(200, "old"))
    for _, _ in zip(range(steps), states(shelf, plan(200, "lost")), strict=False):
        pass
    survivor = read(shelf)
    assert survivor.version in {plan(200, "old").version, plan(200, "lost").version}
    save(shelf, plan(150, "new"))
    assert read(shelf) == plan(150, "new")
    assert set(shelf) == set(part_numbers(shelf[HEAD].annotations))


def test_numbers_stay_small() -> None:
    shelf: Shelf = {}
    for turn in range(6):
        save(shelf, plan(200, str(turn)))
    assert max(shelf) < 2 * len(shelf)


def test_a_plan_of_too_many_parts_is_refused() -> None:
    with pytest.raises(StoreError, match="admit fewer keys"):
        saving(plan(3000), (), ())


def test_parts_that_do_not_belong_together_are_refused() -> None:
    shelf: Shelf = {}
    save(shelf, plan(200))
    swapped = shelf | {1: shelf[2], 2: shelf[1]}
    with pytest.raises(PlanFormatError, match="checksum"):
        read(swapped)


@pytest.mark.parametrize("text", ["", "1", "0,x", "0,-1", f"0,{MAX_NUMBER}"])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(PlanFormatError, match=ANNOTATION_PARTS):
        part_numbers({ANNOTATION_PARTS: text})


def test_what_is_no_gzip_is_refused() -> None:
    with pytest.raises(PlanFormatError, match="no stored plan"):
        unpack(b"no gzip")


def test_names_fit_however_long_the_plan_is_called() -> None:
    assert config_map_name(PlanRef("n", "llama"), 3) == "cacheroute-plan-llama-3"
    longest = [PlanRef("n", "x" * 252 + end) for end in "ab"]
    names = {config_map_name(ref, MAX_NUMBER - 1) for ref in longest}
    assert len(names) == 2
    assert max(len(name) for name in names) <= 253
    assert {len(label_value(ref)) for ref in longest} == {63}
    assert label_value(PlanRef("n", "llama")) == "llama"

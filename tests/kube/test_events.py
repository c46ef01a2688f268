from cacheroute.domain.decision import Notice
from cacheroute.domain.spec import PlanRef
from cacheroute.kube.event_ledger import (
    BURST,
    REFILL_SECONDS,
    REPEAT_SECONDS,
    Dropped,
    EventLedger,
    Fresh,
    Repeat,
)
from cacheroute.kube.events import MAX_NOTE, note

REF = PlanRef("inference", "llama")
HELD = Notice(warning=True, reason="PlanHeld", message="no rates")


def test_a_repeat_is_counted() -> None:
    ledger = EventLedger()
    assert ledger.judge(REF, "uid", HELD, 0.0) == Fresh()
    ledger.record("uid", HELD, "llama.1", 0.0)
    assert ledger.judge(REF, "uid", HELD, 1.0) == Repeat("llama.1", 2)
    ledger.record("uid", HELD, "llama.1", 1.0)
    assert ledger.judge(REF, "uid", HELD, 2.0) == Repeat("llama.1", 3)


def test_a_repeat_after_long_or_of_another_object_is_new() -> None:
    ledger = EventLedger()
    ledger.record("uid", HELD, "llama.1", 0.0)
    assert ledger.judge(REF, "uid-2", HELD, 1.0) == Fresh()
    assert ledger.judge(REF, "uid", HELD, REPEAT_SECONDS) == Fresh()


def test_a_flood_is_cut_and_ends() -> None:
    ledger = EventLedger()
    notices = [Notice(warning=False, reason="PlanRepaired", message=str(one)) for one in range(BURST + 1)]
    verdicts = [ledger.judge(REF, "uid", notice, 0.0) for notice in notices]
    assert verdicts == [Fresh()] * BURST + [Dropped()]
    assert ledger.judge(PlanRef("inference", "other"), "uid-2", notices[-1], 0.0) == Fresh()
    assert ledger.judge(REF, "uid", notices[-1], REFILL_SECONDS) == Fresh()


def test_notes_are_one_line_that_the_api_takes() -> None:
    assert note("a\n b") == "a b"
    cut = note("é" * MAX_NOTE)
    assert len(cut.encode()) <= MAX_NOTE
    assert cut.endswith("é…")

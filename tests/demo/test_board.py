"""The live table."""

from collections import Counter

from cacheroute.demo.board import Board, Phase, rows
from cacheroute.demo.tally import Fate, Record
from cacheroute.demo.view import line


def record(destination: str, sent: float, cached: int = 50, fate: Fate = Fate.ANSWERED) -> Record:
    return Record("flat", sent, 1, fate, destination, prompt_tokens=100, cached_tokens=cached)


def test_a_row_counts_what_its_engine_answered() -> None:
    records = [
        record("a", 1.0, 100),
        record("a", 18.0, 0),
        record("b", 19.0),
        record("a", 19.0, fate=Fate.CUT),
    ]
    first, second, third = rows(records, {"a": True, "b": False, "c": True}, seconds=20.0)
    assert (first.requests, first.hit_percent, first.load) == (2, 50.0, 0.2)
    assert (second.requests, second.running) == (1, False)
    assert (third.requests, third.hit_percent, third.load) == (0, 0.0, 0.0)


def test_the_load_at_the_start_is_over_the_time_that_passed() -> None:
    (only,) = rows([record("a", 0.5), record("a", 1.0)], {"a": True}, seconds=2.0)
    assert only.load == 1.0
    (only,) = rows([], {"a": True}, seconds=0.0)
    assert only.load == 0.0


def test_the_line_has_the_phase_and_the_counts() -> None:
    table = rows([record("a", 1.0, 100), record("b", 1.0, 0)], {"a": True, "b": True}, seconds=10.0)
    fates = Counter({Fate.ANSWERED: 2, Fate.CUT: 1})
    said = line(Board(Phase("flat", "flat", 50.0), 10.0, "", table, fates))
    assert said == "  flat 10/50 s: token hit 50 %, answered 2, failed 0, cut 1, plan none yet"

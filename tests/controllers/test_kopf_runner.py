import itertools

from cacheroute.controllers.kopf_runner import LONGEST_PAUSE, Pauses, WatchScope, settings


def test_kopf_writes_nothing_and_never_gives_up_on_the_api_server() -> None:
    chosen = settings(WatchScope())
    assert chosen.scanning.disabled
    assert chosen.peering.standalone
    assert not chosen.posting.enabled
    assert chosen.process.ultimate_exiting_timeout is None
    backoffs = chosen.networking.error_backoffs
    assert isinstance(backoffs, Pauses)
    assert len(list(itertools.islice(backoffs, 1000))) == 1000


def test_pauses_grow_to_a_limit_and_begin_anew() -> None:
    pauses = Pauses()
    first, *_, last = itertools.islice(pauses, 20)
    assert first < 2 < LONGEST_PAUSE * 0.8 <= last <= LONGEST_PAUSE * 1.2
    assert next(iter(pauses)) < 2

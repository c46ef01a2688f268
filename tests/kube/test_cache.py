from hypothesis import given
from hypothesis import strategies as st

from cacheroute.kube.cache import WatchCache

OBJECTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2))
EVENTS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 2)))


def feed(cache: WatchCache[str, int], events: list[tuple[str, int | None]]) -> None:
    for key, value in events:
        if value is None:
            cache.remove(key)
        else:
            cache.put(key, value)


@given(EVENTS, OBJECTS, EVENTS)
def test_events_during_a_list_win_over_it(
    before: list[tuple[str, int | None]], listed: dict[str, int], during: list[tuple[str, int | None]]
) -> None:
    cache: WatchCache[str, int] = WatchCache()
    feed(cache, before)
    cache.begin_list()
    feed(cache, during)
    cache.end_list(listed)
    expected = dict(listed)
    for key, value in during:
        expected.pop(key, None)
        if value is not None:
            expected[key] = value
    assert cache.objects == expected


def test_only_news_are_news() -> None:
    cache: WatchCache[str, int] = WatchCache()
    assert [cache.put("a", 1), cache.put("a", 1), cache.put("a", 2)] == [True, False, True]
    assert [cache.remove("a"), cache.remove("a")] == [True, False]


def test_a_list_heals_a_lost_deletion() -> None:
    cache: WatchCache[str, int] = WatchCache()
    cache.put("a", 1)
    cache.begin_list()
    assert cache.end_list({})
    cache.begin_list()
    assert not cache.end_list({})

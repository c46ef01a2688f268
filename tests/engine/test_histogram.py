from cacheroute.engine.histogram import Tally, one_two_five


def test_bounds_are_inclusive_and_counts_cumulative() -> None:
    tally = Tally((1, 2.5))
    tally.observe(1)
    tally.observe(2, times=3)
    tally.observe(99)
    assert tally.buckets() == [("1.0", 1.0), ("2.5", 4.0), ("+Inf", 5.0)]
    assert tally.total == 106


def test_one_two_five() -> None:
    assert one_two_five(100) == [1, 2, 5, 10, 20, 50, 100]
    assert one_two_five(199)[-1] == 100

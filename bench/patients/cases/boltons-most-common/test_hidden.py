"""What the fixed release does, beyond the issue's example."""

from boltons.cacheutils import ThresholdCounter


def test_limits() -> None:
    counter = ThresholdCounter(threshold=0.1)
    counter.update("abacab")
    assert counter.most_common() == [("a", 3), ("b", 2), ("c", 1)]
    assert counter.most_common(None) == [("a", 3), ("b", 2), ("c", 1)]
    assert counter.most_common(2) == [("a", 3), ("b", 2)]
    assert counter.most_common(9) == [("a", 3), ("b", 2), ("c", 1)]
    assert counter.most_common(0) == []
    assert counter.most_common(-1) == []
    assert ThresholdCounter().most_common() == []

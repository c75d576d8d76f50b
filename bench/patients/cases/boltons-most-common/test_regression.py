"""`most_common` without a limit gives all pairs."""

from boltons.cacheutils import ThresholdCounter


def test_all_pairs_without_a_limit() -> None:
    counter = ThresholdCounter(threshold=0.1)
    counter.update("aab")
    assert counter.most_common() == [("a", 2), ("b", 1)]

"""The bench that the constants of the promotion policy rest on says what the docs say, on a smaller population."""

from bench.promotion import POLICIES, judge, population


def test_the_policy_beats_the_plain_thresholds_where_it_claims_to() -> None:
    """Far fewer calls of bad tools are served as durable, a break is noticed, and no good tool is lost on the way."""
    tools = population(5, 150, 130)
    ours = judge(tools, POLICIES["solver_promotion_v1"])
    plain = judge(tools, POLICIES["the seed's plain thresholds"])
    assert ours.false_time < plain.false_time / 3
    assert ours.noticed < 10 < plain.noticed
    assert ours.false_holds <= 0.02


def test_the_population_is_the_same_for_a_seed() -> None:
    """And another for another."""
    assert population(1, 5, 20) == population(1, 5, 20)
    assert population(1, 5, 20) != population(2, 5, 20)

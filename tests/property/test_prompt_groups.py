"""How the embedded model puts requests together."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.models.embedded import chains, groups, shared_head
from surefoot.models.estimate import estimate_tokens

tokens = st.lists(st.integers(0, 2), max_size=12).map(tuple)
prompts = st.lists(tokens, max_size=8).map(lambda found: dict(enumerate(found)))

quick = settings(deadline=None, max_examples=60)  # time depends on the machine


@quick
@given(prompts)
def test_each_request_is_in_one_group(given_prompts: dict[int, tuple[int, ...]]) -> None:
    """No request is lost or sent twice, and groups come in the order of their first request."""
    found = groups(given_prompts)
    assert sorted(i for group in found for i in group) == sorted(given_prompts)
    assert [group[0] for group in found] == sorted(min(group) for group in found)


@quick
@given(prompts)
def test_a_group_shares_half_of_its_longest_prompt(
    given_prompts: dict[int, tuple[int, ...]],
) -> None:
    """What is evaluated once is worth it."""
    for group in groups(given_prompts):
        inside = [given_prompts[i] for i in group]
        if len(inside) > 1:
            assert 2 * len(shared_head(inside)) >= max(map(len, inside))


@quick
@given(prompts, st.integers(1, 4))
def test_gaps_are_asked_beside_those_that_begin_alike(
    given_prompts: dict[int, tuple[int, ...]], at_once: int
) -> None:
    """Each once, in so many rows or fewer; in a single one no other order shares more with the one before."""
    rows = chains(given_prompts, at_once)
    assert sorted(i for row in rows for i in row) == sorted(given_prompts)
    assert len(rows) <= at_once
    (one,) = chains(given_prompts, 1) or [[]]
    assert _shared(given_prompts, one) >= _shared(given_prompts, [*given_prompts])


def _shared(given_prompts: dict[int, tuple[int, ...]], order: list[int]) -> int:
    """Tokens that each has in common with the one before it."""
    return sum(len(shared_head([given_prompts[i], given_prompts[j]])) for i, j in pairwise(order))


@quick
@given(st.lists(tokens, min_size=1, max_size=5))
def test_equal_prompts_are_one_group(given_prompts: list[tuple[int, ...]]) -> None:
    """Samples of one prompt are never apart."""
    count = len(given_prompts)
    together = [set(group) for group in groups(dict(enumerate(given_prompts * 2)))]
    assert all(any({i, i + count} <= group for group in together) for i in range(count))


@quick
@given(st.lists(tokens, min_size=1, max_size=5))
def test_the_shared_head_is_the_longest(given_prompts: list[tuple[int, ...]]) -> None:
    """All prompts begin with it, and with nothing longer."""
    head = shared_head(given_prompts)
    assert all(prompt[: len(head)] == head for prompt in given_prompts)
    following = {prompt[len(head) : len(head) + 1] for prompt in given_prompts}
    assert len(following) > 1 or following == {()}


@quick
@given(st.text(max_size=40), st.text(max_size=40))
def test_the_estimate_grows_with_the_text(one: str, two: str) -> None:
    """More text never counts less, and any visible text counts."""
    assert estimate_tokens(one + two) >= max(estimate_tokens(one), estimate_tokens(two))
    assert estimate_tokens(one) >= (1 if one.strip() else 0)

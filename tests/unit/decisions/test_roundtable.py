"""Reviewers agree on one candidate in at most two rounds, or on none."""

from collections.abc import Sequence

import pytest

from surefoot.decisions.roundtable import RULES, Juror, Option, agree
from surefoot.values import Digest

A, B, C = Digest("a"), Digest("b"), Digest("c")


def option(key: Digest, score: float = 0.5, lines: int = 2, prior: float = 0.5) -> Option:
    return Option(candidate_id=key, description="", score=score, lines=lines, prior=prior)


def says(name: str, *choices: Digest | None) -> Juror:
    """A reviewer with one answer a round."""
    left = list(choices)

    def choose(_options: Sequence[Option]) -> Digest | None:
        return left.pop(0)

    return Juror(name=name, choose=choose)


def test_one_candidate_needs_no_table() -> None:
    """Without a choice nobody is asked."""
    found = agree([option(A)], [])
    assert (found.choice, found.ballots) == (A, ())


def test_a_majority_agrees_at_once() -> None:
    """More than half of those that named one."""
    found = agree([option(A), option(B)], [says("x", B), says("y", B), says("z", A)])
    assert found.choice == B
    assert {b.round for b in found.ballots} == {1}


def test_a_second_round_is_between_the_two_that_were_named_most() -> None:
    """Three ways first; the one that scores least drops out, and its name no longer counts."""
    options = [option(A, 0.9), option(B, 0.8), option(C, 0.1)]
    found = agree(options, [says("x", A, A), says("y", B, B), says("z", C, B)])
    assert (found.choice, len(found.ballots)) == (B, 6)
    again = agree(options, [says("x", A, A), says("y", B, B), says("z", C, C)])
    assert again.choice is None


def test_without_agreement_nothing_is_kept() -> None:
    """Two rounds and no more; whoever abstains, or names what is not there, has no vote."""
    found = agree([option(A), option(B)], [says("x", A, A), says("y", B, B)])
    assert (found.choice, len(found.ballots)) == (None, 4)
    assert agree([option(A), option(B)], [says("x", A), says("y", None), says("z", C)]).choice == A


@pytest.mark.parametrize(
    ("options", "choice"),
    [
        ([option(A, score=0.9), option(B, lines=1, prior=0.9)], B),
        ([option(A, score=0.9, lines=1), option(B, prior=0.9)], A),
        ([option(A, score=0.9, prior=0.9), option(B, lines=1)], A),
    ],
)
def test_the_reviewers_by_rule_always_agree_on_one_of_two(
    options: list[Option], choice: Digest
) -> None:
    """Score, smallness and likelihood: two of the three decide."""
    assert agree(options, RULES).choice == choice

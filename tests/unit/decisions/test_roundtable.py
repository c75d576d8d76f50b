"""Reviewers agree on one candidate in at most two rounds, or on none."""

import json
from collections.abc import Sequence

import pytest

from surefoot.codec import decode
from surefoot.decisions.roundtable import (
    RULES,
    Agreement,
    Juror,
    Option,
    VoteAnswer,
    agree,
    held,
    model_juror,
)
from surefoot.events.orchestration import Decided
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.model import ScriptedModel
from surefoot.values import Ceilings, Digest

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


def test_what_the_rules_would_have_kept_stands_beside_a_model_s_word() -> None:
    """Beside its vote the one by score, beside the agreement that of the reviewers by rule; nothing where they decide."""
    ledger, clock = MemoryLedger(), FakeClock()
    journal = Journal(ledger, clock)
    ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1, tokens=None)
    judge = ScriptedModel([json.dumps({"choice": 0, "reason": "it says what it means"})])
    asker = MeteredModel(judge, journal, ceilings, clock)
    options = [option(A, score=0.2, lines=1), option(B, score=0.9), option(C, score=0.1, prior=0.9)]
    held(options, (*RULES, model_juror(asker, journal)), journal)
    held(options, RULES, journal)
    decided = [r.event for r in ledger.events() if isinstance(r.event, Decided)]
    votes = [d for d in decided if d.decision == "roundtable_vote"]
    assert votes[0].by_rule is not None
    assert decode(VoteAnswer, ledger.get(votes[0].output)).choice == 0
    assert decode(VoteAnswer, ledger.get(votes[0].by_rule)).choice == 1
    with_model, by_rule = [d for d in decided if d.decision == "roundtable"]
    assert (with_model.decided_by, by_rule.decided_by) == ("model", "rule")
    assert with_model.by_rule == by_rule.output
    assert by_rule.by_rule is None
    assert decode(Agreement, ledger.get(by_rule.output)) == agree(options)

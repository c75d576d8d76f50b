"""What a turn was, by rule: events and diff first, text last (SPEC A4). Pure.

The order is part of the meaning. A refusal phrase inside a turn that did effective work is not a refusal; a wait is
never progress; a completion claim counts for nothing until every proof holds.
"""

import re
from dataclasses import dataclass
from functools import partial
from typing import Final

from surefoot.kernel.evidence import only_strength
from surefoot.kernel.ports import Observation
from surefoot.kernel.thresholds import NOOP_CHARACTERS
from surefoot.values import Checkpoint, CheckpointOutcome, Classification, ModelFault

STALL_TURNS: Final = 3
LOOP_WINDOW: Final = 5

# Wordings in which models decline, in the languages that users write issues in. They count only without effective work.
_REFUSALS: Final = re.compile(
    r"""
    \bi(?:['\u2019]m|\ am)\ (?:very\ |so\ |really\ )?(?:sorry|afraid|unable|not\ able)\b
    | \b(?:i|we)\ (?:can(?:no|['\u2019])t|can\ not|cannot|won['\u2019]t|will\ not|must\ decline)\b
      .{0,40}\b(?:help|assist|comply|do|fulfil+|provide|continue|complete|make|perform|proceed)\b
    | \bi\ (?:do\ not|don['\u2019]t)\ (?:currently\ )?have\ (?:the\ )?(?:necessary\ |required\ )?
      (?:tools?|access|ability|permission|capabilit)
    | \bas\ an?\ (?:ai|language\ model)\b.{0,60}\b(?:can(?:no|['\u2019])t|unable|not)\b
    | \b(?:i|we)\ (?:must\ |have\ to\ |need\ to\ )?(?:decline|refuse)\b
    | \bunable\ to\ (?:assist|help|comply)\b
    | \b(?:against|violates?)\ (?:my|our|the)\ (?:guidelines|polic)
    | \bes\ tut\ mir\ leid\b | \bich\ kann\ (?:dabei|das|dir|ihnen)\ .{0,30}nicht\b
    | \bje\ suis\ d\u00e9sol\u00e9e?\b | \bje\ ne\ peux\ pas\b | \blo\ siento\b | \bno\ puedo\ (?:ayudar|hacer)
    | \bmi\ dispiace\b | \bnon\ posso\ aiutar | \bsinto\ muito\b | \bn\u00e3o\ posso\ ajudar
    | \u62b1\u6b49 | \u65e0\u6cd5 | \u7533\u3057\u8a33 | \u3067\u304d\u307e\u305b\u3093
    | \u0438\u0437\u0432\u0438\u043d\u0438\u0442\u0435 | \u043d\u0435\ \u043c\u043e\u0433\u0443
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)

_OUTAGES: Final = frozenset(
    {Classification.BLOCKER_INFRASTRUCTURE, Classification.BLOCKER_SOLVER_UNREACHABLE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A classification, what follows from it, and whether the rules are sure."""

    classification: Classification
    outcome: CheckpointOutcome
    summary: str
    excerpt: str = ""
    certain: bool = True


def classify(seen: Observation, noop_characters: int = NOOP_CHARACTERS) -> Verdict:
    """The first rule that applies, in the order of SPEC A4; with fewer visible characters an idle turn is a no-op."""
    noop = partial(_noop, characters=noop_characters)
    for rule in (_infrastructure, _refusal, noop, _wait, _completion, _progress):
        verdict = rule(seen)
        if verdict is not None:
            return verdict
    return _standstill(seen)


def fingerprint(summary: str) -> str:
    """What a summary says, blind to case and spacing."""
    # Not cut: behind long paths the tree, and behind a long test id its parameter, is what tells two turns apart.
    return " ".join(summary.lower().split())


def _worked(seen: Observation) -> bool:
    return seen.output.effective_actions > 0 or bool(seen.diff.files)


def _infrastructure(seen: Observation) -> Verdict | None:
    failure = seen.output.failure
    if failure is None or failure.fault is ModelFault.REFUSAL or seen.diff.files:
        return None
    return Verdict(
        classification=Classification.BLOCKER_INFRASTRUCTURE,
        outcome=CheckpointOutcome.BLOCKER,
        summary=f"{failure.model} failed: {failure.fault}: {failure.message}",
    )


def _refusal(seen: Observation) -> Verdict | None:
    failure = seen.output.failure
    if failure is not None and failure.fault is ModelFault.REFUSAL and not seen.diff.files:
        return _refused(f"{failure.model} refused: {failure.message}", "")
    if _worked(seen):
        return None
    match = _REFUSALS.search(seen.output.transcript)
    if match is None:
        return None
    return _refused(f"{seen.model} declined to do the work", match.group(0))


def _refused(summary: str, excerpt: str) -> Verdict:
    return Verdict(
        classification=Classification.EXECUTOR_REFUSED,
        outcome=CheckpointOutcome.BLOCKER,
        summary=summary,
        excerpt=excerpt,
    )


def _noop(seen: Observation, *, characters: int) -> Verdict | None:
    visible = len("".join(seen.output.transcript.split()))
    if _worked(seen) or seen.output.claim == "wait" or visible >= characters:
        return None
    return Verdict(
        classification=Classification.EXECUTOR_NOOP,
        outcome=CheckpointOutcome.BLOCKER,
        summary="the executor did nothing: no effective action, no change"
        + (f"; it said: {seen.output.transcript.strip()[:160]}" if visible else ""),
    )


def _wait(seen: Observation) -> Verdict | None:
    if seen.output.claim != "wait" or seen.diff.files:
        return None
    judged = [c.classification for c in seen.history if c.classification not in _OUTAGES]
    earlier = judged[-STALL_TURNS + 1 :]
    if len(earlier) == STALL_TURNS - 1 and set(earlier) == {Classification.EXECUTOR_WAIT}:
        return Verdict(
            classification=Classification.BLOCKER_STALL,
            outcome=CheckpointOutcome.BLOCKER,
            summary=f"the executor has declared for {STALL_TURNS} turns in a row that it waits",
        )
    return Verdict(
        classification=Classification.EXECUTOR_WAIT,
        outcome=CheckpointOutcome.CONTINUE,
        summary="the executor declares that it waits",
    )


def _completion(seen: Observation) -> Verdict | None:
    against = [p for p in seen.evidence if not p.passed]
    if seen.diff.files and seen.evidence and not against:
        return Verdict(
            classification=Classification.COMPLETE,
            outcome=CheckpointOutcome.COMPLETE,
            summary="; ".join(f"{p.kind}: {p.after}" for p in seen.evidence),
        )
    if only_strength(seen.evidence):
        return None  # what was asked for is done; that the tests are weak is no false claim
    if seen.output.claim != "done":
        return None
    refuted = f"{against[0].kind}: {against[0].after}" if against else "nothing was changed"
    before = [c for c in seen.history if c.classification is Classification.BLOCKER_FALSE_CLAIM]
    return Verdict(
        classification=Classification.BLOCKER_FALSE_CLAIM,
        outcome=CheckpointOutcome.BLOCKER if before else CheckpointOutcome.CONTINUE,
        summary=f"the executor said that it is done, but {refuted}",
    )


def _progress(seen: Observation) -> Verdict | None:
    gains = _gains(seen)
    if not gains:
        return None
    summary = gains[0]
    recent = [fingerprint(c.summary) for c in seen.history[-LOOP_WINDOW + 1 :]]
    # The same calls that bring a fact in other words turn in a circle; those that moved a test or a tree do not.
    if fingerprint(summary) in recent or (gains == list(seen.facts) and _calls_again(seen)):
        return _loop(f"the same again: {summary}")
    return Verdict(
        classification=Classification.PROGRESS,
        outcome=CheckpointOutcome.CONTINUE,
        summary=summary,
    )


def _calls_again(seen: Observation) -> bool:
    """Whether a turn called exactly what one of the last turns called."""
    return bool(seen.called) and seen.called in seen.patterns[-LOOP_WINDOW + 1 :]


def _loop(summary: str) -> Verdict:
    return Verdict(
        classification=Classification.BLOCKER_LOOP,
        outcome=CheckpointOutcome.BLOCKER,
        summary=summary,
    )


def _gains(seen: Observation) -> list[str]:
    """What is new and verified, strongest first."""
    gains: list[str] = []
    if seen.after is not None:
        fixed = sorted(seen.after.passed(seen.before.failing))
        if fixed:
            gains.append(f"now passing: {', '.join(fixed[:3])}")
    gains += list(seen.facts)
    if seen.diff.files and seen.diff.after not in seen.seen_diffs:
        gains.append(f"a new change of {', '.join(seen.diff.paths[:3])} ({seen.diff.after[:8]})")
    return gains


def _standstill(seen: Observation) -> Verdict:
    """No progress: a loop, or one of the turns that add up to a stall. Prose without work is for a model to read."""
    if _calls_again(seen):
        tools = ", ".join(dict.fromkeys(tool for tool, _ in seen.called))
        return _loop(f"the same calls again, without progress: {tools}")
    still = 1
    for checkpoint in reversed(seen.history):
        if checkpoint.classification is Classification.PROGRESS:
            break
        # A turn that the infrastructure ended says nothing about the work.
        still += checkpoint.classification not in _OUTAGES
    stalled = still >= STALL_TURNS
    return Verdict(
        classification=Classification.BLOCKER_STALL,
        outcome=CheckpointOutcome.BLOCKER if stalled else CheckpointOutcome.CONTINUE,
        summary=f"no progress in turn {still} of {STALL_TURNS} before it counts as a stall",
        certain=_worked(seen) or stalled or seen.unit.strategy == "fixer",
    )


def agrees(advice: Checkpoint | None, verdict: Verdict) -> bool:
    """Whether the executor's own checkpoint says the same."""
    return (
        advice is not None
        and advice.classification is verdict.classification
        and advice.outcome is verdict.outcome
    )

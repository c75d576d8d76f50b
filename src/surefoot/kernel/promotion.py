"""The one life cycle of what earns trust, pure: tools and compiled decision policies go through the same table (SPEC D4).

A call adds to a version's scorecard. `decide` holds the scorecard against the policy and answers with a record; `settle`
carries the record out. Nothing else changes a state, but a person's act (`force`).
Two windows: the medium one (200 calls) decides on promotion, the short one (20) on regression. Lifetime counts are for people.
No data is never a pass; a missing value is no regression either, because nothing got worse.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from surefoot.artifacts import (
    CallFacts,
    Condition,
    Decision,
    DecisionRecord,
    Fault,
    LifecycleState,
    Line,
    OperatorAct,
    Standing,
    VersionId,
)
from surefoot.codec import digest_of
from surefoot.errors import UsageError
from surefoot.kernel.thresholds import PromotionPolicy
from surefoot.values import Issue

TRANSITIONS: Final[Mapping[LifecycleState, Mapping[Decision, LifecycleState]]] = {
    LifecycleState.CANDIDATE: {
        Decision.HOLD: LifecycleState.CANDIDATE,
        Decision.CONTINUE_PROBATION: LifecycleState.PROBATION,
        Decision.DEGRADE: LifecycleState.DEGRADED,
    },
    LifecycleState.PROBATION: {
        Decision.CONTINUE_PROBATION: LifecycleState.PROBATION,
        Decision.PROMOTE: LifecycleState.DURABLE,
        Decision.DEGRADE: LifecycleState.DEGRADED,
    },
    LifecycleState.DURABLE: {
        Decision.HOLD: LifecycleState.DURABLE,
        # Earned in shadow, and held against the gate once more when it is to have effect.
        Decision.PROMOTE: LifecycleState.DURABLE,
        Decision.CONTINUE_PROBATION: LifecycleState.PROBATION,
        Decision.DEGRADE: LifecycleState.DEGRADED,
    },
    LifecycleState.DEGRADED: {
        Decision.HOLD: LifecycleState.DEGRADED,
        Decision.CONTINUE_PROBATION: LifecycleState.PROBATION,
    },
    LifecycleState.DISABLED: {Decision.HOLD: LifecycleState.DISABLED},
}

# A person moves a version by one step too: what was degraded goes back through probation whoever wants it.
ACTS: Final[Mapping[LifecycleState, Mapping[OperatorAct, LifecycleState]]] = {
    LifecycleState.CANDIDATE: {
        OperatorAct.PROMOTE: LifecycleState.PROBATION,
        OperatorAct.DEMOTE: LifecycleState.DEGRADED,
        OperatorAct.DISABLE: LifecycleState.DISABLED,
    },
    LifecycleState.PROBATION: {
        OperatorAct.PROMOTE: LifecycleState.DURABLE,
        OperatorAct.DEMOTE: LifecycleState.DEGRADED,
        OperatorAct.DISABLE: LifecycleState.DISABLED,
    },
    LifecycleState.DURABLE: {
        OperatorAct.DEMOTE: LifecycleState.DEGRADED,
        OperatorAct.DISABLE: LifecycleState.DISABLED,
    },
    LifecycleState.DEGRADED: {
        OperatorAct.PROMOTE: LifecycleState.PROBATION,
        OperatorAct.DISABLE: LifecycleState.DISABLED,
    },
    LifecycleState.DISABLED: {OperatorAct.PROMOTE: LifecycleState.PROBATION},
}


VOLUME: Final = ("calls", "sessions")
"""Conditions that only say that there is not enough evidence yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Counts over some calls."""

    calls: int = 0
    successes: int = 0
    contract_pass: int = 0
    contract_fail: int = 0
    faults: Mapping[Fault, int] = field(default_factory=dict)
    sessions: int = 0

    @property
    def failures(self) -> int:
        """Calls that were not ok."""
        return self.calls - self.successes

    @property
    def success_rate(self) -> float | None:
        """None without a call."""
        return self.successes / self.calls if self.calls else None

    @property
    def contract_rate(self) -> float | None:
        """Share of the checked calls that fitted the contract; None when none was checked."""
        checked = self.contract_pass + self.contract_fail
        return self.contract_pass / checked if checked else None


def tally(calls: Iterable[CallFacts]) -> Tally:
    """Count some calls."""
    total = successes = passed = failed = 0
    faults = dict.fromkeys(Fault, 0)
    sessions = set()
    for call in calls:
        total += 1
        successes += call.ok
        passed += call.contract is True
        failed += call.contract is False
        sessions.add(call.session)
        for fault in call.faults:
            faults[fault] += 1
    return Tally(
        calls=total,
        successes=successes,
        contract_pass=passed,
        contract_fail=failed,
        faults=faults,
        sessions=len(sessions),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """What is known of one version (SPEC D3)."""

    version: VersionId
    calls: int = 0
    """In its life."""
    recent: tuple[CallFacts, ...] = ()
    """The last calls, oldest first; at least a medium window of them when there were as many."""
    sibling_keys: frozenset[str] | None = None
    """State keys that the other methods of the same name really used; None: it has no siblings."""

    def window(self, size: int, *, since: int = 0) -> tuple[CallFacts, ...]:
        """The last `size` calls, without those before call number `since`."""
        fresh = max(0, min(size, self.calls - since, len(self.recent)))
        return self.recent[len(self.recent) - fresh :]

    @property
    def consistency(self) -> float | None:
        """`state_key_consistency_ratio` over all that is kept."""
        return consistency(self.recent, self.sibling_keys)


def session_of(issue: Issue) -> str:
    """What a run is for, as a session of `CallFacts`: runs on one task are one session."""
    said = [issue.text.strip(), issue.tests, [f.fingerprint for f in issue.findings]]
    return digest_of(said)[:16]


def consistency(calls: Iterable[CallFacts], siblings: frozenset[str] | None) -> float | None:
    """`state_key_consistency_ratio`: of the state keys that calls used, the share that a sibling method uses as well.

    Each call with state weighs the same; 4 decimals. None: no call used state, or no sibling has shown any yet.
    """
    used = [call.keys for call in calls if call.reads or call.writes]
    if not used or not siblings:
        return None
    return round(sum(len(keys & siblings) / len(keys) for keys in used) / len(used), 4)


def gate(
    card: Scorecard,
    standing: Standing,
    *,
    incumbent: Scorecard | None,
    policy: PromotionPolicy,
    enforced: bool,
) -> tuple[Condition, ...]:
    """Every condition for durable, on the medium window; all that are not advisory have to be met."""
    calls = card.window(policy.medium_window, since=standing.evidence_from)
    seen, returned = tally(calls), standing.degrades > 0
    needed = policy.returned_min_success_rate if returned else policy.min_success_rate
    rival = None if incumbent is None else tally(incumbent.window(policy.medium_window))
    return (
        _least("calls", seen.calls, policy.returned_min_calls if returned else policy.min_calls),
        _least("sessions", seen.sessions, policy.min_sessions),
        _least("contract_pass_rate", seen.contract_rate, policy.min_contract_rate),
        _least("success_rate", seen.success_rate, needed),
        *_against(rival, seen),
        *(_none(fault, seen) for fault in Fault),
        *_coherence(card, calls, policy, advisory=not enforced),
    )


def regression(
    card: Scorecard, standing: Standing, *, policy: PromotionPolicy, enforced: bool
) -> tuple[Condition, ...]:
    """The conditions that the short window fails; empty: no regression, or too few calls to say."""
    calls = card.window(policy.short_window, since=standing.evidence_from)
    if len(calls) < policy.regression_calls:
        return ()
    seen = tally(calls)
    # With the benefit of the doubt, what fails now fails whatever the rest of the window brings.
    missing = policy.short_window - len(calls) if policy.benefit_of_doubt else 0
    checked = seen.contract_pass + seen.contract_fail
    contract = (seen.contract_pass + missing) / (checked + missing) if checked else None
    found = (
        _least("contract_pass_rate", contract, policy.min_contract_rate),
        _least(
            "success_rate",
            (seen.successes + missing) / (seen.calls + missing),
            policy.min_success_rate,
        ),
        *(_none(fault, seen) for fault in Fault),
        *_coherence(card, calls, policy, advisory=not enforced),
    )
    return tuple(c for c in found if not (c.met or c.advisory or c.value is None))


def fails_quality(calls: Sequence[CallFacts], *, policy: PromotionPolicy) -> bool:
    """Whether these calls alone fail a condition of the gate that is not about their number."""
    seen = tally(calls)
    found = (
        _least("contract_pass_rate", seen.contract_rate, policy.min_contract_rate),
        _least("success_rate", seen.success_rate, policy.min_success_rate),
        *(_none(fault, seen) for fault in Fault),
    )
    return not all(c.met for c in found)


def decide(
    standing: Standing,
    card: Scorecard,
    line: Line,
    *,
    incumbent: Scorecard | None,
    policy: PromotionPolicy,
    enforced: bool,
    productive: bool = False,
) -> DecisionRecord:
    """What the policy says of a version now.

    `incumbent` is the scorecard of the version that serves the interface, when it is another one. `productive`: a call of
    the version was ok in a turn that the solver classified as progress or complete.
    """
    worse = regression(card, standing, policy=policy, enforced=enforced)
    conditions: tuple[Condition, ...] = ()
    note = ""
    state = standing.state
    unproven = state is LifecycleState.DURABLE and enforced and not standing.enforced
    if state is LifecycleState.DISABLED:
        decision, note = Decision.HOLD, "a person took it out"
    elif state is LifecycleState.DEGRADED:
        left = standing.cool_until - line.calls
        decision = Decision.HOLD if left > 0 else Decision.CONTINUE_PROBATION
        note = f"cool-down: {left} calls left" if left > 0 else "cool-down is over"
    elif worse:
        decision, conditions = Decision.DEGRADE, worse
    elif state is LifecycleState.CANDIDATE:
        decision = Decision.CONTINUE_PROBATION if productive else Decision.HOLD
        note = "first productive call" if productive else "no productive call yet"
    elif state is LifecycleState.PROBATION or unproven:
        conditions = gate(card, standing, incumbent=incumbent, policy=policy, enforced=enforced)
        passes = all(c.met or c.advisory for c in conditions)
        decision = Decision.PROMOTE if passes else Decision.CONTINUE_PROBATION
    else:
        decision = Decision.HOLD
    after = TRANSITIONS[state][decision]
    leaves = line.incumbent == standing.version.artifact and after is not LifecycleState.DURABLE
    short = decision is Decision.DEGRADE
    return DecisionRecord(
        version=standing.version,
        incumbent=line.incumbent,
        decision=decision,
        before=state,
        after=after,
        policy=policy.version,
        window=f"short:{policy.short_window}" if short else f"medium:{policy.medium_window}",
        enforced=enforced,
        calls=card.calls,
        conditions=conditions,
        note=note,
        restored=line.incumbents[-2] if leaves and len(line.incumbents) > 1 else None,
    )


def settle(
    standing: Standing,
    line: Line,
    record: DecisionRecord,
    *,
    policy: PromotionPolicy,
    at: datetime,
) -> tuple[Standing, Line]:
    """Version and interface after a decision."""
    moved = replace(
        standing,
        policy=record.policy,
        last_decision=record.decision,
        last_decision_at=at,
    )
    return _moved(
        moved, line, record.after, calls=record.calls, policy=policy, enforced=record.enforced
    )


def force(
    standing: Standing, line: Line, act: OperatorAct, *, calls: int, policy: PromotionPolicy
) -> tuple[Standing, Line]:
    """Version and interface after a person's act; `calls` are those of the version in its life.

    Raises:
        UsageError: The table of acts has no such step.
    """
    row = ACTS[standing.state]
    if act not in row:
        raise UsageError(
            f"{standing.version} is {standing.state}, which cannot be {act}d; "
            f"from there: {', '.join(row)}"
        )
    return _moved(standing, line, row[act], calls=calls, policy=policy, enforced=True)


def _moved(
    standing: Standing,
    line: Line,
    after: LifecycleState,
    *,
    calls: int,
    policy: PromotionPolicy,
    enforced: bool,
) -> tuple[Standing, Line]:
    before, artifact = standing.state, standing.version.artifact
    others = tuple(a for a in line.incumbents if a != artifact)
    if after is LifecycleState.DURABLE and before is LifecycleState.DURABLE:
        confirmed = replace(standing, enforced=standing.enforced or enforced)
        return confirmed, line
    changed = replace(standing, state=after, enforced=enforced)
    if after is before:
        changed = replace(standing, state=after)
    elif after is LifecycleState.DURABLE:
        changed = replace(changed, compatibility=False)
        return changed, replace(line, incumbents=(*others, artifact))
    elif after is LifecycleState.DEGRADED:
        cool = line.calls + policy.cool_down_calls
        changed = replace(changed, degrades=standing.degrades + 1, cool_until=cool)
    elif before in {LifecycleState.DEGRADED, LifecycleState.DISABLED}:
        changed = replace(changed, evidence_from=calls)
    return changed, replace(line, incumbents=others)


def _least(name: str, value: float | None, needed: float, *, advisory: bool = False) -> Condition:
    return Condition(
        name=name,
        value=None if value is None else round(value, 4),
        needed=needed,
        met=value is not None and value >= needed,
        advisory=advisory,
    )


def _none(fault: Fault, seen: Tally) -> Condition:
    count = seen.faults.get(fault, 0)
    return Condition(name=fault, value=count, needed=0, most=True, met=count == 0)


def _against(rival: Tally | None, seen: Tally) -> Iterable[Condition]:
    """Not below the incumbent; what the incumbent has no data of cannot be compared."""
    if rival is None:
        return
    if rival.contract_rate is not None:
        yield _least("contract_pass_rate_of_incumbent", seen.contract_rate, rival.contract_rate)
    if rival.success_rate is not None:
        yield _least("success_rate_of_incumbent", seen.success_rate, rival.success_rate)


def _coherence(
    card: Scorecard, calls: Iterable[CallFacts], policy: PromotionPolicy, *, advisory: bool
) -> Iterable[Condition]:
    """Only where there is state to agree on: a version that keeps none, or has no siblings, has nothing to show."""
    calls = tuple(calls)
    if card.sibling_keys is not None and any(call.keys for call in calls):
        ratio = consistency(calls, card.sibling_keys)
        yield _least(
            "state_key_consistency_ratio", ratio, policy.min_consistency, advisory=advisory
        )

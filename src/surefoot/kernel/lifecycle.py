"""The life of a run, and of a planning before it, as one closed table (SPEC B5, C1).

A phase step does its work and returns a trigger; `advance` looks the pair up. What is not in the table cannot happen:
from failing checks there is no edge to complete, and a phase that ended for good has no edges at all.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from surefoot.errors import IllegalTransitionError
from surefoot.values import RunStatus


class Phase(StrEnum):
    """Where a run stands; the first six are those of a planning, which ends as reported when its plan has passed."""

    DISCOVER = "discover"
    CLARIFY = "clarify"
    RESEARCH = "research"
    DRAFT = "draft"
    COMPILE = "compile"
    PLAN_GATE = "plan_gate"
    AUDITING = "auditing"
    PLANNING = "planning"
    SOLVING = "solving"
    REVIEW = "review"
    POST_CHECKS = "post_checks"
    DELTA_CRITIQUE = "delta_critique"
    COMPLETE = "complete"
    REPORTED = "reported"
    BLOCKED = "blocked"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    BUDGET = "budget"


class Trigger(StrEnum):
    """What a phase step found."""

    DISCOVERED = "discovered"
    PLAN_GIVEN = "plan-given"
    CLARIFIED = "clarified"
    RESEARCHED = "researched"
    DRAFTED = "drafted"
    COMPILED = "compiled"
    PLAN_PASSED = "plan-passed"
    PLAN_REFUSED = "plan-refused"
    WORK_FOUND = "work-found"
    NOTHING_FOUND = "nothing-found"
    REPORT_ONLY = "report-only"
    PLANNED = "planned"
    TURN_ENDED = "turn-ended"
    UNITS_DONE = "units-done"
    REVIEW_PASSED = "review-passed"
    REVIEW_VETOED = "review-vetoed"
    CHECKS_PASSED = "checks-passed"
    CHECKS_FAILED = "checks-failed"
    CRITIQUE_PASSED = "critique-passed"
    CRITIQUE_FAILED = "critique-failed"
    NEXT_ROUND = "next-round"
    """What was done stays, and the audit goes on from it; after a failed critique it does not stay."""
    BLOCKER = "blocker"
    BUDGET_SPENT = "budget-spent"
    PAUSE = "pause"
    CANCEL = "cancel"
    RESUME = "resume"


_STOPS: Final[Mapping[Trigger, Phase]] = {
    Trigger.BLOCKER: Phase.BLOCKED,
    Trigger.BUDGET_SPENT: Phase.BUDGET,
    Trigger.PAUSE: Phase.PAUSED,
    Trigger.CANCEL: Phase.CANCELLED,
}

# A resumed run starts its round again from the audit; what the ledger holds of it is not done twice.
_RESUMES: Final[Mapping[Trigger, Phase]] = {Trigger.RESUME: Phase.AUDITING}

TRANSITIONS: Final[Mapping[Phase, Mapping[Trigger, Phase]]] = {
    Phase.DISCOVER: {
        Trigger.DISCOVERED: Phase.CLARIFY,
        Trigger.PLAN_GIVEN: Phase.PLAN_GATE,
        **_STOPS,
    },
    Phase.CLARIFY: {Trigger.CLARIFIED: Phase.RESEARCH, **_STOPS},
    Phase.RESEARCH: {Trigger.RESEARCHED: Phase.DRAFT, **_STOPS},
    Phase.DRAFT: {Trigger.DRAFTED: Phase.COMPILE, **_STOPS},
    Phase.COMPILE: {Trigger.COMPILED: Phase.PLAN_GATE, **_STOPS},
    # A refused plan is drafted again, or ends here; nothing leads from it into work.
    Phase.PLAN_GATE: {
        Trigger.PLAN_PASSED: Phase.REPORTED,
        Trigger.PLAN_REFUSED: Phase.DRAFT,
        **_STOPS,
    },
    Phase.AUDITING: {
        Trigger.WORK_FOUND: Phase.PLANNING,
        Trigger.NOTHING_FOUND: Phase.REPORTED,
        Trigger.REPORT_ONLY: Phase.REPORTED,
        **_STOPS,
    },
    Phase.PLANNING: {Trigger.PLANNED: Phase.SOLVING, **_STOPS},
    Phase.SOLVING: {
        Trigger.TURN_ENDED: Phase.SOLVING,
        Trigger.UNITS_DONE: Phase.REVIEW,
        Trigger.NEXT_ROUND: Phase.AUDITING,
        **_STOPS,
    },
    Phase.REVIEW: {
        Trigger.REVIEW_PASSED: Phase.POST_CHECKS,
        Trigger.REVIEW_VETOED: Phase.SOLVING,
        **_STOPS,
    },
    Phase.POST_CHECKS: {
        Trigger.CHECKS_PASSED: Phase.DELTA_CRITIQUE,
        Trigger.CHECKS_FAILED: Phase.SOLVING,
        **_STOPS,
    },
    Phase.DELTA_CRITIQUE: {
        Trigger.CRITIQUE_PASSED: Phase.COMPLETE,
        Trigger.CRITIQUE_FAILED: Phase.AUDITING,
        Trigger.NEXT_ROUND: Phase.AUDITING,
        **_STOPS,
    },
    Phase.COMPLETE: {},
    Phase.REPORTED: {},
    Phase.BLOCKED: {},
    Phase.PAUSED: _RESUMES,
    Phase.CANCELLED: _RESUMES,
    Phase.BUDGET: _RESUMES,
}

ENDS: Final[Mapping[Phase, RunStatus]] = {
    Phase.COMPLETE: RunStatus.COMPLETE,
    Phase.REPORTED: RunStatus.REPORTED,
    Phase.BLOCKED: RunStatus.BLOCKED,
    Phase.PAUSED: RunStatus.PAUSED,
    Phase.CANCELLED: RunStatus.CANCELLED,
    Phase.BUDGET: RunStatus.BUDGET,
}


def misstep(phase: Phase, before: str, trigger: str, after: str) -> str:
    """What is wrong with a recorded step of a run that stood at `phase`; empty when it is one of the table's."""
    if before != phase:
        return f"before was {before!r}, but the run stood at {str(phase)!r}"
    try:
        wanted = advance(phase, Trigger(trigger))
    except (ValueError, IllegalTransitionError) as error:
        return f"trigger was {trigger!r}: {error}"
    return "" if wanted == after else f"after was {after!r}, is {str(wanted)!r}"


def advance(phase: Phase, trigger: Trigger) -> Phase:
    """The phase after `trigger`.

    Raises:
        IllegalTransitionError: The table has no such edge.
    """
    row = TRANSITIONS[phase]
    try:
        return row[trigger]
    except KeyError:
        raise IllegalTransitionError(phase.value, trigger.value, tuple(row)) from None

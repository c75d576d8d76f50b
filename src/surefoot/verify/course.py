"""The course of a run: its beginning, its phases, and what let it go from one to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from surefoot.assembly import rules_of
from surefoot.codec import decode, difference, plain
from surefoot.decisions.redacted import MARK
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import (
    LedgerRepaired,
    NodeDeferred,
    NodeSettled,
    NodeStarted,
    PhaseChanged,
    QuestionAnswered,
    QuestionAsked,
    ReviewGiven,
    RunOpened,
    RunResumed,
    RunStopped,
    ScheduleOpened,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.plans import ChildEnded, ChildStarted
from surefoot.events.policy import PolicyResolved, RoundVerified
from surefoot.kernel.contradictions import in_review
from surefoot.kernel.lifecycle import ENDS, Phase, Trigger, misstep
from surefoot.kernel.ports import Reviewer
from surefoot.kernel.proof import failed
from surefoot.kernel.run import may_change, resolved
from surefoot.kernel.state import RunState
from surefoot.kernel.vetoes import heard
from surefoot.kernel.whole import ends_of, review_input, whole_proofs
from surefoot.request import Frozen, thaw
from surefoot.values import Ceilings, Diff, Digest, Mode, Resolution
from surefoot.verify.record import Proofs, Reader

_ASIDE: Final = (
    ScheduleOpened,
    NodeStarted,
    NodeSettled,
    NodeDeferred,
    ChildStarted,
    ChildEnded,
)
"""What happens in a plan's run beside the turn that is open."""


@dataclass(slots=True, kw_only=True)
class CourseCheck:
    """The run begins as it was asked to, moves along the table only, and its turns do not overlap."""

    frozen: Frozen
    get: Reader

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`."""
        event, told = recorded.event, ""
        if (state.opened is None) != isinstance(event, RunOpened):
            told = "a run begins with one run.opened"
        elif isinstance(event, RunOpened):
            told = self._opened(event)
        elif isinstance(event, PhaseChanged):
            told = misstep(state.phase, event.before, event.trigger, event.after)
        elif isinstance(event, RunStopped) and ENDS.get(state.phase) != event.status:
            told = f"status was {str(event.status)!r}, but the run stood in phase {state.phase}"
        elif isinstance(event, RunResumed):
            turn = state.turn.turn_id if state.turn else None
            if event.interrupted_turn != turn:
                told = f"interrupted_turn was {event.interrupted_turn!r}, is {turn!r}"
        elif isinstance(event, PolicyResolved):
            told = self._policy(state, event)
        return told or _turn_of(state, recorded)

    def _opened(self, event: RunOpened) -> str:
        asked = self.frozen
        seed = asked.request.seed if asked.request.seed is not None else asked.settings.run.seed
        wanted = (asked.request.issue, asked.mode, asked.model, seed)
        if (event.issue, event.mode, event.model, event.seed) != wanted:
            return "issue, mode, model or seed are not those of the settings that the run was started with"
        return ""

    def _policy(self, state: RunState, event: PolicyResolved) -> str:
        """What is allowed follows from the settings in force, which `resume` may have raised, and from the lock."""
        in_force = thaw(self.get(state.opened.settings)) if state.opened else self.frozen
        lock = _Lock("it was on" if event.hard_stops else None)
        return difference(plain(event), plain(resolved(rules_of(in_force, lock).resolve())))


@dataclass(frozen=True, slots=True)
class _Lock:
    """The execution lock as it was then."""

    why: str | None

    def reason(self) -> str | None:
        """As `Hold.reason`."""
        return self.why


def _turn_of(state: RunState, recorded: Recorded) -> str:
    """An event belongs to the turn that is open."""
    if isinstance(recorded.event, TurnStarted | LedgerRepaired):
        return ""
    if isinstance(recorded.event, TurnClosed) and state.turn is None:
        return "it closes a turn that is not open"
    if recorded.turn_id is None and isinstance(recorded.event, _ASIDE):
        return ""
    turn = state.turn.turn_id if state.turn else None
    return "" if recorded.turn_id == turn else f"turn_id was {recorded.turn_id!r}, is {turn!r}"


def _is_contradiction(event: ReviewGiven) -> bool:
    """The kernel's own word that a round was said to be done over failing checks."""
    return any(f.rule == "done-over-failing-checks" for f in event.review.findings)


@dataclass(slots=True, kw_only=True)
class WholeCheck:
    """What let the work as a whole pass is derived again: proofs from reports, reviews from the change."""

    proofs: Proofs
    reviewers: Sequence[Reviewer]
    """Those that look with rules alone, in the order in which they are asked."""
    asks: bool = True
    """Whether this run asks a person; a unit's run leaves that to the run of its plan."""
    _asked: QuestionAsked | None = None
    _approved: list[tuple[str, Digest]] = field(default_factory=list)
    """Questions of this phase that a person said yes to, with the diff of each."""
    _reviews: list[ReviewGiven] = field(default_factory=list)
    _round: RoundVerified | None = None

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`; after a check that has let the proofs take the event in."""
        event = recorded.event
        if isinstance(event, ReviewGiven):
            self._reviews.append(event)
            return self._review(state, event)
        if isinstance(event, RoundVerified):
            self._round = event
            return self._verified(state, event)
        if isinstance(event, RunResumed):
            self._reviews = []  # one that was ended amid the reviews asks all of them again
        if isinstance(event, QuestionAsked):
            self._asked = event
        if isinstance(event, QuestionAnswered):
            return self._answered(event)
        if isinstance(event, PhaseChanged):
            told = self._passed(event) or self._let(state, event)
            self._reviews, self._round, self._approved = [], None, []
            return told
        return ""

    def _answered(self, event: QuestionAnswered) -> str:
        asked = self._asked
        if asked is None:
            return "it answers what nobody asked"
        if event.diff != asked.diff:
            return f"diff was {event.diff}, is {asked.diff}"
        if event.approved and event.diff is not None:
            self._approved.append((asked.question, event.diff))
        return ""

    def _let(self, state: RunState, event: PhaseChanged) -> str:
        """A change of what decides what passes went on by a person's word for exactly this diff (SPEC B12)."""
        if event.trigger != Trigger.REVIEW_PASSED or not self.asks:
            return ""
        prover = self.proofs.at(state, ())
        diff = prover.workspace.diff(*ends_of(state))
        steering = prover.steering(diff)
        if not steering or any(self._is_of(*a, may_change(steering), diff) for a in self._approved):
            return ""
        return (
            f"trigger was 'review-passed', but nobody approved this change of {', '.join(steering)}"
        )

    def _is_of(self, asked: str, shown: Digest, question: str, diff: Diff) -> bool:
        found = decode(Diff, self.proofs.get(shown))
        if MARK.search(found.patch):
            diff = replace(diff, patch=found.patch)
        return asked == question and found == diff

    def _review(self, state: RunState, event: ReviewGiven) -> str:
        at = len(self._reviews) - 1
        if state.phase is Phase.POST_CHECKS and _is_contradiction(event):
            return ""
        if state.phase is not Phase.REVIEW or state.policy is None:
            return "a review outside of its phase"
        if at >= len(self.reviewers):
            return ""
        policy = state.policy
        prover = self.proofs.at(state, policy.risk_flags)
        resolution = Resolution(
            mode=Mode(policy.mode),
            ceilings=Ceilings(
                max_iterations=policy.max_iterations,
                time_s=policy.time_s,
                max_files=policy.max_files,
            ),
            can_execute=policy.can_execute,
            can_fix=policy.can_fix,
            can_escalate=policy.can_escalate,
            hard_stops=policy.hard_stops,
            risk_flags=frozenset(policy.risk_flags),
        )
        seen = review_input(state, prover, resolution, whole_proofs(state, prover))
        derived = heard(self.reviewers[at], seen)
        differs = difference(plain(event.review), plain(derived))
        return f"review.{differs}" if differs else ""

    def _verified(self, state: RunState, event: RoundVerified) -> str:
        prover = self.proofs.at(state, state.policy.risk_flags if state.policy else ())
        derived = whole_proofs(state, prover)
        differs = difference(plain(list(event.evidence)), plain(list(derived)))
        if differs:
            return f"evidence{differs}"
        if event.done and (failed(derived) or not derived):
            return f"done was True, but {failed(derived) or 'there are no proofs'}"
        return ""

    def _passed(self, event: PhaseChanged) -> str:
        if event.trigger == Trigger.REVIEW_PASSED:
            stopped = [r for r in self._reviews if r.review.action != "PROCEED"]
            odd = [r for r in self._reviews if in_review(r.review) is not None]
            if stopped or odd or len(self._reviews) < len(self.reviewers):
                return "trigger was 'review-passed', but not every review let it pass"
        if event.trigger == Trigger.CHECKS_PASSED and not (self._round and self._round.done):
            return "trigger was 'checks-passed', but no round.verified says so"
        return ""

"""The loop of a run, over ports only: read this first.

    auditing -> planning -> solving (turns) -> review -> post checks -> delta critique -> complete

Each phase is a method that does its work and returns a trigger with a reason in words; the table in `lifecycle`
decides what follows. Everything a phase needs is in the folded state, so a run that died goes on from its ledger.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from surefoot.events.calls import BudgetPressure, ModelChosen, ModelGrounded, ProviderSwitched
from surefoot.events.orchestration import (
    NoFlyAdded,
    PhaseChanged,
    PlanMade,
    ReviewGiven,
    RunStopped,
    TurnClosed,
)
from surefoot.events.policy import ActionDecided, PolicyResolved, RoundDecided, RoundVerified
from surefoot.kernel import audit_round, contradictions, critique
from surefoot.kernel.asking import ask
from surefoot.kernel.budget import exhausted, share_used
from surefoot.kernel.evidence import STRENGTH
from surefoot.kernel.failures import FAULTS, REPROCESSING, is_final
from surefoot.kernel.lifecycle import ENDS, Phase, Trigger, advance
from surefoot.kernel.ports import (
    Critic,
    Planner,
    Reviewer,
    Routed,
    Router,
    RouteRequest,
)
from surefoot.kernel.proof import failed, targets_of
from surefoot.kernel.state import RunState, UnitState
from surefoot.kernel.strength import in_words, is_strong, unnoticed
from surefoot.kernel.summary import summarise, unusable
from surefoot.kernel.turn import Turn, TurnPorts, publish
from surefoot.kernel.vetoes import heard
from surefoot.kernel.whole import review_input, whole_proofs
from surefoot.values import (
    RESUMABLE,
    SETTLED,
    Classification,
    Evidence,
    FailureClass,
    Finding,
    GateOutcome,
    ModelFault,
    Resolution,
    Review,
    RunStatus,
    TreeId,
    Unit,
)

_MOST_ESCALATIONS = 2
"""Refusals of one unit on ever higher tiers before the run stops for good (SPEC A5)."""
_MOST_STRENGTHENING = 3
"""Turns that a unit gets to have its tests notice what they do not, once its work is shown."""
_PRESSURE = (0.5, 0.9)
WHY_APPROVED: Final = (
    "tests that were there, or what steers tests and gates, would not say the same afterwards"
)
_LONGEST_GROUNDING_S: Final = 3600.0
"""How long a model that fails again and again is left alone, where its provider names no time."""
_LONGEST_ASKED_S: Final = 366 * 86_400.0
"""A provider that names a longer time means for good; a calendar has an end."""

Step = audit_round.Step


def held(why: str) -> Step:
    """The pause of a repository that is locked."""
    told = f"the repository is locked: {why}; `surefoot unlock` opens it"
    return Trigger.PAUSE, f"{told}, then `surefoot resume` goes on"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPorts:
    """What a run plays with, beyond its turns."""

    turn: TurnPorts
    planner: Planner
    critic: Critic
    reviewers: Sequence[Reviewer]
    router: Router
    """Chooses the executor's model, turn by turn."""
    between: Callable[[UnitState | None], Step | None] = lambda _unit: None
    """Does what has to be done before a unit's turn, or, with None, before the review; a step when that is not to be."""
    works_over: bool = True
    """Work that the end of a round refuses is begun again from the base; else the refusal is the end."""
    asks: bool = True
    """A change of what decides what passes needs a person's word; a unit's run leaves that to the run of its plan."""


class Run:
    """A run from where its ledger stands to its next stop."""

    def __init__(self, ports: RunPorts) -> None:
        self._p = ports
        self._t = ports.turn
        self._journal = ports.turn.journal
        self._began = ports.turn.clock.monotonic()
        self._pressure = 0
        self._free_at: datetime | None = None
        """From when on a model may be asked again, while the run pauses for that."""
        self._steps: Mapping[Phase, Callable[[], Step]] = {
            Phase.AUDITING: self._audit,
            Phase.PLANNING: self._plan,
            Phase.SOLVING: self._solve,
            Phase.REVIEW: self._review,
            Phase.POST_CHECKS: self._post_checks,
            Phase.DELTA_CRITIQUE: self._critique,
        }

    @property
    def state(self) -> RunState:
        """The state as the ledger has it."""
        return self._journal.state

    @property
    def base(self) -> TreeId:
        """The tree that the run started from."""
        assert self.state.opened is not None  # noqa: S101  # opened by the composition root
        return self.state.opened.base_tree

    @property
    def tree(self) -> TreeId:
        """The tree after the last closed turn."""
        return self.state.head_tree or self.base

    def run(self) -> RunStatus:
        """Go on until the run stops; the stop is the ledger's last word.

        A run that was killed between its last step and that word only says it.
        """
        with suppress(KeyboardInterrupt):
            self._to_an_end()
        self._cancel_unless_ended()
        return self._stop()

    def _to_an_end(self) -> None:
        if ENDS.get(self.state.phase) in RESUMABLE:
            self._move(Trigger.RESUME, "taken up again")
        self._steps_to_an_end()
        while self._waited():
            self._steps_to_an_end()

    def _steps_to_an_end(self) -> None:
        resolution = self._resolve()
        while self.state.phase not in ENDS:
            self._note_pressure(resolution)
            locked = self._t.policy.locked()
            trigger, reason = held(locked) if locked else self._steps[self.state.phase]()
            self._move(trigger, reason)

    def _waited(self) -> bool:
        """Whether a paused run has waited, within its time limit, until a model may be asked again."""
        until = self._free_at
        if self.state.phase is not Phase.PAUSED or until is None:
            return False
        wait_s = (until - self._t.clock.now()).total_seconds()
        if wait_s > self._resolve().ceilings.time_s - self._journal.spend().time_s:
            return False
        self._t.clock.sleep(wait_s)
        self._free_at = None
        self._move(Trigger.RESUME, "waited until a model may be asked again")
        return True

    def _cancel_unless_ended(self) -> None:
        """A run that was interrupted before it came to an end is cancelled, however often it is interrupted meanwhile."""
        while self.state.phase not in ENDS:
            with suppress(KeyboardInterrupt):
                self._move(Trigger.CANCEL, "interrupted by ctrl-C or a signal")

    def _stop(self) -> RunStatus:
        """Record the stop; an interruption comes too late to change it, and is not to keep it from being told."""
        status = ENDS[self.state.phase]
        elapsed = round(self._t.clock.monotonic() - self._began, 3)
        stopped = RunStopped(
            status=status,
            reason=self.state.reason,
            elapsed_s=elapsed,
            resume_at=self._free_at,
        )
        while self.state.status is None:
            with suppress(KeyboardInterrupt):
                self._journal.record(stopped)
        return status

    # --- phases ----------------------------------------------------------------------------------

    def _audit(self) -> Step:
        assert self.state.opened is not None  # noqa: S101  # see base
        issue = self.state.opened.issue
        baseline, _ = self._t.prover.baseline(self.base)
        if baseline.state not in SETTLED:
            return Trigger.BLOCKER, unusable(baseline)
        audit = self._t.prover.findings(self.tree)
        asked = issue.source != "audit"
        decision = self._t.policy.next_action(summarise(audit), self._journal.spend(), asked=asked)
        self._journal.record(ActionDecided(action=decision.action, reason=decision.reason))
        if decision.action == "report":
            nothing = audit.ci_pass and not asked
            return (Trigger.NOTHING_FOUND if nothing else Trigger.REPORT_ONLY), decision.reason
        if decision.action == "stop":
            spent = exhausted(self._resolve().ceilings, self._journal.spend())
            return (Trigger.BUDGET_SPENT if spent else Trigger.BLOCKER), decision.reason
        return Trigger.WORK_FOUND, decision.reason

    def _plan(self) -> Step:
        known = [u.unit for u in self.state.units.values()]
        is_open = any(u.ended == "open" for u in self.state.units.values())
        if is_open or self.state.planned == self.state.round:
            return Trigger.PLANNED, f"{len(known)} units, as planned before"
        units = self._planned()
        if isinstance(units, str):
            return Trigger.BLOCKER, units
        chancy = sorted(self._t.prover.chancy(self.base, targets_of(units)))
        if chancy:
            return Trigger.BLOCKER, f"{chancy[0]} fails only sometimes, so nothing can prove a fix"
        self._journal.record(PlanMade(units=units))
        return Trigger.PLANNED, f"{len(units)} units"

    def _planned(self) -> tuple[Unit, ...] | str:
        assert self.state.opened is not None  # noqa: S101  # see base
        baseline, _ = self._t.prover.baseline(self.base)
        return self._p.planner.plan(
            self.state.opened.issue,
            baseline,
            self._t.prover.findings(self.tree),
            self._t.workspace.files(self.tree),
            self._journal,
            earlier=[u.unit for u in self.state.units.values()],
        )

    def _next_or_blocked(self, step: Step) -> Step:
        """A next round only where something is left to try, whatever budget there is; else what blocks, in words."""
        if step[0] is not Trigger.NEXT_ROUND:
            return step
        planned = self._planned()
        return (Trigger.BLOCKER, planned) if isinstance(planned, str) else step

    def _solve(self) -> Step:
        if self.state.closed is not None:  # killed before what follows from the turn was recorded
            return self._after(self.state.closed)
        unit = next((u for u in self.state.units.values() if u.ended == "open"), None)
        if unit is None:
            return self._p.between(None) or self._all_ended()
        resolution = self._resolve()
        if resolution.hard_stops:
            return held("; ".join(resolution.hard_stops))
        short = exhausted(resolution.ceilings, self._journal.spend())
        if short is not None:
            return audit_round.spent(self.state, self.tree, str(short))
        return self._p.between(unit) or self._turn(unit, resolution)

    def _turn(self, unit: UnitState, resolution: Resolution) -> Step:
        routed = self._route(unit, resolution)
        if routed.asker is None:
            return self._nobody(unit, routed)
        # Choosing a model, and what came before it, may have taken long; a turn that begins locked would end its unit.
        if locked := self._t.policy.locked():
            return held(locked)
        return self._after(Turn(self._t, unit, routed.asker, resolution).run())

    def _review(self) -> Step:
        proofs = self._proofs()
        seen = review_input(self.state, self._t.prover, self._resolve(), proofs)
        for reviewer in self._p.reviewers:
            review = heard(reviewer, seen)
            self._journal.record(ReviewGiven(review=review))
            clash = contradictions.in_review(review)
            if clash is not None:
                return self._contradiction(clash)
            if review.action == "BLOCK":
                return self._sent_back(Trigger.REVIEW_VETOED, f"review: {review.reason}")
        return self._approval() or (Trigger.REVIEW_PASSED, "no reviewer objects")

    def _approval(self) -> Step | None:
        """What stops the run where a change needs a person's word and has none (SPEC B3, B12)."""
        diff = self._t.workspace.diff(self.base, self.tree)
        steering = self._t.prover.steering(diff) if self._p.asks else ()
        if not steering:
            return None
        question = may_change(steering)
        answer = ask(self._t.person, self._journal, question, WHY_APPROVED, diff=diff)
        if answer.approved:
            return None
        if answer.is_silence:
            return Trigger.PAUSE, f"a person has to answer, see `surefoot answer`: {question}"
        return Trigger.BLOCKER, f"{answer.who} did not approve: {question}"

    def _post_checks(self) -> Step:
        proofs = self._proofs()
        against = failed(proofs)
        summary = summarise(self._t.prover.findings(self.tree))
        files = self._t.workspace.diff(self.base, self.tree).paths
        verdict = self._t.policy.verify_round(
            files, checks_passed=bool(proofs) and not against, summary=summary
        )
        self._journal.record(
            RoundVerified(
                phase=verdict.phase, done=verdict.done, blocker=verdict.blocker, evidence=proofs
            )
        )
        clash = contradictions.over_checks(done=verdict.done, proofs=proofs)
        if clash is not None:
            return self._contradiction(clash)
        if verdict.done:
            self._t.prover.strength(self.tree, self.base)
            return Trigger.CHECKS_PASSED, "; ".join(f"{p.kind}: {p.after}" for p in proofs)
        return self._sent_back(Trigger.CHECKS_FAILED, against or verdict.blocker or "checks failed")

    def _contradiction(self, clash: Finding) -> Step:
        found = Review(verdict="FAIL", action="BLOCK", reason=clash.message, findings=(clash,))
        self._journal.record(ReviewGiven(review=found))
        return Trigger.BLOCKER, f"contradiction ({clash.severity}): {clash.message}"

    def _critique(self) -> Step:
        """Look at boundaries, audit again, decide the gates: a change must not bring worse than what it mended."""
        before = self._t.prover.findings(self.base)
        after = self._t.prover.findings(self.tree)
        self._journal.record(critique.look(self._p.critic, self._t.workspace, self.base, self.tree))
        gates = critique.decide(
            tuple(self._journal.events()),
            self.tree,
            self._t.policy.locked(),
            before=before,
            after=after,
        )
        self._journal.record(
            RoundDecided(
                number=self.state.round, tree=self.tree, gates=gates, go=critique.is_go(gates)
            )
        )
        stop = critique.stops(gates)
        if stop is not None:
            return Trigger.BLOCKER, f"{stop.gate} says STOP: {stop.reason}"
        if not critique.is_go(gates):
            return self._final_or(Trigger.CRITIQUE_FAILED, gates[-1].reason)
        if audit_round.is_audit(self.state):
            return self._next_or_blocked(audit_round.judged(before, after))
        blocked = [u for u in self.state.units.values() if u.ended == "blocked"]
        if blocked:
            done = len(self.state.units) - len(blocked)
            return Trigger.BLOCKER, f"{done} units done, {len(blocked)} not: {blocked[0].blocker}"
        publisher, commit = self._t.publisher, self.state.head_commit
        if publisher is not None and not publisher.every_turn and commit is not None:
            publish(self._t, commit)
        return Trigger.CRITIQUE_PASSED, "nothing new above the baseline, every unit is done"

    # --- what the phases share -------------------------------------------------------------------

    def _all_ended(self) -> Step:
        if audit_round.is_audit(self.state):
            return self._next_or_blocked(audit_round.ended(self.state, self.tree))
        blocked = [u for u in self.state.units.values() if u.ended == "blocked"]
        if self.tree == self.base or len(blocked) == len(self.state.units):
            reason = blocked[0].blocker if blocked else "the work left the tree as it was"
            return Trigger.BLOCKER, reason
        return Trigger.UNITS_DONE, "every unit has ended"

    def _after(self, closed: TurnClosed) -> Step:
        """What follows a turn; a lock takes the place of the next turn, and of nothing that this one brought."""
        step = self._following(closed)
        locked = self._t.policy.locked()
        return held(locked) if locked is not None and step[0] is Trigger.TURN_ENDED else step

    def _following(self, closed: TurnClosed) -> Step:
        """By a person's word, by the kind of turn, or by the table of failures."""
        unit = self.state.units[closed.unit_id]
        first = self._before_table(unit, closed)
        if first is not None:
            return first
        idle = unit.idle > REPROCESSING[FailureClass.EXECUTION].extra_attempts
        if idle or closed.classification is Classification.EXECUTOR_REFUSED:
            return self._escalate(unit, closed)
        unreachable = closed.classification is Classification.BLOCKER_SOLVER_UNREACHABLE
        if unreachable or (closed.unanswered and unit.ended == "open"):
            asks = f"a person has to answer: {closed.unanswered}"
            return Trigger.PAUSE, closed.reason if unreachable else asks
        if closed.fault is not None:
            return self._ground(closed, closed.fault)
        return self._by_table(unit, closed)

    def _before_table(self, unit: UnitState, closed: TurnClosed) -> Step | None:
        """What goes before every failure: a person's word, the end of the budget, work that only lacks strong tests."""
        if closed.outcome == GateOutcome.MANUAL_ATTENTION.value:
            return Trigger.BLOCKER, f"not approved: {closed.reason}"
        if self.state.short and unit.ended == "open":
            return Trigger.BUDGET_SPENT, f"a call was not made: {self.state.short}"
        return self._still_weak(unit, closed)

    def _still_weak(self, unit: UnitState, closed: TurnClosed) -> Step | None:
        """Where only the strength of the tests is open: another turn for it, or the blocker that names the mutants."""
        tried = self.state.mutants.get(self.tree) if self._t.prover.strict else None
        if tried is None or is_strong(tried) or unit.ended == "done" or closed.fault is not None:
            return None
        told = f"{STRENGTH}: {in_words(tried)}"
        turns = sum(tree in self.state.mutants for tree in unit.trees)
        if unnoticed(tried) and unit.ended == "open" and turns <= _MOST_STRENGTHENING:
            return Trigger.TURN_ENDED, told
        return Trigger.BLOCKER, f"{told}; `surefoot show` has them; all else is shown"

    def _by_table(self, unit: UnitState, closed: TurnClosed) -> Step:
        if unit.ended == "blocked":
            return Trigger.TURN_ENDED, f"unit {closed.unit_id} is blocked: {closed.reason}"
        final = [f for f in unit.last_failures if is_final(f, unit.failures.get(f, 0))]
        # Idle turns are counted a model (see `_after`), not a unit.
        if not final or unit.idle:
            return Trigger.TURN_ENDED, closed.reason
        attempts = REPROCESSING[final[0]].extra_attempts + 1
        return Trigger.BLOCKER, f"{closed.reason} (after {attempts} attempts)"

    def _escalate(self, unit: UnitState, closed: TurnClosed) -> Step:
        """A model that refused, or did nothing twice, is not asked for the unit again; a higher tier is, twice at most.

        SPEC A4 and A5.
        """
        self._journal.record(
            NoFlyAdded(
                unit_id=unit.unit.unit_id,
                unit_type=unit.unit.unit_type,
                model=closed.model,
                reason=closed.reason,
            )
        )
        gave_up = self._gave_up(self.state.units[unit.unit.unit_id])
        if gave_up is not None:
            return gave_up
        known = (
            self.state.policy
        )  # the mode's word; under a lock nothing may be done, which is another matter
        if known is None or not known.can_escalate:
            return Trigger.BLOCKER, f"{closed.reason}; this mode may not change the tier"
        return Trigger.TURN_ENDED, f"{closed.reason}; the next turn goes to a higher tier"

    def _gave_up(self, unit: UnitState) -> Step | None:
        """The pause after two escalations, told from the state, so that a run killed before it comes to the same."""
        if unit.escalations <= _MOST_ESCALATIONS:
            return None
        told = unit.checkpoints[-1].summary if unit.checkpoints else ""
        return Trigger.PAUSE, f"hard blocker: {unit.escalations} models gave up: {told}"

    def _ground(self, closed: TurnClosed, fault: ModelFault) -> Step:
        """A model that failed is left alone, for a while or for good; the next turn goes to another one."""
        path, until = FAULTS[fault], None
        if path.passes:
            often = self.state.groundings.get(closed.model, 0)
            own_s = min(path.wait_s * 2**often, _LONGEST_GROUNDING_S)
            asked_s = min(closed.retry_after_s or 0.0, _LONGEST_ASKED_S)
            wait_s = max(own_s, asked_s)
            until = self._t.clock.now() + timedelta(seconds=wait_s)
        self._journal.record(
            ModelGrounded(model=closed.model, fault=fault, until=until, reason=closed.reason)
        )
        return Trigger.TURN_ENDED, closed.reason

    def _route(self, unit: UnitState, resolution: Resolution) -> Routed:
        """Who is asked next; what led to a new choice is recorded before the first prompt leaves."""
        now, state = self._t.clock.now(), self.state
        request = RouteRequest(
            unit=unit.unit,
            refused=self._refused(unit),
            grounded=frozenset(m for m, t in state.grounded.items() if t is None or t > now),
            pressure=share_used(resolution.ceilings, self._journal.spend()),
        )
        routed = self._p.router.route(request)
        model = routed.asker.model if routed.asker else ""
        chosen = ModelChosen(
            unit_id=unit.unit.unit_id, model=model, chain=routed.chain, reason=routed.reason
        )
        if chosen != state.chosen.get(unit.unit.unit_id):
            self._journal.record_all((*routed.verdicts, chosen))
        if model and state.asked_last not in ("", model):
            self._journal.record(
                ProviderSwitched(before=state.asked_last, after=model, reason=routed.reason)
            )
        return routed

    def _refused(self, unit: UnitState) -> frozenset[str]:
        return frozenset(m for u, m in self.state.no_fly if u == unit.unit.unit_id)

    def _nobody(self, unit: UnitState, routed: Routed) -> Step:
        """No model may be asked now: a pause when one may be later, else the blocker that says why."""
        gave_up = self._gave_up(unit)
        if gave_up is not None:
            return gave_up
        if self._refused(unit):
            return Trigger.BLOCKER, f"there is no higher tier: {routed.reason}"
        # Those that were grounded when the router was asked, whatever time it is by now.
        grounded = self.state.grounded
        times = [t for m in routed.grounded if (t := grounded.get(m)) is not None]
        if not times:
            tried = self.state.mutants.get(self.tree) if self._t.prover.strict else None
            left = f"; {STRENGTH}: {in_words(tried)}" if tried and not is_strong(tried) else ""
            return Trigger.BLOCKER, f"{routed.reason}{left}"
        self._free_at = min(times)
        when = f"{self._free_at:%Y-%m-%d %H:%M:%S} UTC"
        return Trigger.PAUSE, f"{routed.reason}; asked again from {when} on"

    def _sent_back(self, trigger: Trigger, reason: str) -> Step:
        refused = [u for u in self.state.units.values() if u.ended == "done"]
        if all(u.unit.strategy == "fixer" for u in refused):
            return Trigger.BLOCKER, reason  # nothing would be done otherwise
        most = REPROCESSING[FailureClass.VERIFICATION].extra_attempts
        if not self._p.works_over:
            return Trigger.BLOCKER, reason
        if any(self._refusals(u.unit) >= most for u in refused):
            return Trigger.BLOCKER, f"{reason} (after {most + 1} attempts)"
        return trigger, reason

    def _refusals(self, unit: Unit) -> int:
        state = self.state.units[unit.unit_id]
        return sum(1 for c in state.checkpoints if c.classification is Classification.COMPLETE)

    def _final_or(self, trigger: Trigger, reason: str) -> Step:
        if (
            not self._p.works_over
            or self.state.round > REPROCESSING[FailureClass.VERIFICATION].extra_attempts
        ):
            return Trigger.BLOCKER, reason
        return trigger, reason

    def _proofs(self) -> tuple[Evidence, ...]:
        return whole_proofs(self.state, self._t.prover)

    def _resolve(self) -> Resolution:
        """Ask the policy anew; a change since the last answer is recorded."""
        resolution = self._t.policy.resolve()
        event = resolved(resolution)
        if event != self.state.policy:
            self._journal.record(event)
        return resolution

    def _move(self, trigger: Trigger, reason: str) -> None:
        before = self.state.phase
        after = advance(before, trigger)
        self._journal.record(
            PhaseChanged(before=before, after=after, trigger=trigger, reason=reason)
        )

    def _note_pressure(self, resolution: Resolution) -> None:
        share = share_used(resolution.ceilings, self._journal.spend())
        passed = sum(1 for level in _PRESSURE if share >= level)
        if passed > self._pressure:
            self._pressure = passed
            self._journal.record(BudgetPressure(what="largest share", share=round(share, 3)))


def may_change(steering: Sequence[str]) -> str:
    """The question that a change of these paths puts to a person."""
    return f"may {', '.join(steering)} change?"


def resolved(resolution: Resolution) -> PolicyResolved:
    """The record of what the policy allows."""
    return PolicyResolved(
        mode=resolution.mode,
        can_execute=resolution.can_execute,
        can_fix=resolution.can_fix,
        can_escalate=resolution.can_escalate,
        max_iterations=resolution.ceilings.max_iterations,
        time_s=resolution.ceilings.time_s,
        max_files=resolution.ceilings.max_files,
        tokens=resolution.ceilings.tokens,
        cost_usd=resolution.ceilings.cost_usd,
        risk_flags=tuple(sorted(resolution.risk_flags)),
        hard_stops=resolution.hard_stops,
    )

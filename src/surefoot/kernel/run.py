"""The loop of a run, over ports only: read this first.

    auditing -> planning -> solving (turns) -> review -> post checks -> delta critique -> complete

Each phase is a method that does its work and returns a trigger with a reason in words; the table in `lifecycle`
decides what follows. Everything a phase needs is in the folded state, so a run that died goes on from its ledger.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from surefoot.errors import LedgerError
from surefoot.events import (
    ActionDecided,
    BudgetPressure,
    ModelChosen,
    ModelGrounded,
    NoFlyAdded,
    PhaseChanged,
    PlanMade,
    PolicyResolved,
    ProviderSwitched,
    QuestionAnswered,
    QuestionAsked,
    ReviewGiven,
    RoundVerified,
    RunStopped,
    TurnClosed,
)
from surefoot.kernel.budget import exhausted, share_used
from surefoot.kernel.evidence import added_findings
from surefoot.kernel.failures import FAULTS, REPROCESSING, is_final
from surefoot.kernel.lifecycle import ENDS, Phase, Trigger, advance
from surefoot.kernel.ports import (
    Person,
    Planner,
    Reviewer,
    ReviewInput,
    Routed,
    Router,
    RouteRequest,
)
from surefoot.kernel.proof import failed
from surefoot.kernel.state import RunState, UnitState
from surefoot.kernel.turn import Turn, TurnPorts
from surefoot.values import (
    RESUMABLE,
    Audit,
    AuditSummary,
    Classification,
    Evidence,
    FailureClass,
    GateOutcome,
    ModelFault,
    ReportState,
    Resolution,
    Review,
    RunStatus,
    Severity,
    TreeId,
    Unit,
)

_MOST_ESCALATIONS = 2
"""Refusals of one unit on ever higher tiers before the run stops for good (SPEC A5)."""
_PRESSURE = (0.5, 0.9)
_LONGEST_GROUNDING_S: Final = 3600.0
"""How long a model that fails again and again is left alone, where its provider names no time."""

Step = tuple[Trigger, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPorts:
    """What a run plays with, beyond its turns."""

    turn: TurnPorts
    planner: Planner
    reviewers: Sequence[Reviewer]
    person: Person
    router: Router
    """Chooses the executor's model, turn by turn."""


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
        if ENDS.get(self.state.phase) in RESUMABLE:
            self._move(Trigger.RESUME, "taken up again")
        self._steps_to_an_end()
        while self._waited():
            self._steps_to_an_end()
        status = ENDS[self.state.phase]
        elapsed = round(self._t.clock.monotonic() - self._began, 3)
        stopped = RunStopped(
            status=status,
            reason=self.state.reason,
            elapsed_s=elapsed,
            resume_at=self._free_at,
        )
        self._journal.record(stopped)
        return status

    def _steps_to_an_end(self) -> None:
        resolution = self._resolve()
        while self.state.phase not in ENDS:
            locked = self._t.policy.locked()
            try:
                trigger, reason = (
                    self._blocked(locked) if locked else self._steps[self.state.phase]()
                )
            except KeyboardInterrupt:
                trigger, reason = Trigger.CANCEL, "interrupted from the keyboard"
            self._move(trigger, reason)
            self._note_pressure(resolution)

    def _waited(self) -> bool:
        """Whether a paused run has waited, within its time limit, until a model may be asked again."""
        until = self._free_at
        if self.state.phase is not Phase.PAUSED or until is None:
            return False
        wait_s = (until - self._t.clock.now()).total_seconds()
        if wait_s > self._resolve().ceilings.time_s - self._journal.spend().time_s:
            return False
        try:
            self._t.clock.sleep(wait_s)
        except KeyboardInterrupt:
            return False
        self._free_at = None
        self._move(Trigger.RESUME, "waited until a model may be asked again")
        return True

    # --- phases ----------------------------------------------------------------------------------

    def _audit(self) -> Step:
        assert self.state.opened is not None  # noqa: S101  # see base
        issue = self.state.opened.issue
        baseline, _ = self._t.prover.baseline(self.base)
        if baseline.state not in (ReportState.COMPLETE, ReportState.COLLECTION_ERROR):
            return Trigger.BLOCKER, unusable(baseline.state, baseline.output)
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
        assert self.state.opened is not None  # noqa: S101  # see base
        if self.state.units:
            return Trigger.PLANNED, f"{len(self.state.units)} units, as planned before"
        baseline, flaky = self._t.prover.baseline(self.base)
        units = self._p.planner.plan(
            self.state.opened.issue,
            baseline,
            self._t.prover.findings(self.base),
            self._t.workspace.files(self.base),
            self._journal,
        )
        if isinstance(units, str):
            return Trigger.BLOCKER, units
        chancy = sorted({t for unit in units for t in unit.failing} & flaky)
        if chancy:
            return Trigger.BLOCKER, f"{chancy[0]} fails only sometimes, so nothing can prove a fix"
        self._journal.record(PlanMade(units=units))
        return Trigger.PLANNED, f"{len(units)} units"

    def _solve(self) -> Step:
        if self.state.closed is not None:  # killed before what follows from the turn was recorded
            return self._after(self.state.closed)
        unit = next((u for u in self.state.units.values() if u.ended == "open"), None)
        if unit is None:
            return self._all_ended()
        resolution = self._resolve()
        if resolution.hard_stops:
            return Trigger.BLOCKER, "; ".join(resolution.hard_stops)
        short = exhausted(resolution.ceilings, self._journal.spend())
        if short is not None:
            return Trigger.BUDGET_SPENT, f"no further turn: {short}"
        routed = self._route(unit, resolution)
        if routed.asker is None:
            return self._nobody(unit, routed)
        return self._after(Turn(self._t, unit, routed.asker, resolution).run())

    def _review(self) -> Step:
        proofs = self._proofs()
        seen = self._review_input(proofs)
        for reviewer in self._p.reviewers:
            review = _guarded(reviewer, seen)
            self._journal.record(ReviewGiven(review=review))
            if not is_consistent(review):
                said = f"{review.verdict} with {review.action}"
                return Trigger.BLOCKER, f"a review contradicts itself: {said}"
            if review.action == "BLOCK":
                return self._sent_back(Trigger.REVIEW_VETOED, f"review: {review.reason}")
        return Trigger.REVIEW_PASSED, "no reviewer objects"

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
        if verdict.done and not against:
            return Trigger.CHECKS_PASSED, "; ".join(f"{p.kind}: {p.after}" for p in proofs)
        return self._sent_back(Trigger.CHECKS_FAILED, against or verdict.blocker or "checks failed")

    def _critique(self) -> Step:
        """Audit again: what the change brought must not be worse than what it mended."""
        before = self._t.prover.findings(self.base)
        after = self._t.prover.findings(self.tree)
        new = added_findings(before.blocking, after.blocking)
        if new:
            told = f"{new[0].file}:{new[0].line} {new[0].message}"
            return self._final_or(Trigger.CRITIQUE_FAILED, f"the change brought a finding: {told}")
        blocked = [u for u in self.state.units.values() if u.ended == "blocked"]
        if blocked:
            done = len(self.state.units) - len(blocked)
            return Trigger.BLOCKER, f"{done} units done, {len(blocked)} not: {blocked[0].blocker}"
        return Trigger.CRITIQUE_PASSED, "nothing new above the baseline, every unit is done"

    # --- what the phases share -------------------------------------------------------------------

    def _blocked(self, locked: str) -> Step:
        return Trigger.BLOCKER, f"the repository is locked: {locked}; `surefoot unlock` opens it"

    def _all_ended(self) -> Step:
        blocked = [u for u in self.state.units.values() if u.ended == "blocked"]
        if self.tree == self.base or len(blocked) == len(self.state.units):
            reason = blocked[0].blocker if blocked else "the work left the tree as it was"
            return Trigger.BLOCKER, reason
        return Trigger.UNITS_DONE, "every unit has ended"

    def _after(self, closed: TurnClosed) -> Step:
        """What follows a turn: by a person's word, by the kind of turn, or by the table of failures."""
        unit = self.state.units[closed.unit_id]
        if closed.outcome == GateOutcome.MANUAL_ATTENTION.value:
            return self._ask_person(closed.reason)
        if self.state.short and unit.ended == "open":
            return Trigger.BUDGET_SPENT, f"a call was not made: {self.state.short}"
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
        if not self._resolve().can_escalate:
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
            wait_s = max(own_s, closed.retry_after_s or 0.0)
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
            return Trigger.BLOCKER, routed.reason
        self._free_at = min(times)
        when = f"{self._free_at:%Y-%m-%d %H:%M:%S} UTC"
        return Trigger.PAUSE, f"{routed.reason}; asked again from {when} on"

    def _ask_person(self, question: str) -> Step:
        self._journal.record(QuestionAsked(question=question, why="a gate asks for a person"))
        answer = self._p.person.ask(question, "a gate asks for a person")
        self._journal.record(
            QuestionAnswered(approved=answer.approved, text=answer.text, who=answer.who)
        )
        if answer.approved:
            return Trigger.TURN_ENDED, f"approved by {answer.who}"
        return Trigger.BLOCKER, f"not approved: {question}"

    def _sent_back(self, trigger: Trigger, reason: str) -> Step:
        refused = [u for u in self.state.units.values() if u.ended == "done"]
        most = REPROCESSING[FailureClass.VERIFICATION].extra_attempts
        if any(self._refusals(u.unit) >= most for u in refused):
            return Trigger.BLOCKER, f"{reason} (after {most + 1} attempts)"
        return trigger, reason

    def _refusals(self, unit: Unit) -> int:
        state = self.state.units[unit.unit_id]
        return sum(1 for c in state.checkpoints if c.classification is Classification.COMPLETE)

    def _final_or(self, trigger: Trigger, reason: str) -> Step:
        if self.state.round > REPROCESSING[FailureClass.VERIFICATION].extra_attempts:
            return Trigger.BLOCKER, reason
        return trigger, reason

    def _proofs(self) -> tuple[Evidence, ...]:
        done = [u.unit for u in self.state.units.values() if u.ended == "done"]
        proofs = self._t.prover.judge(self.tree, self.base, done, "base-tests")
        targets = [f for unit in done for f in unit.findings]
        if targets:
            proofs += (self._t.prover.findings_gone(self.tree, self.base, targets),)
        return proofs

    def _review_input(self, proofs: tuple[Evidence, ...]) -> ReviewInput:
        assert self.state.opened is not None  # noqa: S101  # see base
        workspace, suite = self._t.workspace, self._t.prover.suite
        diff = workspace.diff(self.base, self.tree)
        resolution = self._resolve()
        targets = {t for unit in self.state.units.values() for t in unit.unit.failing}
        after, excused = self._t.prover.seen(self.tree, self.base)
        return ReviewInput(
            issue=self.state.opened.issue,
            diff=diff,
            contents=self._t.prover.contents(diff),
            evidence=proofs,
            mode=resolution.mode,
            risk_flags=resolution.risk_flags,
            test_paths=frozenset(p for p in diff.paths if suite.is_test_path(p)),
            control_paths=frozenset(p for p in diff.paths if suite.is_control_path(p)),
            tests=after,
            failing_before=excused - targets,
        )

    def _resolve(self) -> Resolution:
        """Ask the policy anew; a change since the last answer is recorded."""
        resolution = self._t.policy.resolve()
        event = PolicyResolved(
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


def _guarded(reviewer: Reviewer, seen: ReviewInput) -> Review:
    """A reviewer's word; one that broke has objected."""
    try:
        return reviewer.review(seen)
    except LedgerError:
        raise
    except Exception as error:  # noqa: BLE001  # named boundary: a broken reviewer is no approval
        told = f"a reviewer broke: {type(error).__name__}: {error}"
        return Review(verdict="FAIL", action="BLOCK", reason=told)


def summarise(audit: Audit) -> AuditSummary:
    """Findings above the baseline by severity."""
    counts = dict.fromkeys(Severity, 0)
    for finding in audit.findings:
        counts[finding.severity] += 1
    return AuditSummary(
        critical=counts[Severity.CRITICAL],
        high=counts[Severity.HIGH],
        medium=counts[Severity.MEDIUM],
        low=counts[Severity.LOW],
        info=counts[Severity.INFO],
        ci_pass=audit.ci_pass,
    )


def is_consistent(review: Review) -> bool:
    """Only these three pairs mean anything (SPEC B8)."""
    return (review.verdict, review.action) in {
        ("PASS", "PROCEED"),
        ("FAIL", "BLOCK"),
        ("WAIVER", "PROCEED"),
    }


_UNUSABLE: Mapping[ReportState, str] = {
    ReportState.TIMEOUT: "the tests did not end in time; raise `[test] timeout_s`",
    ReportState.CRASHED: "the test process died before it finished",
    ReportState.UNPARSABLE: "the test run could not be understood",
    ReportState.TOOL_MISSING: "the test runner is missing; install it into the project's environment",
    ReportState.NOTHING_COLLECTED: "no test was collected; write one, or set `[test] command`",
    ReportState.FOREIGN_CODE: "the tests import the project from outside the worktree",
    ReportState.FORGED: "the runner's control tests did not behave; its word cannot be trusted",
}


def unusable(state: ReportState, output: str) -> str:
    """Why a baseline cannot be built on, in one sentence, with the runner's last line."""
    tail = next((line for line in reversed(output.splitlines()) if line.strip()), "")
    return f"{_UNUSABLE[state]}" + (f" ({tail.strip()[:200]})" if tail else "")

"""Slices and milestones of a plan's run, judged again from the reports, audits and commands that are recorded."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from surefoot.codec import decode, difference, plain
from surefoot.errors import UsageError
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import PhaseChanged
from surefoot.events.plans import PartVerified, PlanAdopted
from surefoot.events.work import CommandRan
from surefoot.kernel.lifecycle import Trigger
from surefoot.kernel.state import RunState
from surefoot.planrun.course import Course, adopted, course_of
from surefoot.planrun.parts import VERIFICATION, Merged, judged
from surefoot.plans import Plan
from surefoot.request import Request
from surefoot.values import TreeId
from surefoot.verify.record import NotRecordedError, Proofs, Reader


@dataclass(slots=True, kw_only=True)
class PartCheck:
    """What is said of a part follows from what ran on its tree, and a plan is complete when all its parts hold."""

    request: Request
    get: Reader
    proofs: Proofs
    _course: Course | None = None
    _codes: dict[str, int | None] = field(default_factory=dict)
    """Exit codes of the plan's own commands that ran since the last part."""

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`; after a check that has let the proofs take the event in."""
        event = recorded.event
        if isinstance(event, PlanAdopted):
            return self._adopted(event)
        if isinstance(event, CommandRan) and event.tool == VERIFICATION:
            self._codes[event.argv[-1]] = event.exit_code
        elif isinstance(event, PartVerified):
            told = self._judged(state, event)
            self._codes = {}
            return told
        elif isinstance(event, PhaseChanged) and event.trigger == Trigger.CRITIQUE_PASSED:
            return self._held(state)
        return ""

    def _adopted(self, event: PlanAdopted) -> str:
        """The plan is the one that the run was asked for."""
        asked = self.request
        if asked.plan is None:
            return f"plan_id was {event.plan_id!r}, but the run was asked for no plan"
        told = difference(plain(decode(Plan, self.get(event.plan))), plain(asked.plan), "plan")
        if told:
            return told
        try:
            self._course = course_of(asked.plan, asked.milestones)
        except UsageError as error:
            return f"plan: {error}"
        wanted = adopted(asked.plan, event.plan, asked.milestones, asked.jobs)
        return difference(plain(event), plain(wanted))

    def _held(self, state: RunState) -> str:
        """Each part in which something was changed was verified, and holds."""
        for part in self._course.parts if self._course else ():
            if self._course and not set(part.units).isdisjoint(self._course.order):
                found = state.plan.parts.get(part.name)
                if found is None or not found.passed:
                    why = found.reason if found else "nothing is recorded of it"
                    return f"trigger was critique-passed, but {part.name} does not hold: {why}"
        return ""

    def _judged(self, state: RunState, event: PartVerified) -> str:
        course = self._course
        part = next((p for p in course.parts if p.name == event.part), None) if course else None
        if course is None or part is None or state.opened is None:
            return f"part was {event.part!r}, which is none of the plan"
        merged = Merged(
            part=part,
            units=[course.unit(u) for u in part.units],
            base=state.opened.base_tree,
            tree=event.tree,
            commit=event.commit,
        )
        prover = self.proofs.at(state, state.policy.risk_flags if state.policy else ())
        return difference(plain(event), plain(judged(merged, prover, self._ended)))

    def _ended(self, commands: Sequence[str], tree: TreeId) -> list[tuple[str, int | None]]:
        missing = next((c for c in commands if c not in self._codes), None)
        if missing is not None:
            told = f"no run of {missing!r} on tree {tree} is recorded where one has to be"
            raise NotRecordedError(told)
        return [(c, self._codes[c]) for c in commands]

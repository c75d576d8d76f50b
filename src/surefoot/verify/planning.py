"""A planning held against the gate and the documents that it ended with."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot.codec import decode, difference, plain
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import PhaseChanged, PlanGated, PlanWritten
from surefoot.kernel.lifecycle import Phase, Trigger
from surefoot.kernel.state import RunState
from surefoot.plan import documents, judge
from surefoot.plans import Plan
from surefoot.verify.record import Reader


@dataclass(slots=True, kw_only=True)
class GateCheck:
    """The gate refuses again what it refused, and nothing else; only what it let pass was written and ends the planning."""

    get: Reader
    files: Collection[str] | None
    """Paths of the tree that was planned on; None when git no longer has it."""
    _gated: PlanGated | None = None
    _written: PlanWritten | None = None
    _attempts: int = 0

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`."""
        del state
        event = recorded.event
        if isinstance(event, PlanGated):
            return self._judged(event)
        if isinstance(event, PlanWritten):
            return self._laid_down(event)
        if isinstance(event, PhaseChanged):
            return self._passed(event)
        return ""

    def _judged(self, event: PlanGated) -> str:
        self._gated, self._written, self._attempts = event, None, self._attempts + 1
        if event.attempt != self._attempts:
            return f"attempt was {event.attempt}, is {self._attempts}"
        if self.files is None:
            return ""
        refusals = judge(decode(Plan, self.get(event.plan)), self.files)
        return difference(plain(event.refusals), plain(refusals), "refusals")

    def _laid_down(self, event: PlanWritten) -> str:
        self._written, gated = event, self._gated
        if gated is None or gated.refusals or gated.plan != event.plan:
            return "no gate let this plan pass"
        files = tuple(sorted(documents(decode(Plan, self.get(event.plan)))))
        return "" if event.files == files else f"files were {event.files}, are {files}"

    def _passed(self, event: PhaseChanged) -> str:
        gated, self._gated = self._gated, None
        if event.before != Phase.PLAN_GATE:
            return ""
        if event.trigger == Trigger.PLAN_PASSED and (gated is None or self._written is None):
            return "no plan was written that the gate let pass"
        if event.trigger == Trigger.PLAN_REFUSED and (gated is None or not gated.refusals):
            return "the gate refused no plan"
        return ""


def plan_fault(folder: Path, events: Sequence[Recorded], get: Reader) -> str:
    """The first document of a plan that is not what the plan gives; empty when none is, or none was written."""
    written = next((e.event for e in reversed(events) if isinstance(e.event, PlanWritten)), None)
    if written is None:
        return ""
    for name, text in sorted(documents(decode(Plan, get(written.plan))).items()):
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.read_bytes() != text.encode():
            return f"{name} is not what the plan of the ledger gives"
    return ""

"""Planning by assignment: the plan has said what the unit is; what is left is to see which of its tests fail now."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from surefoot.codec import canonical, encode
from surefoot.decisions.planning import Ways, expand
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Notebook
from surefoot.plans import PlannedUnit
from surefoot.values import Audit, Issue, PlanIR, PlanStep, StepIntent, TestReport, Unit, UnitType

POLICY_BUNDLE: Final = "assigned/1"
AUDIT: Final = "surefoot audit"
"""As a verification: what a milestone, and a slice of code, ask of their own accord."""


class AssignedPlanner:
    """The `Planner` port of a run that does one unit of a plan."""

    def __init__(self, assigned: PlannedUnit, ways: Ways) -> None:
        self._assigned, self._ways = assigned, ways

    def plan(
        self,
        issue: Issue,
        baseline: TestReport,
        audit: Audit,
        files: Sequence[str],
        notebook: Notebook,
        *,
        earlier: Sequence[Unit] = (),
    ) -> tuple[Unit, ...] | str:
        """The one unit, with those of its tests that fail on the base as its targets."""
        del audit, files, earlier
        given, failing = self._assigned, failing_of(self._assigned, baseline)
        kind = UnitType.FIX if failing else given.unit_type
        unit = Unit(
            unit_id=given.unit_id,
            unit_type=given.unit_type,
            strategy=self._ways.of(kind, issue),
            issue=issue,
            plan=workable(given),
            failing=failing,
            writes=(*given.writes, *given.produces) if given.writes else (),
        )
        notebook.record(
            Decided(
                decision="planning",
                inputs=notebook.put(encode(given)),
                output=notebook.put(canonical({"failing": list(failing)})),
                decided_by="rule",
                policy_bundle=POLICY_BUNDLE,
            )
        )
        return (unit,)


def tests_of(unit: PlannedUnit, collected: Sequence[str]) -> tuple[str, ...]:
    """Those entries of a unit's verification that name tests, of those that are `collected` or of new ones; the others are commands.

    A test of TAP is named by any sentence, and a folder of tests may have a blank: what is collected is no command.
    """
    return tuple(v for v in unit.verification if is_test(v) or expand(v, collected))


def is_test(entry: str) -> bool:
    """Whether an entry of a verification has the look of the id of a test, a class or a file of tests."""
    words = entry.split()
    if entry.startswith(("./", "../", "/")) or entry.endswith(".sh"):
        return False  # the path of a program, as a shell takes it
    return "::" in words[0] or (len(words) == 1 and "." in entry and "/" in entry)


def failing_of(unit: PlannedUnit, baseline: TestReport) -> tuple[str, ...]:
    """The tests of a unit that are there already, and fail."""
    wanted = {
        t for name in tests_of(unit, baseline.collected) for t in expand(name, baseline.collected)
    }
    return tuple(t for t in baseline.failing if t in wanted)


def workable(unit: PlannedUnit) -> PlanIR:
    """The unit's plan with what the input gate asks for, from the unit's own words."""
    plan = unit.plan
    steps = plan.steps or (
        PlanStep(step_id="change", description=unit.title, intent=StepIntent.MODIFY),
    )
    if not any(step.acceptance for step in steps):
        steps = (*steps[:-1], replace(steps[-1], acceptance=unit.acceptance))
    return replace(plan, steps=steps, verification=unit.verification or plan.verification)

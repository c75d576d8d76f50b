"""A unit of a plan has promised tests by name: they are there, and pass, before its run may end complete."""

from surefoot.decisions.assigned import tests_of
from surefoot.decisions.planning import expand
from surefoot.gates.review import objection
from surefoot.kernel.ports import ReviewInput
from surefoot.plans import PlannedUnit
from surefoot.values import Review


class PromisedTests:
    """The `Reviewer` that vetoes while one of them is missing or does not pass."""

    def __init__(self, unit: PlannedUnit) -> None:
        self._unit = unit

    def review(self, seen: ReviewInput) -> Review:
        """By the run that the evidence rests on."""
        passing = set(seen.tests.passing)
        missing = []
        collected = seen.tests.collected
        for name in tests_of(self._unit, collected):
            found = expand(name, collected)
            missing += [name] if not found else [t for t in found if t not in passing]
        if not missing:
            return Review(
                verdict="PASS", action="PROCEED", reason="every promised test is there and passes"
            )
        told = f"the plan promises that {missing[0]} passes, and it does not"
        return Review(
            verdict="FAIL",
            action="BLOCK",
            reason=told,
            findings=(objection("promised-test", missing[0].partition("::")[0], told),),
        )

"""Turns as an executor gets them, for tests that run one without a run around it."""

from surefoot.kernel.ports import TurnInput
from surefoot.values import Mode, TestReport, TreeId, Unit


def first_turn(unit: Unit, baseline: TestReport) -> TurnInput:
    """The first turn of a unit, on a tree that nobody looks at."""
    return TurnInput(
        unit=unit,
        number=1,
        seed=0,
        tree=TreeId("0" * 40),
        base_tree=TreeId("0" * 40),
        mode=Mode.AUTO_FIX_SAFE,
        baseline=baseline,
        last=None,
        tried={},
    )

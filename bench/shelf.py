"""A small repository with three independent defects, and plans by hand for it."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from surefoot.codec import encode
from surefoot.plans import PLAN_SCHEMA, Milestone, Plan, PlannedUnit, Requirement, Slice
from surefoot.values import (
    Complexity,
    Issue,
    PlanIR,
    PlanStep,
    StepIntent,
    UnitId,
    UnitType,
)

FILES = {
    "shelf/__init__.py": "",
    "shelf/area.py": "def area(width, height):\n    return width * height - 1\n",
    "shelf/count.py": "def count(items):\n    return len(items) - 1\n",
    "shelf/largest.py": "def largest(items):\n    best = items[0]\n    for item in items:\n        if item < best:\n            best = item\n    return best\n",
    "tests/test_area.py": "from shelf.area import area\n\n\ndef test_area():\n    assert area(3, 4) == 12\n\n\n"
    "def test_flat():\n    assert area(0, 2) == 0\n",
    "tests/test_count.py": "from shelf.count import count\n\n\ndef test_count():\n    assert count([1, 2]) == 2\n\n\n"
    "def test_none():\n    assert count([]) == 0\n",
    "tests/test_largest.py": "from shelf.largest import largest\n\n\ndef test_largest():\n    assert largest([1, 3, 2]) == 3\n\n\n"
    "def test_one():\n    assert largest([5]) == 5\n",
    "surefoot.toml": '[repair]\nmax_candidates = 40\n\n[audit]\ntools = ["ruff", "secrets"]\n',
}
WHO = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")


class Shelf:
    """The repository, and a user who runs `surefoot` in it."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES) -> None:
        self.root, self.folder = folder / "shelf", folder
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        (folder / "model.json").write_text(
            '{"schema": 1, "rules": [], "default": "I do not know."}'
        )

    @property
    def model(self) -> str:
        """One that knows nothing."""
        return f"scripted:{self.folder / 'model.json'}"

    def git(self, *args: str) -> str:
        """Git as the user."""
        done = subprocess.run(
            ["git", *WHO, *args], cwd=self.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def surefoot(self, *args: str) -> subprocess.CompletedProcess[str]:
        """A command in the repository."""
        return subprocess.run(
            [sys.executable, "-m", "surefoot", *args],
            cwd=self.root,
            env={**os.environ, "SUREFOOT_HOME": str(self.folder / "home")},
            capture_output=True,
            text=True,
            timeout=1200,
            check=False,
        )

    def plan(self, plan: Plan) -> Path:
        """The plan as a file."""
        path = self.folder / "plan.json"
        path.write_bytes(encode(plan))
        return path


def fixes(name: str, *, needs: Sequence[str] = (), slice_id: str = "S1") -> PlannedUnit:
    """The unit that mends one module."""
    return PlannedUnit(
        unit_id=UnitId(f"U-{name}"),
        slice_id=slice_id,
        title=f"Fix `{name}`",
        unit_type=UnitType.FIX,
        plan=PlanIR(
            analysis=f"`{name}` gives wrong answers",
            steps=(
                PlanStep(
                    step_id="mend",
                    description=f"mend {name}",
                    intent=StepIntent.MODIFY,
                    target_files=(f"shelf/{name}.py",),
                    acceptance=("its tests pass",),
                ),
            ),
            verification=(f"tests/test_{name}.py",),
            complexity=Complexity.LOW,
            confidence=0.9,
        ),
        requirements=(f"R-{name}",),
        acceptance=("its tests pass",),
        verification=(f"tests/test_{name}.py",),
        needs=tuple(UnitId(f"U-{n}") for n in needs),
        reads=(f"shelf/{name}.py",),
        writes=(f"shelf/{name}.py",),
    )


def plan_of(*units: PlannedUnit, milestones: Sequence[str] = ("M1",)) -> Plan:
    """A plan with a slice for each that the units name; slice `S<n>` belongs to milestone `M<n>` where there is one."""
    slices = tuple(dict.fromkeys(u.slice_id for u in units))
    return Plan(
        schema=PLAN_SCHEMA,
        plan_id="shelf-plan",
        issue=Issue(source="text", text="Mend the shelf: area, count and largest are wrong"),
        requirements=tuple(
            Requirement(requirement_id=r, text=f"{r} holds")
            for r in dict.fromkeys(r for u in units for r in u.requirements)
        ),
        milestones=tuple(Milestone(milestone_id=m, title=f"Milestone {m}") for m in milestones),
        slices=tuple(
            Slice(
                slice_id=s,
                milestone_id=s.replace("S", "M")
                if s.replace("S", "M") in milestones
                else milestones[0],
                title=f"Slice {s}",
            )
            for s in slices
        ),
        units=units,
    )


def three_units() -> Plan:
    """Two units in the first milestone, one in the second."""
    return plan_of(
        fixes("area"), fixes("count"), fixes("largest", slice_id="S2"), milestones=("M1", "M2")
    )

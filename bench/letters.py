"""Files that are to be good and a check of a few lines of shell: a plan whose units cost almost nothing to prove."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.shelf import WHO, plan_of
from surefoot.plans import Plan, PlannedUnit
from surefoot.values import Complexity, PlanIR, PlanStep, StepIntent, UnitId, UnitType

NAMES: Final = "abc"
CHECK: Final = """bad=0
point() { if [ "$2" = yes ]; then echo "ok $1 - check::$3"; else echo "not ok $1 - check::$3"; bad=1; fi; }
good() { case "$(cat "$1.txt")" in good*) echo yes;; *) echo no;; esac; }
point 1 "$(good a)" a
point 2 "$(good b)" b
point 3 "$(good c)" c
point 4 "$([ "$(cat a.txt)$(cat b.txt)" = "good 1good 1" ] && echo no || echo yes)" pair
echo 1..4
exit $bad
"""
SETTINGS: Final = '[test]\ncommand = ["sh", "check"]\nformat = "tap"\n\n[audit]\ntools = ["ruff"]\n'


def lay(root: Path) -> None:
    """The repository, in a folder that is not there yet."""
    root.mkdir(parents=True)
    bad = {f"{name}.txt": "bad\n" for name in NAMES}
    for name, text in {"check": CHECK, "surefoot.toml": SETTINGS, **bad}.items():
        (root / name).write_text(text)
    for args in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *WHO, *args], cwd=root, check=True, capture_output=True)


def unit(name: str, *, needs: Sequence[str] = (), slice_id: str = "S1") -> PlannedUnit:
    """The unit that makes one file good."""
    return PlannedUnit(
        unit_id=UnitId(name),
        slice_id=slice_id,
        title=f"make {name} good",
        unit_type=UnitType.FIX,
        plan=PlanIR(
            analysis="",
            steps=(
                PlanStep(
                    step_id="write",
                    description=f"make {name} good",
                    intent=StepIntent.MODIFY,
                    acceptance=("it is good",),
                ),
            ),
            verification=(f"check::{name}",),
            complexity=Complexity.LOW,
            confidence=0.9,
        ),
        requirements=(f"R-{name}",),
        acceptance=("it is good",),
        verification=(f"check::{name}",),
        needs=tuple(UnitId(n) for n in needs),
        writes=(f"{name}.txt",),
    )


def two_that_clash() -> Plan:
    """Two units beside each other, each fine alone and red together, then one in a second milestone."""
    return plan_of(unit("a"), unit("b"), unit("c", slice_id="S2"), milestones=("M1", "M2"))


def rules() -> str:
    """A model's rules file: it makes each file good, and `b` otherwise good when it is told that its first work was refused."""
    size = {"complexity": "low", "confidence": 0.9, "reasoning": "one line"}
    made = [{"purpose": "task_complexity", "reply": json.dumps(size)}]
    for name in NAMES:
        mine = rf"(?s)make {name} good.*"
        calls = r"## Calls so far, oldest first\n.*^1\. [a-z_.]+ \{"
        made += [
            _rule(mine + calls, "done"),
            _rule(
                mine + "could not be merged",
                "file_edit",
                path=f"{name}.txt",
                search="bad",
                replace="good 2",
            ),
            _rule(mine, "file_edit", path=f"{name}.txt", search="bad", replace="good 1"),
        ]
    return json.dumps({"schema": 1, "rules": made})


def _rule(pattern: str, tool: str, **params: str) -> dict[str, str]:
    answer = {
        "thought": f"{tool} is next",
        "learned": [],
        "tool": tool,
        "params": params,
        "expected_outcome": "what the step needs",
    }
    return {"purpose": "tool_call", "pattern": pattern, "reply": json.dumps(answer)}

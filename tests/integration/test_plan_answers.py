"""What a plan's run asks a person: the question of a unit's run, and whether tests may change; answered later, it goes on."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.shelf import FILES, Shelf, fixes, plan_of
from tests.integration.steps import call, done

pytestmark = pytest.mark.campaign

QUESTION = "May something be flat?"
PAUSED = 13
TEST = "tests/test_area.py"
HOLDS_THE_BUG = "\n\ndef test_short():\n    assert area(1, 2) == 1\n"


class Answered:
    """A user beside the plan's run of one unit, which the agent works on by rules."""

    def __init__(self, folder: Path) -> None:
        settings = f"{FILES['surefoot.toml']}\n[risk]\nallow_test_changes = true\n"
        files = {**FILES, "surefoot.toml": settings, TEST: FILES[TEST] + HOLDS_THE_BUG}
        self.shelf = Shelf(folder, files)
        (folder / "model.json").write_text(json.dumps({"schema": 1, "rules": rules()}))
        assert self.shelf.surefoot("trust").returncode == 0
        self.plan = self.shelf.plan(
            plan_of(
                replace(
                    fixes("area"),
                    verification=(f"{TEST}::test_area",),
                    writes=("shelf/area.py", TEST),
                    risk_flags=("allow_test_changes",),
                    rollback="take the commit back",
                )
            )
        )

    def does(self, code: int, *args: str) -> dict[str, Any]:
        """The JSON object of a command that ends with this code."""
        ended = self.shelf.surefoot(*args, "--json")
        assert ended.returncode == code, ended.stdout + ended.stderr
        answer: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
        return answer


def rules() -> list[dict[str, object]]:
    """The model asks first; once it is told, it mends `area` and takes the test away that holds the bug."""
    size = {"complexity": "low", "confidence": 0.9, "reasoning": "two files"}
    ask = json.dumps(json.loads(call("ask")) | {"expected_outcome": QUESTION})
    mend = call("file_edit", path="shelf/area.py", search=" - 1", replace="")
    drop = call("file_edit", path=TEST, search=HOLDS_THE_BUG, replace="")
    after = r"(?s)(?=.*said to .May something be flat)(?=.*^{}\. [a-z_.]+ \{{)"
    answers = [mend, drop, done()]
    return [
        {"purpose": "task_complexity", "reply": json.dumps(size)},
        *(
            {"purpose": "tool_call", "pattern": after.format(number), "reply": answers[number]}
            for number in (2, 1)
        ),
        {"purpose": "tool_call", "pattern": "said to .May something be flat", "reply": mend},
        {"purpose": "tool_call", "reply": ask},
    ]


def test_a_units_question_and_the_plans_approval_are_answered_later(tmp_path: Path) -> None:
    """The plan pauses for each; the answers reach the unit's run and the plan's, which then completes and verifies.

    A test that went by a person's word is missed neither by the merge nor at the end of the milestone.
    """
    user = Answered(tmp_path)
    given = ("--model", user.shelf.model, "--strategy", "agent")
    paused = user.does(PAUSED, "run", str(user.plan), *given)
    plan_run = paused["run_id"]
    asked = user.does(10, "answer", plan_run)
    assert (asked["run_id"], asked["question"]) == (f"{plan_run}.U-area.1", QUESTION)
    said = user.does(0, "answer", plan_run, "--say", "nothing")
    assert said["answer"]["text"] == "nothing"

    paused = user.does(PAUSED, "resume", plan_run)
    assert "a person has to answer" in paused["reason"]
    asked = user.does(10, "answer", plan_run)
    assert asked["run_id"] == plan_run
    assert asked["question"] == f"may {TEST} change?"
    assert "-def test_short" in asked["patch"]
    user.does(0, "answer", plan_run, "--yes", asked["diff"])

    ended = user.does(0, "resume", plan_run)
    assert ended["files"] == ["shelf/area.py", TEST]
    verified = user.shelf.surefoot("verify", plan_run)
    assert verified.returncode == 0, verified.stderr
    unit = f"{plan_run}.U-area.1"
    assert calls_listed(user.shelf) == {unit}
    assert f"\n{unit}:\n" in user.shelf.surefoot("decisions").stdout


def calls_listed(shelf: Shelf) -> set[str]:
    """The runs whose tool calls the last run, that of a plan, lists as its own, in `export` and `decisions` alike."""
    rows = shelf.folder / "rows.jsonl"
    assert shelf.surefoot("export", "--labelled", str(rows)).returncode == 0
    listed = json.loads(shelf.surefoot("decisions", "--json").stdout)["decisions"]
    calls = [d["event_id"] for d in listed if d["decision"] == "tool_call"]
    decided = {at.rpartition(":")[0] for at in calls}
    assert {json.loads(row)["run_id"] for row in rows.read_text().splitlines()} == decided
    return decided

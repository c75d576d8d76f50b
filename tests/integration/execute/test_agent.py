"""`solve` step by step, on a model that answers from a file: it reads, edits, is told by the tests, and is done."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.integration.conftest import Surefoot
from tests.integration.steps import call, done, script
from tests.integration.suite.test_command_suite import needs_node

pytestmark = pytest.mark.campaign

FILES = {
    "till/__init__.py": '"""A till."""\n',
    "till/money.py": '''"""Amounts."""


def show(cents):
    """An amount as text."""
    return f"{cents / 100:.2f}"
''',
    "till/receipt.py": '''"""Receipts."""

from till.money import show


def line(name, cents):
    """One line of a receipt."""
    return f"{name}: {show(cents)}"
''',
    "till/app.py": '''"""The till itself."""

from till.receipt import line


def receipt(items):
    """All lines of a receipt."""
    return [line(name, cents) for name, cents in items]
''',
    "tests/test_till.py": """from till.app import receipt


def test_receipt():
    assert receipt([("tea", 250)]) == ["tea: 2.50"]
""",
}
FEATURE = """# Add a currency to receipts

`receipt(items, currency="EUR")` shows each amount as `2.50 EUR`; without a currency nothing changes.
"""
NEW_TEST = """from till.app import receipt


def test_currency():
    assert receipt([("tea", 250)], currency="EUR") == ["tea: 2.50 EUR"]
"""
EDITS = [
    call("ripgrep", pattern="show"),
    call("file_read", path="till/money.py"),
    call(
        "file_edit",
        path="till/money.py",
        unit="show",
        text='def show(cents, currency=""):\n    """An amount as text, with its currency if there is one."""\n    return f"{cents / 100:.2f} {currency}".rstrip()\n',
    ),
    call(
        "file_edit",
        path="till/receipt.py",
        search="def line(name, cents):",
        replace='def line(name, cents, currency=""):',
    ),
    call(
        "file_edit", path="till/receipt.py", search="show(cents)", replace="show(cents, currency)"
    ),
    call(
        "file_edit",
        path="till/app.py",
        unit="receipt",
        text='def receipt(items, currency=""):\n    """All lines of a receipt."""\n    return [line(name, cents, currency) for name, cents in items]\n',
    ),
    call("file_edit", path="tests/test_currency.py", create=NEW_TEST),
    done(),
]


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """These files, committed."""
    root = folder / "till"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for command in (
        ["git", "init", "-q", "-b", "main"],
        ["git", "add", "-A"],
        ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-qm", "till"],
    ):
        subprocess.run(command, cwd=root, check=True)
    return root


@pytest.fixture
def till(tmp_path: Path) -> Path:
    return repository(tmp_path, FILES)


def solve(
    surefoot: Surefoot, root: Path, issue: str, answers: Sequence[str], *options: str
) -> dict[str, object]:
    """Run it on these answers; the last line of standard output."""
    return solve_by(surefoot, root, issue, script(answers), *options)


def solve_by(
    surefoot: Surefoot, root: Path, issue: str, rules: Mapping[str, object], *options: str
) -> dict[str, object]:
    """The same on whole rules."""
    file = root.parent / "rules.json"
    file.write_text(json.dumps(rules))
    ran = surefoot("solve", issue, "--model", f"scripted:{file}", "--json", *options, cwd=root)
    assert ran.stdout, ran.stderr
    result: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
    return result


def test_a_feature_over_three_files_with_a_new_test(surefoot: Surefoot, till: Path) -> None:
    """The work is complete because the new test fails on the base and passes now, and nothing that passed broke."""
    run = solve(surefoot, till, FEATURE, EDITS)
    assert run["status"] == "complete", run["reason"]
    assert run["files"] == [
        "tests/test_currency.py",
        "till/app.py",
        "till/money.py",
        "till/receipt.py",
    ]


def test_a_new_test_may_stand_behind_those_that_are_there(surefoot: Surefoot, till: Path) -> None:
    """It is a new test like one in a file of its own: it fails on the base and passes now; verify says the same."""
    last = 'assert receipt([("tea", 250)]) == ["tea: 2.50"]\n'
    new = NEW_TEST.partition("\n\n\n")[2]
    added = call("file_edit", path="tests/test_till.py", search=last, replace=f"{last}\n\n{new}")
    run = solve(surefoot, till, FEATURE, [*EDITS[:-2], added, done()])
    assert run["status"] == "complete", run["reason"]
    assert "tests/test_till.py" in list(run["files"])  # type: ignore[call-overload]
    proofs = {p["kind"]: p for p in run["evidence"]}  # type: ignore[attr-defined]
    assert "test_currency" in proofs["new-tests"]["before"]
    assert proofs["protected-files"]["passed"]
    assert surefoot("verify", str(run["run_id"]), cwd=till).returncode == 0


BUG = {
    **FILES,
    "till/money.py": '''"""Amounts."""


def show(cents):
    """An amount as text."""
    return f"{cents / 100:.1f}"
''',
}
BUG_EDITS = [
    call("file_read", path="till/app.py", learned=["receipt calls line in till/receipt.py"]),
    call("file_read", path="till/receipt.py"),
    call("file_read", path="till/money.py"),
    call("file_edit", path="till/money.py", search=":.1f", replace=":.2f"),
    done(),
]


def events(surefoot: Surefoot, root: Path, run_id: object) -> list[dict[str, Any]]:
    """The run's ledger, oldest first."""
    ran = surefoot("events", str(run_id), "--json", cwd=root)
    return [json.loads(line)["event"] for line in ran.stdout.splitlines()]


def blob(root: Path, digest: str) -> dict[str, Any]:
    """What an event refers to."""
    found: dict[str, Any] = json.loads(
        (root / ".surefoot/blobs" / digest[:2] / digest).read_bytes()
    )
    return found


def test_what_a_command_imports_is_the_worktrees(surefoot: Surefoot, tmp_path: Path) -> None:
    """Packages below `src` too, from any folder; an editable install would else give it the checkout's."""
    root = repository(
        tmp_path,
        {
            p.replace("till/", "src/till/", 1) if p.startswith("till/") else p: t
            for p, t in BUG.items()
        },
    )
    found = "$(cd / && python -c 'import till.money as m; print(m.__file__)')"
    steps = [call("shell", command=f"sed -i s/:.1f/:.2f/ {found}"), done()]
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", steps, "--strategy", "agent")
    assert (run["status"], run["files"]) == ("complete", ["src/till/money.py"]), run["reason"]


def test_a_bug_two_calls_away(surefoot: Surefoot, tmp_path: Path) -> None:
    """The ledger holds, for each step, the decision, the call, and a label that says what the call was worth."""
    root = repository(tmp_path, BUG)
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", BUG_EDITS, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    payloads = events(surefoot, root, run["run_id"])
    labels = [p for p in payloads if p["kind"] == "tool.labelled"]
    assert [p["tool"] for p in labels] == ["file_read", "file_read", "file_read", "file_edit"]
    assert [p["step_utility"] for p in labels] == [0.5, 0.5, 0.5, 1.0]
    assert [p["verification_delta"] for p in labels] == [0, 0, 0, 1]
    decided = [p for p in payloads if p["kind"] == "decision.made"]
    assert [p["decided_by"] for p in decided if p["decision"] == "tool_call"] == ["model"] * 5
    assert {p["decision"] for p in decided} >= {
        "environment_assessment",
        "task_complexity",
        "tool_result",
    }
    told = surefoot("explain", str(run["run_id"]), cwd=root).stdout
    assert "file_edit worked, worth +1, failing tests -1" in told


def test_a_file_whose_name_is_not_text_is_in_nobodys_way(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """Git holds it; no question to a model, and no record, could name it."""
    root = repository(tmp_path, {**BUG, os.fsdecode(b"till/caf\xe9.txt"): "x"})
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", BUG_EDITS, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]


def test_all_guides_of_a_repository_are_shown(surefoot: Surefoot, tmp_path: Path) -> None:
    """Each under its name, a text that two of them share once; a model that misses one gives up here."""
    guides = {
        "AGENTS.md": "Use tabs.\n",
        "CLAUDE.md": "Use tabs.\n",
        "CONTRIBUTING.md": "Be brief.\n",
    }
    root = repository(tmp_path, BUG | guides)
    wanted = r"(?s)\A(?!.*AGENTS\.md:\nUse tabs\.\n\nCONTRIBUTING\.md:\nBe brief\.)"
    missed = {"purpose": "tool_call", "pattern": wanted, "reply": done()}
    rules = script(BUG_EDITS, [missed])
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", rules, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]


def test_the_guide_of_a_folder_is_shown_once_a_file_of_it_was_read(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """Before the root's, since it is nearer; a model that misses it gives up here."""
    guides = {"AGENTS.md": "Use tabs.\n", "till/AGENTS.md": "Count cents.\n"}
    root = repository(tmp_path, BUG | guides)
    nearest = r"till/AGENTS\.md:\nCount cents\.\n\nAGENTS\.md:\nUse tabs\."
    missed = {
        "purpose": "tool_call",
        "pattern": rf"(?s)\A(?!.*{nearest}).*^1\. file_read ",
        "reply": done(),
    }
    rules = script(BUG_EDITS, [missed])
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", rules, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]


def test_what_a_run_decided_can_be_read_and_learned_from(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """The ledger verifies; decisions, labelled calls, receipt and replay file tell the same calls."""
    root = repository(tmp_path, BUG)
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", BUG_EDITS, "--strategy", "agent")
    verified = surefoot("verify", cwd=root)
    assert verified.returncode == 0, verified.stderr
    listed = json.loads(surefoot("decisions", "--json", cwd=root).stdout.splitlines()[-1])
    assert listed["step_utility"] == {"-1": 0, "-0.5": 0, "+0": 0, "+0.5": 3, "+1": 1}
    calls = [d for d in listed["decisions"] if d["decision"] == "tool_call"]
    assert [json.loads(d["output"])["tool"] for d in calls][-2:] == ["file_edit", "done"]
    assert "step utility of tool calls: -1 0, -0.5 0" in surefoot("decisions", cwd=root).stdout
    exported = surefoot("export", "--labelled", str(tmp_path / "rows.jsonl"), cwd=root)
    assert exported.returncode == 0, exported.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [r["outputs"]["tool"] for r in rows] == ["file_read"] * 3 + ["file_edit"]
    assert [r["turn_kept"] for r in rows] == [True] * 4
    folder = root / ".surefoot" / "runs" / str(run["run_id"])
    receipt = json.loads((folder / "RECEIPT.json").read_text())
    assert [c["tool"] for c in receipt["tool_calls"]] == ["file_read"] * 3 + ["file_edit"]
    assert receipt["task"] == "`receipt` shows 2.5 for 250"
    named = [(d["id"], d["decision"], d["by_rule"] is None) for d in receipt["decisions"]]
    assert named == [
        (d["event_id"], d["decision"], d["by_rule"] is None) for d in listed["decisions"]
    ]
    lines = [json.loads(line) for line in (folder / "REPLAY.jsonl").read_text().splitlines()]
    types = [line["type"] for line in lines]
    assert (types.count("PlanStart"), types.count("ToolResult")) == (1, 4)
    assert len(receipt["plan_hashes"]) == 1


def test_a_mistake_is_told_and_mended(surefoot: Surefoot, tmp_path: Path) -> None:
    """A call that does not fit, an edit that misses, a repeated look, and an edit that breaks tests: each is told, none ends it."""
    root = repository(tmp_path, BUG)
    answers = [
        call("file_edit", path="till/money.py", search="no such text", replace="x"),
        call("file_read", pathh="till/money.py"),
        call("file_read", path="till/money.py"),
        call("file_read", path="till/money.py"),
        call("file_edit", path="till/money.py", search="cents / 100:.1f", replace="cents:.1f"),
        call("file_edit", path="till/money.py", search="cents:.1f", replace="cents / 100:.2f"),
        done(),
    ]
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", answers, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    labels = [e for e in events(surefoot, root, run["run_id"]) if e["kind"] == "tool.labelled"]
    assert [p["ok"] for p in labels] == [False, False, True, True, True, True]
    assert [p["was_repeated"] for p in labels] == [False, False, False, True, False, False]
    assert labels[3]["step_utility"] == -0.5


def test_the_lines_that_were_read_are_shown_as_they_are_now(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """Numbered, wherever an edit moved them; a model that does not see them there gives up here."""
    rates = "".join(f"RATE_{n} = {n}\n" for n in range(600))
    long = BUG["till/money.py"].replace("\n\n\ndef", f"\n\n{rates}\n\ndef")
    root = repository(tmp_path, BUG | {"till/money.py": long})
    first = long.splitlines().index("def show(cents):") + 1
    noted = '"""Amounts."""\n\n# By the cent.'
    answers = [
        call("file_read", path="till/money.py", first_line=first, last_line=first + 2),
        call("file_edit", path="till/money.py", search='"""Amounts."""', replace=noted),
        done(),
    ]
    now = rf"as it is now:\ntill/money\.py, lines {first} to {first + 4} of \d+\n"
    seen = {
        "purpose": "tool_call",
        "pattern": rf"(?s){now}(?!.*100:\.2f).*^{first + 4} \| [^\n]*100:\.1f",
        "reply": BUG_EDITS[3],
    }
    model = script(answers, [seen])
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]


def test_a_step_that_leads_nowhere_is_left(surefoot: Surefoot, tmp_path: Path) -> None:
    """A model that asks the same again twice in a row leaves the step there, and the check that follows says what to do."""
    root = repository(tmp_path, BUG)
    mended = call(
        "file_edit", path="till/money.py", search="cents / 100:.1f", replace="cents / 100:.2f"
    )
    before = [
        {"purpose": "tool_call", "pattern": r"(?s)## Calls so far.*file_edit \{", "reply": done()},
        {"purpose": "tool_call", "pattern": "mend what the checks hold", "reply": mended},
    ]
    rules = script([call("file_read", path="till/money.py")], before)
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", rules, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    labels = [e for e in events(surefoot, root, run["run_id"]) if e["kind"] == "tool.labelled"]
    assert [p["was_repeated"] for p in labels] == [False, True, True, False]
    assert labels[-1]["tool"] == "file_edit"


def test_done_is_not_believed(surefoot: Surefoot, tmp_path: Path) -> None:
    """A model that only says so never completes: its plan is changed until the turn gives up, and nothing is kept."""
    root = repository(tmp_path, BUG)
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", [done()], "--strategy", "agent")
    assert run["status"] in ("blocked", "paused")
    assert run["commit"] is None
    plans = [e for e in events(surefoot, root, run["run_id"]) if e["kind"] == "plan.revised"]
    assert len({p["plan_hash"] for p in plans}) >= 4
    mended = [p["reason"] for p in plans if p["reason"] != "the unit's plan as one step"]
    assert len(mended) >= 4
    assert all("must pass and do not" in reason for reason in mended)


@pytest.mark.parametrize(
    ("broken", "actions"),
    [
        ("raise SyntaxError('no')", ["FixAndRetry"] * 4 + ["Abort"]),
        ("raise MemoryError('no room')", ["RetryLarger"] + ["FixAndRetry"] * 3 + ["Abort"]),
        ("raise PermissionError('Permission denied')", ["Escalate"]),
        (
            "try:\n    raise MemoryError('no room')\nexcept MemoryError:\n    raise ValueError('line of a log\\n' * 400)",
            ["RetryLarger"] + ["FixAndRetry"] * 3 + ["Abort"],
        ),
    ],
    ids=["code", "memory", "permission", "memory before a long tail"],
)
def test_what_a_failed_check_means_changes_the_plan(
    surefoot: Surefoot, tmp_path: Path, broken: str, actions: list[str]
) -> None:
    """A step, more room, a person's word or the end: each action is on record with a plan of its own.

    A known word counts wherever it stands in the output; of that, the end is what a model would be shown.
    """
    root = repository(tmp_path, BUG)
    answers = [
        call("file_edit", path="till/money.py", search='"""Amounts."""', replace=broken),
        done(),
    ]
    arguments = ("--strategy", "agent", "--max-iterations", "1")
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", answers, *arguments)
    assert run["status"] != "complete"
    seen = events(surefoot, root, run["run_id"])
    plans = [e for e in seen if e["kind"] == "plan.revised"]
    first, *later = [p["reason"].partition(",")[0] for p in plans]
    assert (first, later) == ("the unit's plan as one step", actions)
    assert len({p["plan_hash"] for p in plans}) == len(plans)
    asked = [e for e in seen if e["kind"] == "question.asked"]
    assert len(asked) == actions.count("Escalate")
    decided = [e for e in seen if e.get("decision") == "failure_triage"]
    assert decided
    assert all(len(blob(root, e["inputs"])["output"]) <= 4000 for e in decided)


SNUG = (
    "import resource\n\nif resource.getrlimit(resource.RLIMIT_AS)[0] <= 4 * 1024**3:\n"
    "    raise MemoryError('no room')\n"
)


def test_what_lacks_room_is_checked_with_more_of_it(surefoot: Surefoot, tmp_path: Path) -> None:
    """Work that needs more memory than a check has is done once the check has twice as much."""
    root = repository(tmp_path, BUG)
    answers = [
        call("file_edit", path="till/money.py", search='"""Amounts."""\n', replace=SNUG),
        BUG_EDITS[3],
        done(),
    ]
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", answers, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    plans = [e for e in events(surefoot, root, run["run_id"]) if e["kind"] == "plan.revised"]
    assert [p["reason"].partition(",")[0] for p in plans[1:]] == ["RetryLarger"]


def killing(word: str) -> list[dict[str, object]]:
    """A model whose edit ends the process that loads it, and which takes that back when a step tells it `word`."""
    killed = "import os\n\nos.kill(os.getpid(), 6)\n\n\ndef show"
    return [
        {
            "purpose": "tool_call",
            "pattern": rf"(?s)\A(?=.*; {word}\n)(?=.*kill)",
            "reply": call("file_edit", path="till/money.py", search=killed, replace="def show"),
        },
        {"purpose": "tool_call", "pattern": "nothing yet", "reply": BUG_EDITS[3]},
        {
            "purpose": "tool_call",
            "pattern": r"(?s)\A(?!.*os.kill)",
            "reply": call("file_edit", path="till/money.py", search="def show", replace=killed),
        },
        {"purpose": "tool_call", "reply": done()},
    ]


def test_a_check_that_breaks_off_unknown_is_named_by_the_model(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """No word of the output says what a killed process means; the model does, and the step that follows tells it."""
    root = repository(tmp_path, BUG)
    told = "the new call ends the process; take it out"
    said = f"{told}\nReached when: nothing"
    word = f"the model takes it for: {told} Reached when: nothing"
    named = {"explanation": said, "category": "CompileError", "action": "FixAndRetry"}
    rules = [
        {"purpose": "failure_triage", "reply": json.dumps(named)},
        *killing(word),
    ]
    model = {"schema": 1, "rules": rules}
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, "--strategy", "agent")
    seen = events(surefoot, root, run["run_id"])
    plans = [e["reason"] for e in seen if e["kind"] == "plan.revised"]
    assert f"FixAndRetry, CompileError: {word}" in plans
    by = [e["decided_by"] for e in seen if e.get("decision") == "failure_triage"]
    assert by[0] == "model"
    assert run["status"] == "complete", run["reason"]


def test_what_a_person_lets_go_on_is_told_what_the_model_takes_it_for(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """The question is one line that says whose word it is, and the step that follows a yes tells it as well."""
    root = repository(tmp_path, BUG)
    said = "the new call\nends the process"
    named = {"explanation": said, "category": "PermissionDenied", "action": "Escalate"}
    word = "the model takes it for: the new call ends the process"
    rules = [
        {"purpose": "planning_model", "reply": json.dumps(ONE_STEP)},
        {"purpose": "failure_triage", "reply": json.dumps(named)},
        *killing(word),
    ]
    model = {"schema": 1, "rules": rules}
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, "--strategy", "agent")
    assert run["status"] == "paused", run["reason"]
    question = f"PermissionDenied: {word}. May the work go on?"
    assert run["reason"] == f"a person has to answer: {question}"
    asked = json.loads(surefoot("answer", "--json", cwd=root).stdout)
    assert surefoot("answer", "--yes", asked["diff"], cwd=root).returncode == 0
    ended = surefoot("resume", "--json", cwd=root)
    assert json.loads(ended.stdout.splitlines()[-1])["status"] == "complete", ended.stdout


def test_the_next_turn_knows_how_the_last_one_ended(surefoot: Surefoot, tmp_path: Path) -> None:
    """Its checkpoint, what it learned and that its work is gone are known; the model here does nothing right before it reads of it."""
    root = repository(tmp_path, BUG)
    told = (
        "The turn before ended as ",
        "Nothing of it was kept",
        "work is gone: receipt calls line in",
    )
    known = r"(?s)\A" + "".join(f"(?=.*{words})" for words in (*told, "nothing yet"))
    rules = [
        {"purpose": "tool_call", "pattern": known, "reply": BUG_EDITS[3]},
        {"purpose": "tool_call", "pattern": "nothing yet", "reply": BUG_EDITS[0]},
        {"purpose": "tool_call", "reply": done()},
    ]
    model = {"schema": 1, "rules": rules}
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    assert run["turns"] == 2


ONE_STEP = {
    "analysis": "amounts are cut to one place",
    "steps": [
        {
            "id": "mend",
            "description": "show two places",
            "intent": "modify",
            "target_files": ["till/money.py"],
            "depends_on": [],
            "max_iterations": 4,
            "acceptance": ["the tests pass"],
        }
    ],
    "verification": [],
    "risk_factors": [],
    "confidence": 0.9,
}


def test_the_next_turn_knows_what_the_review_refused(surefoot: Surefoot, tmp_path: Path) -> None:
    """Work that was proved and vetoed begins again from the base, and the prompt says why."""
    root = repository(tmp_path, BUG)
    forged = "import os\n\nos.dup2(1, 2)\n\n\ndef show"
    known = r"(?s)\A(?=.*Held against it: review: till/money.py)(?=.*Nothing of it was kept)"
    rules = [
        {"purpose": "tool_call", "pattern": rf"{known}(?=.*nothing yet)", "reply": BUG_EDITS[3]},
        {"purpose": "tool_call", "pattern": known, "reply": done()},
        {"purpose": "tool_call", "pattern": "nothing yet", "reply": BUG_EDITS[3]},
        {
            "purpose": "tool_call",
            "pattern": r"(?s)\A(?!.*dup2\(1)",
            "reply": call("file_edit", path="till/money.py", search="def show", replace=forged),
        },
        {"purpose": "planning_model", "reply": json.dumps(ONE_STEP)},
        {"purpose": "tool_call", "reply": done()},
    ]
    model = {"schema": 1, "rules": rules}
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    assert run["turns"] == 2


def judged(status: str, quote: str, missing: str = "") -> str:
    """What a judge says of a requirement."""
    said = {"explanation": "seen", "quote": quote, "missing": missing, "status": status}
    return json.dumps(said)


def test_what_the_verifier_wants_again_is_a_step_of_the_next_plan(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """A requirement that is met in part sends the work back, and the next turn has a step for it."""
    root = repository(tmp_path, BUG)
    remark = "# two places"
    added = call("file_edit", path="till/money.py", search=':.2f}"', replace=f':.2f}}"  {remark}')
    wanted = rf"(?s)\A(?!.*{remark})(?=.*Reached when: no longer: )"
    judge = {"purpose": "requirement_checker"}
    rules = [
        {**judge, "pattern": rf"\+.*{remark}", "reply": judged("SATISFIED", remark)},
        {**judge, "reply": judged("PARTIAL", "", missing="a remark")},
        {"purpose": "planning_model", "reply": json.dumps(ONE_STEP)},
        {"purpose": "tool_call", "pattern": "nothing yet", "reply": BUG_EDITS[3]},
        {"purpose": "tool_call", "pattern": wanted, "reply": added},
        {"purpose": "tool_call", "reply": done()},
    ]
    model = {"schema": 1, "rules": rules}
    judged_by = ("--solver-model", f"scripted:{root.parent / 'rules.json'}")
    options = ("--strategy", "agent", *judged_by)
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, *options)
    seen = events(surefoot, root, run["run_id"])
    plans = [e for e in seen if e["kind"] == "plan.revised"]
    assert any(p["reason"].startswith("FixAndRetry, TestFailure: ") for p in plans), plans
    assert run["status"] == "complete", run["reason"]
    assert run["turns"] == 2


def test_what_is_never_enough_is_given_up(surefoot: Surefoot, tmp_path: Path) -> None:
    """Every review that asks for more is a step of the next plan, and the gate ends the work; nothing of it completes."""
    root = repository(tmp_path, BUG)
    rules = [
        {"purpose": "requirement_checker", "reply": judged("PARTIAL", "", missing="a remark")},
        {"purpose": "planning_model", "reply": json.dumps(ONE_STEP)},
        {"purpose": "tool_call", "pattern": "nothing yet", "reply": BUG_EDITS[3]},
        {"purpose": "tool_call", "reply": done()},
    ]
    judged_by = ("--solver-model", f"scripted:{root.parent / 'rules.json'}")
    model = {"schema": 1, "rules": rules}
    options = ("--strategy", "agent", *judged_by)
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, *options)
    assert run["status"] == "blocked"
    assert "to be done again: PARTIAL" in str(run["reason"])
    seen = events(surefoot, root, run["run_id"])
    plans = [e["reason"] for e in seen if e["kind"] == "plan.revised"]
    again = [reason for reason in plans if reason.startswith("FixAndRetry, TestFailure: review")]
    assert len(again) == run["turns"] - 1 >= 2


def test_a_suppression_is_told_while_it_can_be_mended(surefoot: Surefoot, tmp_path: Path) -> None:
    """What the review will refuse stands under the tests, and the turn goes on until it is gone."""
    root = repository(tmp_path, BUG)
    silenced = ':.2f}"  # noqa: E501'
    refused = "STILL OPEN: the review will refuse till/money.py:6: "
    edits = {
        "nothing yet": call("file_edit", path="till/money.py", search=':.1f}"', replace=silenced),
        refused: call("file_edit", path="till/money.py", search="  # noqa: E501", replace=""),
        "": done(),
    }
    rules = [{"purpose": "tool_call", "pattern": p, "reply": edit} for p, edit in edits.items()]
    model = {"schema": 1, "rules": rules}
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    assert run["turns"] == 1


def test_a_secret_is_told_while_it_can_be_taken_out(surefoot: Surefoot, tmp_path: Path) -> None:
    """The auditors are heard before the turn ends, and say in which file and line."""
    root = repository(tmp_path, BUG)
    address = "https://someone:" + "hunter22xy@shop.example"
    shown = f"from till.app import receipt\n\n\ndef test_shown():\n    assert receipt([({address!r}, 275)])[0].endswith('2.75')\n"
    told = "STILL OPEN: the audit of the changed files: new: tests/test_shown.py:5 secrets "
    edits = {
        "nothing yet": BUG_EDITS[3],
        told: call(
            "file_edit", path="tests/test_shown.py", search="someone:hunter22xy@", replace=""
        ),
        r"(?s)\A(?!.*test_shown)": call("file_edit", path="tests/test_shown.py", create=shown),
        "": done(),
    }
    rules = [{"purpose": "tool_call", "pattern": p, "reply": edit} for p, edit in edits.items()]
    model = {"schema": 1, "rules": rules}
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", model, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    assert run["turns"] == 1
    assert "tests/test_shown.py" in run["files"]


def test_existing_tests_are_not_the_models_to_change(surefoot: Surefoot, tmp_path: Path) -> None:
    """A model that makes the test agree with the bug is stopped, whatever the test then says."""
    root = repository(tmp_path, BUG)
    answers = [
        call("file_edit", path="tests/test_till.py", search="2.50", replace="2.5"),
        done(),
    ]
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", answers, "--strategy", "agent")
    assert run["status"] != "complete"
    assert run["commit"] is None


def test_a_test_that_shows_nothing_is_no_proof(surefoot: Surefoot, till: Path) -> None:
    """A new test that passes without the change is held against the work before the turn ends, all of many by their functions."""
    idle = "import pytest\n\n\n@pytest.mark.parametrize('n', range(7))\ndef test_nothing(n):\n    assert n + 1 > n\n"
    answers = [call("file_edit", path="tests/test_idle.py", create=idle), done()]
    run = solve(surefoot, till, FEATURE, answers)
    assert run["status"] != "complete"
    plans = events(surefoot, till, run["run_id"])
    told = "without it, or join it with one that does): tests/test_idle.py::test_nothing (7 of its cases)"
    assert any(told in p["reason"] for p in plans if p["kind"] == "plan.revised")


def test_a_question_for_a_person_waits(surefoot: Surefoot, till: Path) -> None:
    """Where nobody can answer, the turn says what it waits for and leaves the tree as it was."""
    ask = json.loads(call("ask")) | {"expected_outcome": "Which currency is the default?"}
    run = solve(surefoot, till, FEATURE, [json.dumps(ask)])
    kinds = events(surefoot, till, run["run_id"])
    asked = [p["question"] for p in kinds if p["kind"] == "question.asked"]
    assert asked == ["Which currency is the default?"]
    assert run["status"] == "paused"
    assert run["reason"] == "a person has to answer: Which currency is the default?"


PLAN = {
    "analysis": "amounts are shown in money.py",
    "steps": [
        {
            "id": "test",
            "description": "a new test",
            "intent": "modify",
            "target_files": ["tests/test_currency.py"],
            "depends_on": ["code"],
            "max_iterations": 3,
            "acceptance": ["it fails on the base"],
        },
        {
            "id": "code",
            "description": "the change",
            "intent": "modify",
            "target_files": ["till/money.py"],
            "depends_on": [],
            "max_iterations": 9,
            "acceptance": ["it works"],
        },
    ],
    "verification": ["tests/test_currency.py"],
    "risk_factors": ["callers elsewhere"],
    "confidence": 0.9,
}


@pytest.mark.parametrize(
    ("complexity", "confidence", "planned_by"),
    [
        ("medium", 0.8, "planning_model"),
        ("high", 0.4, "deep_planning"),
        ("high", 0.1, "planning_model"),
    ],
)
def test_a_large_task_gets_a_plan_whose_order_holds(
    surefoot: Surefoot, till: Path, complexity: str, confidence: float, planned_by: str
) -> None:
    """The model judges the size, plans, deeply when that is due, and the step that another depends on is worked on first."""
    size = {"reasoning": "two modules", "complexity": complexity, "confidence": confidence}
    before = [
        {"purpose": "task_complexity", "reply": json.dumps(size)},
        {"purpose": planned_by, "reply": json.dumps(PLAN)},
    ]
    long = FEATURE + "\nThe amount stays where it is. " * 10
    end = r"Shows the end: tests/test_currency\.py\nBeware: callers elsewhere"
    in_test = rf".*\[>\] test \(modify\).*{end}"
    later: list[dict[str, object]] = [
        {"purpose": "tool_call", "pattern": rf"(?s)^7\. file_edit{in_test}", "reply": done()},
        {"purpose": "tool_call", "pattern": rf"(?s)^6\. file_edit{in_test}", "reply": EDITS[6]},
    ]
    run = solve_by(surefoot, till, long, script([*EDITS[:6], done()], [*before, *later]))
    assert run["status"] == "complete", run["reason"]
    labels = [
        e["step_id"] for e in events(surefoot, till, run["run_id"]) if e["kind"] == "tool.labelled"
    ]
    assert labels == ["code"] * 6 + ["test"]


RENAME = """# Rename `show` to `as_text`

Everywhere, so that `till.money.as_text` exists.
"""
RENAME_TEST = """from till import money


def test_as_text():
    assert money.as_text(250) == "2.50"
    assert not hasattr(money, "show")
"""
RENAME_EDITS = [
    call("lsp", action="rename", path="till/money.py", line=4, symbol="show", new_name="as_text"),
    call("file_edit", path="tests/test_as_text.py", create=RENAME_TEST),
    done(),
]


def test_a_refactoring_by_the_language_server(surefoot: Surefoot, till: Path) -> None:
    """One call renames in every file; the base's own tests and a new one that failed before show it."""
    run = solve(surefoot, till, RENAME, RENAME_EDITS)
    assert run["status"] == "complete", run["reason"]
    assert run["files"] == ["tests/test_as_text.py", "till/money.py", "till/receipt.py"]
    assert surefoot("replay", cwd=till).returncode == 0


SERVER = """from mcp.server.mcpserver import MCPServer

server = MCPServer("prices")


@server.tool()
def decimals(currency: str) -> str:
    return f"{currency} has 2 decimals"


server.run()
"""


def test_a_tool_of_a_server_from_trusted_settings(surefoot: Surefoot, tmp_path: Path) -> None:
    """An MCP server's tool is offered only after `trust`, and its answer stands in the next prompt."""
    program = tmp_path / "prices.py"
    program.write_text(SERVER)
    settings = f'[[tools.mcp]]\nname = "prices"\ncommand = ["{sys.executable}", "{program}"]\n'
    root = repository(tmp_path, BUG | {"surefoot.toml": settings})
    answers = [call("prices.decimals", currency="EUR"), *BUG_EDITS[3:]]
    issue = "`receipt` shows 2.5 for 250"
    run = solve(surefoot, root, issue, answers, "--strategy", "agent")
    assert run["status"] != "complete"
    assert surefoot("trust", cwd=root).returncode == 0
    run = solve(surefoot, root, issue, answers, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]


PAGE = "def total(cents):\n    return cents\n\n\ntotal(1)\n"
JEDI = "import sys; del sys.argv[1:]; from jedi_language_server.cli import cli; cli()"


def test_a_language_server_from_trusted_settings(surefoot: Surefoot, tmp_path: Path) -> None:
    """After `trust` it answers about files of a suffix that nobody knew; one that lies in the repository is not started.

    A subcommand that has the name of a folder does not lie there.
    """
    servers = {
        ".page": [sys.executable, "-c", JEDI, "till"],
        ".py": ["python3", "till/app.py"],
        ".mod": ["python3", "-m", "till.app"],
    }
    settings = "".join(
        f'[[tools.lsp]]\nsuffixes = ["{suffix}"]\nlanguage = "python"\ncommand = {json.dumps(command)}\n'
        for suffix, command in servers.items()
    )
    root = repository(tmp_path, BUG | {"first.page": PAGE, "surefoot.toml": settings})
    asked = call("lsp", action="definition", path="first.page", line=5, symbol="total")

    def asks() -> tuple[bool, list[str]]:
        """Whether there was an answer, and what the run warned of."""
        issue = "`receipt` shows 2.5 for 250"
        run = solve(surefoot, root, issue, [asked, *BUG_EDITS[3:]], "--strategy", "agent")
        record = events(surefoot, root, run["run_id"])
        first = next(e["ok"] for e in record if e["kind"] == "tool.labelled")
        return first, [e["what"] for e in record if e["kind"] == "policy.warning"]

    answered, told = asks()
    assert not answered
    assert told == ["tools.lsp have no effect until `surefoot trust`"]
    assert surefoot("trust", cwd=root).returncode == 0
    answered, told = asks()
    assert answered
    for refused, command in zip(sorted(set(told)), ("-m till.app", "till/app.py"), strict=True):
        why = "is not started: till/app.py lies in the repository"
        assert refused.startswith(f"the language server python3 {command} {why}")


SCRIPT = {
    "package.json": json.dumps(
        {"name": "till", "type": "module", "scripts": {"test": "node --test"}}, indent=1
    ),
    "src/money.js": "export function show(cents) {\n  return (cents / 100).toFixed(1);\n}\n",
    "src/receipt.js": 'import { show } from "./money.js";\n\nexport function line(name, cents) {\n'
    "  return `${name}: ${show(cents)}`;\n}\n",
    "test/receipt.test.js": 'import test from "node:test";\nimport assert from "node:assert/strict";\n'
    'import { line } from "../src/receipt.js";\n\ntest("shows cents", () => {\n'
    '  assert.equal(line("tea", 250), "tea: 2.50");\n});\n\ntest("shows the name", () => {\n'
    '  assert.match(line("tea", 1), /^tea/);\n});\n',
}


@needs_node
def test_a_repository_in_another_language(surefoot: Surefoot, tmp_path: Path) -> None:
    """JavaScript with node's own runner: the failing test by its id, the base's own tests, and the replay."""
    root = repository(tmp_path, SCRIPT)
    answers = [
        call("ripgrep", pattern="show"),
        call("file_edit", path="src/money.js", search="toFixed(1)", replace="toFixed(2)"),
        done(),
    ]
    issue = "`line` shows 2.5 for 250, see test/receipt.test.js"
    run = solve(surefoot, root, issue, answers, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    assert run["files"] == ["src/money.js"]
    proofs = {p["kind"]: p for p in run["evidence"]}  # type: ignore[attr-defined]
    assert proofs["failing-tests"]["after"] == "passed: test/receipt.test.js::shows cents"
    assert proofs["base-tests"]["after"].startswith("2 passed, 0 failed of 2")
    assert surefoot("replay", cwd=root).returncode == 0


PERL = {
    "surefoot.toml": '[test]\ncommand = ["perl", "-Ilib", "t/receipt.t"]\nformat = "tap"\n',
    "lib/Money.pm": "package Money;\nuse strict;\nuse warnings;\n\nsub show {\n    my ($cents) = @_;\n"
    '    return sprintf "%.1f", $cents / 100;\n}\n\n1;\n',
    "lib/Receipt.pm": "package Receipt;\nuse strict;\nuse warnings;\nuse Money;\n\nsub line {\n    my ($name, $cents) = @_;\n"
    '    return "$name: " . Money::show($cents);\n}\n\n1;\n',
    "t/receipt.t": "use strict;\nuse warnings;\nuse Test::More tests => 2;\nuse Receipt;\n\n"
    'is(Receipt::line("tea", 250), "tea: 2.50", "shows cents");\n'
    'like(Receipt::line("tea", 1), qr/^tea/, "shows the name");\n',
}
needs_perl = pytest.mark.skipif(shutil.which("perl") is None, reason="perl is missing")


@needs_perl
def test_a_repository_whose_own_command_prints_tap(surefoot: Surefoot, tmp_path: Path) -> None:
    """Perl, whose tests nothing here knows: by the command that the user named and trusts, and the ids of its points."""
    root = repository(tmp_path, PERL)
    assert surefoot("trust", cwd=root).returncode == 0
    answers = [
        call("ripgrep", pattern="show"),
        call("file_edit", path="lib/Money.pm", search="%.1f", replace="%.2f"),
        done(),
    ]
    issue = "The test `shows cents` fails: `line` gives 2.5 for 250"
    run = solve(surefoot, root, issue, answers, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    assert run["files"] == ["lib/Money.pm"]
    proofs = {p["kind"]: p for p in run["evidence"]}  # type: ignore[attr-defined]
    assert proofs["failing-tests"]["after"] == "passed: shows cents"
    assert proofs["base-tests"]["after"].startswith("2 passed, 0 failed of 2")
    assert surefoot("replay", cwd=root).returncode == 0


@needs_perl
def test_a_report_that_the_code_under_test_prints_itself_is_a_person_s(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """A whole report of the right ids and the end of the process, before the first test: what it takes is named."""
    root = repository(tmp_path, PERL)
    assert surefoot("trust", cwd=root).returncode == 0
    forged = 'BEGIN { use POSIX (); syswrite STDOUT, "ok 1 - shows cents\\nok 2 - shows the name\\n"; POSIX::_exit(0) }'
    answers = [
        call("file_edit", path="lib/Money.pm", search="sub show", replace=f"{forged}\n\nsub show"),
        done(),
    ]
    options = ("--strategy", "agent", "--max-iterations", "1")
    run = solve(surefoot, root, "The test `shows cents` fails", answers, *options)
    assert run["status"] == "budget", run["reason"]
    found = [
        finding["message"].partition(" (line")[0]
        for event in events(surefoot, root, run["run_id"])
        if event["kind"] == "review.given"
        for finding in event["review"]["findings"]
        if finding["rule"] == "runner-touched"
    ]
    assert {"POSIX", "STDOUT", "syswrite", "ok 1"} <= set(found)


@needs_perl
@pytest.mark.parametrize("mends", [True, False])
def test_a_test_command_that_is_gone_is_a_person_s_after_one_step(
    surefoot: Surefoot, tmp_path: Path, *, mends: bool
) -> None:
    """No word of the output is known and no model is asked: that the command cannot be run says what it is.

    It could be run when the run began, so that the change may be what is to be mended.
    """
    root = repository(tmp_path, PERL)
    assert surefoot("trust", cwd=root).returncode == 0
    gone = call(
        "file_edit",
        path="lib/Money.pm",
        search="sub show",
        replace="BEGIN { exit 127 }\n\nsub show",
    )
    back = call("file_edit", path="lib/Money.pm", search="BEGIN { exit 127 }", replace="")
    right = call("file_edit", path="lib/Money.pm", search="%.1f", replace="%.2f")
    first = {
        "purpose": "tool_call",
        "pattern": r"(?s)\A(?=.*mend what the checks hold)(?!.*^2\. [a-z_.]+ \{)",
        "reply": back if mends else done(),
    }
    model = script([gone, done(), right, done()], [first])
    issue = "The test `shows cents` fails: `line` gives 2.5 for 250"
    run = solve_by(surefoot, root, issue, model, "--strategy", "agent")
    assert run["status"] == ("complete" if mends else "paused"), run["reason"]
    seen = events(surefoot, root, run["run_id"])
    plans = [e["reason"] for e in seen if e["kind"] == "plan.revised"]
    told = "MissingDependency: the test run is unusable (tool-missing)"
    assert [plan.partition(": the command")[0] for plan in plans[1:]] == (
        [f"FixAndRetry, {told}"] + ([] if mends else [f"Escalate, {told}"])
    )


def test_tests_whose_ids_vary_do_not_stop_right_work(surefoot: Surefoot, tmp_path: Path) -> None:
    """Ids that come from addresses differ in each run of one tree; as many pass as before, so the work is complete.

    Mutants meet such a function as a whole, and a replay asks of its ids only that they vary here as well.
    """
    loose = """import os

import pytest

from till.receipt import line


@pytest.mark.parametrize("cents", [1, 2, 3], ids=lambda c: f"{c}-{os.urandom(4).hex()}")
def test_a_line_has_the_name(cents):
    assert line("tea", cents).startswith("tea")
"""
    root = repository(tmp_path, BUG | {"tests/test_loose.py": loose})
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", BUG_EDITS, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    assert run["strength"]["problem"] == ""  # type: ignore[index]
    assert run["strength"]["tried"] > 0  # type: ignore[index]
    assert surefoot("verify", cwd=root).returncode == 0
    again = surefoot("replay", cwd=root)
    assert again.returncode == 0, again.stderr


FLAKY = """from pathlib import Path


def test_flaky():
    mark = Path("mark")
    if not mark.exists():
        mark.touch()
        assert False


def test_broken():
    assert False
"""


def test_what_fails_on_each_fresh_tree_is_no_chance(surefoot: Surefoot, tmp_path: Path) -> None:
    """Run again in the same place it would pass, for what its first run left behind; each run has a place of its own."""
    root = repository(tmp_path, BUG | {"tests/test_flaky.py": FLAKY})
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", BUG_EDITS, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    facts = [e for e in events(surefoot, root, run["run_id"]) if e["kind"] == "fact.learned"]
    told = {fact["text"] for fact in facts if fact["topic"] == "flaky"}
    assert told == set()


NESTED = "mkdir -p demo && cd demo && mkdir -p .git/objects .git/refs && echo 'ref: refs/heads/x' > .git/HEAD"


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (NESTED, r"nothing can be kept, and no test was run: a nested git repository[^\n]*demo"),
        ("touch $(printf 'demo\\377')", r"the name 'demo\\udcff' is not UTF-8"),
    ],
    ids=["a repository", "a name"],
)
def test_what_no_tree_can_hold_is_told_while_it_can_be_mended(
    surefoot: Surefoot, tmp_path: Path, left: str, told: str
) -> None:
    """The next prompt names it, as long as it is there, and the edit beside it is kept."""
    root = repository(tmp_path, BUG)
    mend = {
        "purpose": "tool_call",
        "pattern": f"STILL OPEN: {told}",
        "reply": call("shell", command="rm -rf demo*"),
    }
    rules = script([BUG_EDITS[3], call("shell", command=left), done()], [mend])
    run = solve_by(surefoot, root, "`receipt` shows 2.5 for 250", rules, "--strategy", "agent")
    assert (run["status"], run["files"]) == ("complete", ["till/money.py"]), run["reason"]
    seen = events(surefoot, root, run["run_id"])
    tools = [e["tool"] for e in seen if e["kind"] == "tool.labelled"]
    assert len(tools) == 3, tools


def test_what_no_tree_can_hold_fails_the_turn_not_the_run(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """A git repository inside the worktree cannot be kept: the turn is put back, the reason told, and the run ends."""
    root = repository(tmp_path, BUG)
    answers = [call("shell", command=NESTED), done()]
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", answers, "--strategy", "agent")
    assert run["status"] in ("blocked", "paused"), run
    assert surefoot("verify", cwd=root).returncode == 0


def test_no_step_is_taken_when_the_time_is_up(surefoot: Surefoot, tmp_path: Path) -> None:
    """The limit holds within a turn: a slow call ends the turn at its next step, whatever the model still wants."""
    root = repository(tmp_path, BUG)
    answers = [call("shell", command=f"sleep {n}.5") for n in range(2, 12)]
    run = solve(
        surefoot,
        root,
        "`receipt` shows 2.5 for 250",
        answers,
        "--strategy",
        "agent",
        "--time-limit",
        "6",
    )
    assert run["status"] != "complete"
    record = events(surefoot, root, run["run_id"])
    calls = [e for e in record if e["kind"] == "tool.called"]
    assert len(calls) < 5


EXAMPLE = "`show(250)` gives '2.5' where '2.50' is right"


def test_what_the_issue_shows_has_to_come_true(surefoot: Surefoot, tmp_path: Path) -> None:
    """A new test that fails on the base proves nothing while the issue's own example does not hold."""
    passing = "from till.receipt import line\n\n\ndef test_line():\n    assert line('tea', 0)\n"
    root = repository(tmp_path, {**BUG, "tests/test_till.py": passing})
    marked = "from till import money\n\n\ndef test_mark():\n    assert money.MARK == 1\n"
    beside = [
        call(
            "file_edit",
            path="till/money.py",
            search='"""Amounts."""',
            replace='"""Amounts."""\n\nMARK = 1',
        ),
        call("file_edit", path="tests/test_mark.py", create=marked),
        done(),
    ]
    options = ("--strategy", "agent", "--max-iterations", "1")
    run = solve(surefoot, root, EXAMPLE, beside, *options)
    assert run["status"] != "complete"
    assert (
        "does not hold: show(250) gives '2.50'"
        in (root / ".surefoot/runs" / str(run["run_id"]) / "report.md").read_text()
    )
    mended = [*beside[:2], BUG_EDITS[3], done()]
    run = solve(surefoot, root, EXAMPLE, mended, *options)
    assert run["status"] == "complete", run["reason"]
    evidence = {e["kind"]: e["after"] for e in run["evidence"]}  # type: ignore[attr-defined]
    assert evidence["issue-examples"] == "holds: show(250) gives '2.50'"
    checked = surefoot("verify", str(run["run_id"]), cwd=root)
    assert checked.returncode == 0, checked.stdout + checked.stderr

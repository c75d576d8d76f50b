"""A run can be done again from its record, without its model; what differs is named."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import commands
from tests.integration.conftest import Surefoot
from tests.integration.execute.test_agent import BUG, BUG_EDITS, repository, solve
from tests.integration.shop import DISCOUNT, ISSUE, RIGHT, TESTS, Shop
from tests.integration.steps import call, done, script

from surefoot.events.orchestration import RunResumed
from surefoot.ledger import read_events
from surefoot.testing.chat_server import ScriptedServer, Seen, Wire, speaks_for
from surefoot.testing.model import Rule, ScriptedModel

pytestmark = pytest.mark.campaign


def replayed(surefoot: Surefoot, root: Path) -> dict[str, object]:
    """What `replay` says of the last run."""
    ran = surefoot("replay", "--json", cwd=root)
    assert ran.stdout, ran.stderr
    answer: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
    assert ran.returncode == (0 if answer["identical"] else 10)
    return answer


def test_steps_are_replayed_without_the_model(surefoot: Surefoot, tmp_path: Path) -> None:
    """The rules of the model are gone, and each event is the same; the repository keeps no trace of the replay."""
    root = repository(tmp_path, BUG)
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", BUG_EDITS, "--strategy", "agent")
    assert run["status"] == "complete"
    (tmp_path / "rules.json").unlink()
    answer = replayed(surefoot, root)
    assert answer["divergence"] is None
    assert isinstance(answer["compared"], int)
    assert answer["compared"] > 50
    refs = subprocess.run(
        ["git", "for-each-ref", "--format=%(refname)"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    runs = {line.split("/")[3 if "heads" in line else 2] for line in refs.stdout.splitlines()[1:]}
    assert runs == {run["run_id"]}


def test_a_search_is_replayed_without_the_model(tmp_path: Path) -> None:
    """Candidates are tried anew, and each does what it did."""
    shop = Shop(tmp_path, TESTS + DISCOUNT)
    run = shop.solve([{"pattern": "Function `total`", "reply": RIGHT}])
    assert run["status"] == "complete"
    (tmp_path / "model.json").unlink()
    answer = shop.run("replay")
    assert answer["divergence"] is None
    assert answer["identical"] is True


def test_a_blocked_run_is_replayed(surefoot: Surefoot, tmp_path: Path) -> None:
    """A claim without work, plan after plan, until the run gives up: the same again."""
    root = repository(tmp_path, BUG)
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", [done()], "--strategy", "agent")
    assert run["status"] != "complete"
    known = {
        "file": "shop.py",
        "tool": "ruff",
        "rule": "F401",
        "message": "",
        "fingerprint": "f" * 32,
    }
    accepted = json.dumps({"version": 1, "findings": [known]})
    (root / "surefoot-baseline.json").write_text(accepted)  # since then
    assert replayed(surefoot, root)["divergence"] is None


def test_a_run_that_was_interrupted_and_taken_up_again_is_replayed(tmp_path: Path) -> None:
    """Ctrl-C, and more iterations than before: the same again, up to the end that it came to."""
    shop = Shop(tmp_path, TESTS + DISCOUNT)
    rules = [Rule(pattern="Function `total`", replies=(RIGHT,))]
    answers = speaks_for(ScriptedModel(rules, default="I do not know."))
    asked = threading.Event()

    def hang_once(seen: Seen) -> Wire:
        if asked.is_set():
            return answers(seen)
        asked.set()
        server.closing.wait()
        return Wire(status=503)

    def surefoot(*args: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "surefoot", *args],
            cwd=shop.root,
            env={**os.environ, "SUREFOOT_HOME": str(tmp_path / "home")},
            stdout=subprocess.PIPE,
            text=True,
        )

    with ScriptedServer(hang_once) as server:
        model = ("--strategy", "repair", "--model", "openai/m", "--base-url", server.base_url)
        with surefoot("solve", ISSUE, "--json", *model) as run:
            assert asked.wait(120)
            run.send_signal(signal.SIGTERM)
            assert (
                json.loads(run.communicate(timeout=60)[0].splitlines()[-1])["status"] == "cancelled"
            )
        with surefoot("resume", "--json", "--max-iterations", "7") as run:
            told = json.loads(run.communicate(timeout=300)[0].splitlines()[-1])
        assert told["status"] == "complete", told["reason"]
    answer = shop.run("replay")
    assert answer["divergence"] is None
    ledger = next((shop.root / ".surefoot" / "runs").iterdir()) / "events.jsonl"
    resumed = [r.event for r in read_events(ledger) if isinstance(r.event, RunResumed)]
    assert [bool(event.settings) for event in resumed] == [True]


def chained(lines: list[dict[str, Any]]) -> bytes:
    """Lines with hashes that fit, as somebody would make who knows how."""
    previous, written = "0" * 64, []
    for line in lines:
        envelope = {k: v for k, v in line.items() if k != "hash"} | {"previous_hash": previous}
        text = json.dumps(envelope, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        previous = hashlib.sha256(text.encode()).hexdigest()
        whole = envelope | {"hash": previous}
        written.append(json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
    return "".join(f"{line}\n" for line in written).encode()


def altered(kind: str, payload: dict[str, Any]) -> None:
    """Change one thing that the event says."""
    if kind == "tool.labelled":
        payload["step_utility"] = 0.0
    elif kind == "gate.decided":
        payload["result"]["reason"] = "all is well"
    elif kind == "git.stage":
        payload["tree"] = "0" * 40
    elif kind == "tests.ran":
        payload["passed"] += 1
    elif kind == "model.asked":
        payload["purpose"] = "another"
    else:
        payload["decided_by"] = "rule" if payload["decided_by"] == "model" else "model"


def command(env: dict[str, str], *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    return commands.surefoot(*args, cwd=cwd, env={**os.environ, **env})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A repository with a run that was recorded, and the environment in which it was."""
    folder = tmp_path_factory.mktemp("recorded")
    root = repository(folder, BUG)
    env = {"SUREFOOT_HOME": str(folder / "home")}

    solve(
        partial(command, env), root, "`receipt` shows 2.5 for 250", BUG_EDITS, "--strategy", "agent"
    )
    return root, env


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("tool.labelled", "step_utility"),
        ("gate.decided", "all is well"),
        ("git.stage", "tree"),
        ("tests.ran", "passed"),
        ("decision.made", "decided_by"),
        ("model.asked", "purpose"),
    ],
)
def test_an_altered_record_is_caught_at_that_record(
    recorded: tuple[Path, dict[str, str]], kind: str, what: str
) -> None:
    """Even where every hash was made to fit again, the replay says which line is not what happened, and what differs."""
    root, env = recorded
    (ledger,) = root.glob(".surefoot/runs/*/events.jsonl")
    before = ledger.read_bytes()
    lines = [json.loads(line) for line in before.splitlines()]
    place = [n for n, line in enumerate(lines) if line["payload"]["kind"] == kind][-1]
    altered(kind, lines[place]["payload"])
    ledger.write_bytes(chained(lines))
    try:
        ran = command(env, "replay", cwd=root)
    finally:
        ledger.write_bytes(before)
    assert ran.returncode == 10
    assert f"#{place + 1} {kind}" in ran.stderr
    assert what in ran.stderr
    assert "is {'kind'" not in ran.stderr


def test_a_broken_chain_is_told_before_anything_runs(
    recorded: tuple[Path, dict[str, str]],
) -> None:
    """A line that somebody changed without knowing how is named by its place."""
    root, env = recorded
    (ledger,) = root.glob(".surefoot/runs/*/events.jsonl")
    before = ledger.read_bytes()
    ledger.write_bytes(before.replace(b'"step_utility":1.0', b'"step_utility":0.5'))
    try:
        ran = command(env, "replay", cwd=root)
    finally:
        ledger.write_bytes(before)
    assert ran.returncode == 10
    assert "after 0 equal events" in ran.stderr


def test_another_model_gives_another_run(surefoot: Surefoot, tmp_path: Path) -> None:
    """`--with model=` starts from the recorded base, also when the branch has moved, and shows both side by side."""
    root = repository(tmp_path, BUG)
    first = solve(surefoot, root, "`receipt` shows 2.5 for 250", [done()], "--strategy", "agent")
    assert first["status"] != "complete"
    (root / "README").write_text("moved on\n")
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    who = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *who, "commit", "-qm", "on"], cwd=root, check=True)
    better = tmp_path / "better.json"
    better.write_text(json.dumps(script(BUG_EDITS)))
    ran = surefoot(
        "replay", str(first["run_id"]), "--with", f"model=scripted:{better}", "--json", cwd=root
    )
    both = json.loads(ran.stdout.splitlines()[-1])
    assert both["before"]["status"] == first["status"]
    assert both["after"]["status"] == "complete"
    assert both["after"]["base"] == first["base"]


def test_a_run_that_read_a_secret_is_replayed(surefoot: Surefoot, tmp_path: Path) -> None:
    """What was hidden from prompt and ledger then is hidden again, so that each record is the same."""
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    guide = f"Deploy with {secret}\n"
    root = repository(tmp_path, BUG | {"AGENTS.md": guide})
    answers = [call("file_read", path="AGENTS.md"), *BUG_EDITS[3:]]
    run = solve(surefoot, root, "`receipt` shows 2.5 for 250", answers, "--strategy", "agent")
    assert run["status"] == "complete", run["reason"]
    kept = [p for p in (root / ".surefoot").rglob("*") if p.is_file()]
    assert not [p for p in kept if secret.encode() in p.read_bytes()]
    assert replayed(surefoot, root)["divergence"] is None


def test_another_policy_changes_a_decision_and_the_end(surefoot: Surefoot, tmp_path: Path) -> None:
    """A model that gives up when it is asked for the shape of its calls solves the issue by the bundle that does not ask.

    Both runs stand side by side: the first call that differs, by which bundle, and what came of it. A decision without
    another bundle is refused with the reason.
    """
    root = repository(tmp_path, BUG)
    model = tmp_path / "model.json"
    overwhelmed = {"purpose": "tool_call", "pattern": "promotion_intent", "reply": done()}
    model.write_text(json.dumps(script(BUG_EDITS, [overwhelmed])))
    options = ("--strategy", "agent", "--model", f"scripted:{model}", "--json")
    ran = surefoot("solve", "`receipt` shows 2.5 for 250", *options, cwd=root)
    run = json.loads(ran.stdout.splitlines()[-1])
    assert run["status"] == "blocked"
    instead = ("replay", run["run_id"], "--with", "policy=tool_call/1")
    both = json.loads(surefoot(*instead, "--json", cwd=root).stdout.splitlines()[-1])
    assert [both[side]["status"] for side in ("before", "after")] == ["blocked", "complete"]
    apart = both["parting"]
    assert apart["number"] == 1
    assert [apart[side]["policy_bundle"] for side in ("before", "after")] == [
        "tool_call/2",
        "tool_call/1",
    ]
    tools = [json.loads(apart[side]["output"])["tool"] for side in ("before", "after")]
    assert tools == ["done", "file_read"]
    shown = surefoot(*instead, cwd=root).stdout
    assert "call 1 before       done {} (tool_call/2)" in shown
    assert 'call 1 after        file_read {"path":"till/app.py"} (tool_call/1)' in shown
    for policy, told in (
        ("tool_call/2", "went by tool_call/2 already"),
        ("task_complexity/1", "only tool calls have two policy bundles"),
    ):
        refused = surefoot("replay", run["run_id"], "--with", f"policy={policy}", cwd=root)
        assert refused.returncode == 2
        assert told in refused.stderr
    searched = surefoot("solve", "`receipt` shows 2.5 for 250", *options[2:], cwd=root)
    run_id = json.loads(searched.stdout.splitlines()[-1])["run_id"]
    refused = surefoot("replay", run_id, "--with", "policy=tool_call/1", cwd=root)
    assert refused.returncode == 2
    assert "asked no model for a tool call" in refused.stderr

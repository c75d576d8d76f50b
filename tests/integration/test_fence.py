"""A run tries its fence before it works behind it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot import assembly
from surefoot.app import audit
from surefoot.assembly import Surroundings
from surefoot.errors import SandboxError
from surefoot.patients import materialise
from surefoot.project import Places, open_project
from surefoot.request import Frozen, Request
from surefoot.sandbox import FencedProcesses
from surefoot.sandbox.probe import open_unfenced
from surefoot.values import Command, Issue, ProcessResult, SandboxLevel
from surefoot.verify.rerun import run_again


class Pretending:
    """No fence that says it is one."""

    level = SandboxLevel.BUBBLEWRAP

    def __init__(self, processes: FencedProcesses) -> None:
        self._processes = processes

    def run(self, command: Command) -> ProcessResult:
        return self._processes.run(command)


def test_a_fence_with_holes_is_refused_for_work(tmp_path: Path) -> None:
    pretending = Pretending(open_unfenced(tmp_path / "fence"))
    with pytest.raises(SandboxError, match=r"write_outside.*surefoot doctor"):
        assembly.tried_fence(pretending, tmp_path, accepted=False)  # type: ignore[arg-type]


def test_a_user_may_accept_them_and_the_run_says_which(tmp_path: Path) -> None:
    pretending = Pretending(open_unfenced(tmp_path / "fence"))
    said = assembly.tried_fence(pretending, tmp_path, accepted=True)  # type: ignore[arg-type]
    assert "write_outside" in said


@pytest.mark.parametrize("work", ["audit", "verify"])
def test_a_fence_with_holes_is_refused_for_what_is_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    """An audit runs the project's own tools, and `verify --rerun-tests` and `accept` its tests."""
    project = open_project(
        materialise("daybook", tmp_path / "repo"),
        Places(state=tmp_path / "state", cache=tmp_path / "cache"),
    )
    pretending = Pretending(open_unfenced(tmp_path / "fence"))
    monkeypatch.setattr(assembly, "open_processes", lambda **_: pretending)
    around = Surroundings.real(os.environ)
    request = Request(issue=Issue(source="audit"))
    frozen = Frozen(settings=project.settings, request=request)
    begin: dict[str, Callable[[], object]] = {
        "audit": lambda: audit(project, around),
        "verify": lambda: run_again(project, (), frozen, lambda _: b"", around),
    }[work]
    with pytest.raises(SandboxError, match="write_outside"):
        begin()


def test_the_run_records_what_its_fence_refused(tmp_path: Path) -> None:
    repo = materialise("daybook", tmp_path / "repo")
    (tmp_path / "model.json").write_text('{"schema": 1, "rules": [], "default": "no"}')
    told = subprocess.run(
        [
            sys.executable,
            "-m",
            "surefoot",
            "solve",
            "ISSUE.md",
            "--mode",
            "report_only",
            "--json",
            "--model",
            f"scripted:{tmp_path / 'model.json'}",
        ],
        cwd=repo,
        env={**os.environ, "SUREFOOT_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    run = json.loads(told.stdout.splitlines()[-1])["run_id"]
    ledger = repo / ".surefoot" / "runs" / run / "events.jsonl"
    payloads = [json.loads(line)["payload"] for line in ledger.read_text().splitlines()]
    (enforced,) = [p for p in payloads if p["kind"] == "sandbox.enforced"]
    refused, of = (int(word) for word in enforced["detail"].split() if word.isdigit())
    assert 0 < refused == of

"""A run that is asked to end by a signal."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.letters import lay, rules, two_that_clash
from tests.integration.shop import DISCOUNT, ISSUE, TESTS, Shop

from surefoot.codec import encode
from surefoot.events.orchestration import RunStopped
from surefoot.events.plans import ChildEnded
from surefoot.gitops.collect import is_held
from surefoot.ledger import read_events
from surefoot.project import Places, open_project
from surefoot.testing.chat_server import ScriptedServer, Seen, Wire, speaks_for
from surefoot.testing.model import Rule, ScriptedModel
from surefoot.values import RunId


@pytest.fixture
def heard() -> Iterator[None]:
    """Signals as a terminal gives them: a job in the background of a script inherits that they are ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {n: signal.signal(n, signal.SIG_DFL) for n in numbers}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_as_cancelled(tmp_path: Path, number: signal.Signals) -> None:
    """The JSON object is printed, the exit code is the vocabulary's, and `resume` may go on."""
    shop = Shop(tmp_path, TESTS + DISCOUNT)
    asked = threading.Event()

    def hang(_seen: Seen) -> Wire:
        asked.set()
        server.closing.wait()
        return Wire(status=503)

    with ScriptedServer(hang) as server:
        command = [
            sys.executable,
            "-m",
            "surefoot",
            "solve",
            ISSUE,
            "--json",
            "--strategy",
            "agent",
        ]
        command += ["--model", "openai/m", "--solver-model", "openai/m"]
        with subprocess.Popen(
            [*command, "--base-url", server.base_url],
            cwd=shop.root,
            env={**os.environ, "SUREFOOT_HOME": str(tmp_path / "home")},
            stdout=subprocess.PIPE,
            text=True,
        ) as run:
            assert asked.wait(120)
            run.send_signal(number)
            told, _ = run.communicate(timeout=60)
    assert run.returncode == 11
    assert json.loads(told.splitlines()[-1])["status"] == "cancelled"


class Talk:
    """A model that says nothing until it is let, and then what makes the letters good."""

    def __init__(self) -> None:
        told = [r for r in json.loads(rules())["rules"] if "pattern" in r]
        model = ScriptedModel([Rule(pattern=r["pattern"], replies=(r["reply"],)) for r in told])
        self.asked, self.begins = threading.Semaphore(0), threading.Event()
        self._answer = speaks_for(model)

    def __call__(self, seen: Seen) -> Wire:
        self.asked.release()
        self.begins.wait()
        return self._answer(seen)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_plans_run_with_all_its_units(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Units that wait for a model end as cancelled, nothing is held any longer, and `resume` comes to the end."""
    repo, home = tmp_path / "repo", tmp_path / "home"
    lay(repo)
    plan = tmp_path / "plan.json"
    plan.write_bytes(encode(two_that_clash()))
    talk = Talk()

    def surefoot(*args: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "surefoot", *args],
            cwd=repo,
            env={**os.environ, "SUREFOOT_HOME": str(home)},
            stdout=subprocess.PIPE,
            text=True,
        )

    with ScriptedServer(talk) as server:
        models = ("--model", "openai/m", "--solver-model", "openai/m", "--strategy", "agent")
        with surefoot("trust") as trusting:
            trusting.communicate()
        with surefoot(
            *("run", str(plan), "--jobs", "2", "--json"), *models, "--base-url", server.base_url
        ) as run:
            try:
                assert all(talk.asked.acquire(timeout=300) for _ in range(2))
                run.send_signal(number)
                told, _ = run.communicate(timeout=300)
            finally:
                run.kill()
        assert run.returncode == 11
        summary = json.loads(told.splitlines()[-1])
        assert summary["status"] == "cancelled"
        runs = repo / ".surefoot" / "runs"
        events = [r.event for r in read_events(runs / summary["run_id"] / "events.jsonl")]
        units = {e.run for e in events if isinstance(e, ChildEnded) and e.status == "cancelled"}
        assert len(units) == 2
        for child in units:
            *_, last = read_events(runs / child / "events.jsonl")
            assert isinstance(last.event, RunStopped)
        project = open_project(repo, Places(state=home / "state", cache=home / "cache"))
        known = (RunId(summary["run_id"]), *units)
        assert not [r for r in known if is_held(project.repository, r, project.home)]
        assert all((project.home / r).is_dir() for r in known)
        assert not list((home / "state" / "scratch").glob("run-*"))
        talk.begins.set()
        with surefoot("resume", "--json") as again:
            told, _ = again.communicate(timeout=1200)
        assert again.returncode == 0, told
        assert json.loads(told.splitlines()[-1])["files"] == ["a.txt", "b.txt", "c.txt"]

"""A plan's run that gets SIGKILL right after an event, whichever it was, comes to the same end (promises 2 and 3)."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from bench.letters import two_that_clash
from tests.integration.plan_hands import Edits, Played, hands_project, play

from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import TurnClosed
from surefoot.gitops import Repository
from surefoot.ledger import read_events
from surefoot.project import Project
from surefoot.testing.manifest import manifest
from surefoot.values import RunId, RunStatus

pytestmark = pytest.mark.campaign

WORKS: dict[tuple[str, int], Edits | RunStatus] = {
    ("a", 1): {"a.txt": "good 1\n"},
    ("b", 1): {"b.txt": "good 1\n"},
    ("b", 2): {"b.txt": "good 2\n"},
    ("c", 1): {"c.txt": "good\n"},
}
"""`a` and `b` are fine alone and red together."""


@dataclass(frozen=True)
class Mortal:
    """Sees events, and kills its process after some number of them."""

    left: Iterator[int]

    def seen(self, recorded: Recorded) -> None:
        """Count one."""
        del recorded
        if next(self.left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.soak), 48])
def test_a_plan_run_that_is_killed_after_any_event_comes_to_the_same_end(
    tmp_path: Path, step: int
) -> None:
    """Two workers, a merge that turns red and is done again, two milestones: same trees, same files, the checkout untouched."""
    unbroken = plan_run(hands_project(tmp_path / "unbroken"))
    events = len(unbroken.events)
    assert events > step
    wrong: dict[str, object] = {}
    for number in range(events - 1, -1, -step):
        project = hands_project(tmp_path / str(number))
        before = checkout(project)
        run_id = killed(project, Mortal(count(number, -1)))
        between = checkout(project)
        resumed = plan_run(project, again=run_id)
        if ends(resumed) != ends(unbroken):
            wrong[f"{number} {unbroken.events[number].kind}"] = ends(resumed)
        if not before == between == checkout(project):
            wrong[f"{number} checkout"] = (before, between)
    assert wrong == {}, ends(unbroken)


def plan_run(
    project: Project, *, again: RunId | None = None, mortal: Mortal | None = None
) -> Played:
    """The run with two workers, or the rest of it."""
    return play(project, two_that_clash(), WORKS, jobs=2, again=again, progress=mortal)


def killed(project: Project, mortal: Mortal) -> RunId:
    """A run in a process of its own, which is killed; it is known by its ledger."""
    pid = os.fork()
    if pid == 0:
        try:
            plan_run(project, mortal=mortal)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    [ledger] = project.runs.glob("*/events.jsonl")
    assert next(iter(read_events(ledger)), None) is not None
    return RunId(ledger.parent.name)


def ends(played: Played) -> tuple[object, ...]:
    """What must not depend on a kill."""
    closed = [e for e in played.events if isinstance(e, TurnClosed)]
    kept = [(e.unit_id, e.tree) for e in closed if e.ended_as == "commit"]
    return (played.outcome.status, played.outcome.summary["files"], kept, closed[-1].tree)


def checkout(project: Project) -> object:
    """The user's checkout, byte for byte."""
    return manifest(Repository.discover(project.root), home=project.places.state)

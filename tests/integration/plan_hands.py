"""A plan run whose units are done by hands: they write what each case is about; git, the run and its proofs are real."""

import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from bench.letters import lay
from bench.shelf import WHO

from surefoot.app import resume, start
from surefoot.assembly import Session, Surroundings
from surefoot.cli.common import surroundings
from surefoot.events.envelope import Event
from surefoot.events.plans import ChildEnded, ChildStarted
from surefoot.kernel.ports import Progress
from surefoot.ledger import read_events
from surefoot.people import Nobody, Quiet
from surefoot.planrun.children import Order
from surefoot.planrun.run import drive_plan
from surefoot.plans import Plan
from surefoot.project import Places, Project, child_run, open_project
from surefoot.reading import Outcome
from surefoot.request import Request
from surefoot.values import (
    CommitId,
    RunId,
    RunStatus,
    TreeId,
    Usage,
)

Edits = Mapping[str, str]
E = TypeVar("E")


@dataclass
class Hands:
    """Does each attempt at a unit as it was told, or ends as it was told."""

    session: Session
    works: Mapping[tuple[str, int], Edits | RunStatus]
    orders: list[Order] = field(default_factory=list)
    met: threading.Barrier | None = None
    """Units come back only when so many are at work."""
    looks: Callable[[Order], None] = lambda _: None
    """Called while a unit is at work."""
    usage: Usage = Usage()

    def do(self, order: Order) -> ChildEnded:
        """Start, wait for the others, write, end."""
        self.orders.append(order)
        journal = self.session.journal
        run = child_run(self.session.run_id, order.unit.unit_id, order.attempt)
        started = ChildStarted(
            node=order.node,
            unit_id=order.unit.unit_id,
            run=run,
            attempt=order.attempt,
            base=order.base,
            base_tree=order.base_tree,
            tokens=order.share.tokens,
            cost_usd=order.share.cost_usd,
            reason="",
        )
        journal.record_all([started], aside=True)
        if self.met is not None and order.attempt == 1:
            self.met.wait(timeout=60)
        self.looks(order)
        work = self.works[order.unit.unit_id, order.attempt]
        ended = isinstance(work, RunStatus)
        tree = None if isinstance(work, RunStatus) else self._written(order.base_tree, work)
        event = ChildEnded(
            unit_id=order.unit.unit_id,
            run=run,
            status=work if isinstance(work, RunStatus) else RunStatus.COMPLETE,
            reason="could not" if ended else "did it",
            ledger_head="",
            base_tree=order.base_tree,
            tree=tree,
            commit=None if tree is None else self._commit(tree, order.base),
            usage=self.usage,
            model_calls=1,
        )
        journal.record_all([event], aside=True)
        return event

    def _written(self, tree: TreeId, edits: Edits) -> TreeId:
        root = self.session.project.root
        lines = git(root, "ls-tree", tree).splitlines()
        for path, text in edits.items():
            blob = git(root, "hash-object", "-w", "--stdin", given=text)
            lines = [line for line in lines if line.split("\t")[1] != path]
            lines.append(f"100644 blob {blob}\t{path}")
        return TreeId(git(root, "mktree", given="\n".join(lines) + "\n"))

    def _commit(self, tree: TreeId, parent: CommitId) -> CommitId:
        made = git(self.session.project.root, "commit-tree", tree, "-p", parent, "-m", "work")
        return CommitId(made)


def git(root: Path, *args: str, given: str = "") -> str:
    """Git as the user."""
    done = subprocess.run(
        ["git", *WHO, *args], cwd=root, input=given, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def hands_project(tmp_path: Path) -> Project:
    """Three files that are to be good, and a check that says so."""
    root = tmp_path / "repo"
    lay(root)
    (tmp_path / "model.json").write_text('{"schema": 1, "rules": []}')
    places = Places(state=tmp_path / "state", cache=tmp_path / "cache")
    open_project(root, places).trust()
    return open_project(root, places)


@dataclass
class Played:
    """How a plan run went."""

    outcome: Outcome
    hired: list[Hands]
    """Empty when the run had ended before."""
    events: tuple[Event, ...]
    project: Project

    @property
    def hands(self) -> Hands:
        """Who did the units."""
        return self.hired[0]

    def seen(self, kind: type[E]) -> list[E]:
        """The events of one type."""
        return [e for e in self.events if isinstance(e, kind)]

    def show(self, path: str) -> str:
        """A file of the plan's branch."""
        return git(self.project.root, "show", f"{self.branch}:{path}")

    @property
    def branch(self) -> str:
        return f"refs/heads/surefoot/{self.outcome.summary['run_id']}"


def play(
    project: Project,
    plan: Plan,
    works: Mapping[tuple[str, int], Edits | RunStatus],
    *,
    jobs: int = 1,
    again: RunId | None = None,
    meet: int = 0,
    usage: Usage = Usage(),
    looks: Callable[[Order], None] = lambda _: None,
    progress: Progress | None = None,
    **limits: object,
) -> Played:
    """Run a plan with hands, or take one up again, with these limits where there are any."""
    around: Surroundings = surroundings(Nobody(), progress or Quiet())
    hired: list[Hands] = []

    def hire(session: Session, *_: object) -> Hands:
        met = threading.Barrier(meet) if meet else None
        hired.append(Hands(session=session, works=works, met=met, usage=usage, looks=looks))
        return hired[-1]

    driver = partial(drive_plan, hired=hire)
    model = f"scripted:{project.root.parent / 'model.json'}"
    request = Request(issue=plan.issue, model=model, plan=plan, jobs=jobs, seed=3, **limits)  # type: ignore[arg-type]
    if again is None:
        outcome = start(project, request, around, driver=driver)
    else:
        larger = Request(issue=plan.issue, **limits) if limits else None  # type: ignore[arg-type]
        outcome = resume(project, again, around, larger, driver=driver)
    ledger = project.ledger_file(RunId(outcome.summary["run_id"]))
    events = tuple(r.event for r in read_events(ledger))
    return Played(outcome=outcome, hired=hired, events=events, project=project)


def good(*names: str) -> dict[tuple[str, int], Edits | RunStatus]:
    """Each unit does it at the first attempt."""
    return {(name, 1): {f"{name}.txt": "good\n"} for name in names}

"""What people do with runs and repositories: accept, reject, collect, lock, trust. Wiring, like `app`."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from surefoot.app import checked_again, read_story_of
from surefoot.assembly import Surroundings, open_ledger
from surefoot.errors import AcceptError, LedgerError, UsageError
from surefoot.events import (
    FactLearned,
    LockChanged,
    RunAccepted,
    RunRejected,
    RunsCollected,
    SettingsTrusted,
)
from surefoot.gitops import accept as put_onto_branch
from surefoot.gitops import collect_garbage, publish_ledger_head, untracked
from surefoot.gitops import reject as remove_work
from surefoot.kernel.journal import Journal
from surefoot.ledger import FileLedger
from surefoot.project import Project
from surefoot.suite import carried
from surefoot.system import SystemClock
from surefoot.values import RESUMABLE, CommitId, RunId, RunStatus, TreeId

_OWN_TRACE = RunId("repo")


def accept(project: Project, run_id: str, around: Surroundings) -> CommitId:
    """Put a complete run onto the user's branch.

    Raises:
        AcceptError: It is not complete, was decided before, or does not fit; nothing was changed.
    """
    story = read_story_of(project, RunId(run_id))
    if story.ending:
        raise AcceptError(f"run {run_id} was {story.ending}")
    if story.state.status is not RunStatus.COMPLETE:
        raise AcceptError(f"run {run_id} is {story.state.status}; only a complete run is accepted")
    opened = story.state.opened
    if opened is None:
        raise AcceptError(
            f"run {run_id} has no beginning in its ledger; `surefoot verify {run_id}`"
        )
    with open_ledger(project, RunId(run_id), around) as ledger:
        journal = Journal(ledger, around.clock)

        def verify(tree: TreeId, reason: str) -> str | None:
            journal.record(FactLearned(topic="accept", text=f"verified again: {reason}"))
            return checked_again(project, story, around, journal, tree)

        accepted = put_onto_branch(
            project.repository,
            RunId(run_id),
            home=project.home,
            message=_message(run_id, opened.issue.title, opened.issue.text, story.state.reason),
            verify=verify,
            carry=untracked(project.repository, project.repository.tree, carried(project.root)),
        )
        journal.record(
            RunAccepted(
                commit=accepted.commit, onto=accepted.onto, branch=project.repository.branch
            )
        )
        publish_ledger_head(project.repository, RunId(run_id), journal.head)
    return accepted.commit


def _message(run_id: str, title: str, text: str, evidence: str) -> str:
    body = text.strip() if text.strip() != title else ""
    quoted = f"{body[:2000]}\n\n" if body else ""
    return f"{title}\n\n{quoted}Verified: {evidence}\n\nSurefoot-Run: {run_id}\n"


def reject(project: Project, run_id: RunId, around: Surroundings, why: str) -> None:
    """Remove the run's branch, worktree and commits."""
    story = read_story_of(project, run_id)
    if story.ending:
        raise UsageError(f"run {run_id} was {story.ending}")
    with open_ledger(project, run_id, around) as ledger:
        remove_work(project.repository, run_id, home=project.home)
        ledger.append(RunRejected(reason=why))


def collect(project: Project, around: Surroundings) -> tuple[str, ...]:
    """Remove what nobody needs any more; says what. Work that can be resumed or accepted is needed."""
    project.prepare()

    def keep(run_id: RunId) -> bool:
        path = project.ledger_file(run_id)
        if not path.exists():
            return False
        story = read_story_of(project, run_id)
        wanted = (None, RunStatus.COMPLETE, *RESUMABLE)
        return not story.ending and story.state.status in wanted

    with _own_ledger(project, around) as ledger:
        gone = collect_garbage(project.repository, home=project.home, keep=keep)
        ledger.append(RunsCollected(runs=gone.runs, worktrees=gone.worktrees, refs=gone.refs))
    lines = [f"worktree {w}" for w in gone.worktrees] + [f"ref {r}" for r in gone.refs]
    lines += [f"run {r}, which never began" for r in _drop_unbegun(project, around)]
    return tuple(lines) or ("nothing to remove",)


def _drop_unbegun(project: Project, around: Surroundings) -> list[RunId]:
    """Remove the folders of runs that were killed before their first event; one that begins now is in use."""
    dropped = []
    for run_id in project.run_ids():
        with suppress(LedgerError), open_ledger(project, run_id, around) as ledger:
            if next(iter(ledger.events()), None) is None:
                shutil.rmtree(project.runs / run_id)
                dropped.append(run_id)
    return dropped


def set_lock(project: Project, why: str, who: str) -> None:
    """Lock the repository; recorded in its own ledger."""
    if not why.strip():
        raise UsageError("--why is empty; say why, because everyone who tries is told")
    project.prepare()
    project.lock.set(why)
    with _own_ledger(project, None) as ledger:
        ledger.append(LockChanged(locked=True, why=why, who=who))


def clear_lock(project: Project, who: str) -> bool:
    """Unlock; False when it was not locked."""
    project.prepare()
    was = project.lock.clear()
    if was:
        with _own_ledger(project, None) as ledger:
            ledger.append(LockChanged(locked=False, why="", who=who))
    return was


def give_trust(project: Project, who: str) -> tuple[str, ...]:
    """Let the present content of `surefoot.toml` widen power; recorded with its keys."""
    keys = project.trust()
    with _own_ledger(project, None) as ledger:
        ledger.append(SettingsTrusted(keys=keys, who=who))
    return keys


@contextmanager
def _own_ledger(project: Project, around: Surroundings | None) -> Iterator[FileLedger]:
    """The repository's ledger of acts outside a run."""
    clock = around.clock if around else SystemClock()
    ledger = FileLedger.open(
        project.folder / "events.jsonl",
        blobs=project.blobs,
        trace_id=_OWN_TRACE,
        clock=clock,
        redact=str,
    )
    try:
        yield ledger
    finally:
        ledger.close()

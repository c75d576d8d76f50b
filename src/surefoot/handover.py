"""What people do with runs and repositories: accept, reject, collect, pull a model. Wiring, like `app`."""

import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from surefoot.app import checked_again
from surefoot.assembly import Surroundings, open_ledger
from surefoot.errors import AcceptError, LedgerError, UsageError
from surefoot.events.calls import ModelPulled
from surefoot.events.orchestration import RunAccepted, RunRejected, RunsCollected
from surefoot.events.work import FactLearned
from surefoot.gitops import Repository
from surefoot.gitops.accept import Piece, Result, refuse_reject
from surefoot.gitops.accept import accept as put_onto_branch
from surefoot.gitops.accept import reject as remove_work
from surefoot.gitops.collect import collect_garbage
from surefoot.gitops.reading import publish_ledger_head, untracked
from surefoot.gitops.scratch import drop_left
from surefoot.kernel.journal import Journal
from surefoot.kernel.state import unproved
from surefoot.models.registry import EMBEDDED
from surefoot.models.weights import QWEN, Progress, Weights, find, pull
from surefoot.planrun.course import milestone_name
from surefoot.project import Project, plan_run_of
from surefoot.reading import read_story_of
from surefoot.report import Story
from surefoot.request import frozen_of
from surefoot.suite import carried
from surefoot.system import SystemClock
from surefoot.upkeep import own_ledger
from surefoot.values import CommitId, RunId, RunStatus
from surefoot.verify import archive_runs, drop_unfinished, is_closed


def accept(project: Project, run_id: str, around: Surroundings) -> CommitId:
    """Put a complete run onto the user's branch.

    Raises:
        AcceptError: It is not complete, was decided before, or does not fit; nothing was changed.
        LockedError: The repository is locked, or was meanwhile; nothing was changed.
    """
    project.require_unlocked()
    story = read_story_of(project, RunId(run_id))
    if story.ending:
        raise AcceptError(f"run {run_id} was {story.ending}")
    if story.state.opened is None:
        raise AcceptError(f"run {run_id} was killed before it began; `surefoot gc` removes it")
    if story.state.status is None:
        raise AcceptError(f"run {run_id} has not ended; `surefoot resume {run_id}` goes on with it")
    if story.state.status is not RunStatus.COMPLETE:
        raise AcceptError(f"run {run_id} is {story.state.status}; only a complete run is accepted")
    pieces = _pieces(project, story)
    with open_ledger(project, RunId(run_id), around) as ledger:
        journal = Journal(ledger, around.clock)
        # What went wrong when it was tried before need not go wrong again.
        journal.state = unproved(journal.state)

        def verify(result: Result) -> str | None:
            journal.record(FactLearned(topic="accept", text=f"verified again: {result.reason}"))
            told = checked_again(project, story, around, journal, result)
            project.require_unlocked()  # before the hooks, which may take their time as well
            return told

        # As it is now: the run that comes to its end here may have begun hours ago.
        repository = Repository.discover(project.root, project.repository.env)
        accepted = put_onto_branch(
            repository,
            RunId(run_id),
            home=project.home,
            pieces=pieces,
            verify=verify,
            carry=untracked(repository, repository.tree, carried(project.root)),
            ready=project.require_unlocked,
        )
        journal.record(
            RunAccepted(commit=accepted.commit, onto=accepted.onto, branch=accepted.branch)
        )
        publish_ledger_head(project.repository, RunId(run_id), journal.head, project.home)
    return accepted.commit


def _pieces(project: Project, story: Story) -> tuple[Piece, ...]:
    """The commits that the work becomes: one a milestone of a plan, else one (SPEC C6)."""
    state, run_id = story.state, RunId(story.run_id)
    assert state.opened is not None  # noqa: S101  # asked before
    issue = state.opened.issue
    plan = frozen_of(project, run_id).request.plan
    whole = Piece(
        tree=state.head_tree or state.opened.base_tree,
        message=_message(run_id, issue.title, issue.text, state.reason),
    )
    adopted = state.plan.adopted
    if plan is None or adopted is None:
        return (whole,)
    titles = {milestone_name(plan, m.milestone_id): m.title for m in plan.milestones}
    ends = [p for p in state.plan.parts.values() if p.level == "milestone"]
    return tuple(
        Piece(
            tree=end.tree,
            message=f"{_message(run_id, titles[end.part], '', end.reason)}Surefoot-Milestone: {end.part}\n",
        )
        for end in sorted(ends, key=lambda e: adopted.milestones.index(e.part))
    )


def _message(run_id: str, title: str, text: str, evidence: str) -> str:
    body = text.strip() if text.strip() != title else ""
    quoted = f"{body[:2000]}\n\n" if body else ""
    return f"{title}\n\n{quoted}Verified: {evidence}\n\nSurefoot-Run: {run_id}\n"


def reject(project: Project, run_id: RunId, around: Surroundings, why: str) -> tuple[str, ...]:
    """Remove the run's branch, worktree and commits; says what stays, and why.

    Raises:
        UsageError: It was decided before, or never began: a first record would make it a run that nothing removes.
    """
    story = read_story_of(project, run_id)
    if story.state.opened is None:
        raise UsageError(f"run {run_id} was killed before it began; `surefoot gc` removes it")
    if story.ending:
        raise UsageError(f"run {run_id} was {story.ending}")
    with open_ledger(project, run_id, around) as ledger:
        # All are asked first, because what was thrown away of one cannot be brought back when another refuses.
        ids = (run_id, *story.state.plan.children)
        for one in ids:
            refuse_reject(project.repository, one, home=project.home)
        removed = [remove_work(project.repository, one, home=project.home) for one in ids]
        ledger.append(RunRejected(reason=why))
    return tuple(told for one in removed for told in one.kept)


def collect(
    project: Project, around: Surroundings, *, keep_days: int | None = None
) -> tuple[str, ...]:
    """Remove what nobody needs any more; says what. Work that can be resumed or accepted is needed.

    What was decided, or ended for good, keeps its commits, so that it can be verified. Where that is longer than
    `keep_days` ago the run is archived: one file, verified from there, takes the place of its folder, refs and blobs.
    """
    project.prepare()

    def begun(run_id: RunId) -> bool:
        return project.ledger_file(plan_run_of(run_id)).exists()

    def goes_on(run_id: RunId) -> bool:
        # A unit's run is needed as long as the run of its plan is.
        return begun(run_id) and not is_closed(read_story_of(project, plan_run_of(run_id)))

    with own_ledger(project, around.clock, around.environ) as ledger:
        now = around.clock.now()
        # First, so that nobody asks them what they do not know.
        lines = [f"run {r}, which never began" for r in _drop_unbegun(project, around)]
        lines += drop_unfinished(project, now)
        if keep_days is not None:
            lines += archive_runs(project, ledger, now=now, keep=timedelta(days=keep_days))
        gone = collect_garbage(project.repository, home=project.home, keep=goes_on, keep_refs=begun)
        ledger.append(RunsCollected(runs=gone.runs, worktrees=gone.worktrees, refs=gone.refs))
    lines += [f"scratch {path}" for path in drop_left(project.places.scratch, now=now)]
    lines += [f"worktree {w}" for w in gone.worktrees] + [f"ref {r}" for r in gone.refs]
    lines += [f"kept {told}" for told in gone.kept]
    return tuple(dict.fromkeys(lines)) or ("nothing to remove",)


def _drop_unbegun(project: Project, around: Surroundings) -> list[RunId]:
    """Remove the folders of runs that were killed before their first event; one that begins now is in use."""
    dropped = []
    for folder in sorted(project.runs.iterdir()):
        run_id = RunId(folder.name)
        if not _is_unbegun(folder, project.ledger_file(run_id)):
            continue
        with suppress(LedgerError), open_ledger(project, run_id, around) as ledger:
            if next(iter(ledger.events()), None) is None:
                shutil.rmtree(folder)
                dropped.append(run_id)
    return dropped


def _is_unbegun(folder: Path, ledger: Path) -> bool:
    """Whether a run's folder holds nothing but a ledger without a line; what lost its ledger is for people to look at."""
    return folder.is_dir() and all(p == ledger and not p.stat().st_size for p in folder.iterdir())


def pull_model(
    project: Project | None,
    folder: Path,
    who: str,
    progress: Progress,
    weights: Weights = QWEN,
    *,
    environ: Mapping[str, str],
) -> Path:
    """Fetch the embedded model's file; recorded in the ledger of the repository that it is called in, where there is one.

    Where the file is there already nothing was done, so nothing is recorded. Raises as `models.pull`.
    """
    there = find(folder, weights=weights)
    if there is not None:
        return there
    if project is not None:
        project.prepare()  # what cannot be recorded is not fetched
    path = pull(folder, progress=progress, weights=weights)
    if project is not None:
        with own_ledger(project, SystemClock(), environ) as ledger:
            ledger.append(
                ModelPulled(
                    model=EMBEDDED,
                    file_name=weights.file_name,
                    sha256=weights.sha256,
                    size_bytes=weights.size_bytes,
                    who=who,
                )
            )
    return path

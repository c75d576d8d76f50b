"""Old runs as bundles: a whole closed run moves into one file, never a line of it (SPEC C7)."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from surefoot.codec import digest
from surefoot.errors import GitError, LedgerError, RepositoryError, SurefootError, UsageError
from surefoot.events.plans import RunArchived
from surefoot.gitops.collect import remove_run
from surefoot.ledger import FileLedger, read_events, taken
from surefoot.ledger.blobs import BlobStore
from surefoot.ledger.disk import sync_directory, told
from surefoot.project import Project, plan_run_of
from surefoot.reading import read_story_of
from surefoot.report import Story
from surefoot.values import Digest, RunId, RunStatus
from surefoot.verify.blobs import digests_of
from surefoot.verify.bundle import open_bundle, write_bundle
from surefoot.verify.run import verify_run

_SUFFIX: Final = ".zip"
_FRESH: Final = ".fresh"
"""Of a bundle that has not been verified yet."""
_UNUSED: Final = timedelta(hours=1)
_CLOSED: Final = frozenset({RunStatus.REPORTED, RunStatus.BLOCKED, RunStatus.ERROR})


def is_closed(story: Story) -> bool:
    """Whether nothing can follow any more: it was decided, or it ended without work to decide on."""
    return bool(story.ending) or story.state.status in _CLOSED


@contextmanager
def open_run(project: Project, given: str | None) -> Iterator[tuple[Project, RunId]]:
    """A run by its id or a unique part of it, out of its archive where it was archived.

    Raises:
        UsageError: There is none, or more than one.
    """
    with ExitStack() as stack:
        try:
            opened = project, project.find_record(given)
        except UsageError:
            found = project.find_archived(given) if given is not None else None
            if found is None:
                raise
            opened = stack.enter_context(open_bundle(found, project.places))
        yield opened


def archive_runs(
    project: Project, own: FileLedger, *, now: datetime, keep: timedelta
) -> Iterator[str]:
    """Archive every closed run, but those of plans, whose last event is older than `keep`, each recorded in `own`; says what was done."""
    for run_id in project.run_ids():
        try:
            story = read_story_of(project, run_id)
        except LedgerError as error:
            yield f"kept run {run_id}: {error}"
            continue
        last = story.state.last_time
        if _is_of_plan(run_id, story):
            continue
        if last is not None and last <= now - keep and is_closed(story):
            with ExitStack() as held:
                try:  # who has just ended it may still be writing its documents
                    held.enter_context(taken(project.ledger_file(run_id), run_id))
                except LedgerError as error:
                    yield f"kept run {run_id}: {error}"
                    continue
                yield from _archive(project, own, run_id, now)


def drop_unfinished(project: Project, now: datetime) -> Iterator[str]:
    """Remove what killed processes have left of bundles, of runs that are in one, and of blobs; says what.

    Whoever archives holds the repository's own ledger, and so does the caller.
    """
    folder = project.archive
    for path in sorted((*folder.glob(f"*{_FRESH}"), *folder.glob(f"*{_FRESH}.new"))):
        path.unlink()
        yield f"unfinished archive {path}"
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        rest = project.runs / path.stem
        if rest.is_dir() and not project.ledger_file(RunId(path.stem)).exists():
            shutil.rmtree(rest)
            yield f"rest of run {path.stem}, which is archived"
    for path in BlobStore(project.blobs).drop_unfinished(before=now - _UNUSED):
        yield f"unfinished blob {path}"


def _is_of_plan(run_id: RunId, story: Story) -> bool:
    """A plan's run and those of its units rest on each other, and the latter are asked for by their own ids: they stay."""
    return plan_run_of(run_id) != run_id or bool(story.state.plan.children)


def _archive(project: Project, own: FileLedger, run_id: RunId, now: datetime) -> Iterator[str]:
    folder = project.archive
    folder.mkdir(parents=True, exist_ok=True)
    path, fresh = folder / f"{run_id}{_SUFFIX}", folder / f"{run_id}{_FRESH}"
    events = tuple(read_events(project.ledger_file(run_id)))
    head = events[-1].hash
    # One that is there already and whole was made by a `gc` that was killed after it had begun to remove the run.
    if _fault_in(project, path, head) is not None:
        try:
            write_bundle(project, run_id, fresh)
            fault = _fault_in(project, fresh, head)
        except (LedgerError, GitError) as error:
            fault = str(error)
        if fault is not None:
            fresh.unlink(missing_ok=True)
            yield f"kept run {run_id}, which does not verify: {fault}"
            return
        fresh.replace(path)
    with told("archive a run in", folder):
        sync_directory(folder)  # also where it is a killed `gc` that has renamed it
    try:
        removed = remove_run(project.repository, run_id, project.home)
    except (UsageError, RepositoryError) as error:
        yield f"kept run {run_id}: {error}"
        return
    # Recorded before anything of the folder goes: a kill in between leaves the run twice, never not at all.
    own.append(
        RunArchived(run_id=run_id, file=path.name, sha256=digest(path.read_bytes()), head=head)
    )
    shutil.rmtree(project.runs / run_id)
    yield f"archived run {run_id} in {path}"
    yield from (f"kept {told}" for told in removed.kept)
    try:
        _drop_blobs(project, {d for _, _, d in digests_of(events)}, now - _UNUSED)
    except LedgerError as error:
        yield f"kept the blobs of run {run_id}, which a run whose ledger is damaged may need: {error}"


def _fault_in(project: Project, path: Path, head: str) -> str | None:
    """Why a bundle cannot stand for a run whose ledger ends with `head`; None when it can."""
    if not path.exists():
        return f"there is no {path}"
    try:
        with open_bundle(path, project.places) as (unpacked, run_id):
            verdict = verify_run(unpacked, run_id)
    except SurefootError as error:
        return str(error)
    if verdict.fault is None and verdict.head != head:
        return f"{path} ends at another line than the ledger"
    return verdict.fault


def _drop_blobs(project: Project, candidates: set[Digest], before: datetime) -> None:
    """Remove those blobs that no other ledger names, and that no run that goes on may have stored anew.

    Raises:
        LedgerError: A ledger cannot be read, so nobody knows what it names; nothing was removed.
    """
    ledgers = [project.ledger_file(one) for one in (*project.run_ids(), *project.plan_ids())]
    for path in (*ledgers, project.folder / "events.jsonl"):
        if path.exists():
            candidates -= {d for _, _, d in digests_of(tuple(read_events(path)))}
    store = BlobStore(project.blobs)
    for found in candidates:
        store.drop(found, before=before)

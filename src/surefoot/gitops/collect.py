"""Takes away what runs have left: worktrees, entries in the user's git folder, scratch, refs. Nothing else.

A thing is ours when a ref of a run holds it, or its worktree entry points into our home. A run is left alone
while somebody holds one of its leases. All checkouts of a repository share its refs, and each has ledgers and a home
of its own: a run without a ledger here is ours when its refs name this checkout, or name none and it has left
something in our home. What may be another checkout's work stays.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from surefoot.errors import RepositoryError, SurefootError
from surefoot.gitops import admin, refs
from surefoot.gitops.git import Git, decode
from surefoot.gitops.hooks import clear
from surefoot.gitops.lease import Home, Lease, clear_scratch, read_note
from surefoot.gitops.repository import Repository
from surefoot.vocabulary import RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What was taken away of one run."""

    worktrees: tuple[Path, ...]
    """More than one when the repository, or our home, was moved."""
    refs: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """What stays although it bears the run's name, and why; a phrase each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What garbage collection took away."""

    runs: tuple[RunId, ...]
    """Runs of which nothing of ours is left in the repository."""
    worktrees: tuple[str, ...]
    refs: tuple[str, ...]
    kept: tuple[str, ...] = ()
    """As in `Removed`; and runs that are in use, or that something is wrong with."""


def remove_worktree(repository: Repository, run_id: RunId, home: Path) -> Removed:
    """Remove the worktree of a run that has ended; its refs stay.

    Raises:
        UsageError: Somebody still uses it.
    """
    place = Home(root=home.resolve())
    with _leases(repository.common_dir, run_id, place):
        refs.unlock(repository.common_dir, run_id)
        return Removed(worktrees=_drop_files(repository, run_id, place))


def remove_run(repository: Repository, run_id: RunId, home: Path) -> Removed:
    """Remove a run's worktree and all its refs; what is gone already is fine.

    Its branch stays where it holds commits that are not the run's: nothing else may hold them.

    Raises:
        UsageError: Somebody still uses it.
        RepositoryError: The user has checked its branch out.
    """
    place = Home(root=home.resolve())
    with _leases(repository.common_dir, run_id, place):
        git, branch = repository.git(), refs.branch_of(run_id)
        found = refs.refs_of(git, run_id)
        ours = refs.own(run_id, found)
        if branch in ours:
            _refuse_checked_out(repository, git, run_id, place)
        refs.unlock(repository.common_dir, run_id)
        worktrees = _drop_files(repository, run_id, place)
        # The branch first: the others are what tells that it is ours, also after a kill in between.
        refs.delete(git, {name: oid for name, oid in ours.items() if name == branch})
        refs.delete(git, {name: oid for name, oid in ours.items() if name != branch})
        kept = (_told(branch),) if branch in found and branch not in ours else ()
        return Removed(worktrees=worktrees, refs=tuple(sorted(ours)), kept=kept)


def refuse_removal(repository: Repository, run_id: RunId, home: Path) -> None:
    """Refuse what `remove_run` would refuse now; takes nothing away."""
    place, git = Home(root=home.resolve()), repository.git()
    with _leases(repository.common_dir, run_id, place, keep=True):
        if refs.branch_of(run_id) in refs.own(run_id, refs.refs_of(git, run_id)):
            _refuse_checked_out(repository, git, run_id, place)


def _told(branch: str) -> str:
    short = branch.removeprefix("refs/heads/")
    return f"branch {short}, which holds other commits than the run's; `git branch -D {short}` removes it"


def is_held(repository: Repository, run_id: RunId, home: Path) -> bool:
    """Whether a process works on the run."""
    note = read_note(Home(root=home.resolve()).lease(run_id))
    return note is not None and note.repository == str(repository.common_dir) and note.alive


def collect_garbage(
    repository: Repository,
    *,
    home: Path,
    keep: Callable[[RunId], bool],
    keep_refs: Callable[[RunId], bool] = lambda _: False,
) -> Collected:
    """Remove all that is left of this checkout's runs, but for those that are in use or that `keep` names.

    Of a run that is kept only what a killed process has left goes: scratch and stale locks. One that only `keep_refs`
    names loses its worktree, and keeps its commits. A run that either cannot answer for stays as it is.
    """
    place, git = Home(root=home.resolve()), repository.git()
    here = _at_home(repository, place)
    named = {refs.run_of(name) for name in refs.all_refs(git, refs.BRANCHES, refs.KEPT)}
    runs: list[RunId] = []
    removed: list[Removed] = []
    kept: list[str] = []
    for run_id in sorted(here | named):
        try:
            if keep(run_id):
                _tidy(repository, run_id, place)
            elif keep_refs(run_id):
                removed.append(remove_worktree(repository, run_id, home))
            elif _is_ours(repository, git, run_id, here):
                removed.append(remove_run(repository, run_id, home))
                runs.append(run_id)
        except SurefootError as error:  # what is wrong with one run is no reason to keep the others
            kept.append(f"run {run_id}: {error}")
    return Collected(
        runs=tuple(runs),
        worktrees=tuple(str(path) for r in removed for path in r.worktrees),
        refs=tuple(ref for r in removed for ref in r.refs),
        kept=(*kept, *(told for r in removed for told in r.kept)),
    )


def _is_ours(repository: Repository, git: Git, run_id: RunId, here: set[RunId]) -> bool:
    """Whether a run without a ledger here was this checkout's; `here` are those that have left something in our home."""
    checkout = refs.checkout_of(git, run_id)
    return run_id in here if checkout is None else checkout == str(repository.git_dir)


def _at_home(repository: Repository, place: Home) -> set[RunId]:
    """The runs of this repository that have left a worktree or a lease in our home."""
    found: set[RunId] = set()
    for entry, folder in admin.entries(repository.common_dir).items():
        name = RunId(folder.name)
        if folder.parent == place.root and admin.is_on(entry, f"{refs.BRANCHES}{name}"):
            found.add(name)
    for run_id in place.run_ids():
        notes = (read_note(place.lease(run_id)), read_note(place.accept_lease(run_id)))
        if any(n is not None and n.repository == str(repository.common_dir) for n in notes):
            found.add(run_id)
    return found


def _tidy(repository: Repository, run_id: RunId, place: Home) -> None:
    with _leases(repository.common_dir, run_id, place, keep=True):
        clear_scratch(place, run_id)
        clear(repository, place.accept(run_id))
        refs.unlock(repository.common_dir, run_id)
        branch = refs.branch_of(run_id)
        worktree = admin.sound(repository.common_dir, place.worktree(run_id), branch)
        if worktree is not None:
            admin.unlock(worktree)


def _drop_files(repository: Repository, run_id: RunId, place: Home) -> tuple[Path, ...]:
    moved = tuple(_drop_moved(repository, run_id, place))
    path = place.worktree(run_id)
    begun = admin.drop_begun(repository.common_dir, run_id)
    existed = admin.drop(repository.common_dir, path) or begun
    clear_scratch(place, run_id)
    clear(repository, place.accept(run_id))
    return (path, *moved) if existed else moved


def _drop_moved(repository: Repository, run_id: RunId, place: Home) -> Iterator[Path]:
    """Remove the worktrees that a run has in homes of before; the folder of each."""
    for entry, folder in admin.entries(repository.common_dir).items():
        if folder == place.worktree(run_id) or not _is_moved(entry, folder, run_id):
            continue
        before = Home(root=folder.parent)
        note = read_note(before.lease(run_id))
        # By the name that the repository had there; a lease of another name is never taken.
        name = repository.common_dir if note is None else Path(note.repository)
        with _leases(name, run_id, before):
            admin.drop(repository.common_dir, folder)
            clear_scratch(before, run_id)
        yield folder


def _is_moved(entry: Path, folder: Path, run_id: RunId) -> bool:
    """Whether a worktree is the run's own, in the home that it had before the repository, or our home, was moved.

    A lease beside the folder tells it from a checkout of the user; a folder that a copy of the repository has taken
    over the entry of points back to the original.
    """
    if folder.name != run_id or not admin.is_on(entry, refs.branch_of(run_id)):
        return False
    if not folder.exists():
        return True
    return Home(root=folder.parent).lease(run_id).exists() and _is_of(entry, folder)


def _is_of(entry: Path, folder: Path) -> bool:
    """Whether a worktree points to the entry, or to nothing that is there."""
    try:
        pointer = decode((folder / ".git").read_bytes())
    except OSError:
        return True
    named = folder / pointer.removeprefix("gitdir: ").removesuffix("\n")
    return not named.exists() or named.samefile(entry)


@contextlib.contextmanager
def _leases(common_dir: Path, run_id: RunId, place: Home, *, keep: bool = False) -> Iterator[None]:
    """Hold both leases of a run; without `keep` its file goes at the end, when all went well."""
    with contextlib.ExitStack() as held:
        own = Lease.take(place.lease(run_id), run_id, common_dir)
        held.callback(own.release)
        accepting = Lease.take(place.accept_lease(run_id), run_id, common_dir)
        held.callback(accepting.discard)
        yield
        if not keep:
            own.discard()


def _refuse_checked_out(repository: Repository, git: Git, run_id: RunId, place: Home) -> None:
    branch = refs.branch_of(run_id)
    for found in admin.checkouts(git, repository.common_dir):
        ours = found.path == place.worktree(run_id) or _is_moved(found.git_dir, found.path, run_id)
        if found.branch == branch and not ours:
            raise RepositoryError(
                f"branch {branch!r} is checked out at {str(found.path)!r}; switch to another branch there first"
            )

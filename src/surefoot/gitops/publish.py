"""The one touch of the user's checkout: a merge that is taken back, by itself or by whoever comes next, where it cannot end."""

import contextlib
import os
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import AcceptError, EnvironmentBrokenError, GitError
from surefoot.gitops import refs
from surefoot.gitops.files import mended, parents
from surefoot.gitops.git import Git, encode
from surefoot.gitops.hooks import run_post_commit
from surefoot.gitops.objects import Objects
from surefoot.gitops.refs import RefChange, RunRefs
from surefoot.gitops.repository import Repository
from surefoot.interrupts import uninterrupted
from surefoot.vocabulary import CommitId, RunId, TreeId

_NAMED: Final = 3
"""Files that a message names; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The work is on the user's branch."""

    commit: CommitId
    """The last one."""
    onto: CommitId
    """The commit that they were put onto, the branch's tip before."""
    branch: str
    """Full name of the branch."""
    tree: TreeId


def uncommitted(git: Git) -> list[str]:
    """Paths with staged or unstaged changes, and untracked ones that are not ignored."""
    shape = ("--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--no-show-stash")
    paths = []
    for field in git.run("status", *shape).fields:
        kind = field[0]
        if kind == "u":
            raise AcceptError("the index holds unmerged files; finish or abort the merge first")
        paths.append(field[2:].rstrip("/") if kind == "?" else field.split(" ", 8)[8])
    return paths


def in_the_way(root: Path, path: str) -> str:
    """The first thing on the way to a new file that is not a folder, e.g. an ignored file; empty when free."""
    for step in (*parents(path), path):
        try:
            mode = (root / step).lstat().st_mode
        except FileNotFoundError:
            return ""
        if not stat.S_ISDIR(mode):
            return step
    return ""


def publish(repository: Repository, git: Git, run_id: RunId, accepted: Accepted) -> None:
    """Put an accepted commit onto the branch that is checked out, and into its checkout.

    Raises:
        AcceptError: Git will not; nothing was changed, or the message says what was.
    """
    branch = accepted.branch.removeprefix("refs/heads/")
    user = repository.user_git().bound(
        variables={
            "GIT_REFLOG_ACTION": f"surefoot accept {run_id}",
            # Options of the user's for merges into the branch; in variables, because a name may hold `=`.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"branch.{branch}.mergeOptions",
            "GIT_CONFIG_VALUE_0": "--ff-only",
        },
        settings=("core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false"),
    )
    try:
        with uninterrupted():
            _refuse_other_branch(git, accepted.branch)
            refs.refuse_held(git, RefChange(name="HEAD", new=accepted.commit, old=accepted.onto))
            # Recorded first: after a kill the next `accept` has to know whether, or how far, the work was put there.
            refs.keep_accepted(git, run_id, accepted.commit, accepted.onto)
            with _taken_back(repository, git, run_id, accepted):
                _merge(user, accepted.commit)
    except GitError as error:
        raise AcceptError(
            f"git will not move {accepted.branch}: {error.stderr.strip()!r}; mend that and accept again"
        ) from error
    run_post_commit(repository)


def _refuse_other_branch(git: Git, branch: str) -> None:
    """The gates and hooks may have taken an hour, in which the user went on: a merge moves whatever is checked out now."""
    here = git.run("symbolic-ref", "-q", "HEAD", ok=(0, 1)).line
    if here != branch:
        raise AcceptError(
            f"{here or 'a detached HEAD'} was checked out in place of {branch} meanwhile; nothing was changed, "
            f"run `git switch {branch.removeprefix('refs/heads/')}` and accept again"
        )


def _merge(user: Git, commit: CommitId) -> None:
    options = ("--ff-only", "--no-autostash", "--no-overwrite-ignore", "--no-verify-signatures")
    merge = ("merge", *options, "--no-stat", "--quiet", commit)
    user.run(*merge)
    if (tip := head_of(user)) != commit:
        raise GitError(("git", *merge), 0, f"HEAD is {tip} after the merge")


@contextlib.contextmanager
def _taken_back(
    repository: Repository, git: Git, run_id: RunId, accepted: Accepted
) -> Iterator[None]:
    """Take back what a merge has done that then could not move the branch.

    Nothing of the user's is lost: like the merge, `read-tree -m` refuses to overwrite what is in no commit, and of what
    differed before nothing is put back.
    """
    before, changed = _entries(git), _changed(git, accepted)
    added = (path for path, status in changed.items() if status == "A")
    # Ignored files, of which git says nothing, are the user's, too.
    theirs = {*uncommitted(git), *(p for p in added if in_the_way(repository.root, p) == p)}
    try:
        yield
    except (GitError, EnvironmentBrokenError) as error:
        # Asked, because whatever keeps git from the index keeps it from taking back nothing, too.
        if head_of(git) != accepted.onto:
            raise
        whole = _entries(git) != before
        _take_back(repository.root, git, accepted, changed, theirs, whole=whole, why=error)
        refs.forget_accepted(git, run_id)
        raise


def _take_back(
    root: Path,
    git: Git,
    accepted: Accepted,
    changed: Mapping[str, str],
    theirs: AbstractSet[str],
    *,
    whole: bool,
    why: Exception | str,
) -> None:
    """Undo a merge that could not move the branch, but for what is `theirs`. `whole`: it has come to the index."""
    back: tuple[str, ...] = ("read-tree", "-m", "-u", accepted.commit, accepted.onto)
    try:
        if whole:
            git.run(*back)
        else:
            # It broke off at a file that it could not write, and keeps the index for its end.
            half = _written_in_part(root, git, accepted, changed, theirs)
            back = ("checkout-index", "--force", "--index", "--", *half)
            if half:
                names = b"".join(encode(path) + b"\0" for path in half)
                git.run("checkout-index", "--force", "--index", "-z", "--stdin", stdin=names)
    except (GitError, EnvironmentBrokenError) as error:
        raise AcceptError(
            f"git has changed files and cannot move {accepted.branch} ({why}), nor take that back ({error}); "
            f"mend both, run `git {shlex.join(back)}` and accept again"
        ) from error


def take_back_killed(repository: Repository, git: Git, run_id: RunId, known: RunRefs) -> None:
    """Take back what a merge has left in the checkout that was killed together with its `accept`.

    Left by it is what has the accepted content, or its beginning, and what is missing where git replaces or removes it.
    """
    if known.accepted is None or known.onto is None or head_of(git) != known.onto:
        return
    # Where the branch was there already, and was moved back, the files are as the user wants them.
    if known.accepted in git.run("log", "-g", "--format=%H", "HEAD", ok=(0, 128)).line.split():
        return
    accepted = Accepted(
        commit=known.accepted,
        onto=known.onto,
        branch=known.branch,
        tree=tree_of(git, known.accepted),
    )
    changed = _changed(git, accepted)
    dirty = {*uncommitted(git)}
    left = {
        path
        for path, status in changed.items()
        if (path in dirty or status == "A")
        and _is_left(git, accepted.commit, repository.root, path, status)
    }
    if not left:
        return
    lock = repository.git_dir / "index.lock"
    killed = f"an `accept` of run {run_id} was killed while git put {named(left)} into the checkout"
    if lock.exists():
        raise AcceptError(
            f"{killed}, and {str(lock)!r} keeps git from taking that back; "
            "remove it when no git command is at work, and try again"
        )
    # Git writes the index at once: it holds all of the merge, or nothing of it.
    index = git.run("diff-index", "--cached", "-z", "--name-only", accepted.commit).fields
    whole = changed.keys().isdisjoint(index)
    theirs = {*changed, *dirty} - left
    with uninterrupted():
        _take_back(repository.root, git, accepted, changed, theirs, whole=whole, why=killed)
        refs.forget_accepted(git, run_id)


def _is_left(git: Git, commit: CommitId, root: Path, path: str, status: str) -> bool:
    """Whether what is, or is not, at a path that a merge changes can be its doing."""
    if in_the_way(root, path) == path:
        return status != "D" and _is_written(git, commit, root, path)
    return status != "A" and not os.path.lexists(root / path)


def _written_in_part(
    root: Path,
    git: Git,
    accepted: Accepted,
    changed: Mapping[str, str],
    theirs: AbstractSet[str],
) -> list[str]:
    """Remove the new files of a merge that broke off; the paths of those that it has changed.

    Its doing is what holds what git writes there, or the beginning of it, and what is missing. Anything else the user has
    written since it was asked what is his, and the merge broke off for that.
    """
    mine = {path: status for path, status in changed.items() if path not in theirs}
    for path in (p for p, status in mine.items() if status == "A"):
        # A link above it, which the work replaces by a folder, leads to files that are not the checkout's.
        if in_the_way(root, path) == path and _is_written(git, accepted.commit, root, path):
            with mended(f"remove {str(root / path)!r}"):
                (root / path).unlink()
    return [
        path
        for path in uncommitted(git)
        if (status := mine.get(path, "A")) != "A"
        and _is_left(git, accepted.commit, root, path, status)
    ]


def _is_written(git: Git, commit: CommitId, root: Path, path: str) -> bool:
    """Whether a file is what git makes of a commit's, as far as it came."""
    place = root / path
    whole = git.run("cat-file", "--filters", f"{commit}:{path}").stdout
    with mended(f"read {str(place)!r}"):
        if place.is_symlink():
            return whole == encode(os.readlink(place))  # noqa: PTH115  # a Path would tidy the target
        return place.is_file() and whole.startswith(place.read_bytes())


def _changed(git: Git, accepted: Accepted) -> dict[str, str]:
    """Status of each path that the merge changes."""
    objects = Objects(git, git.cwd, len(accepted.onto))
    return objects.changed(tree_of(git, accepted.onto), accepted.tree)


def tree_of(git: Git, commit: CommitId) -> TreeId:
    """The tree of a commit."""
    return TreeId(git.run("rev-parse", f"{commit}^{{tree}}").line)


def _entries(git: Git) -> bytes:
    """What the index holds, without what it knows of the files."""
    return git.run("ls-files", "--stage", "-z").stdout


def head_of(git: Git) -> CommitId:
    """The commit that is checked out."""
    return CommitId(git.run("rev-parse", "--verify", "HEAD^{commit}").line)


def named(paths: Iterable[str]) -> str:
    """The first of some paths, in words."""
    ordered = sorted(paths)
    shown = ", ".join(repr(path) for path in ordered[:_NAMED])
    more = len(ordered) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown

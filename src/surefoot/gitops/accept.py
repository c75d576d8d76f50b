"""Puts the work of a run onto the user's branch, as one commit or as one a milestone, or takes it away.

Everything that can say no (a conflict, the gates, a hook, a signing key) is asked on the finished commit, outside the
user's checkout. The checkout is touched once, at the end, by one `git merge --ff-only`, which refuses on its own to
overwrite anything that is not in a commit. It moves files and index first and the branch last: whether the branch can
be moved is asked before, and a merge that fails at it all the same is taken back; what one has left that was killed is
taken back by whoever accepts or rejects the run next.
"""

import contextlib
import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import AcceptError, EnvironmentBrokenError, GitError, UsageError
from surefoot.gitops import admin, refs
from surefoot.gitops.collect import Removed, refuse_removal, remove_run
from surefoot.gitops.files import is_within, mended, parents, remove_tree
from surefoot.gitops.git import Git, encode
from surefoot.gitops.hooks import Made, Wanted, clear, commit_as_user, run_post_commit
from surefoot.gitops.lease import Home, Lease
from surefoot.gitops.objects import Objects
from surefoot.gitops.refs import RefChange, RunRefs
from surefoot.gitops.replay import replay
from surefoot.gitops.repository import Repository
from surefoot.interrupts import uninterrupted
from surefoot.values import Merged
from surefoot.vocabulary import CommitId, RunId, TreeId

_UNDER_WAY: Final[Mapping[str, str]] = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_NAMED: Final = 3
"""Files that a message names; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the work that gets a commit of its own."""

    tree: TreeId
    """The run's tree when the part was done, by its ledger."""
    message: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the branch would hold, which is not what the run has verified."""

    tree: TreeId
    onto: TreeId
    """What the branch holds now."""
    replayed: TreeId
    """The work on `onto`, as it was before a hook edited it."""
    reason: str
    """Why it is another tree than the run's."""


Verify = Callable[[Result], str | None]
"""Runs the gates on a result, against what the branch holds; None when they pass, else one sentence."""

Ready = Callable[[], None]
"""Raises where the work must not be put on the branch now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is to be put where."""

    onto: CommitId
    onto_tree: TreeId
    base: TreeId
    tree: TreeId
    moved: bool
    """The branch holds other files than the run started from."""


def accept(
    repository: Repository,
    run_id: RunId,
    *,
    home: Path,
    pieces: Sequence[Piece],
    verify: Verify,
    carry: Sequence[str] = (),
    ready: Ready = lambda: None,
) -> Accepted:
    """Put a run's work onto the branch that it started from, which must be checked out.

    It becomes one commit a piece, the last of which is the whole: what the run's branch holds beside it was never verified.

    `verify` is asked when the branch has moved, and when a hook edited the work. `carry` are the ignored paths that the
    user's hooks need, as in `open_workspace`. `ready` is asked last, when gates and hooks have had their time; what it
    raises reaches the caller, with nothing changed. Accepting again what was accepted gives the same answer.

    Raises:
        AcceptError: It cannot be; nothing was changed.
        UsageError: Another process accepts the run at this moment.
    """
    place = Home(root=home.resolve())
    lease = Lease.take(place.accept_lease(run_id), run_id, repository.common_dir)
    try:
        git = repository.git()
        clear(repository, place.accept(run_id))
        known = refs.load(git, run_id)
        if known is None:
            raise AcceptError(
                f"the repository at {str(repository.root)!r} holds no work of run {run_id}; it was rejected or collected"
            )
        onto = _checked_out(repository, git, place, run_id, known)
        done = _accepted_before(git, known)
        if done is not None:
            return done
        _take_back_killed(repository, git, run_id, known)
        _refuse_unverified(git, run_id, known, pieces[-1].tree)
        objects = Objects(git, place.accept(run_id), len(onto))
        plan = _plan(git, known, onto)
        _refuse_overlap(repository, git, objects, plan.onto_tree, plan.tree)
        if plan.moved:
            moved = f"{known.branch} has moved to {onto} since the run started"
            _gate(verify, plan, plan.tree, moved)
        made = _commits(repository, plan, pieces, known.branch, place.accept(run_id), carry)
        if made.tree != plan.tree:
            edited = _named(objects.changed(plan.tree, made.tree))
            _gate(verify, plan, made.tree, f"your commit hooks edited {edited}")
            _refuse_overlap(repository, git, objects, plan.onto_tree, made.tree)
        accepted = Accepted(commit=made.commit, onto=onto, branch=known.branch, tree=made.tree)
        ready()
        _publish(repository, git, run_id, accepted)
        return accepted
    finally:
        lease.discard()


def reject(repository: Repository, run_id: RunId, home: Path) -> Removed:
    """Take a run's worktree, branch and commits away; what is gone already is fine.

    Raises:
        UsageError: Somebody still uses the run, or its work is on the user's branch.
        RepositoryError: The user has checked its branch out.
        AcceptError: An `accept` was killed half-way, and what it has left in the checkout cannot be taken back.
    """
    _refuse_accepted(repository, run_id)
    git, place = repository.git(), Home(root=home.resolve())
    known = refs.load(git, run_id)
    if known is not None and known.accepted is not None:
        lease = Lease.take(place.accept_lease(run_id), run_id, repository.common_dir)
        try:
            _take_back_killed(repository, git, run_id, known)
        finally:
            lease.discard()
    return remove_run(repository, run_id, home)


def refuse_reject(repository: Repository, run_id: RunId, home: Path) -> None:
    """Refuse what `reject` would refuse now; takes nothing away."""
    _refuse_accepted(repository, run_id)
    refuse_removal(repository, run_id, home)


def _refuse_accepted(repository: Repository, run_id: RunId) -> None:
    git = repository.git()
    known = refs.load(git, run_id)
    if known is not None and known.accepted is not None:
        on_it = git.run("merge-base", "--is-ancestor", known.accepted, known.branch, ok=(0, 1, 128))
        if on_it.exit_code == 0:
            raise UsageError(
                f"the work of run {run_id} is on {known.branch} as {known.accepted}: `accept` was broken off before it could "
                f"say so; `surefoot accept {run_id}` records that"
            )


def _commits(
    repository: Repository,
    plan: _Plan,
    pieces: Sequence[Piece],
    branch: str,
    folder: Path,
    carry: Sequence[str],
) -> Made:
    """One commit a piece that changes anything, each with what its hooks made of those before; the last of them.

    The whole fits the branch. A piece that does not takes the files that clash from the whole, so that it is for the gates
    alone to say whether the work is put there.
    """
    git, done, edited = repository.git(), plan.base, False
    made = Made(commit=plan.onto, tree=plan.onto_tree)
    for piece in pieces:
        if piece.tree == done:
            continue
        moved = replay(git, base=done, work=piece.tree, onto=made.tree)
        if edited and moved.conflicts:
            raise AcceptError(
                f"your commit hooks edited {_named(moved.conflicts)}, which a later milestone changes, too; "
                "nothing was changed"
            )
        tree = moved.tree
        if not edited and piece.tree == pieces[-1].tree:
            tree = plan.tree  # what pieces add up to can be something else
        elif moved.conflicts:
            tree = _overlaid(repository, folder, moved, plan.tree)
        done = piece.tree
        if tree != made.tree:
            wanted = Wanted(tree=tree, parent=made.commit, branch=branch, message=piece.message)
            made = commit_as_user(repository, wanted, folder=folder, carry=carry)
            edited = edited or made.tree != tree
    return made


def _overlaid(repository: Repository, folder: Path, moved: Merged, whole: TreeId) -> TreeId:
    """The merged tree with the files that clash as they are in the whole."""
    with mended("make a scratch folder"):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        objects = Objects(repository.git(), folder, len(whole))
        return objects.overlay(moved.tree, whole, moved.conflicts)
    finally:
        remove_tree(folder)


def _refuse_unverified(git: Git, run_id: RunId, known: RunRefs, verified: TreeId) -> None:
    """Refuse what somebody has put on the run's branch since, or taken off it."""
    if _tree(git, known.last) != verified:
        raise AcceptError(
            f"the branch of run {run_id} is at {known.last}, which does not hold what the run has verified; "
            f"{refs.keep_yours(run_id, known.newest)} and accept again"
        )


def _checked_out(
    repository: Repository, git: Git, place: Home, run_id: RunId, known: RunRefs
) -> CommitId:
    """The commit that the run's branch is at, when it is checked out here and nothing is under way."""
    here = git.run("symbolic-ref", "-q", "HEAD", ok=(0, 1)).line
    for other in admin.checkouts(git, repository.common_dir):
        if other.branch != known.branch or other.git_dir == repository.git_dir:
            continue
        if other.path.is_relative_to(place.accepting):
            _drop_left(repository, place, RunId(other.path.parent.name))
            continue
        mend = "accept there"
        if refs.checkout_of(git, run_id) != str(other.git_dir):  # whose ledgers do not know the run
            name = known.branch.removeprefix("refs/heads/")
            mend = f"switch to another branch there, `git switch {name}` here, and accept again"
        raise AcceptError(f"{known.branch} is checked out at {str(other.path)!r}; {mend}")
    if here != known.branch:
        name = known.branch.removeprefix("refs/heads/")
        if known.branch not in refs.all_refs(git, known.branch):
            raise AcceptError(
                f"the run started from {known.branch}, which is gone; where it was renamed run "
                f"`git branch -m NEW-NAME {name}`, else `git switch -c {name}`, and accept again"
            )
        raise AcceptError(
            f"the run started from {known.branch}, and {here or 'a detached HEAD'} is checked out; "
            f"run `git switch {name}` and accept again"
        )
    for name, what in _UNDER_WAY.items():
        if (repository.git_dir / name).exists():
            raise AcceptError(f"a {what} is under way; finish or abort it and accept again")
    return _head(git)


def _drop_left(repository: Repository, place: Home, run_id: RunId) -> None:
    """Remove the worktree in which hooks were asked when another `accept` was killed; one at work is let alone.

    It has the branch checked out for the hooks' sake, so that git would let nobody switch to it.
    """
    lease = Lease.attempt(place.accept_lease(run_id), repository.common_dir)
    if lease is not None:
        try:
            clear(repository, place.accept(run_id))
        finally:
            lease.discard()


def _accepted_before(git: Git, known: RunRefs) -> Accepted | None:
    if known.accepted is None:
        return None
    ancestor = git.run("merge-base", "--is-ancestor", known.accepted, "HEAD", ok=(0, 1))
    if ancestor.exit_code != 0:
        return None  # made but not put on the branch, or taken off it again
    parent, tree = git.run(
        "rev-parse", f"{known.accepted}^", f"{known.accepted}^{{tree}}"
    ).line.split()
    # Not kept by older versions, whose last commit was the only one but where a plan had milestones.
    onto = known.onto or CommitId(parent)
    return Accepted(commit=known.accepted, onto=onto, branch=known.branch, tree=TreeId(tree))


def _plan(git: Git, known: RunRefs, onto: CommitId) -> _Plan:
    names = (f"{commit}^{{tree}}" for commit in (known.base, known.last, onto))
    base, work, tip = (TreeId(tree) for tree in git.run("rev-parse", *names).line.split())
    tree = work
    if base not in {tip, work}:
        merged = replay(git, base=base, work=work, onto=tip)
        if merged.conflicts:
            raise AcceptError(
                f"newer commits on {known.branch} conflict with the work in {_named(merged.conflicts)}; "
                "nothing was changed, start a new run from the present state"
            )
        tree = merged.tree
    if tree == tip or base == work:
        raise AcceptError(f"the run changes nothing that {known.branch} does not have already")
    return _Plan(onto=onto, onto_tree=tip, base=base, tree=tree, moved=base != tip)


def _gate(verify: Verify, plan: _Plan, tree: TreeId, reason: str) -> None:
    refusal = verify(Result(tree=tree, onto=plan.onto_tree, replayed=plan.tree, reason=reason))
    if refusal is not None:
        raise AcceptError(
            f"{reason}, and the gates refuse the result: {refusal}; nothing was changed"
        )


def _refuse_overlap(
    repository: Repository, git: Git, objects: Objects, before: TreeId, after: TreeId
) -> None:
    """Refuse when something in the checkout that no commit holds lies where a file would change."""
    changed = objects.changed(before, after)
    above = {parent for path in changed for parent in parents(path)}
    dirty = _uncommitted(git)
    overlap = {path for path in dirty if path in above or is_within(path, changed.keys())}
    tracked = objects.listing(before)
    added = (path for path, status in changed.items() if status == "A")
    overlap |= {
        p for path in added if (p := _in_the_way(repository.root, path)) not in {*tracked, ""}
    }
    if overlap:
        raise AcceptError(
            f"the work changes {_named(overlap)}, where you have changes that are not committed; "
            "nothing was changed, commit or move them and accept again"
        )


def _uncommitted(git: Git) -> list[str]:
    """Paths with staged or unstaged changes, and untracked ones that are not ignored."""
    shape = ("--porcelain=v2", "-z", "--untracked-files=all", "--no-renames", "--no-show-stash")
    paths = []
    for field in git.run("status", *shape).fields:
        kind = field[0]
        if kind == "u":
            raise AcceptError("the index holds unmerged files; finish or abort the merge first")
        paths.append(field[2:].rstrip("/") if kind == "?" else field.split(" ", 8)[8])
    return paths


def _in_the_way(root: Path, path: str) -> str:
    """The first thing on the way to a new file that is not a folder, e.g. an ignored file; empty when free."""
    for step in (*parents(path), path):
        try:
            mode = (root / step).lstat().st_mode
        except FileNotFoundError:
            return ""
        if not stat.S_ISDIR(mode):
            return step
    return ""


def _publish(repository: Repository, git: Git, run_id: RunId, accepted: Accepted) -> None:
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
    if (tip := _head(user)) != commit:
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
    theirs = {*_uncommitted(git), *(p for p in added if _in_the_way(repository.root, p) == p)}
    try:
        yield
    except (GitError, EnvironmentBrokenError) as error:
        # Asked, because whatever keeps git from the index keeps it from taking back nothing, too.
        if _head(git) != accepted.onto:
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


def _take_back_killed(repository: Repository, git: Git, run_id: RunId, known: RunRefs) -> None:
    """Take back what a merge has left in the checkout that was killed together with its `accept`.

    Left by it is what has the accepted content, or its beginning, and what is missing where git replaces or removes it.
    """
    if known.accepted is None or known.onto is None or _head(git) != known.onto:
        return
    # Where the branch was there already, and was moved back, the files are as the user wants them.
    if known.accepted in git.run("log", "-g", "--format=%H", "HEAD", ok=(0, 128)).line.split():
        return
    accepted = Accepted(
        commit=known.accepted,
        onto=known.onto,
        branch=known.branch,
        tree=_tree(git, known.accepted),
    )
    changed = _changed(git, accepted)
    dirty = {*_uncommitted(git)}
    left = {
        path
        for path, status in changed.items()
        if (path in dirty or status == "A")
        and _is_left(git, accepted.commit, repository.root, path, status)
    }
    if not left:
        return
    lock = repository.git_dir / "index.lock"
    killed = (
        f"an `accept` of run {run_id} was killed while git put {_named(left)} into the checkout"
    )
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
    if _in_the_way(root, path) == path:
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

    A new file is the merge's where it holds what git writes there, or the beginning of it.
    """
    mine = {path: status for path, status in changed.items() if path not in theirs}
    for path in (p for p, status in mine.items() if status == "A"):
        # A link above it, which the work replaces by a folder, leads to files that are not the checkout's.
        if _in_the_way(root, path) == path and _is_written(git, accepted.commit, root, path):
            with mended(f"remove {str(root / path)!r}"):
                (root / path).unlink()
    return [path for path in _uncommitted(git) if mine.get(path, "A") != "A"]


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
    return objects.changed(_tree(git, accepted.onto), accepted.tree)


def _tree(git: Git, commit: CommitId) -> TreeId:
    return TreeId(git.run("rev-parse", f"{commit}^{{tree}}").line)


def _entries(git: Git) -> bytes:
    """What the index holds, without what it knows of the files."""
    return git.run("ls-files", "--stage", "-z").stdout


def _head(git: Git) -> CommitId:
    return CommitId(git.run("rev-parse", "--verify", "HEAD^{commit}").line)


def _named(paths: Iterable[str]) -> str:
    ordered = sorted(paths)
    shown = ", ".join(repr(path) for path in ordered[:_NAMED])
    more = len(ordered) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown

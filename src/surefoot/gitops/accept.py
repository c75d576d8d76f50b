"""Puts the work of a run onto the user's branch, as one commit or as one a milestone, or takes it away.

Everything that can say no (a conflict, the gates, a hook, a signing key) is asked on the finished commit, outside the
user's checkout. The checkout is touched once, at the end, by one `git merge --ff-only`, which refuses on its own to
overwrite anything that is not in a commit. It moves files and index first and the branch last: whether the branch can
be moved is asked before, and a merge that fails at it all the same is taken back; what one has left that was killed is
taken back by whoever accepts or rejects the run next.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import AcceptError, UsageError
from surefoot.gitops import admin, refs
from surefoot.gitops.collect import Removed, refuse_removal, remove_run
from surefoot.gitops.files import is_within, mended, parents, remove_tree
from surefoot.gitops.git import Git
from surefoot.gitops.hooks import Made, Wanted, clear, commit_as_user
from surefoot.gitops.lease import Home, Lease
from surefoot.gitops.objects import Objects
from surefoot.gitops.publish import (
    Accepted,
    head_of,
    in_the_way,
    named,
    publish,
    take_back_killed,
    tree_of,
    uncommitted,
)
from surefoot.gitops.refs import RunRefs
from surefoot.gitops.replay import replay
from surefoot.gitops.repository import Repository
from surefoot.values import Merged
from surefoot.vocabulary import CommitId, RunId, TreeId

_UNDER_WAY: Final[Mapping[str, str]] = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of the work that gets a commit of its own."""

    tree: TreeId
    """The run's tree when the part was done, by its ledger."""
    message: str


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
        git = repository.git().bound(holds=(lease,))
        clear(repository, place.accept(run_id))
        known = refs.load(git, run_id)
        if known is None:
            raise AcceptError(
                f"the repository at {str(repository.root)!r} holds no work of run {run_id}; it was rejected or collected"
            )
        refs.unlock_accepted(repository.common_dir, run_id)
        onto = _checked_out(repository, git, place, run_id, known)
        done = _accepted_before(git, known)
        if done is not None:
            return done
        take_back_killed(repository, git, run_id, known)
        _refuse_unverified(git, run_id, known, pieces[-1].tree)
        objects = Objects(git, place.accept(run_id), len(onto))
        plan = _plan(git, known, onto)
        _refuse_overlap(repository, git, objects, plan.onto_tree, plan.tree)
        if plan.moved:
            moved = f"{known.branch} has moved to {onto} since the run started"
            _gate(verify, plan, plan.tree, moved)
        made = _commits(repository, plan, pieces, known.branch, place.accept(run_id), carry)
        if made.tree != plan.tree:
            edited = named(objects.changed(plan.tree, made.tree))
            _gate(verify, plan, made.tree, f"your commit hooks edited {edited}")
            _refuse_overlap(repository, git, objects, plan.onto_tree, made.tree)
        accepted = Accepted(commit=made.commit, onto=onto, branch=known.branch, tree=made.tree)
        ready()
        publish(repository, git, run_id, accepted)
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
            refs.unlock_accepted(repository.common_dir, run_id)
            take_back_killed(repository, git.bound(holds=(lease,)), run_id, known)
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
                f"your commit hooks edited {named(moved.conflicts)}, which a later milestone changes, too; "
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
    if tree_of(git, known.last) != verified:
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
    return head_of(git)


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
                f"newer commits on {known.branch} conflict with the work in {named(merged.conflicts)}; "
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
    dirty = uncommitted(git)
    overlap = {path for path in dirty if path in above or is_within(path, changed.keys())}
    tracked = objects.listing(before)
    added = (path for path, status in changed.items() if status == "A")
    overlap |= {
        p for path in added if (p := in_the_way(repository.root, path)) not in {*tracked, ""}
    }
    if overlap:
        raise AcceptError(
            f"the work changes {named(overlap)}, where you have changes that are not committed; "
            "nothing was changed, commit or move them and accept again"
        )

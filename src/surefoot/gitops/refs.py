"""The refs of a run: its branch, its base, its turns and what must be known to accept it.

refs/heads/surefoot/<run id>     the branch; its tip is the last closed turn, or the base where turns make no branch commits
refs/surefoot/<run id>/base      the commit that the run started from
refs/surefoot/<run id>/run       a blob: the branch that the user was on, and the git folder of his checkout
refs/surefoot/<run id>/<n>       turn commit n, so that it stays reachable when the branch goes; a tree where none is made
refs/surefoot/<run id>/accepted  the commit that `accept` made, the last one where it made several
refs/surefoot/<run id>/onto      a blob: the commit that `accept` put them onto
refs/surefoot/<run id>/ledger    a blob: hash of the ledger's last line when the run was let go of
"""

import contextlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from surefoot.errors import RepositoryError, UsageError
from surefoot.gitops.files import mended
from surefoot.gitops.git import EMAIL, Git, decode, encode
from surefoot.interrupts import uninterrupted
from surefoot.vocabulary import CommitId, RunId

BRANCHES: Final = "refs/heads/surefoot/"
KEPT: Final = "refs/surefoot/"
_PLACES: Final = tuple(prefix.removesuffix("/") for prefix in (BRANCHES, KEPT))
_ACCEPTED: Final = ("accepted", "onto")
"""The refs that `accept` alone writes, whoever has the run open."""
_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RefChange:
    """One ref, from `old` (None: it must not exist) to `new` (None: it goes)."""

    name: str
    new: str | None
    old: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRefs:
    """What the repository knows about one run."""

    base: CommitId
    tip: CommitId | None
    """Tip of the run's branch; None when the branch is gone."""
    branch: str
    """Full name of the branch that the user was on when the run started."""
    turns: Mapping[int, CommitId]
    accepted: CommitId | None
    onto: CommitId | None
    """What the work was put onto; None before, and where a version accepted it that did not keep it."""

    @property
    def newest(self) -> CommitId:
        """The newest closed turn's commit, the base when there is none."""
        return self.turns[max(self.turns)] if self.turns else self.base

    @property
    def last(self) -> CommitId:
        """What the branch holds; the newest turn where it is gone, or holds none of them."""
        return self.newest if self.tip in (None, self.base) else self.tip


def checked(run_id: RunId) -> RunId:
    """The id, when it can be a ref's and a folder's name.

    Raises:
        UsageError: It cannot.
    """
    fits = _RUN_ID.fullmatch(run_id) and ".." not in run_id
    if not fits or run_id.endswith((".", ".lock")):
        raise UsageError(f"{run_id!r} is not a run id: letters, digits, `-`, `_` and single dots")
    return run_id


def branch_of(run_id: RunId) -> str:
    """Full name of a run's branch."""
    return f"{BRANCHES}{run_id}"


def kept(run_id: RunId, name: str) -> str:
    """Full name of one of its other refs."""
    return f"{KEPT}{run_id}/{name}"


def is_ours(ref: str) -> bool:
    """Whether a ref belongs to some run."""
    return ref.startswith((BRANCHES, KEPT))


def run_of(ref: str) -> RunId:
    """The run that one of our refs belongs to."""
    return RunId(ref.removeprefix(BRANCHES).removeprefix(KEPT).partition("/")[0])


def all_refs(git: Git, *patterns: str) -> dict[str, str]:
    """Object ids by full ref name, of refs under the patterns (none: of all)."""
    listed = git.run("for-each-ref", "--format=%(objectname) %(refname)", *patterns).stdout
    pairs = (line.split(" ", 1) for line in decode(listed).split("\n") if line)
    return {name: oid for oid, name in pairs}


def refs_of(git: Git, run_id: RunId) -> dict[str, str]:
    """Every ref of one run."""
    return all_refs(git, branch_of(run_id), f"{KEPT}{run_id}/")


def own(run_id: RunId, found: Mapping[str, str]) -> dict[str, str]:
    """Those of `refs_of` that go when the run goes: its branch only where its tip is a commit that the others hold."""
    ours = {name: oid for name, oid in found.items() if name.startswith(KEPT)}
    branch = branch_of(run_id)
    if branch in found and found[branch] in ours.values():
        return {branch: found[branch], **ours}
    return ours


def load(git: Git, run_id: RunId) -> RunRefs | None:
    """What the refs of a run say, or None when it has none, or not enough to go on from."""
    found = refs_of(git, checked(run_id))
    base, about = found.get(kept(run_id, "base")), found.get(kept(run_id, "run"))
    if base is None or about is None:
        return None
    tip, accepted = found.get(branch_of(run_id)), found.get(kept(run_id, "accepted"))
    onto = found.get(kept(run_id, "onto"))
    prefix = kept(run_id, "")
    turns = {
        int(name.removeprefix(prefix)): CommitId(oid)
        for name, oid in found.items()
        if name.startswith(prefix) and name.removeprefix(prefix).isdecimal()
    }
    return RunRefs(
        base=CommitId(base),
        tip=None if tip is None else CommitId(tip),
        branch=_noted(git, about, "branch"),
        turns=turns,
        accepted=None if accepted is None else CommitId(accepted),
        onto=None if onto is None else CommitId(_noted(git, onto, "onto")),
    )


def checkout_of(git: Git, run_id: RunId) -> str | None:
    """Git folder of the checkout that a run was started in; None when its refs do not say, as those of old runs."""
    about = git.run("cat-file", "blob", kept(run_id, "run"), ok=None).stdout
    try:
        return str(json.loads(about)["checkout"])
    except (ValueError, KeyError, TypeError):
        return None


def refuse_taken(git: Git, run_id: RunId) -> None:
    """Refuse the id of a run that has refs, and a branch of the user where ours need a folder.

    Raises:
        UsageError: The run exists.
        RepositoryError: Such a branch exists.
    """
    found = all_refs(git, *_PLACES)
    _refuse_in_the_way(found)
    if any(run_of(name) == run_id for name in found):
        raise UsageError(f"run {run_id} exists already; resume it, or give another id")


def refuse_in_the_way(git: Git) -> None:
    """Refuse a branch of the user where ours need a folder; `RepositoryError` when there is one."""
    _refuse_in_the_way(all_refs(git, *_PLACES))


def _refuse_in_the_way(found: Iterable[str]) -> None:
    for name in found:
        if name in _PLACES:
            raise RepositoryError(
                f"{name!r} is in the way of the branches of runs; rename it, e.g. `git branch -m surefoot my-surefoot`"
            )


def create(git: Git, run_id: RunId, base: CommitId, branch: str, *, checkout: Path) -> RunRefs:
    """Give a new run its refs; `GitError` when it has some already. `checkout` is the git folder of the user's."""
    blob = _note(git, {"branch": branch, "checkout": str(checkout)})
    change(
        git,
        [
            RefChange(name=kept(run_id, "base"), new=base, old=None),
            RefChange(name=kept(run_id, "run"), new=blob, old=None),
            RefChange(name=branch_of(run_id), new=base, old=None),
        ],
    )
    return RunRefs(base=base, tip=base, branch=branch, turns={}, accepted=None, onto=None)


def publish_head(git: Git, run_id: RunId, head: str) -> None:
    """Keep the hash of the ledger's last line in the repository, so that a ledger cut short later can be told."""
    blob = _note(git, {"head": head})
    name = kept(checked(run_id), "ledger")
    old = all_refs(git, name).get(name)
    if old != blob:
        change(git, [RefChange(name=name, new=blob, old=old)])


def published_head(git: Git, run_id: RunId) -> str | None:
    """What was kept by `publish_head` last; None when nothing was."""
    blob = all_refs(git, kept(checked(run_id), "ledger")).get(kept(run_id, "ledger"))
    return None if blob is None else _noted(git, blob, "head")


def keep_accepted(git: Git, run_id: RunId, commit: CommitId, onto: CommitId) -> None:
    """Keep the last commit that `accept` made, and the one that it put the work onto."""
    wanted = {
        kept(run_id, "accepted"): str(commit),
        kept(run_id, "onto"): _note(git, {"onto": onto}),
    }
    old = all_refs(git, *wanted)
    change(git, [RefChange(name=n, new=oid, old=old.get(n)) for n, oid in wanted.items()])


def forget_accepted(git: Git, run_id: RunId) -> None:
    """Take back what `keep_accepted` has kept: nothing of it is on the branch, or half on its way there."""
    delete(git, all_refs(git, *(kept(run_id, name) for name in _ACCEPTED)))


def _note(git: Git, said: Mapping[str, str]) -> str:
    """A blob that says this."""
    about = json.dumps({**said, "version": 1}, sort_keys=True).encode()
    return git.run("hash-object", "-w", "--stdin", stdin=about).line


def _noted(git: Git, blob: str, key: str) -> str:
    try:
        return str(json.loads(git.run("cat-file", "blob", blob).stdout)[key])
    except (ValueError, RecursionError, TypeError, LookupError) as error:
        raise RepositoryError(
            f"a ref of a run leads to {blob}, which does not say its {key}; restore the ref from a backup"
        ) from error


def change(git: Git, changes: Sequence[RefChange]) -> None:
    """Change all of them, or none; `GitError` when one has not its old value."""
    with uninterrupted():
        git.run("update-ref", "--no-deref", "--stdin", "-z", stdin=b"".join(map(_line, changes)))


def refuse_held(git: Git, change: RefChange) -> None:
    """Raise the `GitError` that changing it would raise now, e.g. for a stale lock, and change nothing. `HEAD` stands for its branch."""
    lines = f"start\nupdate {change.name} {change.new} {change.old}\nprepare\nabort\n"
    git.run("update-ref", "--stdin", stdin=encode(lines))


def delete(git: Git, found: Mapping[str, str]) -> None:
    """Delete refs that still have the values given."""
    if found:
        change(git, [RefChange(name=name, new=None, old=oid) for name, oid in found.items()])


def keep_yours(run_id: RunId, newest: CommitId) -> str:
    """The mend where somebody has moved a run's branch: its own name for what is there, and back to the newest turn."""
    name = branch_of(run_id)
    # Not `git branch -f`, which moves no branch that a worktree has checked out.
    return f"keep yours with `git branch MINE {name}`, run `git update-ref {name} {newest}`"


def refuse_yours(git: Git, run_id: RunId, known: RunRefs) -> None:
    """Refuse a branch whose tip is a commit of somebody else, which the run would leave without a name.

    Raises:
        RepositoryError: It is; the message says how it is kept.
    """
    if known.tip in {None, known.base, *known.turns.values()}:
        return
    # A kill between two refs leaves a turn of ours that no other ref holds.
    if git.run("log", "-1", "--format=%ce", str(known.tip)).line != EMAIL:
        raise RepositoryError(
            f"the branch of run {run_id} is at {known.tip}, which is no commit of the run; "
            f"{keep_yours(run_id, known.newest)} and resume again"
        )


def settle(git: Git, run_id: RunId, known: RunRefs, head: CommitId, *, tip: CommitId) -> RunRefs:
    """Make `head` the newest turn, whatever a kill between two refs has left: newer turns go, a missing ref comes.

    `tip` is where the branch then has to be.

    Raises:
        UsageError: `head` is no commit of the run.
    """
    numbers = {known.base: 0} | {commit: n for n, commit in sorted(known.turns.items())}
    if known.tip is not None:
        numbers.setdefault(known.tip, max(known.turns, default=0) + 1)
    if head not in numbers:
        raise UsageError(f"{head!r} is no commit of run {run_id}; it has {sorted(numbers)!r}")
    number = numbers[head]
    turns = {n: commit for n, commit in known.turns.items() if n <= number}
    wanted = turns | ({number: head} if number else {})
    changes = [
        RefChange(name=kept(run_id, str(n)), new=wanted.get(n), old=known.turns.get(n))
        for n in sorted({*known.turns, *wanted})
        if wanted.get(n) != known.turns.get(n)
    ]
    if known.tip != tip:
        changes.append(RefChange(name=branch_of(run_id), new=tip, old=known.tip))
    if changes:
        change(git, changes)
    return replace(known, tip=tip, turns=wanted)


def unlock(common_dir: Path, run_id: RunId) -> None:
    """Remove lock files of the run's refs; the caller holds the lease, so whoever made them is dead."""
    with mended("remove a stale lock"):
        # A branch of the user may lie where ours need a folder: then none of ours has a lock.
        with contextlib.suppress(NotADirectoryError):
            (common_dir / f"{branch_of(run_id)}.lock").unlink(missing_ok=True)
        for lock in (common_dir / kept(run_id, "")).glob("*.lock"):
            lock.unlink(missing_ok=True)


def unlock_accepted(common_dir: Path, run_id: RunId) -> None:
    """As `unlock`, of the refs that `accept` alone writes; the caller holds its lease."""
    with mended("remove a stale lock"):
        for name in _ACCEPTED:
            (common_dir / f"{kept(run_id, name)}.lock").unlink(missing_ok=True)


def _line(change: RefChange) -> bytes:
    name = encode(change.name)
    if change.new is None:
        return b"delete %b\0%b\0" % (name, encode(change.old or ""))
    if change.old is None:
        return b"create %b\0%b\0" % (name, encode(change.new))
    return b"update %b\0%b\0%b\0" % (name, encode(change.new), encode(change.old))

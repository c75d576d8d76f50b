"""The run's own linked worktree and branch.

Every git command here is bound to the worktree's git folder and to a private index, so nothing that a turn leaves in
the worktree (a changed `.git` file, a nested repository, a lock) decides what git does. Hooks never run; filters,
attributes and ignore rules are the user's; the worktree is always full, also where the user's checkout is sparse.
"""

import contextlib
import itertools
import os
import re
import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from surefoot.errors import GitError, UsageError
from surefoot.gitops import admin, refs
from surefoot.gitops.carried import Carried, check_carry
from surefoot.gitops.files import apply_edits, mended, remove_tree, sweep
from surefoot.gitops.git import Git, encode
from surefoot.gitops.lease import Home, Lease, clear_scratch
from surefoot.gitops.objects import Objects
from surefoot.gitops.phantoms import Conversions
from surefoot.gitops.refs import RefChange, RunRefs
from surefoot.gitops.replay import replay
from surefoot.gitops.repository import Repository
from surefoot.gitops.worktree_git import FULL, fill, read_tree
from surefoot.values import CommitId, Diff, FileEdit, Merged, RunId, TreeId, TurnAction

_TRAILER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")


class GitWorkspace:
    """The `Workspace` port over git. Holds the run's lease until `close`; one thread at a time, but for reads."""

    def __init__(
        self,
        repository: Repository,
        run_id: RunId,
        *,
        home: Home,
        lease: Lease,
        known: RunRefs,
        worktree: admin.Worktree,
        carry: Sequence[str],
        action: TurnAction,
    ) -> None:
        """Use `open_workspace` or `reopen_workspace`."""
        self._run_id = run_id
        self._action: TurnAction = action
        self._worktree = worktree
        self._lease = lease
        self._scratch = home.scratch(run_id)
        self._index = worktree.git_dir / "surefoot-index"
        self._git = Git(worktree.path, repository.env).bound(
            variables={
                "GIT_DIR": worktree.git_dir,
                "GIT_WORK_TREE": worktree.path,
                "GIT_INDEX_FILE": self._index,
            },
            settings=FULL,
            holds=(lease,),
        )
        with mended("make a scratch folder"):
            self._scratch.mkdir(parents=True, exist_ok=True)
        reader = repository.git().bound(settings=FULL, holds=(lease,))
        self._objects = Objects(reader, self._scratch, len(known.base))
        trees = self._git.run("rev-parse", f"{known.base}^{{tree}}", f"{known.last}^{{tree}}").line
        base_tree, head_tree = trees.split()
        self._base = (known.base, TreeId(base_tree))
        self._head = (known.last, TreeId(head_tree))
        self._turns = max(known.turns, default=0)
        self._known = self._base[1]
        self._written: tuple[tuple[int, int, int], TreeId] | None = None
        self._gitlinks = self._objects.gitlinks(self._base[1])
        check_carry(carry, self._objects.listing(self._base[1]))
        self._carried = Carried(repository, carry, self._gitlinks, self._scratch)
        self._conversions = Conversions(self._git, self._objects, frozenset())
        self._numbers = itertools.count()
        weakref.finalize(self, lease.release)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the lease; the worktree stays, and trees can still be read. A second call does nothing."""
        self._objects.blobs.close()
        self._lease.release()

    @property
    def path(self) -> Path:
        """As `Workspace.path`."""
        return self._worktree.path

    @property
    def base(self) -> CommitId:
        """As `Workspace.base`."""
        return self._base[0]

    @property
    def base_tree(self) -> TreeId:
        """As `Workspace.base_tree`."""
        return self._base[1]

    @property
    def head(self) -> tuple[CommitId, TreeId]:
        """As `Workspace.head`."""
        return self._head

    def snapshot(self) -> TreeId:
        """As `Workspace.snapshot`.

        Raises:
            GitError: A nested git repository lies in the worktree; its files would be lost.
        """
        self._add()
        tree = self._conversions.genuine(self.path, self._known, self._write_tree())
        self._known = tree
        self._share_index()
        return tree

    def apply(self, edits: Sequence[FileEdit]) -> None:
        """As `Workspace.apply`: a new file is part of the work even where git ignores what commands leave there.

        Raises:
            UsageError: A path is refused; nothing was written.
        """
        apply_edits(self.path, edits, staging=self._scratch, sealed=self._carried.paths)
        written = (edit.path for edit in edits if edit.text is not None)
        self._take_in([p for p in written if self._objects.read(self._known, p) is None])

    def commit(self, tree: TreeId, message: str, trailers: Mapping[str, str]) -> CommitId:
        """As `Workspace.commit`; `GitError` when somebody else has moved the branch.

        With another `action` than `commit` the branch stays; with `status-only` the tree itself is kept, and returned.
        """
        old = self._head[0]
        commit = CommitId(tree)
        if self._action != "status-only":
            text = with_trailers(message, trailers).encode("utf-8", "replace")
            made = self._git.run("commit-tree", tree, "-p", old, "-F", "-", stdin=text)
            commit = CommitId(made.line)
        turn = refs.kept(self._run_id, str(self._turns + 1))
        changes = [RefChange(name=turn, new=commit, old=None)]
        if self._action == "commit":
            changes.append(RefChange(name=refs.branch_of(self._run_id), new=commit, old=old))
        refs.change(self._git, changes)
        self._turns += 1
        self._head = (commit, tree)
        return commit

    def restore(self, tree: TreeId) -> None:
        """As `Workspace.restore`: ignored files go too, and what was carried in is put right.

        Raises:
            GitError: The worktree does not give the tree back.
        """
        self._tidy(tree)
        if not self._holds(tree) and self.snapshot() != tree:
            self._refill(tree)
            self._confirm(tree)

    def diff(self, before: TreeId, after: TreeId) -> Diff:
        """As `Workspace.diff`; bytes of the patch that are not UTF-8 are replaced."""
        return self._objects.diff(before, after)

    def read(self, tree: TreeId, path: str) -> bytes | None:
        """As `Workspace.read`; a symbolic link and a submodule are not files."""
        return self._objects.read(tree, path)

    def files(self, tree: TreeId) -> tuple[str, ...]:
        """As `Workspace.files`; symbolic links are in it, submodules are not."""
        return self._objects.files(tree)

    def overlay(self, tree: TreeId, source: TreeId, paths: Sequence[str]) -> TreeId:
        """As `Workspace.overlay`; a path that is a folder stands for all that is in it."""
        return self._objects.overlay(tree, source, paths)

    def merge(self, *, base: TreeId, work: TreeId, onto: TreeId) -> Merged:
        """As `Workspace.merge`."""
        return replay(self._git, base=base, work=work, onto=onto)

    @contextlib.contextmanager
    def checkout(self, tree: TreeId) -> Iterator[Path]:
        """As `Workspace.checkout`; carried paths and submodules are in it, `.git` is not."""
        root = self._scratch / f"checkout-{next(self._numbers)}"
        try:
            with mended("make a checkout"):
                root.mkdir()
            fill(self._objects, tree, root)
            self._carried.place(root)
            yield root
        finally:
            remove_tree(root)

    def _fill(self, tree: TreeId) -> None:
        """Bring the worktree to `tree`, whatever lies in it, and whatever an interrupted git command has left."""
        self._tidy(tree)
        self._refill(tree)

    def _tidy(self, tree: TreeId) -> None:
        """Remove all that is not of `tree`, and have git work here again."""
        admin.unlock(self._worktree)
        listing = self._objects.listing(tree)
        pointer = self.path / ".git"
        if pointer.is_symlink() or not pointer.is_file():
            remove_tree(pointer)
        with mended("put the worktree back"):
            pointer.write_bytes(self._worktree.pointer)
        sweep(self.path, {p: e.mode for p, e in listing.items()}, self._carried.paths)
        self._carried.settle(self.path)

    def _refill(self, tree: TreeId) -> None:
        read_tree(self._git, tree)
        self._carried.settle(self.path)
        self._known = tree

    def begin(self) -> None:
        """Fill the worktree with the head's tree, from nothing that was believed of it before."""
        with mended("begin the worktree"):
            self._index.unlink(missing_ok=True)
        tree = self._head[1]
        self._fill(tree)
        listing = self._objects.listing(tree)
        self._conversions = Conversions.of(self._git, self._objects, listing)
        self._confirm(tree)

    def _confirm(self, tree: TreeId) -> None:
        found = self.snapshot()
        if found != tree:
            paths = sorted(self._objects.changed(tree, found))
            raise GitError(("git", "read-tree", tree), 0, f"the worktree differs in {paths[:5]!r}")

    def _add(self) -> None:
        left_out = [p for path in sorted(self._carried.paths) for p in _left_out(path)]
        pathspec = ("--", ".", *left_out) if left_out else ()
        added = self._git.run("add", "-A", *pathspec, ok=(0, 128))
        if added.exit_code != 0 and "does not have a commit checked out" not in added.stderr:
            raise GitError(("git", "add", "-A", *pathspec), added.exit_code, added.stderr)
        if added.exit_code != 0 or "embedded git repository" in added.stderr:
            nested = self._forget_nested() or added.stderr.partition("\n")[0]
            raise GitError(
                ("git", "add", "-A"),
                added.exit_code,
                f"a nested git repository cannot be part of the work: {nested}; remove it or have it ignored",
            )

    def _take_in(self, paths: Sequence[str]) -> None:
        """Have git know those of some files that it ignores, so that they are in the next tree."""
        if not paths:
            return
        asked = b"".join(encode(path) + b"\0" for path in paths)
        ignored = self._git.run("check-ignore", "-z", "--stdin", stdin=asked, ok=(0, 1)).fields
        if ignored:
            names = b"".join(encode(f":(top,literal){path}") + b"\0" for path in ignored)
            self._git.run(
                "add", "--force", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=names
            )

    def _write_tree(self) -> TreeId:
        """The tree of the private index; git is asked again only when the index has changed since it was last."""
        if self._written is None or self._written[0] != self._stamp():
            tree = TreeId(self._git.run("write-tree").line)
            self._written = (
                self._stamp(),
                tree,
            )  # afterwards: the command notes the trees in the index
        return self._written[1]

    def _stamp(self) -> tuple[int, int, int]:
        found = self._index.stat()
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _holds(self, tree: TreeId) -> bool:
        """Whether the index is the tree's and no file of it has changed; only sure of a yes, and of known files."""
        if self._written is None or self._written != (self._stamp(), tree) or self._known != tree:
            return False
        return self._git.run("diff-files", "--quiet", ok=(0, 1)).exit_code == 0

    def _forget_nested(self) -> str:
        """Take repositories that were added as submodules out of the index; their paths."""
        fields = (field.partition("\t") for field in self._git.run("ls-files", "-s", "-z").fields)
        new = [
            p for about, _, p in fields if about.startswith("160000") and p not in self._gitlinks
        ]
        self._objects.put_entries(self._git, dict.fromkeys(new))
        return ", ".join(repr(path) for path in new)

    def _share_index(self) -> None:
        """Let git commands of tools in the worktree see the same index; theirs and ours never lock each other."""
        public = self._worktree.git_dir / "index"
        if public.exists() and public.samefile(self._index):
            return
        fresh = public.with_name("index.surefoot")
        with mended("write the worktree's index"):
            fresh.unlink(missing_ok=True)
            try:
                os.link(self._index, fresh)
            except OSError:
                shutil.copyfile(self._index, fresh)  # a file system without hard links
            fresh.rename(public)


def refuse_workspace(repository: Repository, run_id: RunId, *, home: Path) -> None:
    """Refuse what `open_workspace` would refuse of id, branches and place; changes nothing.

    Raises:
        UsageError: The run exists, or `home` lies in the checkout.
        RepositoryError: The user has a branch in the place of ours.
    """
    _home(repository, home)
    refs.refuse_taken(repository.git(), run_id)


def open_workspace(
    repository: Repository,
    run_id: RunId,
    *,
    home: Path,
    carry: Sequence[str] = (),
    action: TurnAction = "commit",
) -> GitWorkspace:
    """Give a new run its branch and its worktree, at the repository's HEAD.

    `home` is a folder outside every checkout. `carry` are ignored paths of the user's checkout, relative to its root,
    that are copied into the worktree and into every checkout, and are part of no tree. `action` is what keeps a turn.

    Raises:
        UsageError: The run exists, `home` lies in the checkout, or a carried path cannot be carried.
        RepositoryError: The user has a branch in the place of ours.
        EnvironmentBrokenError: A filter does not run, or there is no space.
    """
    place = _home(repository, home)
    lease = Lease.take(place.lease(run_id), run_id, repository.common_dir)
    with contextlib.ExitStack() as undo:
        undo.callback(lease.release)
        git = repository.git().bound(holds=(lease,))
        refs.refuse_taken(git, run_id)
        refs.unlock(repository.common_dir, run_id)
        undo.callback(_abandon, git, repository, run_id, place, lease)
        head, branch = repository.head, repository.branch
        known = refs.create(git, run_id, head, branch, checkout=repository.git_dir)
        clear_scratch(place, run_id)
        worktree = _make(git, repository, run_id, place)
        workspace = GitWorkspace(
            repository,
            run_id,
            home=place,
            lease=lease,
            known=known,
            worktree=worktree,
            carry=carry,
            action=action,
        )
        workspace.begin()
        undo.pop_all()
        return workspace


def reopen_workspace(
    repository: Repository,
    run_id: RunId,
    *,
    home: Path,
    carry: Sequence[str] = (),
    head: CommitId | None = None,
    base: CommitId | None = None,
    branch: str | None = None,
    action: TurnAction = "commit",
) -> GitWorkspace:
    """Take up a run again: what a killed process has left is mended, the worktree holds the last closed turn.

    `head` is the commit of the last turn that the ledger calls closed, the base when there is none (None: what the
    branch says). A newer turn commit was made but not recorded, and is taken back. A run that was killed before its
    refs were whole begins again where `head` is its `base`, for `branch` (full name; None: the one that is checked out).

    Raises:
        UsageError: The repository knows no such run, or not its turns, somebody uses it, or `head` is none of its commits.
        RepositoryError: Its refs are gone and the user has a branch in their place, or has committed on the run's branch.
    """
    place = _home(repository, home)
    lease = Lease.take(place.lease(run_id), run_id, repository.common_dir)
    with contextlib.ExitStack() as undo:
        undo.callback(lease.release)
        git = repository.git().bound(holds=(lease,))
        refs.unlock(repository.common_dir, run_id)
        known = refs.load(git, run_id)
        if known is None and base is not None:
            known = _begun_again(repository, git, run_id, base, head or base, branch)
        if known is None:
            raise UsageError(
                f"the repository at {str(repository.root)!r} has no work of run {run_id}; start a new run"
            )
        refs.refuse_yours(git, run_id, known)
        last = head or known.last
        tip = last if action == "commit" else known.base
        known = refs.settle(git, run_id, known, last, tip=tip)
        clear_scratch(place, run_id)
        branch = refs.branch_of(run_id)
        worktree = admin.sound(repository.common_dir, place.worktree(run_id), branch)
        if worktree is None:
            worktree = _make(git, repository, run_id, place)
        workspace = GitWorkspace(
            repository,
            run_id,
            home=place,
            lease=lease,
            known=known,
            worktree=worktree,
            carry=carry,
            action=action,
        )
        workspace.begin()
        undo.pop_all()
        return workspace


def _begun_again(
    repository: Repository,
    git: Git,
    run_id: RunId,
    base: CommitId,
    head: CommitId,
    branch: str | None,
) -> RunRefs:
    """The refs of a run that was killed before they were whole; one that has closed a turn once had them."""
    if head != base:
        raise UsageError(
            f"the refs of run {run_id} are gone, although its ledger has turns, up to {head}: a `reject` was broken off; "
            f"`surefoot reject {run_id}` finishes it"
        )
    refs.refuse_in_the_way(git)
    found = refs.refs_of(git, run_id)
    onto = branch or repository.branch
    tip = found.get(refs.branch_of(run_id))
    left = RunRefs(
        base=base,
        tip=None if tip is None else CommitId(tip),
        branch=onto,
        turns={},
        accepted=None,
        onto=None,
    )
    refs.refuse_yours(git, run_id, left)
    refs.delete(git, found)
    return refs.create(git, run_id, base, onto, checkout=repository.git_dir)


def _home(repository: Repository, home: Path) -> Home:
    root = home.resolve()
    for folder in (repository.root, repository.git_dir, repository.common_dir):
        if root.is_relative_to(folder.resolve()):
            raise UsageError(
                f"{str(home)!r} lies inside the checkout {str(folder)!r}; keep worktrees in a folder outside it"
            )
    return Home(root=root)


def _left_out(path: str) -> tuple[str, str]:
    """Pathspecs that leave out a path and all below it.

    They begin with a wildcard character (a backslash is one): git takes a literal one that is ignored, although it
    excludes, for a wish to add an ignored file, and fails.
    """
    pattern = "\\" + re.sub(r"(?<!^)([*?\[\\])", r"\\\1", path)
    return f":(exclude,top,glob){pattern}", f":(exclude,top,glob){pattern}/**"


def _make(git: Git, repository: Repository, run_id: RunId, home: Home) -> admin.Worktree:
    branch = refs.branch_of(run_id).removeprefix("refs/heads/")
    admin.drop_begun(repository.common_dir, run_id)
    return admin.make(git, repository.common_dir, home.worktree(run_id), branch)


def _abandon(git: Git, repository: Repository, run_id: RunId, home: Home, lease: Lease) -> None:
    admin.drop(repository.common_dir, home.worktree(run_id))
    refs.delete(git, refs.refs_of(git, run_id))
    clear_scratch(home, run_id)
    lease.discard()


def with_trailers(message: str, trailers: Mapping[str, str]) -> str:
    """The whole text of a commit."""
    for key in trailers:
        if not _TRAILER.fullmatch(key):
            raise UsageError(f"{key!r} is not a trailer key; use letters, digits and hyphens")
    lines = "".join(f"{key}: {' '.join(value.split())}\n" for key, value in trailers.items())
    body = message.replace("\0", "").rstrip()
    return f"{body}\n\n{lines}" if lines else f"{body}\n"

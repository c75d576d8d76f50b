"""Looking at trees without a run: for reports, audits and verification."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from surefoot.gitops.carried import Carried
from surefoot.gitops.files import mended, parents, remove_tree
from surefoot.gitops.lease import Home, Lease
from surefoot.gitops.objects import Objects
from surefoot.gitops.refs import publish_head, published_head, unlock
from surefoot.gitops.repository import Repository
from surefoot.gitops.worktree_git import FULL, fill
from surefoot.values import Diff, RunId, TreeId
from surefoot.vocabulary import is_unicode


def tree_exists(repository: Repository, tree: TreeId) -> bool:
    """Whether git has the tree and every tree in it."""
    return repository.git().run("ls-tree", "-r", "-z", tree, ok=None).exit_code == 0


def tree_files(repository: Repository, tree: TreeId) -> tuple[str, ...]:
    """All paths of a tree, sorted."""
    return tuple(repository.git().run("ls-tree", "-r", "-z", "--name-only", tree).fields)


def text_files(repository: Repository, tree: TreeId) -> tuple[str, ...]:
    """Those of them that are UTF-8; no record and no plan can hold another."""
    return tuple(filter(is_unicode, tree_files(repository, tree)))


def publish_ledger_head(repository: Repository, run_id: RunId, head: str, home: Path) -> None:
    """As `refs.publish_head`, also where a git that was killed has left a lock, unless somebody uses the run of this `home`."""
    git = repository.git()
    lease = Lease.attempt(Home(root=home.resolve()).lease(run_id), repository.common_dir)
    if lease is None:
        publish_head(git, run_id, head)
        return
    try:
        unlock(repository.common_dir, run_id)
        publish_head(git.bound(holds=(lease,)), run_id, head)
    finally:
        lease.release()


def ledger_head(repository: Repository, run_id: RunId) -> str | None:
    """As `refs.published_head`."""
    return published_head(repository.git(), run_id)


def tree_diff(repository: Repository, before: TreeId, after: TreeId, scratch: Path) -> Diff | None:
    """What changed between two trees; None when git no longer has one of them."""
    if not (tree_exists(repository, before) and tree_exists(repository, after)):
        return None
    return Objects(repository.git(), scratch, len(before)).diff(before, after)


def untracked(repository: Repository, tree: TreeId, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of the paths of which a tree holds nothing, so that they can be carried beside it."""
    held = {place for path in tree_files(repository, tree) for place in (path, *parents(path))}
    return tuple(path for path in paths if path not in held)


class RepositoryTrees:
    """The `Trees` port over a repository, for what no run's worktree is there for.

    What `overlay` makes is an object that no ref holds. Checkouts hold their submodules, so tests can be run in them.
    """

    def __init__(self, repository: Repository, scratch: Path) -> None:
        self._repository, self._scratch = repository, scratch
        git = repository.git().bound(settings=FULL)
        self._objects = Objects(git, scratch, len(repository.tree))

    def close(self) -> None:
        """End the process that reads; reading again starts another."""
        self._objects.blobs.close()

    def diff(self, before: TreeId, after: TreeId) -> Diff:
        """As `Trees.diff`."""
        return self._objects.diff(before, after)

    def read(self, tree: TreeId, path: str) -> bytes | None:
        """As `Trees.read`."""
        return self._objects.read(tree, path)

    def files(self, tree: TreeId) -> tuple[str, ...]:
        """As `Trees.files`."""
        return self._objects.files(tree)

    def overlay(self, tree: TreeId, source: TreeId, paths: Sequence[str]) -> TreeId:
        """As `Trees.overlay`."""
        return self._objects.overlay(tree, source, paths)

    def checkout(self, tree: TreeId) -> contextlib.AbstractContextManager[Path]:
        """As `Trees.checkout`."""
        return tree_checkout(self._repository, tree, self._scratch)


def uncommitted(repository: Repository) -> tuple[str, ...]:
    """Paths of the user's checkout that differ from HEAD or are new; a new folder is one path, ignored ones are none."""
    shape = ("--porcelain", "-z", "--untracked-files=normal", "--no-renames")
    return tuple(field[3:] for field in repository.git().run("status", *shape).fields)


@contextlib.contextmanager
def tree_checkout(repository: Repository, tree: TreeId, scratch: Path) -> Iterator[Path]:
    """A directory under `scratch` that holds exactly `tree` and its submodules, gone afterwards."""
    with mended("make a checkout"):
        scratch.mkdir(parents=True, exist_ok=True)
        root = Path(tempfile.mkdtemp(dir=scratch, prefix="tree-"))
    try:
        objects = Objects(repository.git().bound(settings=FULL), scratch, len(tree))
        fill(objects, tree, root)
        Carried(repository, (), objects.gitlinks(tree), scratch).place(root)
        yield root
    finally:
        remove_tree(root)

"""Trees of the repository, without a run: whether one is there, how two differ, what one holds."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from surefoot.gitops.carried import Carried
from surefoot.gitops.files import mended, remove_tree
from surefoot.gitops.objects import Objects
from surefoot.gitops.repository import Repository
from surefoot.gitops.worktree_git import FULL, fill
from surefoot.values import Diff, TreeId


def tree_exists(repository: Repository, tree: TreeId) -> bool:
    """Whether the object store still holds a tree."""
    return repository.git().run("cat-file", "-e", f"{tree}^{{tree}}", ok=None).exit_code == 0


def tree_diff(repository: Repository, before: TreeId, after: TreeId, scratch: Path) -> Diff | None:
    """What changed between two trees; None when one of them is gone. `scratch` must exist."""
    if not tree_exists(repository, before) or not tree_exists(repository, after):
        return None
    return Objects(repository.git(), scratch, len(before)).diff(before, after)


@contextlib.contextmanager
def tree_checkout(repository: Repository, tree: TreeId, scratch: Path) -> Iterator[Path]:
    """A folder below `scratch` that holds exactly a tree and its submodules, gone afterwards."""
    git = repository.git().bound(settings=FULL)
    with mended("make a checkout"):
        root = Path(tempfile.mkdtemp(dir=scratch, prefix="tree-"))
    try:
        objects = Objects(git, scratch, len(tree))
        fill(objects, tree, root)
        Carried(repository, (), objects.gitlinks(tree), scratch).place(root)
        yield root
    finally:
        remove_tree(root)

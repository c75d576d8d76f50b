"""Looking at trees without a run: for reports, audits and verification."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from surefoot.gitops.files import mended, remove_tree
from surefoot.gitops.objects import Objects
from surefoot.gitops.repository import Repository
from surefoot.values import Diff, TreeId


def tree_exists(repository: Repository, tree: TreeId) -> bool:
    """Whether git has the tree and everything that it is made of."""
    found = repository.git().run("cat-file", "-t", tree, ok=None)
    if found.line != "tree":
        return False
    return repository.git().run("ls-tree", "-r", tree, ok=None).exit_code == 0


def tree_diff(repository: Repository, before: TreeId, after: TreeId, scratch: Path) -> Diff | None:
    """What changed between two trees; None when git no longer has one of them."""
    if not (tree_exists(repository, before) and tree_exists(repository, after)):
        return None
    return Objects(repository.git(), scratch, len(before)).diff(before, after)


@contextlib.contextmanager
def tree_checkout(repository: Repository, tree: TreeId, scratch: Path) -> Iterator[Path]:
    """A directory under `scratch` that holds exactly `tree`, gone afterwards."""
    root = scratch / f"tree-{tree[:12]}"
    try:
        with mended("make a checkout"):
            root.mkdir(parents=True)
        index = scratch / f"index-{tree[:12]}"
        git = repository.git().bound(
            cwd=root, variables={"GIT_WORK_TREE": root, "GIT_INDEX_FILE": index}
        )
        git.run("read-tree", "--reset", "-u", tree)
        index.unlink(missing_ok=True)
        yield root
    finally:
        remove_tree(root)

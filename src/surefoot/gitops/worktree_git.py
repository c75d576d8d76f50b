"""How git fills a worktree of ours: always whole, with modes and links, whatever suits the user's own disk."""

from pathlib import Path
from typing import Final

from surefoot.gitops.git import Git
from surefoot.gitops.objects import Objects
from surefoot.vocabulary import TreeId

FULL: Final = (
    "core.fileMode=true",
    "core.symlinks=true",
    "core.ignoreCase=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.ignoreStat=false",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "index.sparse=false",
)
"""Settings of a worktree that is not the user's."""


def read_tree(git: Git, tree: TreeId) -> None:
    """Make the index and the worktree that `git` is bound to hold `tree`."""
    git.run("read-tree", "--reset", "-u", tree)


def fill(objects: Objects, tree: TreeId, root: Path) -> None:
    """Write the files of a tree into an empty folder."""
    with objects.index() as git:
        read_tree(git.bound(cwd=root, variables={"GIT_WORK_TREE": root}), tree)

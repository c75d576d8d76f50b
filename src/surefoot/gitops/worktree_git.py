"""How git fills a worktree of ours: always whole, with modes and links, whatever suits the user's own disk."""

from pathlib import Path
from typing import Final

from surefoot.errors import EnvironmentBrokenError, GitError
from surefoot.gitops.git import Git
from surefoot.gitops.objects import Objects
from surefoot.values import TreeId

FULL: Final = (
    "core.fileMode=true",
    "core.symlinks=true",
    "core.ignoreCase=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "core.sparseCheckout=false",
    "core.splitIndex=false",
    "index.sparse=false",
)
"""Settings of a worktree that is not the user's."""


def read_tree(git: Git, tree: TreeId) -> None:
    """Make the index and the worktree that `git` is bound to hold `tree`.

    Raises:
        EnvironmentBrokenError: A filter does not run.
    """
    try:
        git.run("read-tree", "--reset", "-u", tree)
    except GitError as error:
        if "filter" not in error.stderr:
            raise
        raise EnvironmentBrokenError(
            f"a filter that the repository's attributes name does not run: {error.stderr.strip()!r}; "
            "install it, or take it out of the git configuration"
        ) from error


def fill(objects: Objects, tree: TreeId, root: Path) -> None:
    """Write the files of a tree into an empty folder."""
    with objects.index() as git:
        read_tree(git.bound(cwd=root, variables={"GIT_WORK_TREE": root}), tree)

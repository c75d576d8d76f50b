"""Git: the run's own worktree, atomic turns, acceptance, garbage collection (SPEC C6, promises 2 and 3)."""

from surefoot.gitops.accept import Accepted, Verify, accept, reject
from surefoot.gitops.collect import Collected, Removed, collect_garbage, remove_worktree
from surefoot.gitops.git import Git, check_git
from surefoot.gitops.manifest import manifest, quick_manifest
from surefoot.gitops.reading import (
    ledger_head,
    publish_ledger_head,
    tree_checkout,
    tree_diff,
    tree_exists,
    untracked,
)
from surefoot.gitops.repository import Repository
from surefoot.gitops.workspace import GitWorkspace, open_workspace, reopen_workspace

__all__ = [
    "Accepted",
    "Collected",
    "Git",
    "GitWorkspace",
    "Removed",
    "Repository",
    "Verify",
    "accept",
    "check_git",
    "collect_garbage",
    "ledger_head",
    "manifest",
    "open_workspace",
    "publish_ledger_head",
    "quick_manifest",
    "reject",
    "remove_worktree",
    "reopen_workspace",
    "tree_checkout",
    "tree_diff",
    "tree_exists",
    "untracked",
]

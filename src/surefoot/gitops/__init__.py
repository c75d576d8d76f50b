"""Git: the run's own worktree, atomic turns, acceptance, garbage collection (SPEC C6, promises 2 and 3)."""

from surefoot.gitops.accept import Accepted, Piece, Verify, accept, reject
from surefoot.gitops.collect import (
    Collected,
    Removed,
    collect_garbage,
    is_held,
    remove_run,
    remove_worktree,
)
from surefoot.gitops.git import Git, check_git
from surefoot.gitops.history import (
    CommitFacts,
    RecordedTrees,
    changed_object,
    fill_checkout,
    make_repository,
    objects_of,
    pack_of,
    read_commit,
    refs_of_run,
    run_refs,
)
from surefoot.gitops.lease import is_alive, process_mark
from surefoot.gitops.manifest import manifest, quick_manifest
from surefoot.gitops.push import push_branch
from surefoot.gitops.reading import (
    ledger_head,
    publish_ledger_head,
    tree_checkout,
    tree_diff,
    tree_exists,
    tree_files,
    untracked,
)
from surefoot.gitops.refs import RunRefs
from surefoot.gitops.repository import Repository
from surefoot.gitops.workspace import (
    GitWorkspace,
    open_workspace,
    reopen_workspace,
    with_trailers,
)

__all__ = [
    "Accepted",
    "Collected",
    "CommitFacts",
    "Git",
    "GitWorkspace",
    "Piece",
    "RecordedTrees",
    "Removed",
    "Repository",
    "RunRefs",
    "Verify",
    "accept",
    "changed_object",
    "check_git",
    "collect_garbage",
    "fill_checkout",
    "is_alive",
    "is_held",
    "ledger_head",
    "make_repository",
    "manifest",
    "objects_of",
    "open_workspace",
    "pack_of",
    "process_mark",
    "publish_ledger_head",
    "push_branch",
    "quick_manifest",
    "read_commit",
    "refs_of_run",
    "reject",
    "remove_run",
    "remove_worktree",
    "reopen_workspace",
    "run_refs",
    "tree_checkout",
    "tree_diff",
    "tree_exists",
    "tree_files",
    "untracked",
    "with_trailers",
]

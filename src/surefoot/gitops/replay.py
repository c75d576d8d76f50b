"""The same work on another commit: a three-way merge of trees, without a worktree."""

from surefoot.gitops.git import Git
from surefoot.values import Merged, TreeId


def replay(git: Git, *, base: TreeId, work: TreeId, onto: TreeId) -> Merged:
    """Apply what `work` changed against `base` to `onto`.

    Git finds a merge base through history, and the user may have rewritten his: commits made for the purpose say that
    the base is `base`.
    """
    dated = git.bound(variables={"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"})
    root = dated.run("commit-tree", base, stdin=b"base\n").line
    ours = dated.run("commit-tree", onto, "-p", root, stdin=b"onto\n").line
    theirs = dated.run("commit-tree", work, "-p", root, stdin=b"work\n").line
    merged = git.run(
        "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs, ok=(0, 1)
    )
    tree, *conflicts = merged.fields
    return Merged(tree=TreeId(tree), conflicts=tuple(sorted(set(conflicts))))

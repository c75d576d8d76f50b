"""A commit as the user would make it, hooks, identity and signing included, without touching the user's checkout.

The hooks that may refuse or edit run in a worktree that holds the finished tree, with HEAD on the user's branch and
the ignored paths that the run was given. The branch does not move: the commit is written, nothing points to it.
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import AcceptError, GitError
from surefoot.gitops import admin
from surefoot.gitops.carried import Carried
from surefoot.gitops.files import mended, remove_tree
from surefoot.gitops.git import Git
from surefoot.gitops.objects import Objects
from surefoot.gitops.repository import Repository
from surefoot.gitops.worktree_git import FULL, read_tree
from surefoot.vocabulary import CommitId, TreeId

_ASKED: Final = ("pre-commit", "prepare-commit-msg", "commit-msg")
_TAIL: Final = 400
"""Characters of a hook's output that go into the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A commit to be made."""

    tree: TreeId
    parent: CommitId
    branch: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The commit that was made; its tree differs from the wanted one when a hook edited it."""

    commit: CommitId
    tree: TreeId


def commit_as_user(
    repository: Repository, wanted: Wanted, *, folder: Path, carry: Sequence[str]
) -> Made:
    """Make the commit. `folder` is for the hooks' worktree; nothing is left in it.

    Raises:
        AcceptError: A hook refuses, or the commit cannot be written (identity, signing).
    """
    user = repository.user_git()
    hooks = repository.root / user.run("rev-parse", "--git-path", "hooks").line
    if not any(os.access(hooks / name, os.X_OK) for name in _ASKED):
        return _commit(user, wanted, wanted.tree, wanted.message)
    try:
        worktree = _worktree(repository, wanted, folder, carry)
        tree, message = _ask(repository, wanted, worktree, hooks)
    finally:
        clear(repository, folder)
    return _commit(user, wanted, tree, message)


def clear(repository: Repository, folder: Path) -> None:
    """Remove what lies in the folder, also after a kill."""
    admin.drop(repository.common_dir, folder / "tree")
    remove_tree(folder)


def run_post_commit(repository: Repository) -> None:
    """Tell the user's post-commit hook, in his checkout; git ignores its answer, and so do we."""
    repository.user_git().run_hook("post-commit")


def _worktree(
    repository: Repository, wanted: Wanted, folder: Path, carry: Sequence[str]
) -> admin.Worktree:
    clear(repository, folder)
    with mended("make a worktree for the hooks"):
        folder.mkdir(parents=True)
    git = repository.git()
    path = folder / "tree"
    worktree = admin.make(git, repository.common_dir, path, "--detach", wanted.parent)
    bound = git.bound(
        cwd=path,
        variables={"GIT_DIR": worktree.git_dir, "GIT_WORK_TREE": path},
        settings=FULL,
    )
    bound.run("symbolic-ref", "HEAD", wanted.branch)
    read_tree(bound, wanted.tree)
    objects = Objects(bound, folder, len(wanted.parent))
    Carried(repository, carry, objects.gitlinks(wanted.tree), folder).place(path)
    return worktree


def _ask(
    repository: Repository, wanted: Wanted, worktree: admin.Worktree, hooks: Path
) -> tuple[TreeId, str]:
    """Run the hooks; the tree and the message that they leave."""
    index = {"GIT_INDEX_FILE": worktree.git_dir / "index"}
    user = Git.as_user(worktree.path, repository.env).bound(
        variables={**index, "GIT_EDITOR": ":"}, settings=(f"core.hooksPath={hooks}",)
    )
    plain = repository.git().bound(
        cwd=worktree.path,
        variables={"GIT_DIR": worktree.git_dir, "GIT_WORK_TREE": worktree.path, **index},
        settings=FULL,
    )
    linked = _link_environments(repository.root, worktree.path)
    if (refusal := _hook(user, "pre-commit")) is not None:
        # A formatter edits the files and refuses; people add its edits and commit again. Once.
        before = plain.run("write-tree").line
        plain.run("add", "-u")
        if plain.run("write-tree").line != before:
            refusal = _hook(user, "pre-commit")
    message_file = worktree.git_dir / "COMMIT_EDITMSG"
    with mended("write the commit message"):
        message_file.write_text(wanted.message, encoding="utf-8", errors="replace")
    name = str(message_file)
    refusal = refusal or _hook(user, "prepare-commit-msg", name, "message")
    refusal = refusal or _hook(user, "commit-msg", name)
    if refusal is not None:
        raise AcceptError(refusal)
    if linked:
        # A rule for a folder does not hide a link, which a hook may have added with all else.
        plain.run("rm", "-q", "--cached", "--ignore-unmatch", "--", *linked)
    tree = TreeId(plain.run("write-tree").line)
    return tree, message_file.read_text(encoding="utf-8", errors="replace")


def _link_environments(root: Path, tree: Path) -> list[str]:
    """Links to the checkout's virtual environments, whose programs hooks call by `.venv/bin`; their names."""
    with mended("link your environments for the hooks"):
        names = [
            place.name
            for place in sorted(root.iterdir())
            if (place / "pyvenv.cfg").is_file() and not os.path.lexists(tree / place.name)
        ]
        for name in names:
            (tree / name).symlink_to(root / name)
    return names


def _hook(user: Git, name: str, *args: str) -> str | None:
    """Run one hook; None when it agrees or there is none, else what to tell."""
    with mended(f"run your {name} hook"), tempfile.TemporaryFile() as said:
        if user.run_hook(name, *args, said=said) == 0:
            return None
        said.seek(0)
        told = said.read().decode("utf-8", "replace").strip()[-_TAIL:]
    return f"your {name} hook refuses the work: {told!r}; nothing was changed, mend that and accept again"


def _commit(user: Git, wanted: Wanted, tree: TreeId, message: str) -> Made:
    text = user.run("stripspace", stdin=message.encode("utf-8", "replace")).stdout
    if not text.strip():
        raise AcceptError("the commit message is empty after your hooks; nothing was changed")
    signed = user.run("config", "--type=bool", "commit.gpgSign", ok=(0, 1)).line == "true"
    sign = ("-S",) if signed else ()
    try:
        commit = user.run("commit-tree", tree, "-p", wanted.parent, *sign, "-F", "-", stdin=text)
    except GitError as error:
        raise AcceptError(
            f"git cannot write the commit in your name: {error.stderr.strip()[-_TAIL:]!r}; "
            "nothing was changed, mend the identity or signing settings and accept again"
        ) from error
    return Made(commit=CommitId(commit.line), tree=tree)

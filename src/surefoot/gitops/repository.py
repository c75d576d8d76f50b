"""The user's repository, as it is found; nothing here writes."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from surefoot.errors import RepositoryError
from surefoot.gitops.git import Git, Output, check_git
from surefoot.gitops.lease import is_worktree
from surefoot.gitops.refs import BRANCHES, branch_of, kept, load, refs_of
from surefoot.vocabulary import CommitId, RunId, TreeId

_DETACHED: Final = "HEAD"
_DISTRUSTED: Final = re.compile(r"repository at '(.*?)'\n", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A checkout, as it was when it was discovered; a run can start from it where a branch is checked out."""

    root: Path
    """Top of the user's checkout; the main one or a linked worktree."""
    git_dir: Path
    """Git folder of this checkout (index, HEAD)."""
    common_dir: Path
    """Git folder that all checkouts share (objects, refs, configuration)."""
    head: CommitId
    tree: TreeId
    branch: str
    """Full name of the branch that is checked out, e.g. `refs/heads/main`; `HEAD` where none is."""
    dirty: bool
    """Something differs from HEAD: changed, staged, or new and not ignored. A run starts from HEAD and does not see it."""
    env: Mapping[str, str] = field(repr=False)
    """What git is called with; see `Git`."""

    @classmethod
    def discover(cls, path: Path, env: Mapping[str, str] | None = None) -> Self:
        """The repository around `path`. `env` is the user's environment (None: this process's own).

        Raises:
            RepositoryError: There is none, or nothing is committed there.
            EnvironmentBrokenError: Git is missing or too old.
        """
        shell = dict(os.environ if env is None else env)
        check_git(shell)
        git = Git(_readable(path), shell)
        root, git_dir, common_dir = _folders(git, path)
        head, tree, branch = _head(git)
        if is_worktree(root, branch):
            raise RepositoryError(
                f"this is the worktree of a run ({branch!r}); run in your own checkout instead"
            )
        return cls(
            root=root,
            git_dir=git_dir,
            common_dir=common_dir,
            head=head,
            tree=tree,
            branch=branch,
            dirty=bool(git.bound(cwd=root).run("status", "--porcelain", "-unormal").stdout),
            env=shell,
        )

    def require_branch(self) -> None:
        """Refuse where work would have no branch of the user's to go to.

        Raises:
            RepositoryError: HEAD is detached, or on the branch of a run.
        """
        if self.branch == _DETACHED:
            raise RepositoryError(
                "HEAD is detached, so there is no branch to put the work on; run `git switch -c NAME` first"
            )
        if self.branch.startswith(BRANCHES):
            self.refuse_branch_of(RunId(self.branch.removeprefix(BRANCHES)))

    def refuse_branch_of(self, run_id: RunId) -> None:
        """Refuse where the branch of this run is checked out, to be looked at: the run alone moves it.

        Raises:
            RepositoryError: It is.
        """
        git = self.git()
        # Without such a ref it is a branch of the user's, and what its name ends in may be no run id.
        if self.branch != branch_of(run_id) or kept(run_id, "run") not in refs_of(git, run_id):
            return
        known = load(git, run_id)
        back = known.branch.removeprefix("refs/heads/") if known else "NAME"
        raise RepositoryError(
            f"the branch of run {run_id} is checked out here; run `git switch {back}` first"
        )

    def is_tracked(self, path: str) -> bool:
        """Whether git tracks a path of the checkout, or anything below it; where git cannot say, too."""
        found = self.git().run("ls-files", "-z", "--", f":(literal){path}", ok=None)
        return found.exit_code != 0 or bool(found.stdout)

    def git(self) -> Git:
        """Hardened git on the user's checkout, bound to its folders so that nothing is looked for."""
        return Git(self.root, self.env).bound(
            variables={"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.root}
        )

    def user_git(self) -> Git:
        """Git as the user would call it in the checkout."""
        return Git.as_user(self.root, self.env)


def _readable(path: Path) -> Path:
    try:
        with os.scandir(path):
            pass
        return path.resolve()
    except OSError as error:
        raise RepositoryError(
            f"{str(path)!r} cannot be read ({error.strerror}); name the folder of a git checkout"
        ) from error


def _folders(git: Git, path: Path) -> tuple[Path, Path, Path]:
    """Root, own git folder and common git folder of the checkout around `path`."""
    kinds = ("--is-bare-repository", "--is-inside-git-dir", "--is-inside-work-tree")
    places = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    answer = git.run("rev-parse", "--path-format=absolute", *kinds, *places, ok=None)
    lines = answer.line.split("\n")
    if len(lines) < len(kinds):
        raise _unusable(path, answer)
    if lines[2] != "true":
        raise _no_checkout(path, bare=lines[0] == "true", inside_git=lines[1] == "true")
    if len(lines) == len(kinds) + len(places):
        found = lines[len(kinds) :]
    else:  # a folder with a newline in its name
        found = [git.run("rev-parse", "--path-format=absolute", p).line for p in places]
    root, git_dir, common_dir = (Path(line) for line in found)
    return root, git_dir, common_dir


def _no_checkout(path: Path, *, bare: bool, inside_git: bool) -> RepositoryError:
    if bare:
        return RepositoryError(
            f"{str(path)!r} is a bare repository without files to work on; clone it and run in the clone"
        )
    if inside_git:
        return RepositoryError(
            f"{str(path)!r} lies inside git's own folder; run in the checkout that it belongs to"
        )
    return RepositoryError(f"{str(path)!r} has no checkout; run in a folder that git checked out")


def _unusable(path: Path, answer: Output) -> RepositoryError:
    if "dubious ownership" in answer.stderr:
        # Git trusts only the folder that it names itself, by its whole path.
        named = _DISTRUSTED.search(answer.stderr)
        folder = named[1] if named else str(path.resolve())
        return RepositoryError(
            f"git does not trust {folder!r} because another user owns it; "
            f"run `git config --global --add safe.directory {shlex.quote(folder)}`"
        )
    if "not a git repository" in answer.stderr:
        return RepositoryError(
            f"{str(path)!r} is not inside a git repository; run `git init` and commit, or name another folder"
        )
    return RepositoryError(
        f"git cannot use the repository at {str(path)!r}: {answer.stderr.strip()!r}; mend that first"
    )


def _head(git: Git) -> tuple[CommitId, TreeId, str]:
    """Commit, tree and branch (full name, `HEAD` for none) that are checked out."""
    # Not `rev-parse --symbolic-full-name`, which says nothing where another ref is called HEAD, too.
    branch = git.run("symbolic-ref", "-q", "HEAD", ok=None).line or _DETACHED
    answer = git.run("rev-parse", "HEAD^{commit}", "HEAD^{tree}", ok=None)
    if answer.exit_code == 0:
        commit, tree = answer.line.split("\n")
        return CommitId(commit), TreeId(tree), branch
    if git.run("rev-parse", "--verify", "--quiet", "HEAD", ok=None).exit_code != 0:
        raise RepositoryError(
            "the repository has no commit yet; run `git add -A` and `git commit` first"
        )
    raise RepositoryError(
        f"git cannot read the last commit of {branch!r}: {answer.stderr.strip()!r}; run `git fsck`"
    )

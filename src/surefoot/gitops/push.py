"""Puts a run's branch onto a remote, and looks whether it is there (SPEC C6). Nothing else is ever pushed."""

from typing import Final

from surefoot.errors import EnvironmentBrokenError, GitError
from surefoot.gitops.git import Git
from surefoot.gitops.refs import branch_of
from surefoot.gitops.repository import Repository
from surefoot.vocabulary import CommitId, RunId

_QUIET: Final = (
    "core.hooksPath=/dev/null",
    "http.lowSpeedLimit=1",  # a server that falls silent ends the push, not the run
    "http.lowSpeedTime=60",
)
_CREDENTIALS: Final = ("GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT")
"""Variables that lead to the user's."""
_ALONE: Final = ("--no-verify", "--no-follow-tags", "--recurse-submodules=no")
_SSH: Final = "ssh -o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=20"


def push_branch(repository: Repository, run_id: RunId, commit: CommitId) -> str:
    """Make the run's branch `commit` on the remote that the user's branch is pushed to; why it is not, in words, or empty.

    The user's credentials are used, those that a program of his environment gives included; git asks nobody for any, and
    no hook of the user runs.
    """
    name = branch_of(run_id)
    try:
        git = _git(repository)
        remote = _remote(repository, git)
        if remote == ".":
            branch = repository.branch.removeprefix("refs/heads/")
            return (
                f"{branch} follows a branch of this repository, so there is no remote to push to; "
                f"name one with `git config branch.{branch}.pushRemote NAME`"
            )
        # Forced: the branch is the run's alone, and a turn that was killed is done again.
        push = (remote, f"+{commit}:{name}")
        git.run("push", "--quiet", *_ALONE, *push)
        # Asked as a push, and not with `ls-remote`, which looks where the remote is fetched from.
        again = git.run("push", "--dry-run", "--porcelain", *_ALONE, *push).line
    except (GitError, EnvironmentBrokenError) as error:
        return _said(error)
    flags = {line[0] for line in again.splitlines() if line[1:2] == "\t"}
    return "" if flags == {"="} else f"{remote} does not have {commit} at {name} after the push"


def _git(repository: Repository) -> Git:
    given = {name: repository.env[name] for name in _CREDENTIALS if name in repository.env}
    git = repository.user_git().bound(variables=given, settings=_QUIET)
    if given.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"}:
        return git
    own_ssh = git.run("config", "core.sshCommand", ok=(0, 1)).line
    return git if own_ssh else git.bound(variables={"GIT_SSH_COMMAND": _SSH})


def _remote(repository: Repository, git: Git) -> str:
    """Where the user's own `git push` goes from his branch, in git's order (git-config(1), `remote.pushDefault`)."""
    branch = repository.branch.removeprefix("refs/heads/")
    names = (f"branch.{branch}.pushRemote", "remote.pushDefault", f"branch.{branch}.remote")
    found = (git.run("config", name, ok=(0, 1)).line for name in names)
    return next(filter(None, found), "origin")


def _said(error: GitError | EnvironmentBrokenError) -> str:
    """What git said, without the address, which can hold a password."""
    told = error.stderr if isinstance(error, GitError) else str(error)
    lines = [line for line in told.splitlines() if line.strip() and "://" not in line]
    return "; ".join(line.strip() for line in lines[-3:]) or "git push failed"

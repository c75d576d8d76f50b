"""Small git repositories for cases and patients."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from surefoot.events.orchestration import RunOpened
from surefoot.gitops import Repository
from surefoot.values import Digest, Issue, TreeId

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Bench",
    "GIT_AUTHOR_EMAIL": "bench@bench.invalid",
    "GIT_COMMITTER_NAME": "Bench",
    "GIT_COMMITTER_EMAIL": "bench@bench.invalid",
    "GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}


def git(root: Path, *argv: str) -> str:
    """What git prints; `CalledProcessError` when it fails. The user's configuration plays no part."""
    done = subprocess.run(
        ["git", *argv],
        cwd=root,
        env={**_IDENTITY, "HOME": str(root)},
        check=True,
        capture_output=True,
    )
    return done.stdout.decode(errors="replace")


def commit_all(root: Path) -> None:
    """Make the folder a repository whose one commit holds all its files, ignored ones left out."""
    git(root, "init", "--quiet", "--template=", "--initial-branch=main")
    git(root, "config", "user.name", "Bench")
    git(root, "config", "user.email", "bench@bench.invalid")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--no-verify", "--message", "base")


def opened(repository: Repository, issue: Issue, *, model: str = "scripted") -> RunOpened:
    """The first event of a run that is put together by hand, with the product's own parts and no settings."""
    return RunOpened(
        issue=issue,
        mode="auto_solve_full",
        model=model,
        repo=str(repository.root),
        branch=repository.branch,
        base=repository.head,
        base_tree=TreeId(repository.tree),
        settings=Digest("0" * 64),
        seed=0,
        version="0",
    )


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write files below `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

"""A git repository in a folder of its own, with a user who has settings, for tests that need the real thing."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchRepository:
    """A checkout at `root`; git reads no settings of the machine it runs on, only those below `folder`."""

    folder: Path
    root: Path
    env: Mapping[str, str]

    @classmethod
    def create(cls, folder: Path, path: str, *options: str) -> Self:
        """Make an empty repository on branch `main` in `folder/checkout`. `path` is PATH; `options` go to `git init`."""
        home = folder / "user"
        home.mkdir(parents=True)
        (home / ".gitconfig").write_text(
            "[user]\nname = Ursula User\nemail = ursula@example.org\n"
            '[protocol "file"]\nallow = always\n'
        )
        env = {"PATH": path, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
        scratch = cls(folder=folder, root=folder / "checkout", env=env)
        scratch.root.mkdir()
        scratch.git("init", "--quiet", "--initial-branch=main", *options)
        return scratch

    @property
    def home(self) -> Path:
        """Where worktrees of runs may go: outside the checkout, and not there yet."""
        return self.folder / "worktrees"

    def at(self, root: Path) -> Self:
        """The same user in another folder."""
        return type(self)(folder=self.folder, root=root, env=self.env)

    def git(self, *args: str, stdin: bytes = b"") -> str:
        """Run git as the user; standard output without the last newline, names as Python spells them."""
        done = subprocess.run(
            ["git", *args],  # noqa: S607  # PATH is the caller's
            cwd=self.root,
            env=dict(self.env),
            input=stdin,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files of the checkout; None removes one."""
        for name, content in files.items():
            path = self.root / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "change") -> str:
        """Write files, commit everything that is not ignored, and return the commit's id."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--no-verify", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def hook(self, name: str, script: str) -> Path:
        """Install a hook, a shell script without its first line."""
        path = Path(self.git("rev-parse", "--git-path", f"hooks/{name}"))
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

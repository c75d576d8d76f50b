"""Runs git so that neither the repository nor the environment can change what a command means.

Every command of a run goes through `Git`: hooks, the file system monitor, automatic maintenance, signing and prompts
are off, and no `GIT_*` variable of the caller reaches it except the few that say where the user's configuration is.
Filters, attributes and ignore rules stay the user's. `Git.as_user` is the exception that `accept` needs.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Protocol, Self

from surefoot.errors import DiskError, EnvironmentBrokenError, GitError, RepositoryError

MINIMUM: Final = (2, 38)
"""`git merge-tree --write-tree`, with which a moved branch is replayed, came in 2.38."""

_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "core.logAllRefUpdates=false",
    "core.fsync=objects,reference",  # a commit that the ledger names survives a power loss
    "core.safecrlf=false",  # a warning for people; as an error it would end a turn
    "add.ignoreErrors=false",
    "submodule.recurse=false",
    "worktree.useRelativePaths=false",  # else git 2.48 changes the format of the user's repository
    "i18n.commitEncoding=UTF-8",
    "advice.addEmbeddedRepo=false",
)
_CONFIGURATION: Final = frozenset(
    {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_LFS_SKIP_SMUDGE"}
)
_IDENTITY: Final = frozenset(
    {
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
    }
)
EMAIL: Final = "surefoot@localhost"
"""Of the author and committer of a run's commits."""
_FIXED: Final[Mapping[str, str]] = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
    "GIT_AUTHOR_NAME": "Surefoot",
    "GIT_AUTHOR_EMAIL": EMAIL,
    "GIT_COMMITTER_NAME": "Surefoot",
    "GIT_COMMITTER_EMAIL": EMAIL,
}
_MACHINE: Final = (
    "No space left on device",
    "Read-only file system",
    "Disk quota exceeded",
    "insufficient permission for adding an object",
)

_FILTER: Final = re.compile(r"(?:external|clean|smudge) filter .* failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How a git command ended."""

    exit_code: int
    """Negative when a signal ended it."""
    stdout: bytes
    stderr: str

    @property
    def line(self) -> str:
        """Standard output without its last newline; bytes that are not UTF-8 become surrogates."""
        return decode(self.stdout.removesuffix(b"\n"))

    @property
    def fields(self) -> list[str]:
        """Standard output, split at its NUL terminators."""
        return [decode(field) for field in self.stdout.split(b"\0")[:-1]]


def decode(name: bytes) -> str:
    """A name as Python's file functions spell it."""
    return name.decode("utf-8", "surrogateescape")


def encode(name: str) -> bytes:
    """The bytes behind such a name."""
    return name.encode("utf-8", "surrogateescape")


class Held(Protocol):
    """Something whose descriptor git commands keep open, such as a lease."""

    @property
    def fd(self) -> int:
        """The descriptor; negative when it was let go."""
        ...


class Git:
    """One way of calling git: a folder, an environment and settings. Immutable; `bound` gives variants."""

    __slots__ = ("_base", "_holds", "_settings", "_variables", "cwd")

    def __init__(self, cwd: Path, env: Mapping[str, str] | None = None) -> None:
        """Take `env` (None: this process's own) as what the user's shell would give to git."""
        self.cwd = cwd
        self._base: Mapping[str, str] = dict(os.environ if env is None else env)
        self._variables: Mapping[str, str] = {
            **{k: v for k, v in self._base.items() if _passes(k, _CONFIGURATION)},
            **_FIXED,
        }
        self._settings: tuple[str, ...] = _SETTINGS
        self._holds: tuple[Held, ...] = ()

    @classmethod
    def as_user(cls, cwd: Path, env: Mapping[str, str] | None = None) -> Self:
        """Git with the user's hooks, signing, identity and language; only the repository is still fixed by `cwd`."""
        git = cls(cwd, env)
        git._variables = {
            **{k: v for k, v in git._base.items() if _passes(k, _CONFIGURATION | _IDENTITY)},
            "GIT_TERMINAL_PROMPT": "0",
        }
        git._settings = ("i18n.commitEncoding=UTF-8",)
        return git

    def bound(
        self,
        *,
        cwd: Path | None = None,
        variables: Mapping[str, str | Path] | None = None,
        settings: Sequence[str] = (),
        holds: Sequence[Held] = (),
    ) -> "Git":
        """The same with another folder, more variables, more settings, or more that its processes hold."""
        other = object.__new__(Git)
        other.cwd = cwd or self.cwd
        other._base = self._base
        other._variables = {
            **self._variables,
            **{k: str(v) for k, v in (variables or {}).items()},
        }
        other._settings = (*self._settings, *settings)
        other._holds = (*self._holds, *holds)
        return other

    @property
    def env(self) -> Mapping[str, str]:
        """The whole environment of its processes."""
        return self._variables

    def argv(self, *args: str) -> list[bytes]:
        """The command line, settings included."""
        settings = [part for setting in self._settings for part in ("-c", setting)]
        return [encode(part) for part in ("git", *settings, *args)]

    def run(self, *args: str, stdin: bytes = b"", ok: Sequence[int] | None = (0,)) -> Output:
        """Run to the end. `ok` holds the exit codes that are answers; None takes any.

        Raises:
            GitError: Another exit code, or a signal.
            EnvironmentBrokenError: No git, no space, nothing writable, a filter that does not run.
        """
        try:
            done = subprocess.run(
                self.argv(*args),
                cwd=self.cwd,
                env=self._variables,
                input=stdin or None,
                stdin=None if stdin else subprocess.DEVNULL,
                capture_output=True,
                check=False,
                pass_fds=[held.fd for held in self._holds if held.fd >= 0],
            )
        except OSError as error:
            raise self._cannot_start(error) from error
        stderr = done.stderr.decode("utf-8", "replace")
        if ok is not None and done.returncode not in ok:
            raise _failure(("git", *args), done.returncode, stderr)
        return Output(exit_code=done.returncode, stdout=done.stdout, stderr=stderr)

    def run_hook(self, name: str, *args: str, said: IO[bytes] | None = None) -> int:
        """Run a hook of the user's, which says what it has to say into `said`; its exit code, 0 when there is none.

        What it has started may go on and keep its output open: that is not waited for, as with git itself.

        Raises:
            EnvironmentBrokenError: No git.
        """
        output = subprocess.DEVNULL if said is None else said
        try:
            return subprocess.run(
                self.argv("hook", "run", "--ignore-missing", name, "--", *args),
                cwd=self.cwd,
                env=self._variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
            ).returncode
        except OSError as error:
            raise self._cannot_start(error) from error

    def _cannot_start(self, error: OSError) -> Exception:
        if shutil.which("git", path=self._variables.get("PATH", os.defpath)) is None:
            return EnvironmentBrokenError(
                f"git is not installed or not on PATH; install git {_dotted(MINIMUM)} or newer"
            )
        return RepositoryError(
            f"git cannot work in {str(self.cwd)!r} ({error.strerror}); name a folder that exists and can be read"
        )


def check_git(env: Mapping[str, str] | None = None) -> str:
    """The version of the git on PATH, e.g. `2.39.5`.

    Raises:
        EnvironmentBrokenError: There is none, or it is older than `MINIMUM`.
    """
    text = Git(Path("/"), env).run("version").line
    found = re.search(r"\d+(?:\.\d+)+", text)
    version = found.group() if found else "0"
    if tuple(int(part) for part in version.split(".")[:2]) < MINIMUM:
        raise EnvironmentBrokenError(
            f"git says {text!r}, but {_dotted(MINIMUM)} or newer is needed (merge-tree --write-tree); update git"
        )
    return version


def _passes(name: str, wanted: frozenset[str]) -> bool:
    return not name.startswith("GIT_") or name in wanted


def _dotted(version: Sequence[int]) -> str:
    return ".".join(str(part) for part in version)


def _failure(argv: tuple[str, ...], exit_code: int, stderr: str) -> Exception:
    for reason in _MACHINE:
        if reason in stderr:
            return DiskError(
                f"`git {argv[1]}` cannot write: {reason}; free space or make the disk writable, then resume"
            )
    if _FILTER.search(stderr):
        return EnvironmentBrokenError(
            f"a filter that the repository's attributes name does not run: {stderr.strip()!r}; "
            "install it, or take it out of the git configuration"
        )
    return GitError(argv, exit_code, stderr)

"""`shell`: one command line inside the sandbox; what it changed is read from the worktree, not from what it says."""

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from surefoot.errors import GitError
from surefoot.kernel.ports import Processes, Workspace
from surefoot.toolbox.bounds import OUTPUT_CHARACTERS, clean, clip, clip_lines, hidden
from surefoot.toolbox.specs import failed, number, spec, text
from surefoot.values import Command, Limits, ProcessResult, ToolOutcome, ToolSpec, TreeId

SHELL_LIMITS: Final = Limits(wall_s=600, cpu_s=600)
"""`wall_s` is the longest that a call may ask for."""
_PATIENCE_S: Final = 60
_ROOM: Final = OUTPUT_CHARACTERS - 1_500
"""For output and errors together; the rest is for exit code, headings and changed files."""
_SHARE: Final = _ROOM // 3
"""Of standard error, where both streams are long."""
_CHANGED_CHARACTERS: Final = 1_000
_NOT_RUN: Final[Mapping[int, str]] = {
    126: "a program of the command was found and cannot be executed",
    127: "a program of the command was not found",
}
"""What the shell means by an exit code (POSIX, 2.8.2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelter:
    """What commands get beside the worktree, which they may write, except for `.git`."""

    env: Mapping[str, str]
    """Their whole environment, but for HOME and TMPDIR, which are scratch."""
    reads: tuple[Path, ...] = ()
    """E.g. the project's own interpreter and packages."""
    binds: tuple[tuple[Path, Path], ...] = ()
    """As `Command.binds`."""
    limits: Limits = SHELL_LIMITS


class Shell:
    """Runs `/bin/sh -c`, without network.

    A command that came to its end is ok, whatever its exit code says of its work; one that could not be run is not.
    """

    def __init__(
        self, processes: Processes, shelter: Shelter, redact: Callable[[str], str] = str
    ) -> None:
        """`redact` hides secrets in what a command says."""
        self._processes, self._shelter, self._redact = processes, shelter, redact
        longest = max(1, int(shelter.limits.wall_s))
        self._default_s = min(_PATIENCE_S, longest)
        self._spec = spec(
            "shell",
            "Run a shell command at the root of the repository, e.g. the project's tests; long output is cut in the middle; there is no network "
            "and no git repository. "
            f"It is ended after {self._default_s} s unless timeout_s says otherwise.",
            "run",
            parameters={
                "command": {"type": "string", "minLength": 1},
                "timeout_s": {"type": "integer", "minimum": 1, "maximum": longest},
            },
            required=("command",),
            example={"command": "python -m pytest -q tests/test_agenda.py"},
        )

    @property
    def spec(self) -> ToolSpec:
        """As `Tool.spec`."""
        return self._spec

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        """As `Tool.run`."""
        line = text(parameters, "command") or ""
        if "\0" in line:
            return failed(
                "a command cannot hold a zero byte; write it as an escape, e.g. printf '\\0'"
            )
        limit_s = number(parameters, "timeout_s") or self._default_s
        before = _tree(workspace)
        result = self._processes.run(
            Command(
                argv=("/bin/sh", "-c", line),
                cwd=workspace.path,
                env=self._shelter.env,
                reads=self._shelter.reads,
                writes=(workspace.path,),
                binds=self._shelter.binds,
                limits=replace(self._shelter.limits, wall_s=limit_s),
            )
        )
        shown, error = _said(hidden(result, self._redact)), _ended_early(result, limit_s)
        after = _tree(workspace)
        if isinstance(after, GitError):
            # What it did cannot be told, which is no reason to keep back what it said.
            return replace(failed(after, output=shown), exit_code=result.exit_code)
        # Where the worktree could not be read before, this command has mended it: all that the turn did is told.
        start = workspace.head[1] if isinstance(before, GitError) else before
        changed = workspace.diff(start, after).paths if start != after else ()
        return ToolOutcome(
            ok=not error,
            output=f"{shown}\n{_listed(changed)}",
            error=error,
            exit_code=result.exit_code,
            changed=changed,
        )


def _tree(workspace: Workspace) -> TreeId | GitError:
    try:
        return workspace.snapshot()
    except GitError as error:
        return error


def _ended_early(result: ProcessResult, limit_s: float) -> str:
    if result.timed_out:
        return (
            f"the command did not end within {limit_s:g} s and was ended; give a larger timeout_s, "
            "or do less; a server cannot be left running"
        )
    if result.exit_code is None:
        cause = "a limit" if result.signal is None else signal.strsignal(result.signal)
        return (
            f"the command was ended ({cause}), as happens over a limit of time, memory or file size"
        )
    return _NOT_RUN.get(result.exit_code, "")


def _said(result: ProcessResult) -> str:
    out, err = (
        clean(stream.decode("utf-8", "replace")).strip("\n")
        for stream in (result.stdout, result.stderr)
    )
    for_err = max(_SHARE, _ROOM - len(out))
    for_out = _ROOM - min(len(err), for_err)
    parts = ["did not end" if result.exit_code is None else f"exit code {result.exit_code}"]
    if out:
        parts += ["stdout:", clip(out, for_out)]
    if err:
        parts += ["stderr:", clip(err, for_err)]
    if not out and not err:
        parts.append("no output")
    if result.truncated:
        parts.append(
            "[the end of a very long output was dropped; write it to a file and look at parts]"
        )
    return "\n".join(parts)


def _listed(changed: Sequence[str]) -> str:
    if not changed:
        return "no file changed"
    shown = clip_lines(changed, _CHANGED_CHARACTERS)
    more = f" and {len(changed) - len(shown)} more" if len(shown) < len(changed) else ""
    return f"changed: {', '.join(shown)}{more}"

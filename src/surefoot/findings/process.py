"""An auditor is a process: run inside the fence, and read with suspicion.

An answer counts only when the process ended by itself, with an exit code that the tool documents, and its output is
whole and in the tool's format. Everything else is a state of its own and never an empty list of findings.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from surefoot.errors import SandboxError
from surefoot.findings.raw import Raw, findings_of
from surefoot.kernel.ports import Processes
from surefoot.values import AuditorResult, AuditorState, Command, Limits, ProcessResult

AUDIT_LIMITS: Final = Limits(wall_s=300.0, cpu_s=600, output_bytes=64 * 1024**2)
"""A type check of a large project takes minutes; its output may be large, and half an output is no answer."""

_TAIL: Final = 600
"""Characters of standard error that a broken tool's message keeps."""
_ARGUMENT_BYTES: Final = 1_500_000
"""Linux gives arguments and environment together a quarter of the stack limit, 2 MiB as a rule."""
_NO_MODULE: Final = re.compile(r"No module named '?([\w.]+)")
_SHELL_NOT_FOUND: Final = 127
_NO_PROGRAM: Final = re.compile(
    r"(?:execvp|exec|failed to run command)\b.*No such file|: (?:command )?not found"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """Where the Python tools are installed and how long each may take."""

    python: Path
    """The interpreter that the tools stand beside; started with `-I`, so that no file of the project poses as a tool."""
    reads: tuple[Path, ...] = ()
    """What that interpreter needs to read beside the system's directories, e.g. its environment's root."""
    limits: Limits = AUDIT_LIMITS

    def module(self, name: str, *arguments: str) -> tuple[str, ...]:
        """The argument list that runs a module of this interpreter."""
        return (str(self.python), "-I", "-B", "-W", "ignore", "-X", "utf8", "-m", name, *arguments)

    def program(self, text: str, *arguments: str) -> tuple[str, ...]:
        """The argument list that runs a program text with this interpreter's packages."""
        return (str(self.python), "-I", "-B", "-W", "ignore", "-X", "utf8", "-c", text, *arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an auditor understood of its tool's output."""

    raws: tuple[Raw, ...] = ()
    note: str = ""
    """What a reader of the result must know, e.g. which files were left out."""


class UnreadableOutputError(ValueError):
    """The tool's output is not what the tool's documentation says; the text says what is wrong with it."""


Reader: TypeAlias = Callable[[ProcessResult], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One question to a tool."""

    tool: str
    argv: tuple[str, ...]
    stdin: bytes = b""
    reads: tuple[Path, ...] = ()
    limits: Limits = AUDIT_LIMITS
    exit_codes: frozenset[int] = frozenset({0, 1})
    """Those that come with an answer."""
    module: str = ""
    """The Python module whose absence means that the tool is not installed."""
    mend: str = ""
    """How a person gets the tool."""


def run_probe(processes: Processes, probe: Probe, root: Path, read: Reader) -> AuditorResult:
    """Run the tool on the tree and have its output read; every failure is a state of the result."""
    size = sum(len(os.fsencode(part)) + 1 for part in probe.argv)
    if size > _ARGUMENT_BYTES:
        return _failed(
            probe,
            AuditorState.BROKEN,
            f"the files of the tree fill {size} bytes of arguments, over {_ARGUMENT_BYTES}; "
            "audit parts of the tree, or give the tool a configuration that names its files",
        )
    command = Command(
        argv=probe.argv,
        cwd=root,
        env={"LC_ALL": "C.UTF-8", "NO_COLOR": "1", "PATH": "/usr/local/bin:/usr/bin:/bin"},
        stdin=probe.stdin,
        reads=(root, *probe.reads),
        limits=probe.limits,
    )
    try:
        result = processes.run(command)
    except SandboxError as error:
        return _failed(probe, AuditorState.BROKEN, f"could not be enclosed: {error}")
    trouble = _trouble(probe, result)
    if trouble is not None:
        return replace(trouble, wall_s=result.wall_s)
    try:
        answer = read(result)
    except UnreadableOutputError as error:
        state, text = AuditorState.BROKEN, f"gave output that cannot be read: {error}"
        return replace(_failed(probe, state, f"{text}{_tail(result)}"), wall_s=result.wall_s)
    return AuditorResult(
        tool=probe.tool,
        state=AuditorState.OK,
        findings=findings_of(probe.tool, answer.raws, root),
        message=answer.note,
        wall_s=result.wall_s,
    )


def _trouble(probe: Probe, result: ProcessResult) -> AuditorResult | None:
    if result.timed_out:
        return _failed(probe, AuditorState.TIMEOUT, f"did not end within {probe.limits.wall_s:g} s")
    if result.exit_code is None:
        cause = "a limit" if result.signal is None else f"signal {result.signal}"
        return _failed(probe, AuditorState.BROKEN, f"was ended by {cause}{_tail(result)}")
    if _is_missing(probe, result):
        mend = f"; {probe.mend}" if probe.mend else ""
        return _failed(probe, AuditorState.MISSING, f"is not installed{mend}")
    if result.exit_code not in probe.exit_codes:
        return _failed(
            probe,
            AuditorState.BROKEN,
            f"ended with {result.exit_code}, which is not an answer{_tail(result)}",
        )
    if result.truncated:
        return _failed(
            probe,
            AuditorState.BROKEN,
            f"printed more than {probe.limits.output_bytes} bytes, so its answer is cut off",
        )
    return None


def _is_missing(probe: Probe, result: ProcessResult) -> bool:
    if result.exit_code == 0 or result.stdout.strip():
        return False
    stderr = result.stderr.decode("utf-8", "replace")
    if probe.module:
        match = _NO_MODULE.search(stderr)
        return match is not None and match.group(1).split(".")[0] == probe.module.split(".")[0]
    return result.exit_code == _SHELL_NOT_FOUND or _NO_PROGRAM.search(stderr) is not None


def _failed(probe: Probe, state: AuditorState, message: str) -> AuditorResult:
    return AuditorResult(tool=probe.tool, state=state, message=f"{probe.tool} {message}")


def _tail(result: ProcessResult) -> str:
    text = result.stderr.decode("utf-8", "replace").strip()
    return f": {text[-_TAIL:]}" if text else ""

"""A tree with something for every auditor, and the means to run them."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from surefoot.findings import Toolchain
from surefoot.values import Command, ProcessResult, SandboxLevel


@dataclass
class DirectProcesses:
    """Runs commands without a fence, with the same clean environment and limits of time and output."""

    level: SandboxLevel = SandboxLevel.NONE
    commands: list[Command] = field(default_factory=list)

    def run(self, command: Command) -> ProcessResult:
        self.commands.append(command)
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            process = subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                env={**command.env, "HOME": scratch, "TMPDIR": scratch},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            timed_out = False
            try:
                out, err = process.communicate(command.stdin, timeout=command.limits.wall_s)
            except subprocess.TimeoutExpired:
                timed_out = True
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
        code = process.returncode
        kept = command.limits.output_bytes
        return ProcessResult(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            stdout=out[:kept],
            stderr=err[:kept],
            wall_s=time.monotonic() - start,
            timed_out=timed_out,
            truncated=len(out) > kept or len(err) > kept,
        )

    def start(self, command: Command) -> None:
        """Auditors start no workers."""
        raise NotImplementedError(command.argv)


@pytest.fixture
def processes() -> DirectProcesses:
    return DirectProcesses()


@pytest.fixture
def toolchain() -> Toolchain:
    return Toolchain(python=Path(sys.executable), reads=(Path(sys.prefix),))


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Writes files below a fresh root."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path / "tree"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), "utf-8")
        root.mkdir(exist_ok=True)
        return root

    return write

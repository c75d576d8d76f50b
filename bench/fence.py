"""The sandbox in which everything of a case is executed: checks, tests, model-written code."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from surefoot.kernel.ports import Processes
from surefoot.sandbox import open_processes
from surefoot.values import Command, Limits, ProcessResult


@cache
def processes() -> Processes:
    """The strongest sandbox of this machine; `SandboxError` when there is none."""
    return open_processes()


def run_python(
    argv: Sequence[str],
    *,
    python: Path | None = None,
    reads: Sequence[Path] = (),
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> ProcessResult:
    """Run this interpreter (or `python`) with `argv` inside the sandbox; without a `cwd`, in a scratch folder."""
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as scratch:
        place = cwd or Path(scratch)
        command = Command(
            argv=(str(python or sys.executable), *argv),
            cwd=place,
            env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **(env or {})},
            stdin=stdin,
            reads=tuple(dict.fromkeys((Path(sys.prefix), Path(sys.base_prefix), *reads))),
            writes=(place,),
            limits=limits or Limits(),
        )
        return processes().run(command)

"""The sandbox in which everything of a case is executed: checks, tests, model-written code."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from bench.paths import cache_dir
from surefoot.kernel.ports import Processes
from surefoot.sandbox import open_processes
from surefoot.values import Command, Limits, ProcessResult


@cache
def processes() -> Processes:
    """The strongest sandbox of this machine; `SandboxError` when there is none."""
    scratch = cache_dir() / "fence"
    scratch.mkdir(parents=True, exist_ok=True)
    return open_processes(unsandboxed=False, scratch=scratch)


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

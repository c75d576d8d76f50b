"""What a test process sees: its variables, and what is mounted for it."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from surefoot.suite.plan import CommandPlan, SuitePlan
from surefoot.values import Limits, ProcessResult

SIGNALLED: Final = 128
"""A shell ends with this and the number of the signal that ended its command."""
PROGRAMS: Final = ("/usr/local/bin", "/usr/bin", "/bin")
_PLACE: Final = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def environment(plan: SuitePlan) -> dict[str, str]:
    """The whole environment of a test process; the sandbox adds HOME and TMPDIR.

    The import path is not here but set by the runner's first lines, so that no `sitecustomize.py` of the tree under
    test runs before it.
    """
    bin_dir = plan.python.parent
    env = {
        "PATH": ":".join((str(bin_dir), *PROGRAMS)),
        **_PLACE,
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        **plan.env,
    }
    if (bin_dir.parent / "pyvenv.cfg").is_file():
        env["VIRTUAL_ENV"] = str(bin_dir.parent)
    return env


def command_environment(plan: CommandPlan) -> dict[str, str]:
    """The same for a command of another language: no colours, no questions, no watching, no network."""
    return {
        "PATH": ":".join((*map(str, plan.path), *PROGRAMS)),
        **_PLACE,
        "CI": "true",
        "NO_COLOR": "1",
        **plan.env,
    }


def sees(plan: SuitePlan | CommandPlan) -> tuple[dict[str, str], tuple[Path, ...]]:
    """What the project's tests see, for other commands that work on it: variables, and what they may read."""
    if isinstance(plan, CommandPlan):
        return command_environment(plan), plan.reads
    return environment(plan), (*plan.reads, *plan.editable)


def mounts(carry: Sequence[str], original: Path, root: Path) -> tuple[tuple[Path, Path], ...]:
    """The carried paths that the tree at `root` lacks: (in the checkout, in the tree)."""
    if original.resolve() == root:
        return ()
    found = []
    for path in carry:
        source, target = original / path, root / path
        # An empty file is what an earlier mount left behind; a link that leads nowhere is the tree's own.
        missing = not os.path.lexists(target) or (target.is_file() and target.stat().st_size == 0)
        if source.exists() and missing:
            found.append((source, target))
    return tuple(found)


def time_spent(ended: ProcessResult, limits: Limits) -> str:
    """Which limit of time ended a command, in words; empty when none did.

    A shell between us and the command, as npm has one, turns the signal into an exit code.
    """
    if ended.timed_out:
        return f"the time of {limits.wall_s:.0f} s (`[test] timeout_s`) was up"
    number = signal.SIGXCPU
    if ended.signal == number or ended.exit_code == SIGNALLED + number:
        return f"the processor time of {limits.cpu_s} s (it follows `[test] timeout_s`) was used up"
    return ""


def signal_name(number: int) -> str:
    """What people call a signal."""
    known = {int(s): s.name for s in signal.Signals}
    return known.get(number, f"signal {number}")


def roomy(limits: Limits, room: int) -> Limits:
    """Limits with so many times the time and the memory."""
    return replace(
        limits,
        wall_s=limits.wall_s * room,
        cpu_s=None if limits.cpu_s is None else limits.cpu_s * room,
        memory_bytes=None if limits.memory_bytes is None else limits.memory_bytes * room,
    )

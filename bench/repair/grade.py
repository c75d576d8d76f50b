"""Checks run in a fresh sandboxed process, one child a solution, each check in a namespace of its own."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.fence import run_python
from bench.repair.tasks import Check
from surefoot.values import Limits

CHECK_CPU_S: Final = 2.0
"""Processor seconds that one check may take; processor time, so that a busy machine grades the same."""
_DRIVER: Final = Path(__file__).with_name("grade_driver.py")
_BATCH_LIMITS: Final = Limits(wall_s=900.0, cpu_s=600, memory_bytes=2 * 1024**3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one check said of one solution."""

    passed: bool
    got: str
    """`repr` of what the call gave, or `raises Type: message`; empty when it never came back."""
    expected: str
    """`repr` of what an equality asks for, else empty."""
    returned: bool
    """The call came back with a value."""
    timed_out: bool


LOST: Final = Verdict(passed=False, got="", expected="", returned=False, timed_out=False)
"""Stands for each check that was not run to its end, because its process ended or an earlier one looped."""


def grade_all(
    solutions: Sequence[str], entry: str, checks: Sequence[Check]
) -> tuple[tuple[Verdict, ...], ...]:
    """The verdicts of all `checks` on each of `solutions`, in order.

    A solution that ends the process, prints, or loops costs its own verdicts only.
    """
    if not solutions:
        return ()
    mark = secrets.token_hex(16)
    order = {
        "mark": mark,
        "entry": entry,
        "solutions": list(solutions),
        "checks": [{"setup": c.setup, "source": c.source} for c in checks],
        "cpu_s": CHECK_CPU_S,
    }
    done = run_python(
        ("-P", "-s", "-c", _DRIVER.read_text("utf-8")),
        stdin=json.dumps(order).encode(),
        # What a call gave becomes a part of the case: the order of a set has to be the same whenever it is built.
        env={"PYTHONHASHSEED": "0"},
        limits=_BATCH_LIMITS,
    )
    found: dict[int, tuple[Verdict, ...]] = {}
    for line in done.stdout.decode(errors="replace").splitlines():
        if line.startswith(mark):
            answer = json.loads(line.removeprefix(mark))
            found[answer["number"]] = tuple(Verdict(**v) for v in answer["verdicts"])
    return tuple(_full(found.get(n, ()), len(checks)) for n in range(len(solutions)))


def _full(verdicts: tuple[Verdict, ...], wanted: int) -> tuple[Verdict, ...]:
    return verdicts + (LOST,) * (wanted - len(verdicts))


def grade(solution: str, entry: str, checks: Sequence[Check]) -> tuple[Verdict, ...]:
    """The verdicts on one solution, from a process that runs nothing else."""
    return grade_all([solution], entry, checks)[0]

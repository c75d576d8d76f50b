"""The tests of a project, run by pytest in a fresh sandboxed process that cannot lie about them."""

import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Final

from surefoot import codec
from surefoot.kernel.ports import Processes, TrialWorker
from surefoot.suite.environment import environment, mounts, roomy, time_spent
from surefoot.suite.paths import is_control_path, is_test_path
from surefoot.suite.plan import SuitePlan
from surefoot.suite.untouched import held_to, stamps
from surefoot.suite.verdict import FAILED, hear, judge
from surefoot.suite.worker import open_worker
from surefoot.values import Command, Limits, ProcessResult, ReportState, TestReport, TestResult

INSIDE: Final = Path(__file__).parent / "inside"
PROBE: Final = tuple(
    INSIDE / f"{n}.py" for n in ("probe_plugin", "hooks", "reach", "unittest_runner")
)
OUTPUT_TAIL: Final = 8_000
HEADING: Final = re.compile(r"=+ (FAILURES|ERRORS|short test summary info) =+$")
COUNTS: Final = re.compile(r"=* ?\d+ \w+.* in [0-9.]+s.*$")
"""pytest's last line, which counts the control tests."""
WATCHING: Final = 4
"""What tests that are watched get of everything, as a multiple of the limits."""
REPORT_BYTES: Final = 256 * 1024**2
"""The signed records of one run; a run that says more than this is not complete."""


class PytestSuite:
    """The `Suite` of a plan, through a sandbox.

    `original` is the user's checkout: ignored files that tests need are carried from it, and modules imported from it
    are a refusal. `scratch` is a directory for the trial workers' copies of the tree. `limits` bound one run.
    """

    def __init__(
        self,
        plan: SuitePlan,
        processes: Processes,
        *,
        original: Path,
        scratch: Path,
        limits: Limits,
    ) -> None:
        self._plan = plan
        self._processes = processes
        self._original = original
        self._scratch = scratch
        self._limits = limits
        self._known_s: dict[str, float] = {}

    @property
    def command(self) -> tuple[str, ...]:
        """How a person would run all tests."""
        return self._plan.command

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """As `Suite.run`; the exit code is the one that the runner would have had without the control tests."""
        key, controls = secrets.token_bytes(32), _controls()
        limits = roomy(self._limits, room)
        before = stamps(root)
        ended = self._run(root, key, controls, tests, limits, watch=False)
        report = self._report(ended, key, controls, tests, time_spent(ended, limits))
        return held_to(before, root, report)

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        """As `Suite.watch`; under pytest only, and what its process says of itself is trusted for guesses alone."""
        key, controls = secrets.token_bytes(32), _controls()
        limits = roomy(self._limits, WATCHING)
        ended = self._run(root, key, controls, None, limits, watch=True)
        spent = time_spent(ended, limits)
        if self._report(ended, key, controls, None, spent).state is not ReportState.COMPLETE:
            return {}
        ran = hear(ended.stdout, key).ran
        return {test: ran[test] for test in ran if test.rpartition("::")[2] not in controls}

    def _run(
        self,
        root: Path,
        key: bytes,
        controls: Mapping[str, str],
        tests: Sequence[str] | None,
        limits: Limits,
        *,
        watch: bool,
    ) -> ProcessResult:
        root = root.resolve()
        order = {
            "key": key.hex(),
            "root": str(root),
            "original": str(self._original.resolve()),
            "source_roots": list(self._plan.source_roots),
            "runner": self._plan.runner,
            "args": list(self._plan.args),
            "tests": None if tests is None else list(tests),
            "controls": list(controls.items()),
            "wall_s": limits.wall_s * 0.9,
            "watch": watch,
        }
        return self._processes.run(
            Command(
                argv=(str(self._plan.python), str(PROBE[0])),
                cwd=root,
                env=environment(self._plan),
                stdin=codec.canonical(order),
                reads=(*self._plan.reads, *self._plan.editable, *PROBE),
                writes=(root,),
                binds=mounts(self._plan.carry, self._original, root),
                limits=replace(limits, output_bytes=REPORT_BYTES),
            )
        )

    def _report(
        self,
        ended: ProcessResult,
        key: bytes,
        controls: Mapping[str, str],
        tests: Sequence[str] | None,
        spent: str,
    ) -> TestReport:
        verdict = judge(
            hear(ended.stdout, key),
            exit_code=ended.exit_code if ended.exit_code is not None else -(ended.signal or 0),
            spent=spent,
            controls=controls,
            expected=tests,
        )
        if verdict.state is ReportState.COMPLETE:
            self._known_s.update({r.test_id: r.wall_s for r in verdict.results})
        failed = any(r.outcome in FAILED for r in verdict.results)
        return TestReport(
            command=(*self.command, *(tests or ())),
            state=verdict.state,
            exit_code=int(failed) if verdict.state is ReportState.COMPLETE else ended.exit_code,
            results=tuple(sorted(verdict.results, key=lambda r: r.test_id)),
            wall_s=round(ended.wall_s, 6),
            foreign=verdict.foreign,
            output=_readable(ended.stderr, controls, verdict.results),
            reason=verdict.reason,
        )

    def is_test_path(self, path: str) -> bool:
        """As `Suite.is_test_path`."""
        return is_test_path(path)

    def is_control_path(self, path: str) -> bool:
        """As `Suite.is_control_path`."""
        return is_control_path(path)

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        """As `Suite.worker`; the worker copies the tree, so that `root` is never written."""
        return open_worker(
            self._plan,
            self._processes,
            original=self._original,
            root=root.resolve(),
            scratch=self._scratch,
            tests=tuple(tests),
            limits=self._limits,
            known_s=self._known_s,
        )


def _controls() -> dict[str, str]:
    """Control tests by name with the outcome they must have; half run first, half last."""
    halves = [["passed", "failed", "error"], ["passed", "failed", "error"]]
    for half in halves:
        secrets.SystemRandom().shuffle(half)
    return {f"test_{secrets.token_hex(8)}": outcome for half in halves for outcome in half}


def _readable(stderr: bytes, controls: Mapping[str, str], results: Sequence[TestResult]) -> str:
    """The end of what the runner printed, without the control tests: their lines, empty sections, wrong counts."""
    kept: list[str] = []
    for line in stderr.decode("utf-8", "replace").splitlines():
        if any(name in line for name in controls) or COUNTS.match(line):
            continue
        if kept and HEADING.match(line) and HEADING.match(kept[-1]):
            kept.pop()
        kept.append(line)
    if kept and HEADING.match(kept[-1]):
        kept.pop()
    counts = Counter(r.outcome.value for r in results)
    kept.append(", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())))
    return "\n".join(kept)[-OUTPUT_TAIL:]

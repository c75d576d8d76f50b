"""The trial worker from our side: a sandboxed process that tries candidates in forks (see `worker_main`)."""

import json
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from surefoot import codec
from surefoot.kernel.ports import Coverage, Processes, RunningProcess, Trial
from surefoot.suite.environment import environment, mounts
from surefoot.suite.paths import is_inside
from surefoot.suite.plan import SuitePlan
from surefoot.suite.verdict import FAILED, is_of, result_of
from surefoot.values import (
    Candidate,
    Command,
    FileEdit,
    Limits,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
)

HERE: Final = Path(__file__).parent / "inside"
PARTS: Final = tuple(
    HERE / f"{name}.py"
    for name in (
        "worker_main",
        "probe_plugin",
        "hooks",
        "forks",
        "hot_swap",
        "tracer",
        "unittest_runner",
    )
)
_RECORDS: Final = shutil.ignore_patterns(".git", "__pycache__", ".surefoot", "*.pyc")
PATIENCE: Final = 60
"""How many times its limit a trial may take until the worker is thought to be lost."""
LIFE_S: Final = 24 * 3600.0
ANSWER_BYTES: Final = 64 * 1024**2
COLLECT_S: Final = 60.0
START_S: Final = 5.0
"""What a cold trial may take beyond a warm one, to start pytest and import the project."""
FIRST_S: Final = 10.0
"""What the unchanged tests may take when nobody knows how long they usually do."""


class ForkedWorker:
    """A `TrialWorker` over one sandboxed process, started on first use and again after it died.

    `known_s` says how long tests take unchanged; tests that it does not know are run once to see. A trial may use ten
    times that in processor time, at least one second; tests of unknown length (they hang, say) get `trial_s`.
    """

    def __init__(
        self,
        processes: Processes,
        command: Command,
        order: Mapping[str, object],
        *,
        tests: tuple[str, ...],
        known_s: Mapping[str, float],
        trial_s: float = 5.0,
    ) -> None:
        self._processes = processes
        self._command = command
        self._order = order
        self._tests = tests
        self._trial_s = trial_s
        self._known_s = known_s
        self._usual_s: dict[tuple[str, ...], float | None] = {}
        self._running: RunningProcess | None = None
        self.ways: dict[str, int] = {"warm": 0, "cold": 0}
        """How many trials went which way, for the benchmark."""
        self.last_why = ""
        """Why the last trial was cold; empty when it was warm."""

    def attempt(self, candidate: Candidate, tests: Sequence[str] | None = None) -> Trial:
        """As `TrialWorker.attempt`."""
        chosen = self._tests if tests is None else tuple(tests)
        if bad := [e.path for e in candidate.edits if not is_inside(e.path)]:
            why = f"the candidate writes outside the tree: {bad[0]!r}"
            report = self._report(chosen, ReportState.UNPARSABLE, (), 0.0, why)
            return Trial(candidate=candidate, report=report, wall_s=0.0)
        answer = self._ask(candidate.edits, chosen, self._limit_s(chosen))
        report = self._read(answer, chosen)
        return Trial(candidate=candidate, report=report, wall_s=report.wall_s)

    def trace(self, test_id: str, files: Sequence[str]) -> Coverage:
        """As `TrialWorker.trace`; at most 60 values, the first and the last of them."""
        root = Path(str(self._order["root"]))
        places = {str(root / f): f for f in files}
        limit_s = 2 * self._limit_s((test_id,))
        trace = {"files": places, "limit_s": limit_s}
        # The worker ends the test itself at the limit, and says what was seen; this is for what it cannot end.
        answer = self._ask((), (test_id,), 2 * limit_s, {"trace": trace})
        report = self._read(answer, (test_id,))
        lines: dict[str, tuple[int, ...]] = {}
        values: tuple[str, ...] = ()
        for record in _records(answer):
            match record:
                case {"kind": "trace", "lines": dict(found), "values": list(seen)}:
                    lines = {str(p): tuple(int(n) for n in numbers) for p, numbers in found.items()}
                    values = tuple(str(v) for v in seen)
                case _:
                    pass
        passed = report.state is ReportState.COMPLETE and report.passing == (test_id,)
        return Coverage(test_id=test_id, passed=passed, lines=lines, values=values)

    def close(self) -> None:
        """End the process; a later trial would start another."""
        if self._running is not None:
            self._running.stop()
            self._running = None

    def _limit_s(self, tests: tuple[str, ...]) -> float:
        if tests not in self._usual_s:
            self._usual_s[tests] = self._measure_s(tests)
        usual_s = self._usual_s[tests]
        if usual_s is None:
            return self._trial_s
        return min(max(1.0, 10 * usual_s), max(self._trial_s, 3 * usual_s))

    def _measure_s(self, tests: tuple[str, ...]) -> float | None:
        """How long the tests take unchanged, to the last; None when they do not end."""
        if all(test in self._known_s for test in tests):
            return sum(self._known_s[test] for test in tests)
        report = self._read(self._ask((), tests, FIRST_S, {"keep_going": True}), tests)
        return report.wall_s if report.state is ReportState.COMPLETE else None

    def _ask(
        self,
        edits: Sequence[FileEdit],
        tests: tuple[str, ...],
        limit_s: float,
        more: Mapping[str, object] | None = None,
    ) -> Mapping[str, object]:
        """The worker's answer; empty when it died over the question."""
        request = {
            "edits": [{"path": e.path, "text": e.text} for e in edits],
            "tests": list(tests),
            "limit_s": limit_s,
            "keep_going": False,
            **(more or {}),
        }
        running = self._started()
        if running is None:
            return {}
        running.send(codec.canonical(request))
        line = running.receive(PATIENCE * (limit_s + START_S) + 120)
        if line is None:
            self.close()
            return {}
        answer: object = json.loads(line)
        return answer if isinstance(answer, dict) else {}

    def _started(self) -> RunningProcess | None:
        if self._running is None:
            running = self._processes.start(self._command)
            running.send(codec.canonical(self._order))
            hello = running.receive(COLLECT_S + 30)
            if hello is None or b"ready" not in hello:
                running.stop()
                return None
            self._running = running
        return self._running

    def _read(self, answer: Mapping[str, object], tests: tuple[str, ...]) -> TestReport:
        match answer:
            case {"state": str(state), "wall_s": float(wall_s), "way": str(way), "why": str(why)}:
                self.ways[way] += 1
                self.last_why = why
            case _:
                reason = "the trial worker ended"
                return self._report(tests, ReportState.CRASHED, (), 0.0, reason)
        results = []
        broken = []
        for record in _records(answer):
            match record:
                case {"kind": "test"}:
                    results.append(result_of(record))
                case {"kind": "collect-error"}:
                    broken.append(result_of({**record, "outcome": "error"}))
                case _:
                    pass
        if state != "complete":
            reason = f"the trial {'took too long' if state == 'timeout' else 'ended early'}"
            return self._report(tests, ReportState(state), results, wall_s, reason)
        if broken:
            found = ReportState.COLLECTION_ERROR
            return self._report(tests, found, (*results, *broken), wall_s, broken[0].message)
        seen = {r.test_id for r in results}
        failed = any(r.outcome in FAILED for r in results)
        if not failed and (missing := [t for t in tests if t not in seen and not _holds(seen, t)]):
            reason = f"asked for but not reported: {missing[0]}"
            return self._report(tests, ReportState.UNPARSABLE, results, wall_s, reason)
        return self._report(tests, ReportState.COMPLETE, results, wall_s, "")

    def _report(
        self,
        tests: tuple[str, ...],
        state: ReportState,
        results: Sequence[TestResult],
        wall_s: float,
        reason: str,
    ) -> TestReport:
        bad = any(r.outcome in FAILED or r.outcome is TestOutcome.ERROR for r in results)
        return TestReport(
            command=("pytest", *tests),
            state=state,
            exit_code=int(bad) if state is ReportState.COMPLETE else None,
            results=tuple(results),
            wall_s=wall_s,
            reason=reason,
        )


def _holds(seen: Collection[str], asked: str) -> bool:
    return any(is_of(test_id, asked) for test_id in seen)


def _records(answer: Mapping[str, object]) -> list[Mapping[str, object]]:
    records = answer.get("records")
    return [r for r in records if isinstance(r, dict)] if isinstance(records, list) else []


def left_out(root: Path, carry: Sequence[str]) -> Callable[[str, list[str]], set[str]]:
    """What a copy of the tree at `root` does without, for `shutil.copytree`.

    Records, caches, environments, and carried folders, which are mounted. A name alone says nothing: a project's own
    package may be called `venv`, and a repository may track its `node_modules`.
    """
    carried = {root / path for path in carry if (root / path).is_dir()}

    def among(folder: str, names: list[str]) -> set[str]:
        places = {name: Path(folder, name) for name in names}
        large = {n for n, p in places.items() if p in carried or (p / "pyvenv.cfg").is_file()}
        return large | _RECORDS(folder, names)

    return among


@contextmanager
def open_worker(
    plan: SuitePlan,
    processes: Processes,
    *,
    original: Path,
    root: Path,
    scratch: Path,
    tests: tuple[str, ...],
    limits: Limits,
    known_s: Mapping[str, float],
    warm: bool = True,
) -> Iterator[ForkedWorker]:
    """A worker on a copy of the tree at `root`, in `scratch`; process and copy are gone afterwards.

    Without `warm` every trial starts pytest afresh, which is slower and leaves nothing to be compared with.
    """
    home = scratch.resolve() / f"trial-{secrets.token_hex(6)}"
    copy = home / "tree"
    try:
        shutil.copytree(root, copy, symlinks=True, ignore=left_out(root, plan.carry))
        command = Command(
            argv=(str(plan.python), str(PARTS[0])),
            cwd=copy,
            env={**environment(plan), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            reads=(*plan.reads, *plan.editable, *PARTS, root),
            writes=(copy,),
            binds=mounts(plan.carry, original, copy),
            limits=replace(limits, wall_s=LIFE_S, cpu_s=None, output_bytes=ANSWER_BYTES),
        )
        order = {
            "root": str(copy),
            "pristine": str(root),
            "source_roots": list(plan.source_roots),
            "tests": list(tests),
            "collect_s": COLLECT_S,
            "start_s": START_S,
            "warm": warm and plan.runner == "pytest",
            "runner": plan.runner,
            "args": list(plan.args),
        }
        worker = ForkedWorker(processes, command, order, tests=tests, known_s=known_s)
        try:
            yield worker
        finally:
            worker.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)

"""The tests of a project in whatever language, run by their own command in a fresh sandboxed process.

How far a report can be believed depends on the runner; docs/explanation/verification.md says it for each. What holds for
all: a report counts only when it is whole and the exit code agrees with it.
"""

import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from surefoot.kernel.ports import Processes, TrialWorker
from surefoot.suite import layout
from surefoot.suite.environment import command_environment, mounts, roomy, signal_name, time_spent
from surefoot.suite.formats import PARSERS, Parsed, Place
from surefoot.suite.fresh_worker import open_fresh_worker
from surefoot.suite.paths import is_control_path, is_test_path
from surefoot.suite.plan import REPORT, CommandPlan
from surefoot.suite.untouched import held_to, stamps
from surefoot.values import (
    SETTLED,
    Command,
    Limits,
    ProcessResult,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
)

OUTPUT_TAIL: Final = 8_000
REPORT_BYTES: Final = 64 * 1024**2
"""Of one report; a longer one is cut, and so not whole."""
SHOWN: Final = 5
_FAILED: Final = frozenset({TestOutcome.FAILED, TestOutcome.ERROR})
_NO_PROGRAM: Final = frozenset({126, 127})
"""Exit codes of a fence, a shell and `env` for a program that cannot be run."""


class CommandSuite:
    """The `Suite` of a command, through a sandbox; arguments as those of `PytestSuite`."""

    def __init__(
        self,
        plan: CommandPlan,
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

    @property
    def command(self) -> tuple[str, ...]:
        """How a person would run all tests."""
        return self._plan.command

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """As `Suite.run`. Runners are asked for files, not for tests: others in the same files run too, unreported."""
        root = root.resolve()
        targets = self._targets(root, tests)
        if tests is None and self._plan.targets and not targets:
            why = f"no file matches {' '.join(self._plan.targets)}"
            state = ReportState.NOTHING_COLLECTED
            return TestReport(command=self.command, state=state, exit_code=None, reason=why)
        key = secrets.token_bytes(32)
        with self._report_file() as file:
            command = self._command(root, targets, key, file)
            limits = roomy(self._limits, room)
            bounded = replace(command, limits=replace(limits, output_bytes=REPORT_BYTES))
            before = stamps(root)
            ended = self._processes.run(bounded)
            text = ended.stdout if file is None else _read(file)
        place = Place(root=root, files=tuple(layout.walk(root)), key=key)
        spent = time_spent(ended, limits)
        return held_to(before, root, self._report(ended, self._parsed(text, place), tests, spent))

    def _parsed(self, text: bytes, place: Place) -> Parsed:
        try:
            return PARSERS[self._plan.format](text, place)
        except RecursionError:
            why = "the report is nested deeper than any test"
            return Parsed(state=ReportState.UNPARSABLE, reason=why)

    def _command(
        self, root: Path, targets: Sequence[str], key: bytes, file: Path | None
    ) -> Command:
        argv = [word.replace(REPORT, str(file)) for word in self._plan.argv]
        env = command_environment(self._plan)
        stdin = b""
        if self._plan.format == "node":
            stdin = key.hex().encode()
            env["SUREFOOT_WITNESS"] = secrets.token_hex(16)
        return Command(
            argv=(*argv, *targets, *self._plan.after),
            cwd=root,
            env=env,
            stdin=stdin,
            reads=self._plan.reads,
            writes=(root,) if file is None else (root, file.parent),
            binds=mounts(self._plan.carry, self._original, root),
        )

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        """As `Suite.watch`; other languages' runners do not tell."""
        del root
        return {}

    def _targets(self, root: Path, tests: Sequence[str] | None) -> tuple[str, ...]:
        """What the command is told to run."""
        plan = self._plan
        if tests is None or plan.narrow is None:
            return tuple(word for target in plan.targets for word in _expanded(root, target))
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        if plan.format == "go":
            folders = (f if (root / f).is_dir() else PurePosixPath(f).parent for f in files)
            files = list(dict.fromkeys(f"./{folder}" for folder in folders))
        return (*plan.narrow, *files)

    @contextmanager
    def _report_file(self) -> Iterator[Path | None]:
        """A file outside the tree for the report, where the command writes one; gone afterwards."""
        if not any(REPORT in word for word in self._plan.argv):
            yield None
            return
        folder = self._scratch.resolve() / f"report-{secrets.token_hex(6)}"
        folder.mkdir(parents=True)
        try:
            yield folder / "report"
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _report(
        self, ended: ProcessResult, parsed: Parsed, tests: Sequence[str] | None, spent: str
    ) -> TestReport:
        judged = judge(parsed, ended, tests, spent)
        complete = judged.state is ReportState.COMPLETE
        exit_code = int(any(r.outcome in _FAILED for r in judged.results))
        return TestReport(
            command=(*self.command, *(tests or ())),
            state=judged.state,
            exit_code=exit_code if complete else ended.exit_code,
            results=tuple(sorted(judged.results, key=lambda r: r.test_id)),
            wall_s=round(ended.wall_s, 6),
            output=_readable(ended, judged.results),
            reason=judged.reason,
        )

    def is_test_path(self, path: str) -> bool:
        """As `Suite.is_test_path`."""
        return is_test_path(path)

    def is_control_path(self, path: str) -> bool:
        """As `Suite.is_control_path`."""
        return is_control_path(path)

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        """As `Suite.worker`: every trial is a whole run of the tests asked for, on a copy of the tree."""
        return open_fresh_worker(
            self.run,
            root=root.resolve(),
            scratch=self._scratch,
            tests=tuple(tests),
            carry=self._plan.carry,
        )


def judge(
    parsed: Parsed, ended: ProcessResult, asked: Sequence[str] | None, spent: str = ""
) -> Parsed:
    """The report, if process and report agree and all that was asked for is there; otherwise why not.

    `spent` is which limit of time ended the process, in words; empty when none did.
    """
    broken = (ReportState.TIMEOUT, spent) if spent else _unfinished(parsed, ended)
    broken = broken or _disagreeing(parsed, ended)
    if broken is not None:
        state, why = broken
        return Parsed(state=state, reason=why, results=_believed(state, parsed))
    if asked is None:
        return parsed
    chosen = tuple(r for r in parsed.results if any(_is_of(r, i) for i in asked))
    missing = [i for i in asked if not any(_is_of(r, i) for r in chosen)]
    if missing and parsed.state is ReportState.COMPLETE:
        reason = f"asked for but not reported: {_some(missing)}"
        return Parsed(state=ReportState.UNPARSABLE, reason=reason, results=chosen)
    return replace(parsed, results=chosen or parsed.results)


_Broken: TypeAlias = tuple[ReportState, str]


def _unfinished(parsed: Parsed, ended: ProcessResult) -> _Broken | None:
    """Why the command did not come to its end, or its report is not all there."""
    code = ended.exit_code
    if code in _NO_PROGRAM and not parsed.results:
        return ReportState.TOOL_MISSING, f"the command cannot be run: {_last_line(ended)}"
    if ended.truncated:
        return ReportState.UNPARSABLE, "the command printed more than can be read"
    if code is None:
        return ReportState.CRASHED, f"{signal_name(ended.signal or 0)} ended the command"
    if parsed.state not in SETTLED:
        return parsed.state, f"{parsed.reason} (exit code {code}: {_last_line(ended)})"
    return None


def _disagreeing(parsed: Parsed, ended: ProcessResult) -> _Broken | None:
    """How the exit code contradicts a whole report; one without any test proves nothing either."""
    code = ended.exit_code
    failed = [r.test_id for r in parsed.results if r.outcome in _FAILED]
    sound = parsed.state is ReportState.COMPLETE
    if sound and not parsed.results:
        return ReportState.NOTHING_COLLECTED, f"no test was found (exit code {code})"
    if code == 0 and (failed or not sound):
        why = f"the command ended with 0 although {_some(failed) or 'the tests'} failed"
        return ReportState.UNPARSABLE, why
    if code != 0 and sound and not failed:
        why = f"the command ended with {code} although no test failed: {_last_line(ended)}"
        return ReportState.UNPARSABLE, why
    return None


def _believed(state: ReportState, parsed: Parsed) -> tuple[TestResult, ...]:
    """What a run that proves nothing may still tell people: failures, never a pass."""
    if state is ReportState.FORGED:
        return ()
    return tuple(r for r in parsed.results if r.outcome in _FAILED)


def _expanded(root: Path, target: str) -> tuple[str, ...]:
    """The files that a pattern stands for; a word that is no pattern stands for itself."""
    if not set("*?[") & set(target) or target.startswith("/"):
        return (target,)
    pattern = target.removeprefix("./")
    found = sorted(
        relative.as_posix()
        for path in root.glob(pattern)
        if "node_modules" not in (relative := path.relative_to(root)).parts
    )
    return tuple(found)


def _read(file: Path) -> bytes:
    """What the command wrote; empty when it wrote nothing, or something else than a plain file."""
    if file.is_symlink() or not file.is_file() or file.stat().st_size > REPORT_BYTES:
        return b""
    return file.read_bytes()


def _is_of(result: TestResult, asked: str) -> bool:
    return result.test_id == asked or result.test_id.startswith((f"{asked}::", f"{asked}/"))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _last_line(ended: ProcessResult) -> str:
    lines = (ended.stderr or ended.stdout[-OUTPUT_TAIL:]).decode("utf-8", "replace").split("\n")
    return next(
        (line.strip()[:300] for line in reversed(lines) if line.strip()), "nothing was said"
    )


def _readable(ended: ProcessResult, results: Sequence[TestResult]) -> str:
    """For people: what went to standard error, each failure, and the counts."""
    said = [ended.stderr.decode("utf-8", "replace").strip()]
    said += [f"{r.test_id}\n{r.detail or r.message}" for r in results if r.outcome in _FAILED]
    counts = Counter(r.outcome.value for r in results)
    said.append(", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())))
    return "\n\n".join(s for s in said if s)[-OUTPUT_TAIL:]

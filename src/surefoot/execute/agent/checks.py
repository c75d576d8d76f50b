"""What the kernel will hold against a turn's work, looked at while the turn can still mend it.

The verdict stays the kernel's: what passes here is proved again, on a fresh tree, by recorded runs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from surefoot.codec import encode
from surefoot.errors import GitError
from surefoot.events.work import ran
from surefoot.kernel.evidence import idle, is_whole
from surefoot.kernel.ports import Notebook, Suite, TurnInput, Workspace
from surefoot.kernel.rewritten import both_of, grown_in
from surefoot.kernel.standing import examples_changed, is_test_by
from surefoot.kernel.steady import function_of, steadied, unsteady
from surefoot.values import SETTLED, Diff, TestReport, TreeId
from surefoot.vocabulary import is_unicode

_FEW: Final = 5
_DETAIL: Final = 1_200


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the tests say of one tree."""

    report: TestReport
    complaints: tuple[str, ...]
    """What stands against the work, in words that name tests and files; empty when nothing does."""

    @property
    def failing(self) -> tuple[str, ...] | None:
        """Failing ids; None when the run says nothing."""
        return self.report.failing if self.report.state in SETTLED else None


class Checks:
    """Runs the project's tests on trees of one turn, each once; every run is recorded."""

    def __init__(
        self, task: TurnInput, suite: Suite, workspace: Workspace, notebook: Notebook
    ) -> None:
        self._task, self._suite, self._workspace = task, suite, workspace
        self._notebook = notebook
        self._known: dict[TreeId, Checked] = {}
        self._room = 1
        self._varying: frozenset[str] | None = None

    def look(self, tree: TreeId) -> Checked:
        """The whole suite on a tree, and what stands against it as the answer to the unit."""
        if tree not in self._known:
            self._known[tree] = self._look(tree)
        return self._known[tree]

    def give(self, room: int) -> None:
        """Run the checks with so many times the time and memory from now on."""
        self._room = room
        self._known.clear()

    def told(self, checked: Checked) -> str:
        """The state of the tests for a prompt: counts, and the failures with their last words."""
        report, complaints = checked.report, checked.complaints
        if report.state not in SETTLED:
            told = f"The test run is unusable ({report.state}): {report.reason or report.output[-_DETAIL:]}"
            more = [f"STILL OPEN: {c}" for c in complaints if c != _unusable(report)]
            return "\n".join((told, *more))
        lines = [f"{len(report.passing)} pass, {len(report.failing)} fail."]
        for test_id in report.failing[:_FEW]:
            result = report.result(test_id)
            told = (result.detail or result.message)[-_DETAIL:] if result else ""
            lines.append(f"FAILED {test_id}\n{told}".rstrip())
        if len(report.failing) > _FEW:
            lines.append(f"… and {len(report.failing) - _FEW} more")
        lines += [f"STILL OPEN: {complaint}" for complaint in complaints]
        return "\n".join(lines)

    def _look(self, tree: TreeId) -> Checked:
        task = self._task
        if tree == task.base_tree:
            return Checked(report=task.baseline, complaints=self._against(task.baseline, tree))
        report = self._run(tree)
        return Checked(report=report, complaints=self._against(report, tree))

    def _run(self, tree: TreeId) -> TestReport:
        with self._workspace.checkout(tree) as root:
            report = self._suite.run(root, room=self._room)
        self._notebook.record(ran(tree, "check", report, self._notebook.put(encode(report))))
        return report

    def _against(self, report: TestReport, tree: TreeId) -> tuple[str, ...]:
        diff = self._workspace.diff(self._task.base_tree, tree)
        odd = [path for path in diff.paths if not is_unicode(path)]
        if odd:  # no record could name it, so that nobody else can be asked
            return (f"the name {odd[0]!r} is not UTF-8; give the file another one, or remove it",)
        found = [*self._guarded(diff), *self._objected(tree)]
        if not is_whole(report, self._task.baseline):
            found.append(_unusable(report))
            return tuple(found)
        loose = self._loose(report)
        report, before = steadied(report, loose), steadied(self._task.baseline, loose)
        passing = set(report.passing)
        broken = [t for t in before.passing if t not in passing]
        if broken:
            found.append(f"passed before and no longer do: {_names(broken)}")
        mended = report.passed(self._task.unit.failing)
        still = [t for t in self._task.unit.failing if t not in mended]
        if still:
            found.append(f"must pass and do not: {_names(still)}")
        known = set(before.collected)
        # What a file holds that could not be collected is not new once it can be.
        fresh = [t for t in report.collected if not {t, t.partition("::")[0]} & known]
        bad = [t for t in fresh if t not in passing]
        if bad:
            found.append(f"new tests that do not pass: {_names(bad)}")
        found += self._falsified(tree, diff, [t for t in fresh if t in passing])
        if diff.files and not found:
            found += self._audited(tree)
        return tuple(found)

    def _loose(self, report: TestReport) -> frozenset[str]:
        """Functions whose ids vary on the base itself; looked for once, when ids are missing."""
        before = self._task.baseline
        if set(before.collected) <= set(report.collected):
            return frozenset()
        if self._varying is None:
            self._varying = unsteady(before, lambda: self._run(self._task.base_tree))
        return self._varying

    def _guarded(self, diff: Diff) -> list[str]:
        grown, is_test = self._grown(diff), self._is_test
        touched = [
            path
            for path in diff.paths
            if self._suite.is_control_path(path) or (is_test(path) and path not in grown)
        ]
        found = [f"must not be changed: {_names(touched)}"] if touched else []
        texts = {path: both_of(diff, path, self._workspace.read) for path in diff.paths}
        if examples := examples_changed(self._task.baseline.collected, texts):
            found.append(
                f"the examples that are tests must stay as they are in {_names(sorted(examples))}"
            )
        return found

    @property
    def _is_test(self) -> Callable[[str], bool]:
        return is_test_by(self._suite.is_test_path, self._task.baseline.collected)

    def _objected(self, tree: TreeId) -> list[str]:
        """What the review would not let through."""
        return [
            f"the review will refuse {f.file}{f':{f.line}' if f.line else ''}: {f.message}; {f.remediation}"
            for f in self._task.objections(tree)[:_FEW]
        ]

    def _audited(self, tree: TreeId) -> list[str]:
        """What the auditors hold against it; asked last, because they take long."""
        told = self._task.audited(tree)
        return (
            [] if told is None or told.passed else [f"the audit of the changed files: {told.after}"]
        )

    def _grown(self, diff: Diff) -> frozenset[str]:
        """Test files that the work brings or only adds to."""
        return grown_in(diff, self._workspace.read, self._is_test)

    def _falsified(self, tree: TreeId, diff: Diff, fresh: Sequence[str]) -> list[str]:
        """New tests must fail without the change; a unit that nothing else proves needs one."""
        unit = self._task.unit
        if not fresh:
            unproved = not unit.failing and not unit.findings
            needs = "no new test shows the change; write one in a new test file, or behind the tests of one that is there"
            return [needs] if unproved else []
        base = self._workspace.overlay(self._task.base_tree, tree, sorted(self._grown(diff)))
        without = self._run(base)
        if without.state not in SETTLED:
            unusable = f"the test run without the change is unusable ({without.state})"
            why = f"{unusable}, so no new test is seen to fail there: {without.reason}"
            return [why[:_DETAIL]]
        shown = idle(fresh, steadied(without, self._varying or ()))
        if not shown:
            return []
        mend = "let each fail without it, or join it with one that does"
        return [f"pass without the change, so they show nothing ({mend}): {_names(shown)}"]


def unkept(last: Checked, error: GitError) -> Checked:
    """What stands against a worktree that git cannot make a tree of, beside the tests of the last one that it could."""
    told = f"nothing can be kept, and no test was run: {error.stderr.strip()}"[:_DETAIL]
    return replace(last, complaints=(told,))


def _unusable(report: TestReport) -> str:
    return f"the test run is unusable ({report.state}): {report.reason}"[:_DETAIL]


def _names(ids: Sequence[str]) -> str:
    """A few names; where there are more, those of one function are counted under its name."""
    names = sorted(ids)
    if len(names) > _FEW:
        groups = [list(group) for _, group in groupby(names, key=function_of)]
        names = [
            f"{function_of(g[0])} ({len(g)} of its cases)" if len(g) > 1 else g[0] for g in groups
        ]
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more

"""Which test runs prove a tree, and what they prove.

Tests are always run in a fresh process on a scratch checkout of an exact tree. A tree is judged by the base's own
tests: existing tests and everything that steers the runner are put back to the base's copy before the run.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from surefoot.events import AuditorFinished, FactLearned, TestPurpose
from surefoot.kernel import evidence
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Suite, Workspace
from surefoot.kernel.steady import steadied, unsteady
from surefoot.values import (
    Audit,
    Diff,
    EventId,
    Evidence,
    Finding,
    ReportState,
    TestReport,
    TreeId,
    Unit,
)

_AGAIN = 2
"""How often a surprising failure is run again, alone, before it counts."""
_MOST_AGAIN = 25
"""More failing tests than this are not re-run one by one: that many do not flake at once."""


ROOM = 2
"""What a test run that ended at its time limit gets the second time, as a multiple of the settings' limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prover:
    """Runs what has to be run, once for each tree and purpose, and records it."""

    journal: Journal
    workspace: Workspace
    suite: Suite
    audit: Callable[[Path], Audit]
    risk_flags: frozenset[str] = frozenset()
    """With `allow_test_changes` or `allow_ci_changes` the run's copy of such files counts, not the base's."""

    settled: dict[TreeId, frozenset[str]] = field(default_factory=dict)
    """Flaky tests of trees that were looked at before in this process."""
    unsteady: dict[TreeId, frozenset[str]] = field(default_factory=dict)
    """Functions whose ids vary, by tree, likewise."""

    def tests(
        self, tree: TreeId, purpose: TestPurpose, tests: Sequence[str] | None = None
    ) -> tuple[TestReport, EventId]:
        """The report on `tree`; a recorded one is used again."""
        recorded = self.journal.tests(tree, purpose)
        if recorded is not None:
            return recorded
        with self.workspace.checkout(tree) as root:
            report = self.suite.run(root, tests)
            if purpose != "baseline" and report.state is ReportState.TIMEOUT:
                # Once with more room: the base ended in time, so this is a busy machine, or an endless loop.
                report = self.suite.run(root, tests, room=ROOM)
        return report, self.journal.record_tests(tree, purpose, report)

    def flaky(self, tree: TreeId, report: TestReport, suspects: Collection[str]) -> frozenset[str]:
        """Which of `suspects`, failing in `report`, pass when they are run again alone."""
        if not suspects or len(suspects) > _MOST_AGAIN or report.state is not ReportState.COMPLETE:
            return frozenset()
        if tree in self.settled:
            return self.settled[tree]
        passed: set[str] = set()
        with self.workspace.checkout(tree) as root:
            for _ in range(_AGAIN):
                again = self.suite.run(root, sorted(suspects))
                passed |= set(again.passing)
        for test_id in sorted(passed):
            self.journal.record(FactLearned(topic="flaky", text=test_id))
        self.settled[tree] = frozenset(passed)
        return self.settled[tree]

    def baseline(self, tree: TreeId) -> tuple[TestReport, frozenset[str]]:
        """The whole suite on the base, and which of its failures are flaky."""
        report, _ = self.tests(tree, "baseline")
        facts = self.journal.state.facts
        known = frozenset(f.removeprefix("flaky: ") for f in facts if f.startswith("flaky: "))
        if any(f.startswith("flaky-checked: ") for f in facts):
            return report, known
        found = self.flaky(tree, report, report.failing)
        self.journal.record(
            FactLearned(topic="flaky-checked", text=f"{len(report.failing)} failing")
        )
        return report, found

    def loose(self, base: TreeId, before: TestReport, after: TestReport) -> frozenset[str]:
        """Test functions whose ids vary on the base itself; looked for only where ids are missing from `after`."""
        if set(before.collected) <= set(after.collected):
            return frozenset()
        if base in self.unsteady:
            return self.unsteady[base]
        with self.workspace.checkout(base) as root:
            found = unsteady(before, lambda: self.suite.run(root))
        for name in sorted(found):
            self.journal.record(FactLearned(topic="loose ids", text=name))
        self.unsteady[base] = found
        return found

    def findings(self, tree: TreeId) -> Audit:
        """All auditors on `tree`; recorded answers are used again."""
        recorded = self.journal.state.audits.get(tree)
        if recorded is not None and len(recorded.audit.results) == recorded.of:
            return recorded.audit
        with self.workspace.checkout(tree) as root:
            found = self.audit(root)
        self.journal.record_all(
            [
                AuditorFinished(
                    tree=tree, result=result, baseline=found.baseline, of=len(found.results)
                )
                for result in found.results
            ]
        )
        return found

    def judge(
        self, tree: TreeId, base: TreeId, units: Sequence[Unit], purpose: TestPurpose
    ) -> tuple[Evidence, ...]:
        """Everything that speaks for or against `tree` as the answer to `units`."""
        diff = self.workspace.diff(base, tree)
        guarded = self.guarded(diff)
        proofs = [evidence.protected_files(diff, guarded, ())]
        judged = self.workspace.overlay(tree, base, guarded)
        before, flaky = self.baseline(base)
        after, event = self.tests(judged, purpose)
        loose = self.loose(base, before, after)
        before, after = steadied(before, loose), steadied(after, loose)
        surprising = (set(after.failing) & set(before.passing)) - flaky
        flaky |= self.flaky(judged, after, surprising)
        exempt = flaky | self._exempt(diff, before)
        proofs.append(evidence.base_tests(before, after, exempt, (event,)))
        proofs += self._unit_proofs(units, before, after, event)
        fresh = self.new_tests(diff, before, after)
        if fresh or any(not u.failing and not u.findings for u in units):
            report, falsified = self._falsify(tree, base, diff)
            on_base = steadied(report, loose)
            proofs.append(evidence.new_tests(fresh, on_base, after, (falsified, event)))
        return tuple(proofs)

    def judged(self, tree: TreeId, base: TreeId) -> TreeId:
        """`tree` with everything that the base decides on as the base has it."""
        return self.workspace.overlay(tree, base, self.guarded(self.workspace.diff(base, tree)))

    def seen(self, tree: TreeId, base: TreeId) -> tuple[TestReport, frozenset[str]]:
        """The deciding run as the proofs took it, and which of its failures are none of the change's doing.

        A test file that the base could not collect either is no failure of the change.
        """
        before, flaky = self.baseline(base)
        judged = self.judged(tree, base)
        after, _ = self.tests(judged, "base-tests")
        loose = self.loose(base, before, after)
        flaky |= self.settled.get(judged, frozenset())
        if after.state is before.state is ReportState.COLLECTION_ERROR:
            after = replace(after, state=ReportState.COMPLETE)
        return steadied(after, loose), frozenset(steadied(before, loose).failing) | flaky

    def _unit_proofs(
        self, units: Sequence[Unit], before: TestReport, after: TestReport, event: EventId
    ) -> list[Evidence]:
        targets = sorted({t for unit in units for t in unit.failing})
        return [evidence.target_tests(targets, before, after, (event,))] if targets else []

    def findings_gone(self, tree: TreeId, base: TreeId, targets: Sequence[Finding]) -> Evidence:
        """Whether the findings are gone from `tree` and nothing new came."""
        return evidence.findings_gone(targets, self.findings(base), self.findings(tree), ())

    def guarded(self, diff: Diff) -> tuple[str, ...]:
        """Changed paths that the base decides on: its tests, and all that steers runner and gates."""
        existing = set(self.workspace.files(diff.before))
        return tuple(p for p in diff.paths if self._is_guarded(p, existing))

    def _is_guarded(self, path: str, existing: Collection[str]) -> bool:
        if self.suite.is_control_path(path):
            return "allow_ci_changes" not in self.risk_flags
        is_old_test = self.suite.is_test_path(path) and path in existing
        return is_old_test and "allow_test_changes" not in self.risk_flags

    def _exempt(self, diff: Diff, before: TestReport) -> frozenset[str]:
        """Ids of the very test files that the run was allowed to change, and did."""
        if "allow_test_changes" not in self.risk_flags:
            return frozenset()
        changed = {f.path for f in diff.files if self.suite.is_test_path(f.path)}
        return frozenset(t for t in before.collected if t.split("::", 1)[0] in changed)

    def contents(self, diff: Diff) -> dict[str, tuple[str | None, str | None]]:
        """Text of each changed file before and after; None where it is not there or not text."""
        return {
            path: (self._text(diff.before, path), self._text(diff.after, path))
            for path in diff.paths
        }

    def _text(self, tree: TreeId, path: str) -> str | None:
        data = self.workspace.read(tree, path)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            return None

    def new_tests(self, diff: Diff, before: TestReport, after: TestReport) -> tuple[str, ...]:
        """Ids that only the result has, in test files that the run added."""
        added = {f.path for f in diff.files if f.status == "A" and self.suite.is_test_path(f.path)}
        known = set(before.collected)
        return tuple(t for t in after.collected if t not in known and t.split("::", 1)[0] in added)

    def _falsify(self, tree: TreeId, base: TreeId, diff: Diff) -> tuple[TestReport, EventId]:
        added = [f.path for f in diff.files if f.status == "A" and self.suite.is_test_path(f.path)]
        return self.tests(self.workspace.overlay(base, tree, added), "falsify")


def failed(proofs: Sequence[Evidence]) -> str:
    """Why the proofs do not hold, in words; empty when they do."""
    return "; ".join(f"{p.kind}: {p.after}" for p in proofs if not p.passed)

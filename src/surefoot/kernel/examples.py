"""What an issue shows in so many words, held against the result: a call, and the value that it has to give.

Any test that fails on the base would do as a proof where none is named, also one of something that nobody asked for.
An example that the base contradicts is the issue's own word for what is wrong, so the result may not contradict it, too.
What cannot be run here, or says the same on the base, claims nothing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Suite, Trees
from surefoot.values import (
    EventId,
    Evidence,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
    TreeId,
    Unit,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleTests:
    """A test file of the examples that one tree can be asked about."""

    path: str
    text: str
    shown: Mapping[str, str]
    """Each example in words, by its test's id."""
    new: frozenset[str]
    """Ids of those that are about something that the base does not know at all."""


WriteExamples: TypeAlias = Callable[[str, TreeId, TreeId], ExampleTests | None]
"""From an issue's text and the base, the tests for the second tree; an example has the same id for every tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Runs an issue's examples, once for each tree, and records it."""

    journal: Journal
    trees: Trees
    suite: Suite
    write: WriteExamples

    def hold(self, units: Sequence[Unit], base: TreeId, tree: TreeId) -> tuple[Evidence, ...]:
        """Whether the examples of the run's issue hold on `tree`; nothing where none is claimed.

        Only where the issue itself is a unit's work and no test or finding is named that shows it.
        """
        opened = self.journal.state.opened
        asked = {u.issue.text for u in units if not u.failing and not u.findings}
        if opened is None or opened.issue.text not in asked:
            return ()
        tests = self.write(opened.issue.text, base, tree)
        if tests is None:
            return ()
        known = self.write(opened.issue.text, base, base)
        before = self._run(base, known) if known is not None else None
        if before is None and not tests.new:
            return ()
        after = self._run(tree, tests)
        if after is None:
            return ()
        found = judged(tests, before[0] if before else None, after[0], opened.issue.text)
        if found is None:
            return ()
        events = (*((before[1],) if before else ()), after[1])
        return (found.evidence(after[0], events),)

    def _run(self, tree: TreeId, tests: ExampleTests) -> tuple[TestReport, EventId] | None:
        """A recorded run is used again; None where the file has no place in the tree."""
        recorded = self.journal.tests(tree, "examples")
        if recorded is not None:
            return recorded
        with self.trees.checkout(tree) as root:
            path = root / tests.path
            if not _is_inside(root, path.parent):
                return None
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tests.text.encode())
            report = self.suite.run(root, tuple(tests.shown))
        return report, self.journal.record_tests(tree, "examples", report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The examples that the base contradicts and the result can be asked about, in words."""

    holding: tuple[str, ...]
    broken: tuple[str, ...]

    def evidence(self, ran: TestReport, events: tuple[EventId, ...]) -> Evidence:
        """The proof that they are."""
        told = f"holds: {'; '.join(self.holding)}"
        if self.broken:
            told = f"the issue's example does not hold: {'; '.join(self.broken)}"
        return Evidence(
            kind="issue-examples",
            command=" ".join(ran.command),
            before=f"not so on the base: {len(self.holding) + len(self.broken)} of the issue's examples",
            after=told,
            passed=not self.broken,
            events=events,
        )


def judged(
    tests: ExampleTests, before: TestReport | None, after: TestReport, issue: str
) -> Claimed | None:
    """Which examples hold and which do not; None where nothing is claimed."""
    if after.state is not ReportState.COMPLETE:
        return None
    usable = before is not None and before.state is ReportState.COMPLETE
    wrong = {
        t for t in tests.shown if before is not None and usable and _fails(before.result(t), issue)
    }
    holding, broken = list[str](), list[str]()
    for test_id, words in tests.shown.items():
        result = after.result(test_id)
        if result is None or test_id not in wrong | tests.new:
            continue
        if result.outcome is TestOutcome.PASSED:
            holding.append(words)
        elif _fails(result, issue):
            broken.append(f"{words} ({_first_line(result.message)})")
    if not holding and not broken:
        return None
    return Claimed(holding=tuple(holding), broken=tuple(broken))


def _fails(result: TestResult | None, issue: str) -> bool:
    """Whether another value came, or an exception that the issue names: any other may come of running it here."""
    if result is None or result.outcome is not TestOutcome.FAILED:
        return False
    message = result.message.strip()
    if message.startswith(("AssertionError", "assert ")):
        return True
    kind = re.match(r"[\w.]+", message)
    name = kind[0].rpartition(".")[2] if kind else ""
    return bool(name) and re.search(rf"\b{re.escape(name)}\b", issue) is not None


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:160]


def _is_inside(root: Path, folder: Path) -> bool:
    """Whether no link leads out of the checkout."""
    return folder.resolve().is_relative_to(root.resolve())

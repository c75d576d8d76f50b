"""A guess which tests a change can reach saves a whole run, and lets nothing through; real git, a suite of few words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from surefoot.events.orchestration import RunOpened
from surefoot.events.work import FactLearned, ImpactChecked, TestsRan
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.kernel.journal import Journal
from surefoot.kernel.levels import Level
from surefoot.kernel.ports import TrialWorker
from surefoot.kernel.proof import Prover
from surefoot.policy.redaction import redact
from surefoot.report import impact_lines, read_story, render_report
from surefoot.suite.paths import is_control_path, is_test_path
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.repository import ScratchRepository
from surefoot.values import (
    Audit,
    AuditorResult,
    AuditorState,
    Complexity,
    Digest,
    FileEdit,
    Finding,
    Issue,
    PlanIR,
    ReportState,
    RunId,
    Severity,
    TestOutcome,
    TestReport,
    TestResult,
    TreeId,
    Unit,
    UnitId,
    UnitType,
)

FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": "def a():\n    return 'good'\n",
    "pkg/b.py": "from pkg import a\n\n\ndef b():\n    return 'good'\n",
    "pkg/c.py": "def c():\n    return 'good'\n",
    "tests/test_a.py": "import pkg.a\n",
    "tests/test_b.py": "import pkg.b\n",
    "tests/test_c.py": "import pkg.c\n",
    "tests/test_d.py": "",
}
READS = {"a": ["a"], "b": ["a", "b"], "c": ["c"], "d": ["c"]}
"""What each test looks at; `d` does so behind everybody's back."""
IDS = {f"tests/test_{name}.py::test": name for name in READS}


UNIT = Unit(
    unit_id=UnitId("u"),
    unit_type=UnitType.FIX,
    strategy="repair",
    issue=Issue(source="text", text="x"),
    plan=PlanIR(analysis="", steps=(), verification=(), complexity=Complexity.LOW, confidence=1.0),
    failing=("tests/test_gone.py::test",),
)


@dataclass
class WordSuite:
    """A `Suite` whose tests pass while the files that they read are good; a whole run takes 40 seconds, they say."""

    runs: list[tuple[str, ...] | None] = field(default_factory=list)
    watched: int = 0
    flaky: set[str] = field(default_factory=set)
    """Names of tests that fail the first time that they are run with others."""
    ordered: set[str] = field(default_factory=set)
    """Names of tests that fail whenever they are run with others, on a tree that changed."""
    loaded: set[str] = field(default_factory=set)
    """Names of tests that fail whenever they are run with others, but for the first such run of all."""
    each_s: float = 10.0
    whole_s: float = 40.0

    command = ("words",)

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        del room
        self.runs.append(None if tests is None else tuple(tests))
        chosen = list(IDS) if tests is None else list(tests)
        return TestReport(
            command=self.command,
            state=ReportState.COMPLETE,
            exit_code=0,
            results=tuple(self._result(root, i, len(chosen)) for i in chosen),
            wall_s=self.whole_s,
        )

    def _result(self, root: Path, test_id: str, count: int) -> TestResult:
        name = IDS[test_id]
        texts = [(root / "pkg" / f"{n}.py").read_text() for n in READS[name]]
        good = all("good" in text for text in texts)
        if count > 1 and (name in self.flaky or name in self._others(root)):
            self.flaky.discard(name)
            good = False
        outcome = TestOutcome.PASSED if good else TestOutcome.FAILED
        return TestResult(test_id=test_id, outcome=outcome, wall_s=self.each_s)

    def _others(self, root: Path) -> set[str]:
        changed = any("good" not in (root / "pkg" / f"{n}.py").read_text() for n in "abc")
        return (self.ordered if changed else set()) | (self.loaded if len(self.runs) > 1 else set())

    def is_test_path(self, path: str) -> bool:
        return is_test_path(path)

    def is_control_path(self, path: str) -> bool:
        return is_control_path(path)

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        del root
        self.watched += 1
        return {i: frozenset({f"pkg/{n}.py" for n in READS[IDS[i]][-1:]}) for i in IDS}

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        raise NotImplementedError


@dataclass
class Place:
    prover: Prover
    suite: WordSuite
    ledger: MemoryLedger
    base: TreeId
    tree: Callable[[str, str], TreeId]
    """The base with one file of the package bad."""

    def judge(self, name: str, body: str = "pass") -> list[str]:
        proofs = self.prover.judge(self.tree(name, body), self.base, (UNIT,), "turn")
        return [f"{p.kind}: {p.after}" for p in proofs if not p.passed and p.kind == "base-tests"]

    def guesses(self) -> list[ImpactChecked]:
        events = [r.event for r in self.ledger.events()]
        return [e for e in events if isinstance(e, ImpactChecked)]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with made(tmp_path) as place:
        yield place


@contextmanager
def made(tmp_path: Path) -> Iterator[Place]:
    scratch = ScratchRepository.create(tmp_path, "/usr/bin:/bin")
    scratch.commit(FILES)
    repository = Repository.discover(scratch.root)
    clock, suite = FakeClock(), WordSuite()
    ledger = MemoryLedger(clock=clock)
    journal = Journal(ledger, clock)
    journal.record(
        RunOpened(
            issue=Issue(source="text", text="x"),
            mode="auto_solve_full",
            model="m",
            repo=str(scratch.root),
            branch="refs/heads/main",
            base=repository.head,
            base_tree=repository.tree,
            settings=Digest("0" * 64),
            seed=0,
            version="0",
        )
    )
    with open_workspace(repository, RunId("r1"), home=scratch.home) as workspace:
        prover = Prover(
            journal=journal,
            workspace=workspace,
            suite=suite,
            audit=lambda _root: Audit(results=()),
        )

        def tree(name: str, body: str) -> TreeId:
            workspace.restore(repository.tree)
            text = FILES[f"pkg/{name}.py"].replace("return 'good'", body)
            workspace.apply([FileEdit(path=f"pkg/{name}.py", text=text)])
            return workspace.snapshot()

        yield Place(prover, suite, ledger, repository.tree, tree)


def test_what_the_first_audit_accepts_stays_accepted(place: Place) -> None:
    """Also when the run goes on where the checkout has another baseline, or none."""
    clean = (AuditorResult(tool="ruff", state=AuditorState.OK),)
    began = replace(place.prover, audit=lambda _root: Audit(results=clean, baseline=("f",)))
    assert began.findings(place.base).baseline == ("f",)
    resumed = replace(place.prover, audit=lambda _root: Audit(results=clean))
    assert resumed.findings(place.tree("a", "pass")).baseline == ("f",)


def test_a_break_within_reach_refuses_without_a_whole_run(place: Place) -> None:
    """Only `b` can be reached from `b`, and only `b` is run, then once more alone; the verdict is that of a whole run."""
    told = place.judge("b")
    only = ("tests/test_b.py::test",)
    assert told == [
        "base-tests: broken: tests/test_b.py::test, of the 1 tests that the change can reach"
    ]
    assert place.suite.runs == [None, only, only, only]
    assert not place.guesses()
    purposes = [r.event.purpose for r in place.ledger.events() if isinstance(r.event, TestsRan)]
    assert purposes == ["baseline", "impacted"]


def test_a_guess_that_finds_nothing_lets_nothing_through(place: Place) -> None:
    """`d` reads `c` unseen: the whole run refuses the change, and the guess is counted as wrong."""
    READS["c"], before = [], READS["c"]
    try:
        told = place.judge("c")
    finally:
        READS["c"] = before
    assert len(told) == 1
    assert told[0].startswith("base-tests: 3 passed, 1 failed of 4; broken: tests/test_d.py::test")
    (guess,) = place.guesses()
    assert (guess.level, guess.selected, guess.total) == ("turn", 1, 4)
    assert guess.missed == ("tests/test_d.py::test",)
    assert impact_lines([guess])[2:] == [
        "1 guesses, held against whole runs: 1 of 4 tests selected, 1 missed.",
        "- `tests/test_d.py::test` changed its outcome and was not selected",
        "",
    ]


def test_a_flaky_failure_within_reach_refuses_nothing(place: Place) -> None:
    """It passes when it is run alone and with the others again, so the whole run decides; what flakes there is looked at, too."""
    place.prover.baseline(place.base)
    place.suite.flaky = {"a", "d"}
    place.suite.runs.clear()
    READS["a"] = READS["b"] = []
    try:
        assert place.judge("a") == []
    finally:
        READS["a"], READS["b"] = ["a"], ["a", "b"]
    ran = place.suite.runs
    assert ran[0] == ("tests/test_a.py::test", "tests/test_b.py::test")
    assert None in ran


def test_what_failed_by_chance_once_is_broken_by_a_later_tree(place: Place) -> None:
    """Chance is known of one tree; it excuses nothing on another, and is not taken for chance on the base."""
    place.suite.whole_s = 9.0
    place.prover.baseline(place.base)
    place.suite.flaky = {"d"}
    READS["a"] = READS["b"] = []
    try:
        assert place.judge("a") == []
    finally:
        READS["a"], READS["b"] = ["a"], ["a", "b"]
    assert place.prover.baseline(place.base)[1] == frozenset()
    (told,) = place.judge("c")
    assert told.endswith("broken: tests/test_c.py::test, tests/test_d.py::test")


def test_what_fails_only_after_others_is_broken(place: Place) -> None:
    """It passes alone, and fails again in a repeated run, which passes on the base: the change did that."""
    place.suite.whole_s, place.suite.ordered = 9.0, {"d"}
    place.prover.baseline(place.base)
    place.suite.runs.clear()
    READS["a"] = READS["b"] = []
    try:
        told = place.judge("a")
    finally:
        READS["a"], READS["b"] = ["a"], ["a", "b"]
    assert told == ["base-tests: 3 passed, 1 failed of 4; broken: tests/test_d.py::test"]
    assert place.suite.runs == [None, ("tests/test_d.py::test",), None, None, None]


def test_what_fails_after_others_on_the_base_too_is_flaky(place: Place) -> None:
    """It passed there once; a repeated run shows that this was chance."""
    place.suite.whole_s, place.suite.loaded = 9.0, {"d"}
    place.prover.baseline(place.base)
    READS["a"] = READS["b"] = []
    try:
        assert place.judge("a") == []
    finally:
        READS["a"], READS["b"] = ["a"], ["a", "b"]
    facts = [r.event for r in place.ledger.events() if isinstance(r.event, FactLearned)]
    assert [f.text for f in facts if f.topic == "flaky"] == ["tests/test_d.py::test"]
    report = render_report(read_story("r1", list(place.ledger.events())), None, redact)
    assert "## Flaky tests\n" in report
    assert "- `tests/test_d.py::test`" in report


@pytest.mark.parametrize(("each_s", "whole_s"), [(11.0, 40.0), (1.0, 9.0)])
def test_where_a_guess_saves_little_the_whole_suite_is_run_at_once(
    place: Place, each_s: float, whole_s: float
) -> None:
    """One of more than half of the time, and one for a suite of a few seconds."""
    place.suite.each_s, place.suite.whole_s = each_s, whole_s
    assert place.judge("a")
    assert place.suite.runs[1] is None
    assert not place.guesses()


def test_from_the_second_turn_on_tests_are_watched_where_imports_leave_too_much(
    place: Place,
) -> None:
    """The tests of `a` and `b` import `a`, which takes too long; only that of `a` runs something of it."""
    place.suite.each_s = 11.0
    assert place.judge("a")
    assert place.suite.runs[1] is None
    assert not place.guesses()
    assert not place.suite.watched
    journal = place.prover.journal
    journal.state = replace(journal.state, turns_closed=1)
    place.suite.runs.clear()
    assert "broken: tests/test_a.py::test, of the 1 tests" in place.judge("a", "pass # again")[0]
    assert place.suite.runs[0] == ("tests/test_a.py::test",)
    assert place.suite.watched == 1
    resumed = Journal(place.ledger, FakeClock())
    assert resumed.state.reach[place.base] == journal.state.reach[place.base]
    place.judge("b", "pass # too")
    assert place.suite.watched == 1


def test_a_slice_is_held_against_everything(place: Place) -> None:
    """Whatever the size of the suite; the record names what the guess did not foresee."""
    tree = place.tree("c", "pass")
    report, _ = place.prover.tests(tree, "check")
    place.prover.check_guess(Level.SLICE, place.base, tree, report)
    (checked,) = place.guesses()
    assert (checked.level, checked.selected, checked.missed) == (
        "slice",
        1,
        ("tests/test_d.py::test",),
    )


@pytest.mark.parametrize(
    ("file", "silent", "told"),
    [
        ("pkg/a.py", "", "new: pkg/a.py:1 lint X: bad"),
        ("pkg/b.py", "", ""),
        ("pkg/b.py", "silent", "nothing new; no answer from lint"),
    ],
)
def test_a_new_finding_in_a_changed_file_speaks_against_a_turn(
    place: Place, file: str, silent: str, told: str
) -> None:
    """One elsewhere does not; an auditor that fell silent does."""
    finding = Finding(
        finding_id="T1",
        tool="lint",
        rule="X",
        severity=Severity.HIGH,
        category="lint",
        file=file,
        line=1,
        column=1,
        message="bad",
        fingerprint="f",
    )

    def audit(root: Path) -> Audit:
        bad = "good" not in (root / "pkg" / "a.py").read_text()
        state = AuditorState.BROKEN if bad and silent else AuditorState.OK
        found = (finding,) if bad and not silent else ()
        return Audit(results=(AuditorResult(tool="lint", state=state, findings=found),))

    prover = replace(place.prover, audit=audit)
    proof = prover.changed_files(place.tree("a", "pass"), place.base)
    assert ("" if proof.passed else proof.after) == told

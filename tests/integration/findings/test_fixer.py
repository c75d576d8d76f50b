"""The deterministic strategy on real trees, with the real tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from tests.turns import first_turn

from surefoot.codec import decode, digest
from surefoot.events.envelope import Event
from surefoot.events.work import CandidateTried
from surefoot.execute.fixer import FixerExecutor, can_fix
from surefoot.findings import Toolchain, gaming, run_audit
from surefoot.findings.tools.bandit import BanditAuditor
from surefoot.findings.tools.deadcode import DeadCodeAuditor
from surefoot.findings.tools.mypy import MypyAuditor
from surefoot.findings.tools.ruff import RuffAuditor
from surefoot.kernel.ports import Asker, Auditor, Processes, TurnInput, TurnOutput, Workspace
from surefoot.values import (
    AuditorResult,
    AuditorState,
    Candidate,
    Complexity,
    Digest,
    EventId,
    FileEdit,
    Finding,
    Issue,
    Mode,
    PlanIR,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
    Unit,
    UnitId,
    UnitType,
)

Tree = Callable[[dict[str, str]], Path]
RULES = '[tool.ruff.lint]\nselect = ["F", "E", "B", "S5", "S110"]\n'


@dataclass
class Folder:
    """A worktree that is a plain folder; writes below it only."""

    path: Path

    def apply(self, edits: Sequence[FileEdit]) -> None:
        for edit in edits:
            target = self.path / edit.path
            assert target.resolve().is_relative_to(self.path.resolve())
            assert edit.text is not None
            target.write_bytes(edit.text.encode())


@dataclass
class Pages:
    """Events and blobs of a turn."""

    events: list[Event] = field(default_factory=list)
    blobs: dict[Digest, bytes] = field(default_factory=dict)

    def record(self, event: Event, *, cause: EventId | None = None) -> EventId:
        self.events.append(event)
        return EventId(f"r:{len(self.events)}")

    def put(self, data: bytes) -> Digest:
        self.blobs[digest(data)] = data
        return digest(data)

    @property
    def tried(self) -> list[CandidateTried]:
        return [e for e in self.events if isinstance(e, CandidateTried)]


class Tests:
    """A suite of one test that holds as long as a predicate of the tree does."""

    __test__ = False

    def __init__(self, holds: Callable[[Path], bool]) -> None:
        self._holds, self.runs = holds, 0

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        self.runs += 1
        return report(holds=self._holds(root))

    def is_test_path(self, path: str) -> bool:
        return path.startswith("tests/")

    def is_control_path(self, path: str) -> bool:
        return path.endswith("conftest.py")


def report(*, holds: bool = True) -> TestReport:
    outcome = TestOutcome.PASSED if holds else TestOutcome.FAILED
    return TestReport(
        command=("pytest",),
        state=ReportState.COMPLETE,
        exit_code=0,
        results=(TestResult(test_id="t.py::t", outcome=outcome),),
    )


def turn(findings: Sequence[Finding], **changes: Any) -> TurnInput:
    unit = Unit(
        unit_id=UnitId("fix"),
        unit_type=UnitType.FIX,
        strategy="fixer",
        issue=Issue(source="audit"),
        plan=PlanIR(
            analysis="", steps=(), verification=(), complexity=Complexity.LOW, confidence=1.0
        ),
        findings=tuple(findings),
    )
    return replace(first_turn(unit, report()), **changes)


@dataclass
class Bench:
    """A tree, its auditors and the strategy."""

    root: Path
    auditors: tuple[Auditor, ...]
    processes: Processes
    toolchain: Toolchain
    pages: Pages = field(default_factory=Pages)

    def findings(self) -> tuple[Finding, ...]:
        audit = run_audit(self.auditors, self.root)
        assert not audit.broken, audit.broken
        return audit.findings

    def run(
        self, *, wanted: Sequence[Finding] | None = None, suite: Tests | None = None, **changes: Any
    ) -> TurnOutput:
        executor = FixerExecutor(
            self.processes,
            self.auditors,
            toolchain=self.toolchain,
            suite=cast("Any", suite),
            max_files=changes.pop("max_files", 40),
        )
        task = turn(self.findings() if wanted is None else wanted, **changes)
        workspace = cast("Workspace", Folder(self.root))
        return executor.run_turn(task, workspace, cast("Asker", None), self.pages)

    def text(self, path: str = "a.py") -> str:
        return (self.root / path).read_bytes().decode()


@pytest.fixture
def bench(tree: Tree, processes: Processes, toolchain: Toolchain) -> Callable[..., Bench]:
    """A bench over files, with the auditors named."""

    def make(files: Mapping[str, str], *kinds: Any) -> Bench:
        auditors = tuple(kind(processes, toolchain) for kind in kinds or (RuffAuditor,))
        return Bench(tree(dict(files)), auditors, processes, toolchain)

    return make


BUGGY = """\
import os
import json


def load(items, seen=[]):
    try:
        for item in items:
            seen.append(json.loads(item))
    except ValueError:
        raise KeyError("bad")
    return f"done"
"""


def test_safe_fixes_are_kept(bench: Callable[..., Bench]) -> None:
    """Unused import, f-string and raise are mended; the shared default needs a mode that may change behaviour."""
    work = bench({"pyproject.toml": RULES, "a.py": BUGGY})
    output = work.run()
    assert work.text() == (
        BUGGY.replace("import os\n", "")
        .replace('f"done"', '"done"')
        .replace("except ValueError:", "except ValueError as error:")
        .replace('KeyError("bad")', 'KeyError("bad") from error')
    )
    assert [f.rule for f in work.findings()] == ["B006"]
    assert output.claim == "none"
    assert "no mechanical fix" in output.transcript
    assert output.effective_actions == len(work.pages.tried) > 0
    for event in work.pages.tried:
        candidate = decode(Candidate, work.pages.blobs[event.candidate])
        assert candidate.generator == event.generator
    assert {e.generator for e in work.pages.tried if e.passed} == {"ruff", "fix:raise-from-caught"}


def test_full_mode_mends_all(bench: Callable[..., Bench]) -> None:
    """With auto_solve_full nothing is left, the claim is done, and rules with a choice had two candidates."""
    work = bench({"pyproject.toml": RULES, "a.py": BUGGY})
    output = work.run(mode=Mode.AUTO_SOLVE_FULL)
    assert work.findings() == ()
    assert output.claim == "done"
    assert "seen=None" in work.text()
    generators = {e.generator for e in work.pages.tried}
    assert {"fix:raise-from-caught", "fix:raise-from-none"} <= generators
    assert {"fix:none-default", "fix:frozen-default"} <= generators
    assert gaming({"a.py": (BUGGY, work.text())}, test_paths=()) == ()


def test_an_edited_line_keeps_its_other_findings(bench: Callable[..., Bench]) -> None:
    """A line with two findings may lose one; the other is not new because the line reads otherwise."""
    work = bench({"pyproject.toml": RULES, "a.py": "try:\n    x = 1\nexcept:\n    pass\n"})
    before = work.findings()
    assert {f.rule for f in before} == {"E722", "S110"}
    output = work.run(wanted=[f for f in before if f.rule == "E722"])
    assert output.claim == "done"
    assert "except BaseException:" in work.text()
    assert {f.rule for f in work.findings()} == {"S110"}


def test_a_way_that_brings_a_finding_is_dropped(bench: Callable[..., Bench]) -> None:
    """Of two ways the one that another rule forbids is not kept, whatever its prior."""
    rules = '[tool.ruff.lint]\nselect = ["F841", "B018"]\n'
    text = "def f(a):\n    x = a.b\n"
    work = bench({"pyproject.toml": rules, "a.py": text})
    assert [f.rule for f in work.findings()] == ["F841"]
    output = work.run(mode=Mode.AUTO_SOLVE_FULL)
    judged = {e.generator: (e.passed, e.broken) for e in work.pages.tried}
    assert judged == {"fix:keep-call": (False, 1), "fix:underscore": (True, 0)}
    assert work.text() == text.replace("x =", "_x =")
    assert output.claim == "done"


def test_other_tools(bench: Callable[..., Bench]) -> None:
    """Findings of bandit and vulture are mended by syntax tree, each confirmed by its own tool."""
    work = bench(
        {
            "a.py": """\
            import yaml


            def load(text, base):
                return yaml.load(text, Loader=yaml.FullLoader)
                print(base)
            """,
        },
        BanditAuditor,
        DeadCodeAuditor,
    )
    output = work.run()
    assert output.claim == "done", output.transcript
    assert work.text() == (
        "import yaml\n\n\ndef load(text, base):\n    return yaml.safe_load(text)\n"
    )
    judged = [e.generator for e in work.pages.tried]
    assert judged == ["fix:safe-load", "fix:safe-loader", "fix:remove-unreachable"]


def test_types(bench: Callable[..., Bench]) -> None:
    """Findings of mypy are mended where there is but one thing that the author can have meant."""
    text = 'def main(a: str):\n    print(a)  # type: ignore[misc]\n\n\nmain("a")\n'
    rules = "[tool.mypy]\nstrict = true\n"
    work = bench({"pyproject.toml": rules, "a.py": text}, MypyAuditor)
    output = work.run(mode=Mode.AUTO_FIX_SAFE)
    assert output.claim == "done", output.transcript
    assert work.text() == 'def main(a: str) -> None:\n    print(a)\n\n\nmain("a")\n'


def test_only_the_units_findings(bench: Callable[..., Bench]) -> None:
    """Files and rules that the unit does not name stay as they are."""
    work = bench({"a.py": "import os\nx = f''\n", "b.py": "import os\n"})
    wanted = [f for f in work.findings() if f.file == "a.py" and f.rule == "F401"]
    assert work.run(wanted=wanted).claim == "done"
    assert (work.text(), work.text("b.py")) == ("x = f''\n", "import os\n")


def test_line_endings_and_bytes_stay(bench: Callable[..., Bench]) -> None:
    """Windows line endings, a missing last newline and letters beyond ASCII survive a fix."""
    work = bench({"a.py": ""})
    (work.root / "a.py").write_bytes("# ü\r\nimport os\r\nx = 'é'".encode())
    assert work.run().claim == "done"
    assert (work.root / "a.py").read_bytes() == "# ü\r\nx = 'é'".encode()


class TestWithTests:
    def test_together(self, bench: Callable[..., Bench]) -> None:
        """Fixes that hold are confirmed by one run of the tests."""
        work, suite = bench({"a.py": BUGGY}), Tests(lambda _root: True)
        work.run(suite=suite)
        assert suite.runs == 1

    def test_the_one_that_breaks_is_dropped(self, bench: Callable[..., Bench]) -> None:
        """When the tests get worse, each fix is tried with them, and only the culprit goes."""

        def holds(root: Path) -> bool:
            return "import os" in (root / "a.py").read_text()

        work = bench({"a.py": "import os\nx = f''\n"})
        output = work.run(suite=Tests(holds))
        assert work.text() == "import os\nx = ''\n"
        assert output.claim == "none"
        assert any("tests" in e.message for e in work.pages.tried if not e.passed)

    def test_another_tool_objects(self, bench: Callable[..., Bench]) -> None:
        """A fix that one tool likes and another does not is found out, and the other fixes stay."""

        class Picky:
            tool = "picky"

            def audit(self, root: Path) -> AuditorResult:
                text = (root / "a.py").read_text()
                found = () if "import os" in text else (replace(wanted[0], tool="picky"),)
                return AuditorResult(tool=self.tool, state=AuditorState.OK, findings=found)

        work = bench({"a.py": "import os\nx = f''\n"})
        wanted = work.findings()
        work.auditors = (*work.auditors, Picky())
        output = work.run(wanted=wanted)
        assert work.text() == "import os\nx = ''\n"
        assert "picky F401 in a.py got worse" in output.transcript

    def test_the_other_way_is_taken(self, bench: Callable[..., Bench]) -> None:
        """When the best way breaks the tests, the next one is kept."""

        def holds(root: Path) -> bool:
            return "BaseException" in (root / "a.py").read_text() or (
                "except:" in (root / "a.py").read_text()
            )

        work = bench({"pyproject.toml": RULES, "a.py": "try:\n    x = 1\nexcept:\n    x = 2\n"})
        output = work.run(suite=Tests(holds), mode=Mode.AUTO_SOLVE_FULL)
        assert "except BaseException:" in work.text()
        assert output.claim == "done"

    def test_tests_are_left_alone(self, bench: Callable[..., Bench]) -> None:
        """Files of tests, and those that steer them, are not changed."""
        files = {"tests/test_a.py": "import os\nx = 1\n", "conftest.py": "import os\nx = 1\n"}
        work = bench(files)
        assert work.run(suite=Tests(lambda _root: True)).effective_actions == 0
        assert {p: work.text(p) for p in files} == files


def test_nothing_to_do_leaves_the_tree(bench: Callable[..., Bench]) -> None:
    """A finding without a fix, or that no auditor reports, changes nothing and claims nothing."""
    work = bench({"a.py": "undefined\n"})
    foreign = replace(work.findings()[0], tool="codeql", fingerprint="0" * 32)
    output = work.run(wanted=[*work.findings(), foreign])
    assert (work.text(), output.claim, work.pages.events) == ("undefined\n", "none", [])
    assert "not reported by any auditor" in output.transcript


def test_limits(bench: Callable[..., Bench]) -> None:
    """No more files than allowed, and only those that the unit may write."""
    work = bench({f"{n}.py": "import os\nx = 1\n" for n in "abc"})
    work.run(max_files=2)
    assert len(work.findings()) == 1
    task = turn(())
    unit = replace(task.unit, writes=("a.py",), findings=work.findings())
    before = {n: work.text(f"{n}.py") for n in "abc"}
    work.run(unit=unit)
    assert {n: work.text(f"{n}.py") for n in "abc"} == before


@pytest.mark.parametrize(
    ("name", "over", "told"),
    [("locked", "hands off", "the repository is locked: hands off"), ("left_s", 0.0, "time is up")],
)
def test_a_lock_or_the_end_of_the_time_ends_the_turn(
    bench: Callable[..., Bench], name: str, over: object, told: str
) -> None:
    """Looked at before each candidate: one is tried and kept, and no tool is asked after it."""
    work, suite = bench({"pyproject.toml": RULES, "a.py": BUGGY}), Tests(lambda _: False)
    going: object = None if name == "locked" else 60.0

    def now() -> object:
        return over if work.pages.tried else going

    output = work.run(mode=Mode.AUTO_SOLVE_FULL, suite=suite, **{name: now})
    assert len(work.pages.tried) == 1
    assert suite.runs == 0
    assert work.text() != BUGGY
    assert told in output.transcript
    assert output.claim == "none"


def test_failed_ideas_are_not_tried_again(bench: Callable[..., Bench]) -> None:
    """A candidate that failed in an earlier turn is skipped, one that passed there is not."""
    work = bench({"a.py": "import os\nx = 1\n"})
    work.run()
    (event,) = work.pages.tried
    (work.root / "a.py").write_text("import os\nx = 1\n")
    assert work.run(tried={event.candidate: "worse"}).effective_actions == 0
    assert work.run(tried={event.candidate: ""}).effective_actions == 1


def test_an_auditor_that_falls_silent_is_worse(bench: Callable[..., Bench]) -> None:
    """A fix after which a tool no longer answers is dropped."""
    work = bench({"a.py": "import os\nx = 1\n"})

    class Touchy:
        tool = "touchy"

        def audit(self, root: Path) -> AuditorResult:
            fine = "import os" in (root / "a.py").read_text()
            return AuditorResult(
                tool=self.tool, state=AuditorState.OK if fine else AuditorState.BROKEN
            )

    wanted = work.findings()
    work.auditors = (*work.auditors, Touchy())
    work.run(wanted=wanted)
    assert work.text() == "import os\nx = 1\n"
    assert "touchy no longer answers" in work.pages.tried[-1].message


def test_can_fix(bench: Callable[..., Bench]) -> None:
    """What the strategy may mend is known before it tries."""
    work = bench({"a.py": "import os\nx = undefined\n"})
    assert {f.rule: can_fix(f) for f in work.findings()} == {"F401": True, "F821": False}


def test_links_are_not_followed(bench: Callable[..., Bench], tmp_path: Path) -> None:
    """A source that is a link to elsewhere is not rewritten."""
    outside = tmp_path / "outside.py"
    outside.write_text("import os\nx = 1\n")
    work = bench({"b.py": ""})
    (work.root / "a.py").symlink_to(outside)
    work.run()
    assert outside.read_text() == "import os\nx = 1\n"

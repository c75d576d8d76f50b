"""Done is computed from reports: what does not show it does not pass (promise 1)."""

from dataclasses import replace

import pytest

from surefoot.kernel import evidence
from surefoot.values import (
    Audit,
    AuditorResult,
    AuditorState,
    Diff,
    FileChange,
    Finding,
    ReportState,
    Severity,
    TestOutcome,
    TestReport,
    TestResult,
    TreeId,
)


def report(state: ReportState = ReportState.COMPLETE, **outcomes: TestOutcome) -> TestReport:
    """A report with one result a keyword."""
    results = tuple(TestResult(test_id=k, outcome=v) for k, v in outcomes.items())
    return TestReport(command=("pytest",), state=state, exit_code=0, results=results)


P, F, S = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.SKIPPED
UNUSABLE = [s for s in ReportState if s is not ReportState.COMPLETE]


class TestTargets:
    def test_failing_then_passing_is_proof(self) -> None:
        """A named test that failed on the base and passes on the result proves the fix."""
        assert evidence.target_tests(["a"], report(a=F), report(a=P), ()).passed

    def test_no_target_is_no_proof(self) -> None:
        """Nothing named, nothing shown."""
        assert not evidence.target_tests([], report(a=P), report(a=P), ()).passed

    def test_a_test_that_never_failed_is_no_proof(self) -> None:
        """Passing before and after shows nothing."""
        assert not evidence.target_tests(["a"], report(a=P), report(a=P), ()).passed

    @pytest.mark.parametrize("after", [report(a=F), report(b=P), report(a=S)])
    def test_not_passing_is_no_proof(self, after: TestReport) -> None:
        """Still failing, no longer collected, or skipped: not fixed."""
        assert not evidence.target_tests(["a"], report(a=F), after, ()).passed

    @pytest.mark.parametrize("state", UNUSABLE)
    def test_an_unusable_report_is_no_proof(self, state: ReportState) -> None:
        """A run that broke, hung, collected nothing or was forged never reads as a pass."""
        assert not evidence.target_tests(["a"], report(a=F), report(state, a=P), ()).passed


class TestBaseTests:
    def test_the_same_again_passes(self) -> None:
        """All that passed passes; what failed may fail."""
        assert evidence.base_tests(report(a=P, b=F), report(a=P, b=F), (), ()).passed

    def test_what_fails_is_named(self) -> None:
        """A count of failures says which they are: those of the base apart from those that the change broke."""
        told = evidence.base_tests(report(a=P, b=F), report(a=P, b=F), (), ()).after
        assert told == "1 passed, 1 failed of 2; failing before, too: b"
        told = evidence.base_tests(report(a=P, b=F), report(a=F, b=F), (), ()).after
        assert told == "0 passed, 2 failed of 2; failing before, too: b; broken: a"

    @pytest.mark.parametrize(
        "after",
        [
            report(a=F, b=P),
            report(b=P),
            report(a=S, b=P),
            report(),
            report(a=TestOutcome.ERROR, b=P),
            report(a=P, b=P, c=F),
            report(a=P, b=P, c=TestOutcome.ERROR),
        ],
    )
    def test_a_lost_broken_or_skipped_test_fails(self, after: TestReport) -> None:
        """The number of collected tests may not fall, and nothing that passed may do less."""
        assert not evidence.base_tests(report(a=P, b=F), after, (), ()).passed

    def test_what_the_base_could_not_collect_may_fail(self) -> None:
        """A file that could be imported by nobody shows its failing tests for the first time; elsewhere a new one is no proof."""
        unread = replace(report(a=P), state=ReportState.COLLECTION_ERROR)
        assert evidence.base_tests(unread, report(a=P, c=F), (), ()).passed
        assert evidence.base_tests(report(a=P), report(a=P, c=P), (), ()).passed
        assert evidence.base_tests(report(a=P), report(a=P, c=F), ("c",), ()).passed

    def test_the_limit_that_ended_a_run_is_named(self) -> None:
        """With what mends it, as whoever reads the proof can raise it."""
        ended = replace(report(ReportState.TIMEOUT), reason="the time was up in a")
        told = evidence.base_tests(report(a=P), ended, (), ()).after
        assert told.startswith("unusable test run (timeout): the time was up in a")

    def test_an_expected_failure_may_pass(self) -> None:
        """That is what a fix is for; a test that passed may not become one that is expected to fail, whatever it does then."""
        xfailed, xpassed = TestOutcome.XFAILED, TestOutcome.XPASSED
        assert evidence.base_tests(report(a=xfailed), report(a=xpassed), (), ()).passed
        assert evidence.base_tests(report(a=xpassed), report(a=xpassed), (), ()).passed
        assert not evidence.base_tests(report(a=P), report(a=xpassed), (), ()).passed
        assert not evidence.base_tests(report(a=xpassed), report(a=F), (), ()).passed

    def test_a_flaky_test_is_exempt(self) -> None:
        """A test that was shown to flake does not decide."""
        assert evidence.base_tests(report(a=P, b=P), report(a=F, b=P), ("a",), ()).passed

    @pytest.mark.parametrize("after", [report(b=P), report(a=S, b=P)])
    def test_a_rewritten_test_may_be_gone_or_skipped(self, after: TestReport) -> None:
        """What a person let the run change; without that, or of another test, it is a failure."""
        before = report(a=P, b=P)
        assert evidence.base_tests(before, after, (), (), rewritten=("a",)).passed
        assert not evidence.base_tests(before, after, (), (), rewritten=("b",)).passed

    @pytest.mark.parametrize("after", [report(a=F, b=P), report(a=P, b=P, new=F)])
    def test_a_rewritten_test_may_not_fail(self, after: TestReport) -> None:
        """Nor one that is new in the same file."""
        proof = evidence.base_tests(report(a=P, b=P), after, (), (), rewritten=("a", "new"))
        assert not proof.passed

    @pytest.mark.parametrize("state", UNUSABLE)
    def test_an_unusable_report_fails(self, state: ReportState) -> None:
        """Only a complete run on the result can speak for it."""
        assert not evidence.base_tests(report(a=P), report(state, a=P), (), ()).passed

    def test_a_base_that_could_not_be_collected_may_stay_so(self) -> None:
        """A file that no run can import on the base does not block work elsewhere, but nothing may be lost."""
        broken = ReportState.COLLECTION_ERROR
        assert evidence.base_tests(report(broken, a=P), report(broken, a=P), (), ()).passed
        assert not evidence.base_tests(report(broken, a=P), report(broken, a=F), (), ()).passed


OPT, NEW = "tests/test_opt.py", "tests/test_new.py"


def unread(*files: str, **outcomes: TestOutcome) -> TestReport:
    """A report of a run that could not collect these files."""
    missing = dict.fromkeys(files, TestOutcome.ERROR)
    return report(ReportState.COLLECTION_ERROR, **missing, **outcomes)


class TestFilesThatCannotBeCollected:
    def test_the_same_ones_before_and_after_block_nothing_else(self) -> None:
        """The named tests pass, the base's tests hold, and a new test counts, as if the file were not there."""
        before, after = unread(OPT, a=F), unread(OPT, a=P, n=P)
        assert evidence.target_tests(["a"], before, after, ()).passed
        assert evidence.base_tests(before, after, (), ()).passed
        assert evidence.improves(before, after)
        assert evidence.new_tests(["n"], unread(OPT, a=F, n=F), after, ()).passed

    @pytest.mark.parametrize("before", [report(a=F), unread(OPT, a=F)])
    def test_another_one_blocks(self, before: TestReport) -> None:
        """What the change made unreadable may hold anything."""
        after = unread(OPT, NEW, a=P)
        proof = evidence.target_tests(["a"], before, after, ())
        assert not proof.passed
        assert proof.after == f"1 passed, 2 failed of 3; cannot be collected: {NEW}, {OPT}"
        assert not evidence.base_tests(before, after, (), ()).passed
        assert not evidence.improves(before, after)
        assert not evidence.new_tests(["a"], before, after, ()).passed

    def test_one_that_can_be_read_now_is_not_lost(self) -> None:
        """Its tests stand for it."""
        before, after = unread(OPT, a=P), report(**{f"{OPT}::b": P}, a=P)
        assert evidence.base_tests(before, after, (), ()).passed
        assert not evidence.base_tests(before, report(a=P), (), ()).passed

    def test_a_new_failure_in_a_file_that_was_read_is_none_of_theirs(self) -> None:
        """As on any other base; in one that was not read it was there before, for all that is known."""
        before, known = unread(OPT, **{f"{NEW}::a": P}), {f"{NEW}::a": P}
        new = evidence.base_tests(before, unread(OPT, **known, **{f"{NEW}::b": F}), (), ())
        assert (new.passed, f"broken: {NEW}::b" in new.after) == (False, True)
        assert evidence.base_tests(before, unread(OPT, **known, **{f"{NEW}::b": P}), (), ()).passed
        for path in (OPT, "tests/test_beside.py"):
            after = report(**known, **{f"{path}::b": F}, **{f"{OPT}::c": P})
            assert evidence.base_tests(before, after, (), ()).passed

    @pytest.mark.parametrize("others", [{}, {"b": P}, {"c": TestOutcome.XFAILED}])
    def test_one_whose_tests_pass_now_is_mended(self, others: dict[str, TestOutcome]) -> None:
        """A file that a broken import kept from being read is a failing test by its path."""
        tests = {f"{OPT}::{name}": outcome for name, outcome in others.items()}
        before, after = unread(OPT, a=P), report(**{f"{OPT}::d": P, "a": P, **tests})
        assert evidence.target_tests([OPT], before, after, ()).passed
        assert evidence.improves(before, after)

    @pytest.mark.parametrize(
        "after",
        [
            unread(OPT, a=P),
            report(a=P),
            report(**{OPT: S}, a=P),
            report(**{f"{OPT}::d": S}, a=P),
            report(**{f"{OPT}::d": P, f"{OPT}::e": F}, a=P),
            report(**{f"{OPT}::d": P, f"{OPT}::e": S}, a=P),
            report(**{f"{OPT}2::d": P}, a=P),
            report(ReportState.CRASHED, **{f"{OPT}::d": P}, a=P),
            report(ReportState.TIMEOUT, **{f"{OPT}::d": P}, a=P),
        ],
        ids=["still", "gone", "skip", "skips", "fails", "skips-one", "other", "crash", "timeout"],
    )
    def test_one_that_does_not_pass_whole_is_not_mended(self, after: TestReport) -> None:
        """What it holds was unknown, so that all of it counts."""
        assert not evidence.target_tests([OPT], unread(OPT, a=P), after, ()).passed

    def test_one_that_the_run_edited_shows_nothing(self) -> None:
        """Nobody knows what the base's own tests would have said."""
        before, after = unread(OPT, a=P), report(**{f"{OPT}::d": P}, a=P)
        assert not evidence.target_tests([OPT], before, after, (), edited=[OPT]).passed
        assert evidence.target_tests([OPT], before, after, (), edited=["shop.py"]).passed
        assert not evidence.apart(before, after, [OPT], (), (), edited=[OPT]).passed

    def test_only_a_file_that_could_not_be_read_stands_for_its_tests(self) -> None:
        """A runner whose ids have no files may call a test as another one begins."""
        before, after = report(foo=F), report(**{"foo::x": P})
        assert not evidence.target_tests(["foo"], before, after, ()).passed


class TestNewTests:
    def test_red_on_base_and_green_on_result(self) -> None:
        """A new test counts when it fails without the change and passes with it."""
        assert evidence.new_tests(["n"], report(n=F), report(n=P), ()).passed

    def test_a_file_that_the_base_cannot_import_fails_as_a_whole(self) -> None:
        """A new test of something that only the result has is red on the base, though its own id is not known there."""
        base = report(ReportState.COLLECTION_ERROR, **{"t.py": TestOutcome.ERROR, "u.py::b": P})
        assert evidence.new_tests(["t.py::a"], base, report(**{"t.py::a": P}), ()).passed
        assert not evidence.new_tests(["u.py::b"], base, report(**{"u.py::b": P}), ()).passed

    def test_one_that_passed_in_a_file_that_failed_is_no_proof(self) -> None:
        """A file can fail in what comes after its tests, which have run then."""
        base = report(
            ReportState.COLLECTION_ERROR, **{"a.test.js": TestOutcome.ERROR, "a.test.js::a": P}
        )
        result = report(**{"a.test.js::a": P, "a.test.js::b": P})
        assert evidence.idle(result.collected, base) == ["a.test.js::a"]
        assert not evidence.new_tests(["a.test.js::a"], base, result, ()).passed

    @pytest.mark.parametrize(
        ("on_base", "on_result"),
        [
            (report(n=P), report(n=P)),
            (report(n=F), report(n=F)),
            (report(), report(n=P)),
            (report(ReportState.CRASHED, n=F), report(n=P)),
            (report(n=F), report(ReportState.TIMEOUT, n=P)),
        ],
    )
    def test_anything_else_does_not_count(self, on_base: TestReport, on_result: TestReport) -> None:
        """A theatrical test, a failing one, or a broken run proves nothing."""
        assert not evidence.new_tests(["n"], on_base, on_result, ()).passed

    def test_no_new_test_does_not_count(self) -> None:
        """Where a new test is the only proof, there must be one."""
        assert not evidence.new_tests([], report(a=P), report(a=P), ()).passed


def finding(mark: str, severity: Severity = Severity.HIGH) -> Finding:
    """A finding with a given fingerprint."""
    return Finding(
        finding_id=f"t:r:{mark}",
        tool="t",
        rule="r",
        severity=severity,
        category="lint",
        file="a.py",
        line=1,
        column=1,
        message="m",
        fingerprint=mark,
    )


def audit(*marks: str, state: AuditorState = AuditorState.OK) -> Audit:
    """An audit of one tool with these findings."""
    result = AuditorResult(tool="t", state=state, findings=tuple(finding(m) for m in marks))
    return Audit(results=(result,))


class TestFindings:
    def test_gone_and_nothing_new(self) -> None:
        """The finding is gone and no other came."""
        assert evidence.findings_gone([finding("x")], audit("x", "y"), audit("y"), ()).passed

    @pytest.mark.parametrize(
        "after", [audit("x"), audit("z", "w"), audit(state=AuditorState.BROKEN), Audit(results=())]
    )
    def test_still_there_new_or_silent(self, after: Audit) -> None:
        """A tool that broke or vanished on the result never reads as clean."""
        assert not evidence.findings_gone([finding("x")], audit("x"), after, ()).passed

    def test_a_finding_that_no_auditor_saw_cannot_be_shown_gone(self) -> None:
        """Somebody else's finding proves nothing by its absence; neither does no finding at all."""
        assert not evidence.findings_gone([finding("x")], audit("y"), audit("y"), ()).passed
        assert not evidence.findings_gone([], audit("y"), audit("y"), ()).passed

    def test_a_line_that_reads_otherwise_is_not_mended(self) -> None:
        """As many findings of the kind in the file as before: the fingerprint went, the finding did not."""
        assert not evidence.findings_gone([finding("x")], audit("x"), audit("y"), ()).passed
        assert not evidence.findings_gone(
            [finding("x")], audit("x", "y"), audit("y", "z"), ()
        ).passed

    def test_a_finding_that_came_up_on_the_way_may_be_a_target(self) -> None:
        """A later round is about what it saw, which the base need not have had."""
        gone = evidence.findings_gone([finding("z")], audit("x"), audit("x"), (), seen=["z"])
        assert gone.passed

    @pytest.mark.parametrize(
        ("after", "fewer"),
        [
            (audit("x"), True),
            (audit("x", "y"), False),
            (audit("z"), True),
            (audit("z", "w"), False),
            (audit(state=AuditorState.BROKEN), False),
        ],
    )
    def test_fewer(self, after: Audit, *, fewer: bool) -> None:
        """What is kept of a part has strictly fewer findings of its kinds, and every tool has answered."""
        assert evidence.fewer_findings([finding("y")], audit("x", "y"), after) is fewer

    def test_a_broken_tool_is_no_ci_pass(self) -> None:
        """Zero findings of a broken tool are not zero findings."""
        assert audit().ci_pass
        assert not audit(state=AuditorState.MISSING).ci_pass


def test_protected_files() -> None:
    """A changed guarded path fails unless it was announced."""
    change = FileChange(path="tests/test_a.py", status="M", added=1, removed=1)
    diff = Diff(before=TreeId("a"), after=TreeId("b"), files=(change,), patch="")
    guarded = ["tests/test_a.py"]
    assert not evidence.protected_files(diff, guarded, ()).passed
    assert evidence.protected_files(diff, guarded, guarded).passed
    assert evidence.protected_files(diff, (), ()).passed


@pytest.mark.parametrize(
    ("before", "after", "better"),
    [
        (report(a=F, b=F), report(a=P, b=F), True),
        (report(a=F, b=P), report(a=P, b=F), False),
        (report(a=F), report(a=F), False),
        (report(a=F, b=P), report(a=P), False),
        (report(a=F), report(ReportState.CRASHED, a=P), False),
    ],
)
def test_improves(before: TestReport, after: TestReport, *, better: bool) -> None:
    """Improved means: the failing set shrank, nothing new fails, nothing was lost."""
    assert evidence.improves(before, after) is better

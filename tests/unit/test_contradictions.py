"""Verdicts that contradict themselves, and vetoes without a place."""

import itertools
from typing import get_args, get_type_hints

import pytest

from surefoot.kernel.contradictions import CONSISTENT, in_review, over_checks
from surefoot.kernel.vetoes import first_line, with_place
from surefoot.values import Diff, Evidence, FileChange, Finding, Review, Severity, TreeId

HINTS = get_type_hints(Review)
PAIRS = list(itertools.product(get_args(HINTS["verdict"]), get_args(HINTS["action"])))
NONSENSE = [("", ""), ("PASS", "proceed"), ("pass", "PROCEED"), ("MAYBE", "BLOCK"), ("FAIL", "")]


def test_the_table_is_the_specification() -> None:
    """Three of the six pairs mean something."""
    assert len(PAIRS) == 6
    assert {("PASS", "PROCEED"), ("FAIL", "BLOCK"), ("WAIVER", "PROCEED")} == CONSISTENT


@pytest.mark.parametrize(("verdict", "action"), [*PAIRS, *NONSENSE])
def test_every_other_pair_is_a_finding(verdict: str, action: str) -> None:
    """What is not in the table is a finding of severity high that quotes the pair."""
    found = in_review(Review(verdict=verdict, action=action, reason="r"))  # type: ignore[arg-type]
    if (verdict, action) in CONSISTENT:
        assert found is None
    else:
        assert found is not None
        assert found.severity is Severity.HIGH
        assert f"{verdict} with {action}" in found.message


def proof(*, passed: bool) -> Evidence:
    return Evidence(kind="base-tests", command="c", before="b", after="1 failed", passed=passed)


@pytest.mark.parametrize(
    "passes", [p for n in range(4) for p in itertools.product([True, False], repeat=n)]
)
@pytest.mark.parametrize("done", [True, False])
def test_done_over_failing_checks(passes: tuple[bool, ...], *, done: bool) -> None:
    """Done is consistent only with checks that ran and all passed."""
    found = over_checks(done=done, proofs=[proof(passed=p) for p in passes])
    assert (found is None) is (not done or (bool(passes) and all(passes)))
    assert found is None or found.severity is Severity.HIGH


PATCH = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -3,2 +3,2 @@ def f():
-x
+y
diff --git a/b.py b/b.py
deleted file mode 100644
--- a/b.py
+++ /dev/null
@@ -1 +0,0 @@
-x
"""
DIFF = Diff(
    before=TreeId("0" * 40),
    after=TreeId("1" * 40),
    files=tuple(
        FileChange(path=p, status=s, added=0, removed=1) for p, s in [("a.py", "M"), ("b.py", "D")]
    ),
    patch=PATCH,
)


def finding(file: str, line: int = 0) -> Finding:
    (told,) = with_place(
        Review(verdict="FAIL", action="BLOCK", reason="r"),
        Diff(before=DIFF.before, after=DIFF.after, files=(), patch=""),
    ).findings
    return Finding(
        finding_id=told.finding_id,
        tool="review",
        rule="r",
        severity=Severity.HIGH,
        category="policy",
        file=file,
        line=line,
        column=0,
        message="m",
        fingerprint="f",
    )


@pytest.mark.parametrize(
    ("file", "line", "place"),
    [
        ("", 0, ("a.py", 3)),
        ("a.py", 0, ("a.py", 3)),
        ("a.py", 9, ("a.py", 9)),
        ("b.py", 0, ("b.py", 1)),
        ("picture.png", 0, ("picture.png", 1)),
    ],
)
def test_a_veto_has_a_place(file: str, line: int, place: tuple[str, int]) -> None:
    """File and line are the reviewer's where it gave them, else those of the change."""
    said = Review(verdict="FAIL", action="BLOCK", reason="r", findings=(finding(file, line),))
    (found,) = with_place(said, DIFF).findings
    assert (found.file, found.line) == place


def test_a_veto_without_a_finding_becomes_one() -> None:
    """Words alone are not a veto that can be worked on; what is no veto stays as it is."""
    (found,) = with_place(Review(verdict="FAIL", action="BLOCK", reason="odd"), DIFF).findings
    assert (found.message, found.file, found.severity) == ("odd", "a.py", Severity.HIGH)
    kept = Review(verdict="PASS", action="PROCEED", reason="r")
    assert with_place(kept, DIFF) is kept
    assert first_line("", "a.py") == 1

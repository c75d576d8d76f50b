"""The additional critique: a model can veto with a place, and never approve."""

from collections.abc import Sequence

import pytest
from tests.unit.reports import GREEN

from surefoot.decisions.review import ReviewQuestion, parse, place_of, render
from surefoot.events.calls import ModelReplied
from surefoot.events.orchestration import Decided
from surefoot.gates.model_review import ModelReviewer
from surefoot.kernel.contradictions import in_review
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import ReviewInput
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.model import Rule, ScriptedModel
from surefoot.values import (
    Ceilings,
    Diff,
    Evidence,
    FileChange,
    Issue,
    Mode,
    ModelFault,
    TreeId,
)

PATCH = """diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,3 +1,4 @@
 def double(x):
-    return x * 3
+    if x == 7:
+        return 14
     return x * 2
"""
VETO = '{"objects": true, "reason": "it answers the test", "quote": "if x == 7:"}'
FINE = '{"objects": false, "reason": "nothing to see", "quote": ""}'
NOWHERE = '{"objects": true, "reason": "it is bad", "quote": "return x * 3"}'


def seen() -> ReviewInput:
    """A change with its evidence."""
    diff = Diff(
        before=TreeId("a" * 40),
        after=TreeId("b" * 40),
        files=(FileChange(path="calc.py", status="M", added=2, removed=1),),
        patch=PATCH,
    )
    proof = Evidence(kind="failing-tests", command="pytest", before="1", after="0", passed=True)
    return ReviewInput(
        issue=Issue(source="text", text="`double` is wrong"),
        diff=diff,
        contents={},
        evidence=(proof,),
        mode=Mode.AUTO_SOLVE_FULL,
        risk_flags=frozenset(),
        test_paths=frozenset(),
        control_paths=frozenset(),
        tests=GREEN,
        failing_before=frozenset(),
    )


def reviewed(rules: Sequence[Rule] | Sequence[str]) -> tuple[str, str, str, int]:
    """Verdict, action, reason, and how often the model was asked."""
    journal = Journal(MemoryLedger(), FakeClock())
    model = ScriptedModel(rules)
    ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1)
    asker = MeteredModel(model, journal, ceilings, FakeClock())
    review = ModelReviewer(asker, journal).review(seen())
    assert in_review(review) is None
    return review.verdict, review.action, review.reason, len(model.asked)


def test_an_objection_with_a_place_is_a_veto() -> None:
    """The finding names file and line of the quoted line."""
    assert reviewed([VETO]) == ("FAIL", "BLOCK", "calc.py:2: it answers the test", 1)


@pytest.mark.parametrize(
    "said",
    [
        f"```json\n{VETO}\n```",
        f"<think>\nIs it? {FINE}\n</think>\n{VETO}",
        f"I object:\n\n{VETO}\n",
    ],
    ids=["fence", "thought", "words"],
)
def test_words_around_an_objection_take_nothing_from_it(said: str) -> None:
    """Not every server holds a model to the schema."""
    assert reviewed([said])[:2] == ("FAIL", "BLOCK")


def test_no_objection_is_no_approval_of_its_own() -> None:
    """It passes as every reviewer that has nothing to say."""
    assert reviewed([FINE])[:2] == ("PASS", "PROCEED")


@pytest.mark.parametrize("text", [NOWHERE, "I like it.", '{"objects": true}'])
def test_what_points_at_nothing_is_sent_back_once_and_waived(text: str) -> None:
    """A removed line, prose and half an answer are no veto, and nobody claims that a model looked."""
    verdict, action, reason, asked = reviewed([text, text])
    assert (verdict, action, asked) == ("WAIVER", "PROCEED", 2)
    assert "no model looked" in reason


def test_a_review_costs_what_both_tries_did() -> None:
    """The objection that pointed at nothing was paid for, too."""
    ledger = MemoryLedger()
    journal = Journal(ledger, FakeClock())
    ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1)
    asker = MeteredModel(ScriptedModel([NOWHERE, VETO]), journal, ceilings, FakeClock())
    ModelReviewer(asker, journal).review(seen())
    events = [r.event for r in ledger.events()]
    paid = [e.usage.prompt_tokens for e in events if isinstance(e, ModelReplied)]
    (decided,) = [e for e in events if isinstance(e, Decided)]
    assert len(paid) == 2
    assert decided.usage.prompt_tokens == sum(paid) > max(paid)


def test_an_unreachable_reviewer_is_told() -> None:
    """The waiver names why."""
    verdict, action, reason, _ = reviewed([Rule(fault=ModelFault.AUTH, message="no key")])
    assert (verdict, action) == ("WAIVER", "PROCEED")
    assert "no key" in reason


def test_the_prompt_is_the_same_for_the_same_change() -> None:
    """And holds issue, evidence and diff, and nothing of the executor's prose."""
    question = ReviewQuestion(issue="an issue {diff}", evidence=("a: b",), patch=PATCH)
    text = render(question)
    assert text == render(question)
    assert "an issue {diff}" in text
    assert "- a: b" in text
    assert "+    if x == 7:" in text


def test_places_are_lines_of_the_new_file() -> None:
    """Context counts, removed lines do not; a removed line has no place."""
    assert place_of("        return 14", PATCH) == ("calc.py", 3)
    assert place_of("return x * 3", PATCH) is None
    assert place_of("", PATCH) is None


def test_of_a_change_that_only_takes_away_a_line_of_that_is_a_place() -> None:
    """Told where it stood; else nobody could object to a check that is gone."""
    gone = """diff --git a/calc.py b/calc.py
--- a/calc.py
+++ b/calc.py
@@ -1,4 +1,2 @@
 def half(x):
-    if x is None:
---x
     return x / 2
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-x = 1
"""
    assert place_of("if x is None:", gone) == ("calc.py", 2)
    assert place_of("--x", gone) == ("calc.py", 2)
    assert place_of("x = 1", gone) == ("old.py", 0)
    assert place_of("return x / 2", gone) is None


def test_an_objection_needs_its_quote() -> None:
    """The complaint says what is missing."""
    question = ReviewQuestion(issue="", evidence=(), patch=PATCH)
    read, complaint = parse(NOWHERE, question)
    assert read is None
    assert "one line that the change adds" in complaint

"""PARTIAL on a must blocks, PASS over a failing build is overruled, and nothing broken, missing or empty ever passes."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.unit.reports import GREEN
from tests.unit.test_model_review import PATCH, seen

from surefoot.decisions.build_status import RunFacts, build_status
from surefoot.decisions.requirement_checker import RequirementAnswer, requirements_of, unfounded
from surefoot.decisions.solution_verifier import SolutionQuestion, is_retry, verify
from surefoot.decisions.tests_status import test_status
from surefoot.events.orchestration import Decided
from surefoot.gates.requirements import RequirementReviewer
from surefoot.kernel.contradictions import in_review
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import ReviewInput
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.model import Rule, ScriptedModel
from surefoot.values import (
    Ceilings,
    Issue,
    ModelFault,
    ReportState,
    Review,
    TestOutcome,
    TestResult,
)

ADDED = "        return 14"


def said(
    status: str, quote: str = ADDED, missing: str = "", confidence: float | None = None
) -> str:
    """What a judge says of a requirement; of its confidence only where there is some."""
    answer = {"explanation": "because", "quote": quote, "missing": missing, "status": status}
    return json.dumps(answer if confidence is None else answer | {"confidence": confidence})


class Desk:
    """A reviewer with its judge."""

    def __init__(self, rules: Sequence[Rule] | Sequence[str], context_tokens: int = 32_768) -> None:
        self.ledger = MemoryLedger()
        journal = Journal(self.ledger, FakeClock())
        self.model = ScriptedModel(rules, context_tokens=context_tokens)
        ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1)
        asker = MeteredModel(self.model, journal, ceilings, FakeClock())
        self.reviewer = RequirementReviewer(asker, journal)

    def review(self, shown: ReviewInput | None = None) -> Review:
        """Its word; always one of the three consistent pairs."""
        word = self.reviewer.review(shown or seen())
        assert in_review(word) is None
        return word


LIST = Issue(
    source="text", text="`double` is wrong\n\n- doubles numbers\n- logs nothing (optional)\n"
)


def test_every_requirement_met_is_no_objection() -> None:
    """The issue's prose and each of its items are asked about, and each answer is on record."""
    desk = Desk([said("SATISFIED")])
    assert desk.review(replace(seen(), issue=LIST)).action == "PROCEED"
    assert len(desk.model.asked) == 3
    decided = [r.event.decision for r in desk.ledger.events() if isinstance(r.event, Decided)]
    assert decided == [
        "build_status",
        "test_status",
        "requirement_checker",
        "requirement_checker",
        "requirement_checker",
        "solution_verifier",
    ]


@pytest.mark.parametrize("status", ["PARTIAL", "NOT_ADDRESSED"])
def test_a_must_that_is_not_met_blocks(status: str) -> None:
    """An item is a must unless it is marked as optional."""
    must = Desk(
        [
            Rule(pattern="judge\ndoubles", replies=(said(status, missing="half"),)),
            Rule(replies=(said("SATISFIED"),)),
        ]
    )
    word = must.review(replace(seen(), issue=LIST))
    assert (word.verdict, word.action) == ("FAIL", "BLOCK")
    assert word.reason == f"to be done again: {status}: doubles numbers (missing: half)"
    assert is_retry(f"review: {word.reason}")
    assert word.findings[0].rule == "requirement-unmet"
    wish = Desk(
        [
            Rule(pattern="judge\nlogs nothing", replies=(said(status, missing="half"),)),
            Rule(replies=(said("SATISFIED"),)),
        ]
    )
    assert wish.review(replace(seen(), issue=LIST)).action == "PROCEED"


@pytest.mark.parametrize("state", [s for s in ReportState if s is not ReportState.COMPLETE])
def test_no_word_of_a_judge_outdoes_a_run_that_is_no_pass(state: ReportState) -> None:
    """Missing tool, nothing collected, unparsable, broken: the veto stands, and the judge is not even asked."""
    desk = Desk([said("SATISFIED")])
    word = desk.review(replace(seen(), tests=replace(GREEN, state=state)))
    assert word.action == "BLOCK"
    assert not desk.model.asked
    assert not is_retry(word.reason)


def test_no_test_at_all_is_no_pass() -> None:
    """A complete run of nothing blocks as well."""
    assert (
        Desk([said("SATISFIED")]).review(replace(seen(), tests=replace(GREEN, results=()))).action
        == "BLOCK"
    )


def test_only_what_failed_before_may_fail() -> None:
    """A test that failed on the base and is none of the issue's business does not stop the work; a new failure does."""
    red = TestResult(test_id="old", outcome=TestOutcome.FAILED)
    report = replace(GREEN, results=(*GREEN.results, red))
    known = replace(seen(), tests=report, failing_before=frozenset({"old"}))
    assert Desk([said("SATISFIED")]).review(known).action == "PROCEED"
    assert Desk([said("SATISFIED")]).review(replace(seen(), tests=report)).action == "BLOCK"


def test_a_proof_that_does_not_hold_blocks() -> None:
    """Whatever the tests of this tree say."""
    proof = replace(seen().evidence[0], passed=False)
    assert Desk([said("SATISFIED")]).review(replace(seen(), evidence=(proof,))).action == "BLOCK"


def test_a_small_judge_is_not_asked() -> None:
    """What nobody judged neither blocks nor counts as approval: the facts alone decide, and the review says so."""
    desk = Desk([said("NOT_ADDRESSED")], context_tokens=4096)
    word = desk.review()
    assert (word.verdict, word.action, word.decided_by) == ("WAIVER", "PROCEED", "rule")
    assert "nobody judged 1 of 1 requirements" in word.reason
    assert "holds 4096 tokens" in word.reason
    assert not desk.model.asked


def many(count: int) -> Issue:
    """An issue with so many items."""
    return Issue(source="text", text="\n".join(f"- item number {n}" for n in range(count)))


def test_a_ninth_requirement_is_judged_as_well() -> None:
    """However long the list: the twelfth of twelve is asked about, and blocks."""
    desk = Desk(
        [
            Rule(pattern="judge\nitem number 11", replies=(said("PARTIAL", missing="half"),)),
            Rule(replies=(said("SATISFIED"),)),
        ]
    )
    word = desk.review(replace(seen(), issue=many(12)))
    assert word.action == "BLOCK"
    assert word.reason == "to be done again: PARTIAL: item number 11 (missing: half)"
    assert len(desk.model.asked) == 12


def test_more_than_a_judge_is_asked_about_is_no_pass() -> None:
    """The rest is counted, in a waiver that says why."""
    desk = Desk([said("SATISFIED")])
    word = desk.review(replace(seen(), issue=many(47)))
    assert (word.verdict, word.action) == ("WAIVER", "PROCEED")
    assert "nobody judged 7 of 47 requirements" in word.reason
    assert "40 at most" in word.reason
    assert len(desk.model.asked) == 40


def long_change(characters: int) -> ReviewInput:
    """A change that is at least so long."""
    shown = seen()
    patch = PATCH + "+# a line of a longer change\n" * (characters // 29 + 1)
    return replace(shown, issue=LIST, diff=replace(shown.diff, patch=patch))


def test_a_long_change_is_judged_by_a_judge_that_can_hold_it() -> None:
    """Over 12,000 characters are nothing for a context of 32,768 tokens; the judge sees all of them."""
    desk = Desk([said("SATISFIED")])
    assert desk.review(long_change(20_000)).verdict == "PASS"
    assert len(desk.model.asked[0].messages[-1].content) > 20_000


def test_a_change_that_no_judge_can_hold_is_no_pass() -> None:
    """Nobody is shown half of it; the waiver names the size."""
    desk = Desk([said("SATISFIED")])
    word = desk.review(long_change(90_000))
    assert (word.verdict, word.action) == ("WAIVER", "PROCEED")
    assert "nobody judged 3 of 3 requirements" in word.reason
    assert "the change has 90" in word.reason
    assert not desk.model.asked


def test_a_judge_that_fails_leaves_a_waiver() -> None:
    """It is asked once, and its failure is the reason."""
    desk = Desk([Rule(fault=ModelFault.AUTH, message="no such key")])
    word = desk.review(replace(seen(), issue=LIST))
    assert (word.verdict, len(desk.model.asked)) == ("WAIVER", 1)
    assert "no such key" in word.reason


def test_an_answer_that_cannot_be_used_leaves_that_item_open() -> None:
    """The next one is asked about all the same, and the whole is no pass."""
    desk = Desk(
        [Rule(pattern="judge\ndoubles", replies=("hm",)), Rule(replies=(said("SATISFIED"),))]
    )
    word = desk.review(replace(seen(), issue=LIST))
    assert (word.verdict, word.decided_by) == ("WAIVER", "model")
    assert "nobody judged 1 of 3 requirements" in word.reason


def test_a_word_that_the_judge_doubts_is_no_judgement() -> None:
    """A SATISFIED below one half leaves its item open; what is held against the work counts however doubtful."""
    sure = Desk([said("SATISFIED", confidence=0.5)])
    assert sure.review(replace(seen(), issue=LIST)).verdict == "PASS"
    doubting = Desk(
        [
            Rule(pattern="judge\ndoubles", replies=(said("SATISFIED", confidence=0.4),)),
            Rule(replies=(said("SATISFIED"),)),
        ]
    )
    word = doubting.review(replace(seen(), issue=LIST))
    assert word.verdict == "WAIVER"
    assert "nobody judged 1 of 3 requirements" in word.reason
    assert "the judge doubts its own word (0.40)" in word.reason
    against = Desk([said("PARTIAL", missing="half", confidence=0.1)])
    assert against.review(replace(seen(), issue=LIST)).verdict == "FAIL"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (RequirementAnswer(explanation="", quote=ADDED, missing="", status="SATISFIED"), ""),
        (
            RequirementAnswer(explanation="", quote=ADDED, missing="x", status="SATISFIED"),
            "missing",
        ),
        (RequirementAnswer(explanation="", quote="no", missing="", status="SATISFIED"), "quote"),
        (RequirementAnswer(explanation="", quote="", missing="x", status="PARTIAL"), ""),
        (
            RequirementAnswer(
                explanation="", quote=ADDED, missing="", status="SATISFIED", confidence=90
            ),
            "confidence is 90",
        ),
        (
            RequirementAnswer(
                explanation="", quote="", missing="x", status="PARTIAL", confidence=90
            ),
            "",
        ),
    ],
)
def test_satisfied_has_to_point_at_a_line(answer: RequirementAnswer, told: str) -> None:
    """A word that points at nothing in the change is sent back."""
    complaint = unfounded(answer, PATCH)
    assert told in complaint
    assert bool(complaint) == bool(told)


def told(issue: str) -> list[tuple[str, bool]]:
    """The texts of an issue's requirements, and which are musts."""
    return [(r.text, r.must) for r in requirements_of(issue)]


def test_requirements_are_the_issues_list_items() -> None:
    """Bullets, numbers and check boxes, however many, short or long; the whole issue where there is none."""
    text = "- one thing\n* [ ] another thing\n3. third thing, optional\n"
    assert told(text) == [
        ("one thing", True),
        ("another thing", True),
        ("third thing, optional", False),
    ]
    assert told("could you mend it?") == [("could you mend it?", True)]
    assert len(requirements_of("- item\n" * 20)) == 20
    assert [t for t, _ in told(f"- CSV\n- {'x' * 900}\n* * *\n")] == ["CSV", "x" * 900]


@pytest.mark.parametrize(
    "item",
    [
        "(optional) log it",
        "Optional: log it",
        "**Optional:** log it",
        "Optional - log it",
        "Optionally log it",
        "Nice to have: a log",
        "If possible, log it",
        "log it (optional)",
        "log it, optional.",
        "log it *(nice to have)*",
        "log it if possible",
        "a log would be nice to have",
    ],
)
def test_an_item_that_is_marked_as_optional_is_no_must(item: str) -> None:
    """At its beginning or at its end, however it is marked."""
    assert told(f"- {item}\n- keep\n") == [(item, False), ("keep", True)]


@pytest.mark.parametrize(
    "item",
    [
        "`currency` is an optional argument of `receipt`, validated against ISO 4217",
        "the check is not optional: whoever calls it has to name a currency",
        "the check must run (not optional)",
        "the check is not optional",
        "optional arguments are validated, too",
        "`optional`: must be a list",
        "Optional[int] is accepted",
        "raise if possible values are missing",
    ],
)
def test_an_item_that_speaks_of_something_optional_is_a_must(item: str) -> None:
    """The word alone says nothing of the item."""
    assert told(f"- {item}\n") == [(item, True)]


def test_an_item_goes_on_in_the_lines_below_it() -> None:
    """A wrapped item is judged whole, with its further paragraphs; what stands at its mark's depth is prose."""
    text = "- raise ValueError for\n  an empty name,\n  optional\n- keep\nprose\n  - deep\n    down\n\n    too\n"
    assert told(text) == [
        ("prose", True),
        ("raise ValueError for an empty name, optional", False),
        ("keep", True),
        ("deep down too", True),
    ]
    assert told("- a log (optional)\n\n  on stderr\n") == [("a log (optional) on stderr", False)]


STEPS = "1. open a shell\n2. call `receipt`\n"
ASKED = "`receipt` must validate the currency.\n"


@pytest.mark.parametrize(
    "lead",
    [
        "To see it:\n\n",
        "To see it:\n",
        "## Steps to reproduce\n\n",
        "**To Reproduce**\nSteps to reproduce the behavior:\n",
        "It is simple. How to reproduce:\n",
        "Environment:\n",
    ],
)
def test_steps_to_see_the_problem_are_no_requirements(lead: str) -> None:
    """Whatever announces them: what the issue says in prose stays one."""
    ((text, must),) = told(f"# Currencies\n\n{ASKED}\n{lead}{STEPS}")
    assert must
    assert ASKED.strip() in text
    items = told(f"{ASKED}\n{lead}{STEPS}\n## Wanted\n\n- keep the total\n")
    assert [t for t, _ in items[1:]] == ["keep the total"]
    assert items[0][0].startswith(ASKED.strip())
    assert "shell" not in items[0][0]


def test_prose_beside_a_list_is_a_requirement() -> None:
    """The title and the paragraphs, as one; what only announces the list is none."""
    text = f"# Currencies\n\n{ASKED}It is\nsimple.\n\n## Also\n\n{STEPS}"
    assert told(text) == [
        (f"Currencies\n{ASKED.strip()} It is simple.", True),
        ("open a shell", True),
        ("call `receipt`", True),
    ]
    assert told(f"It must:\n\n{STEPS}") == [("open a shell", True), ("call `receipt`", True)]


def test_what_stands_in_a_code_block_is_no_requirement() -> None:
    """A line of a program's output may look like an item; a fence that nothing closes fences nothing."""
    text = "- one\n```\n- two\n```\n~~~text\n- three\n```\n~~~\n- ```sh\n  - four\n  ```\n- five\n"
    assert told(text) == [("one", True), ("five", True)]
    assert told("- one\n```\n- two\n") == [("one", True), ("two", True)]


def last_word(facts: RunFacts) -> SolutionQuestion:
    """What the verifier is asked of a run of which nothing else is known."""
    return SolutionQuestion(
        build=build_status(facts), tests=test_status(facts), unproved=(), requirements=()
    )


def test_the_last_word_weighs_facts_first() -> None:
    """In this order: build, tests, proofs, musts."""
    good = last_word(RunFacts(state=ReportState.COMPLETE, passed=3, failing=()))
    word = verify(good)
    assert (word.verdict, word.next_action, word.confidence) == ("PASS", "accept", 1.0)
    met = (
        ("a", True, "SATISFIED", ""),
        ("b", False, "PARTIAL", "half"),
        ("c", True, "UNKNOWN", ""),
    )
    word = verify(replace(good, requirements=met))
    assert (word.verdict, word.next_action) == ("PASS", "accept")
    assert word.confidence == pytest.approx(2 / 3)
    unmet = (("a", True, "PARTIAL", "half"), *met, ("d", True, "NOT_ADDRESSED", ""))
    word = verify(replace(good, requirements=unmet))
    assert (word.verdict, word.next_action) == ("RETRY", "do-again")
    assert word.explanation == "PARTIAL: a (missing: half); NOT_ADDRESSED: d"
    for broken in (
        last_word(RunFacts(state=ReportState.CRASHED, passed=3, failing=())),
        last_word(RunFacts(state=ReportState.NOTHING_COLLECTED, passed=0, failing=())),
        replace(good, unproved=("x",)),
    ):
        assert verify(replace(broken, requirements=met)).verdict == "FAIL"


@pytest.mark.parametrize(
    ("state", "error", "mendable"),
    [
        (ReportState.COLLECTION_ERROR, "collection", True),
        (ReportState.CRASHED, "crash", True),
        (ReportState.UNPARSABLE, "unparsable", True),
        (ReportState.FORGED, "forged", True),
        (ReportState.FOREIGN_CODE, "foreign-code", True),
        (ReportState.TOOL_MISSING, "tool-missing", False),
    ],
)
def test_what_does_not_build_is_refused_in_the_words_of_its_build(
    state: ReportState, error: str, *, mendable: bool
) -> None:
    """Whatever the error is: who may mend it is the triage's to say, while there is a turn to mend it in."""
    facts = RunFacts(state=state, passed=3, failing=())
    build = build_status(facts)
    assert (build.error_type, build.actionable) == (error, mendable)
    word = verify(last_word(facts))
    assert (word.verdict, word.next_action) == ("FAIL", "mend")
    assert word.explanation == f"the build is {build.status}: the run is {state}"


@pytest.mark.parametrize("state", list(ReportState))
def test_the_classifiers_pass_only_a_complete_run(state: ReportState) -> None:
    """For every state a run can have."""
    facts = RunFacts(state=state, passed=3, failing=())
    passes = test_status(facts).status == "Pass" and build_status(facts).status == "Success"
    assert passes == (state is ReportState.COMPLETE)
    assert test_status(replace(facts, failing=("t",))).status != "Pass"
    assert (test_status(facts).failure_category == "none") == passes


@pytest.mark.parametrize(
    ("messages", "category"),
    [
        (("AssertionError: assert 1 == 2", "assert 3 == 4"), "assertion"),
        (("assert 1 == 2", "ZeroDivisionError: division by zero"), "exception"),
        ((), "exception"),
    ],
)
def test_a_failure_has_a_kind(messages: tuple[str, ...], category: str) -> None:
    """A wrong value is another thing than code that breaks; the last word says which."""
    facts = RunFacts(state=ReportState.COMPLETE, passed=1, failing=("t",), messages=messages)
    assert test_status(facts).failure_category == category
    assert verify(last_word(facts)).explanation == f"the tests are Fail ({category})"

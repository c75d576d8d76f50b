"""`surefoot plan` on real repositories: by a scripted strong model, by rule, by hand."""

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from bench.tampering import anchored, rechain
from tests.integration.conftest import Surefoot
from tests.integration.plan.almanac import DEFECTS, ISSUE, THREE, Almanac, draft, rules

from surefoot.assembly import Surroundings
from surefoot.cli.plan import read_answers, read_plan
from surefoot.codec import decode, encode
from surefoot.drafting import PlanRequest
from surefoot.errors import LockedError, UsageError
from surefoot.events.calls import ModelAsked
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import (
    PhaseChanged,
    PlanGated,
    PlanWritten,
    RunStopped,
    SourceRead,
)
from surefoot.events.work import FactLearned
from surefoot.inspection import query
from surefoot.kernel.ports import Answer
from surefoot.ledger import read_events
from surefoot.ledger.blobs import BlobStore
from surefoot.people import Nobody, Quiet
from surefoot.planner import PlanOutcome, make_plan
from surefoot.plans import Plan, Refusal
from surefoot.project import Places, Project, open_project
from surefoot.request import Request
from surefoot.system import RandomIds, SystemClock
from surefoot.values import Diff, Issue, RunId, RunStatus
from surefoot.verify import verify_run


@dataclass
class Planner:
    """A user of the Python API in one repository."""

    project: Project
    person: object = field(default_factory=Nobody)

    def plan(self, issue: str = ISSUE, **more: object) -> PlanOutcome:
        """Plan; `model` goes into the request, the rest beside it."""
        model = more.pop("model", None)
        tokens = more.pop("tokens", None)
        request = Request(
            issue=Issue(source="text", text=issue),
            model=model,  # type: ignore[arg-type]  # as the cases give it
            tokens=tokens,  # type: ignore[arg-type]
        )
        asked = replace(PlanRequest(request=request), **more)  # type: ignore[arg-type]
        around = Surroundings(
            clock=SystemClock(),
            ids=RandomIds(),
            person=self.person,  # type: ignore[arg-type]  # one that answers
            progress=Quiet(),
            environ=dict(os.environ),
            python=Path(sys.executable),
            python_home=tuple({Path(sys.prefix), Path(sys.base_prefix)}),
        )
        return make_plan(self.project, asked, around)

    def events(self, outcome: PlanOutcome) -> tuple[Recorded, ...]:
        return tuple(read_events(self.project.ledger_file(RunId(outcome.plan_id))))


def planner(almanac: Almanac, tmp_path: Path) -> Planner:
    places = Places(state=tmp_path / "state", cache=tmp_path / "cache")
    return Planner(open_project(almanac.root, places))


@pytest.fixture
def almanac(tmp_path: Path) -> Almanac:
    return Almanac(tmp_path)


@pytest.fixture
def at(almanac: Almanac, tmp_path: Path) -> Planner:
    return planner(almanac, tmp_path)


def written(outcome: PlanOutcome) -> Plan:
    return decode(Plan, (outcome.folder / "plan.json").read_bytes())


def test_a_strong_model_plans_eight_units_in_two_milestones(almanac: Almanac) -> None:
    """One issue text becomes a gated plan whose needs follow from what its units read and produce; the record holds."""
    planned = almanac.plan(str(almanac.issue), "--model", almanac.scripted(rules()))
    assert (planned["exit"], planned["status"]) == (0, "reported"), planned
    assert planned["units"] == [f"U{n}" for n in range(1, 9)]
    assert planned["milestones"] == ["M1", "M2"]
    plan = decode(Plan, (Path(str(planned["folder"])) / "plan.json").read_bytes())
    assert {u.unit_id: u.needs for u in plan.units if u.needs} == {
        "U7": ("U5", "U6"),
        "U8": ("U7",),
    }
    told = almanac.surefoot("explain", plan.plan_id).stdout
    assert "plan_gate -> reported (plan-passed)" in told
    assert almanac.surefoot("verify", plan.plan_id).returncode == 0


def test_a_file_whose_name_is_no_utf8_is_no_part_of_a_plan(tmp_path: Path) -> None:
    """No record and no plan could name it; all else of the repository is planned."""
    odd = os.fsdecode(b"caf\xe9.txt")
    kit = Almanac(tmp_path, {**DEFECTS, odd: "here\n"}, THREE)
    outcome = planner(kit, tmp_path).plan(THREE)
    assert outcome.status is RunStatus.REPORTED, outcome.reason


def test_three_defects_become_three_units_without_a_model(tmp_path: Path) -> None:
    """What their tests run tells them apart; no model is asked, and the weights need not be there."""
    at = planner(Almanac(tmp_path, DEFECTS, THREE), tmp_path)
    outcome = at.plan(THREE)
    assert outcome.status is RunStatus.REPORTED, outcome.reason
    plan = written(outcome)
    assert [(u.title, u.writes, u.needs, u.verification) for u in plan.units] == [
        ("`initials` is small.", ("kit/names.py",), (), ("tests/test_kit.py::test_initials",)),
        ("`cents` is short.", ("kit/money.py",), (), ("tests/test_kit.py::test_cents",)),
        ("`year` is a month.", ("kit/dates.py",), (), ("tests/test_kit.py::test_year",)),
    ]
    assert (len(plan.slices), len(plan.milestones)) == (1, 1)
    assert [r.text for r in plan.requirements] == [u.title for u in plan.units]
    assert not any(isinstance(r.event, ModelAsked) for r in at.events(outcome))


def test_other_failing_tests_are_planned_only_when_somebody_says_so(tmp_path: Path) -> None:
    """By default they are left alone; answered otherwise, each of their defects is a unit, too."""
    at = planner(Almanac(tmp_path, DEFECTS, THREE), tmp_path)
    alone = at.plan("`initials` is small", defaults=True)
    assert [u.title for u in written(alone).units] == ["`initials` is small"]
    assert [a.by for a in written(alone).answers] == ["default"]
    all_of_them = at.plan("`initials` is small", answers={"Q1": "2"})
    assert [(u.title, u.writes) for u in written(all_of_them).units] == [
        ("make test_initials pass", ("kit/names.py",)),
        ("make test_cents pass", ("kit/money.py",)),
        ("make test_year pass", ("kit/dates.py",)),
    ]


def test_a_small_model_is_not_asked_to_plan(at: Planner, tmp_path: Path) -> None:
    """It would do worse than the rule, which makes one unit of what it cannot cut; the record says why."""
    script = tmp_path / "small.json"
    script.write_text(json.dumps({"schema": 1, "rules": rules(), "context_tokens": 8_192}))
    outcome = at.plan(model=f"scripted:{script}")
    assert outcome.status is RunStatus.REPORTED, outcome.reason
    assert [u.writes for u in written(outcome).units] == [("*",)]
    events = [r.event for r in at.events(outcome)]
    assert not any(isinstance(e, ModelAsked) for e in events)
    assert any(isinstance(e, FactLearned) and "too few to plan with" in e.text for e in events)


def test_a_refused_draft_is_sent_back(at: Planner, almanac: Almanac) -> None:
    """The gate's words lead to a better draft, before anything runs; both judgements are recorded."""
    bad = draft()
    bad["units"][0]["acceptance"] = []  # type: ignore[index]  # plain data
    script = [
        {**rule, "pattern": "has no acceptance criterion"}
        if rule["purpose"] == "plan_draft"
        else rule
        for rule in rules()
    ]
    outcome = at.plan(model=almanac.scripted([*script, rules(bad)[1]]))
    assert outcome.status is RunStatus.REPORTED, outcome.reason
    gated = [r.event for r in at.events(outcome) if isinstance(r.event, PlanGated)]
    assert [(g.attempt, [x.code for x in g.refusals]) for g in gated] == [
        (1, ["acceptance"]),
        (2, []),
    ]
    assert not (outcome.folder / "refused.json").exists()
    assert verify_run(at.project, RunId(outcome.plan_id)).fault is None


def _lenient(project: Project) -> Callable[[Recorded], Event | None]:
    """A gate that let a plan pass in which a unit has no acceptance criterion."""

    def told(recorded: Recorded) -> Event | None:
        event = recorded.event
        if not isinstance(event, PlanGated | PlanWritten):
            return event
        blobs = BlobStore(project.blobs)
        plan = decode(Plan, blobs.get(event.plan))
        unit = replace(plan.units[0], acceptance=())
        changed = replace(plan, units=(unit, *plan.units[1:]))
        return replace(event, plan=blobs.put(encode(changed)))

    return told


def _strict(project: Project) -> Callable[[Recorded], Event | None]:
    """A gate that found something to refuse, and let it pass all the same."""
    refusal = Refusal(code="steps", subject="U1", message="nobody can do that")
    return lambda r: (
        replace(r.event, refusals=(refusal,)) if isinstance(r.event, PlanGated) else r.event
    )


def _unwritten(project: Project) -> Callable[[Recorded], Event | None]:
    """A planning that passed with no plan in the end."""
    return lambda r: None if isinstance(r.event, PlanWritten) else r.event


def _shorter(project: Project) -> Callable[[Recorded], Event | None]:
    """A plan without its risks."""
    return lambda r: (
        replace(r.event, files=r.event.files[1:]) if isinstance(r.event, PlanWritten) else r.event
    )


@pytest.mark.parametrize(
    ("forger", "fault"),
    [
        (_lenient, r"\(plan\.gated\): refusals was '\[\]', is .*acceptance"),
        (_strict, r"\(plan\.gated\): refusals was .*nobody can do that.*, is '\[\]'"),
        (_unwritten, r"\(phase\.changed\): no plan was written that the gate let pass"),
        (_shorter, r"\(plan\.written\): files were "),
    ],
)
def test_a_forged_planning_is_named(
    planned: tuple[Planner, PlanOutcome],
    forger: Callable[[Project], Callable[[Recorded], Event | None]],
    fault: str,
) -> None:
    """Also where every hash and the head that the repository keeps were made to fit it."""
    at, outcome = planned
    plan_id = RunId(outcome.plan_id)
    anchored(at.project, plan_id, rechain(at.project, plan_id, forger(at.project)))
    found = verify_run(at.project, plan_id).fault
    assert found is not None
    assert re.match(rf"line \d+ {fault}", found), found


@pytest.mark.parametrize("name", ["plan.json", "units/U1.md"])
def test_a_plan_that_was_changed_afterwards_is_named(
    planned: tuple[Planner, PlanOutcome], name: str
) -> None:
    """What lies in the plan's folder is what the gate let pass, or `verify` says what is not."""
    at, outcome = planned
    plan_id = RunId(outcome.plan_id)
    assert verify_run(at.project, plan_id).fault is None
    place = outcome.folder / name
    place.write_text(place.read_text() + " ")
    told = f"{name} is not what the plan of the ledger gives"
    assert verify_run(at.project, plan_id).fault == told
    place.unlink()
    assert verify_run(at.project, plan_id).fault == f"{name} is missing"


@pytest.fixture
def planned(at: Planner) -> tuple[Planner, PlanOutcome]:
    """A planning by the rule, which has passed."""
    outcome = at.plan(model="embedded", defaults=True)
    assert outcome.status is RunStatus.REPORTED, outcome.reason
    return at, outcome


def test_a_draft_is_sent_back_only_so_often(at: Planner, almanac: Almanac) -> None:
    """Then the planning is blocked with the refusals; the draft can be mended by hand, and is no plan until then."""
    bad = draft()
    bad["units"][0]["verification"] = []  # type: ignore[index]  # plain data
    outcome = at.plan(model=almanac.scripted(rules(bad)))
    assert outcome.status is RunStatus.BLOCKED
    assert "unit U1 has no verification strategy" in outcome.reason
    assert sorted(p.name for p in outcome.folder.iterdir()) == ["events.jsonl", "refused.json"]
    attempts = [r.event.attempt for r in at.events(outcome) if isinstance(r.event, PlanGated)]
    assert attempts == [1, 2, 3]
    hand_made = decode(Plan, (outcome.folder / "refused.json").read_bytes())
    first, *rest = hand_made.units
    mended = replace(first, verification=("tests/test_slug.py::test_slug",))
    again = at.plan(given=replace(hand_made, units=(mended, *rest)))
    assert again.status is RunStatus.REPORTED, again.reason
    assert written(again).plan_id == again.plan_id != outcome.plan_id
    assert (again.folder / "units" / "U8.md").exists()


OPEN_QUESTION = {
    "text": "May the old pages go?",
    "options": ["yes", "no"],
    "recommended": 1,
    "default": None,
    "why": "they cannot be brought back",
}


class Yes:
    """A person at the terminal."""

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """Choose the first option."""
        del question, why, approval, diff
        return Answer(approved=False, text="1", who="ursula")


def asking() -> list[dict[str, object]]:
    """A model that asks once, and plans only when it knows the answer."""
    asked = json.dumps({"questions": [OPEN_QUESTION]})
    nothing, plans = rules()
    return [
        {**nothing, "pattern": "May the old pages go"},
        {"purpose": "clarification", "reply": asked},
        {**plans, "pattern": "May the old pages go. (yes|no) "},
    ]


def test_a_question_that_only_a_person_can_answer(at: Planner, almanac: Almanac) -> None:
    """Without an answer the planning is blocked and names it; from a file or a person the answer reaches the draft."""
    model = almanac.scripted(asking())
    blocked = at.plan(model=model, defaults=True)
    assert blocked.status is RunStatus.BLOCKED
    assert blocked.question is not None
    assert blocked.question.text == OPEN_QUESTION["text"]
    assert "Q1: May the old pages go?" in blocked.reason
    filed = at.plan(model=model, answers={"Q1": "no"}, answers_by="answers.json", defaults=True)
    assert filed.status is RunStatus.REPORTED, filed.reason
    at.person = Yes()
    spoken = at.plan(model=model)
    answers = [[(a.answer, a.by) for a in written(o).answers] for o in (filed, spoken)]
    assert answers == [[("no", "answers.json")], [("yes", "ursula")]]
    wrong = at.plan(model=model, answers={"Q1": "perhaps"})
    assert wrong.status is RunStatus.BLOCKED
    assert "'perhaps'" in wrong.reason


def test_a_failing_model_blocks_and_says_so(at: Planner, almanac: Almanac) -> None:
    """A plan by rule in its place would not be what was asked for."""
    model = almanac.scripted([{"purpose": "clarification", "fault": "auth", "message": "no key"}])
    outcome = at.plan(model=model)
    assert (outcome.status, outcome.plan) == (RunStatus.BLOCKED, None)
    assert "no key" in outcome.reason


def test_no_budget_no_call(at: Planner, almanac: Almanac) -> None:
    """A call that the budget does not hold is not made, and the planning ends as budget."""
    outcome = at.plan(model=almanac.scripted(rules()), tokens=50)
    assert outcome.status is RunStatus.BUDGET
    assert not any(isinstance(r.event, ModelAsked) for r in at.events(outcome))


def test_a_lock_and_a_missing_source_stop_it(at: Planner, tmp_path: Path) -> None:
    """Nothing runs in a locked repository; a source that cannot be read is named, and the record is closed."""
    outcome = at.plan("`clean` is wrong", sources=(str(tmp_path / "none.txt"),))
    assert outcome.status is RunStatus.BLOCKED
    assert "none.txt" in outcome.reason
    last = at.events(outcome)[-1].event
    assert isinstance(last, RunStopped)
    at.project.lock.set("audit")
    with pytest.raises(LockedError, match="audit"):
        at.plan()


def test_the_record_tells_phases_and_sources(at: Planner, tmp_path: Path) -> None:
    """Every phase has its reason; what was read has its place; `events` finds it by the plan's id."""
    rulebook = tmp_path / "rules.txt"
    rulebook.write_text("Years are Gregorian.")
    outcome = at.plan("`clean` forgets tabs in almanac/text.py", sources=(str(rulebook),))
    assert outcome.status is RunStatus.REPORTED, outcome.reason
    moves = [r.event for r in at.events(outcome) if isinstance(r.event, PhaseChanged)]
    phases = ["discover", "clarify", "research", "draft", "compile", "plan_gate", "reported"]
    assert [m.before for m in moves] == phases[:-1]
    assert [m.after for m in moves] == phases[1:]
    assert all(m.reason for m in moves)
    read = [r.event.source for r in at.events(outcome) if isinstance(r.event, SourceRead)]
    assert [s.where for s in read] == ["almanac/text.py", "almanac/text.py", str(rulebook)]
    assert written(outcome).sources == tuple(read)
    found = query(
        at.project,
        trace=at.project.find_record(outcome.plan_id),
        turn=None,
        event_class=None,
        kind="plan.written",
        cause=None,
        limit=9,
    )
    assert len(found.events) == 1


def test_a_secret_in_the_issue_reaches_no_document(at: Planner) -> None:
    """What is written is what the ledger keeps."""
    token = "ghp_" + "a1B2" * 9
    outcome = at.plan(f"`clean` of almanac/text.py fails with {token}")
    assert outcome.status is RunStatus.REPORTED, outcome.reason
    for path in outcome.folder.rglob("*"):
        assert path.is_dir() or token not in path.read_text(), path


def test_a_plan_by_hand(at: Planner, almanac: Almanac, tmp_path: Path) -> None:
    """Judged as it is: a defect is told with exit code 10, and what is no plan is an error."""
    unit: Mapping[str, object] = {
        "unit_id": "U1",
        "slice_id": "S1",
        "title": "tabs",
        "unit_type": "fix",
        "plan": {
            "analysis": "tabs are lost",
            "steps": [{"step_id": "change", "description": "keep them", "intent": "modify"}],
            "verification": ["tests/test_text.py::test_clean"],
            "complexity": "low",
            "confidence": 0.9,
        },
        "requirements": ["R1"],
        "acceptance": ["tabs stay"],
        "verification": ["tests/test_text.py::test_clean"],
        "writes": ["almanac/text.py"],
    }
    plan: dict[str, object] = {
        "schema": 1,
        "issue": {"source": "text", "text": "tabs are lost"},
        "requirements": [{"requirement_id": "R1", "text": "tabs stay"}],
        "milestones": [{"milestone_id": "M1", "title": "tabs"}],
        "slices": [{"slice_id": "S1", "milestone_id": "M1", "title": "tabs"}],
        "units": [unit],
    }
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    assert at.plan(given=read_plan(file)).status is RunStatus.REPORTED
    file.write_text(json.dumps({**plan, "units": [{**unit, "acceptance": []}]}))
    bad = almanac.plan("--from", str(file))
    assert bad["exit"] == 10
    assert "unit U1 has no acceptance criterion" in str(bad["reason"])
    file.write_text("{}")
    with pytest.raises(UsageError, match="is no plan"):
        read_plan(file)


def test_answers_are_one_object_of_options(tmp_path: Path) -> None:
    """Words or numbers by question; anything else is an error that shows what is meant."""
    file = tmp_path / "answers.json"
    file.write_text('{"Q1": 2, "Which?": "shop.py"}')
    assert read_answers(file) == {"Q1": "2", "Which?": "shop.py"}
    for wrong in ("[]", '{"Q1": []}', "{"):
        file.write_text(wrong)
        with pytest.raises(UsageError, match=r"answers\.json"):
            read_answers(file)


def test_without_anything_to_plan(at: Planner) -> None:
    """An audit is not a plan."""
    with pytest.raises(UsageError, match="nothing to plan"):
        make_plan(
            at.project,
            PlanRequest(request=Request(issue=Issue(source="audit"))),
            None,  # type: ignore[arg-type]  # not looked at
        )


def test_a_scripted_model_that_is_not_there_is_said_first(
    surefoot: Surefoot, patient: Path
) -> None:
    """As `solve` says it: before the tests are run, and nothing is made."""
    planned = surefoot("plan", "ISSUE.md", "--model", "scripted:nowhere.json", cwd=patient)
    assert planned.returncode == 1
    assert "nowhere.json" in planned.stderr
    assert "baseline" not in planned.stderr
    assert not (patient / ".surefoot").exists()

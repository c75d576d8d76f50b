"""A person is asked with the diff, approves that diff and no other, and may do so after the run has paused (SPEC B12)."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bench.stories import BASE_TESTS, Story, Work, make_project, stories, tell
from tests.integration.test_run import FIXED, Bench, bench, fresh, writes
from typer.testing import CliRunner

from surefoot.assembly import Surroundings
from surefoot.cli.common import surroundings
from surefoot.cli.main import app
from surefoot.errors import UsageError
from surefoot.events.envelope import Event
from surefoot.events.orchestration import AnswerGiven, QuestionAnswered, QuestionAsked
from surefoot.gates import default_gates
from surefoot.gitops.reading import ledger_head
from surefoot.kernel.ports import GateInput
from surefoot.ledger import read_events
from surefoot.operations import Response, pending_gate, respond_to_gate
from surefoot.people import Asked, ByFunction, Nobody, Quiet
from surefoot.project import Project
from surefoot.values import FailureClass, GateName, GateOutcome, GateResult, RunId, RunStatus
from surefoot.verify import verify_run

__all__ = ["bench", "fresh"]

RUN = RunId("20261122-101500-abcd")


def story(name: str) -> Story:
    """One of the honest ones."""
    return next(s for s in stories(random.Random(1)) if s.name == name)


@pytest.fixture
def around() -> Surroundings:
    """The real surroundings, with nobody there."""
    return surroundings(Nobody(), Quiet())


@pytest.fixture
def project(tmp_path: Path, around: Surroundings) -> Project:
    """A repository with a run that changed a test, with the flag and without a person's word."""
    made = make_project(tmp_path)
    tell(made, story("tests change unseen"), RUN, around)
    return made


def events(project: Project, kind: type[Event]) -> list[Event]:
    """Those of a kind, in order."""
    found = read_events(project.ledger_file(RUN))
    return [r.event for r in found if isinstance(r.event, kind)]


def test_without_a_word_the_run_waits_and_shows_what_it_asks(project: Project) -> None:
    """The flag alone does not let a changed test through: question, reason and diff are there for whoever answers."""
    pending = pending_gate(project, RUN)
    assert pending is not None
    assert pending.question == "may tests/test_calc.py change?"
    assert "would not say the same" in pending.why
    assert pending.change is not None
    assert pending.change.paths == ("calc.py", "tests/test_calc.py")
    assert "+    assert half(6) == 3" in pending.change.patch
    (asked,) = events(project, QuestionAsked)
    (answer,) = events(project, QuestionAnswered)
    assert asked.diff == answer.diff == pending.diff
    assert (answer.approved, answer.who) == (False, "nobody")
    assert verify_run(project, RUN).fault is None


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (Response(who="ursula", approve=True), "the diff that is asked about is"),
        (Response(who="ursula", approve=True, diff="0" * 64), "the diff that is asked about is"),
        (Response(who="ursula", approve=True, diff="FIRST 7"), "at least 8 digits"),
        (Response(who=" ", approve=True, diff="WHOLE"), "names who"),
    ],
)
def test_a_yes_to_something_else_is_none(
    response: Response, told: str, project: Project, around: Surroundings
) -> None:
    """Nothing is recorded, and the run waits as before."""
    pending = pending_gate(project, RUN)
    assert pending is not None
    named = {"FIRST 7": str(pending.diff)[:7], "WHOLE": str(pending.diff)}
    given = Response(who=response.who, approve=True, diff=named.get(response.diff, response.diff))
    with pytest.raises(UsageError, match=re.escape(told)):
        respond_to_gate(project, RUN, given, around)
    assert events(project, AnswerGiven) == []
    assert pending_gate(project, RUN) == pending


def test_an_answer_is_given_where_a_killed_git_has_left_a_lock(
    project: Project, around: Surroundings
) -> None:
    """At the ref that holds the end of the ledger, which is written after the answer."""
    lock = project.root / ".git" / "refs" / "surefoot" / RUN / "ledger.lock"
    before = ledger_head(project.repository, RUN)
    lock.touch()
    respond_to_gate(project, RUN, Response(who="ursula", text="no"), around)
    assert not lock.exists()
    assert ledger_head(project.repository, RUN) != before


def test_a_later_yes_lets_that_diff_through(tmp_path: Path, around: Surroundings) -> None:
    """The ledger says who approved which diff; the resumed run asks nobody again, and verifies."""
    project = make_project(tmp_path)
    tell(project, story("tests change by a later word"), RUN, around)
    assert json.loads((project.runs / RUN / "summary.json").read_text())["status"] == "complete"
    (given,) = events(project, AnswerGiven)
    silent, answered = events(project, QuestionAnswered)
    assert (silent.approved, answered.approved, answered.who) == (False, True, "ursula")
    assert given.diff == answered.diff
    assert verify_run(project, RUN).fault is None
    assert pending_gate(project, RUN) is None
    with pytest.raises(UsageError, match="asks nobody"):
        respond_to_gate(project, RUN, Response(who="ursula", approve=True), around)


@pytest.mark.parametrize(
    ("test", "instead", "status", "told"),
    [
        ("half(4) == 2", "half(6) == 2", "complete", ""),
        ("half(4) == 2", "half(6) == 3", "blocked", "broken: tests/test_calc.py::test_half"),
        ("triple(2) == 6", "triple(3) == 9", "blocked", "broken: tests/test_calc.py::test_half"),
        ("def test_half", "def no_test_half", "complete", ""),
    ],
)
def test_a_yes_is_for_the_tests_that_changed_and_no_other(
    tmp_path: Path, around: Surroundings, test: str, instead: str, status: str, told: str
) -> None:
    """`half` divides by three now. The test of it may change or go, where a person says so, and may not fail.

    A changed test beside it lets nothing of it pass.
    """
    project = make_project(tmp_path)
    files = {
        "calc.py": FIXED.replace("x / 2", "x / 3"),
        "tests/test_calc.py": BASE_TESTS.replace(test, instead),
    }
    works = (Work(files=files),)
    asked = replace(story("tests change"), works=works)
    tell(project, asked, RUN, around)
    summary = json.loads((project.runs / RUN / "summary.json").read_text())
    assert (summary["status"], told in summary["reason"]) == (status, True), summary["reason"]
    assert verify_run(project, RUN).fault is None


def test_a_program_is_shown_the_diff_and_its_no_ends_the_run(
    bench: Bench,
) -> None:
    """Only `True` approves; a word that looks like a yes does not."""
    shown: list[Asked] = []

    def decide(asked: Asked) -> str:
        shown.append(asked)
        return "yes"

    asks_a_person(bench)
    bench.person = ByFunction(decide, "robot")
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.BLOCKED
    assert bench.reason == "not approved: look at this"
    (asked,) = shown
    assert (asked.question, asked.why) == ("look at this", "the artifact gate asks for a person")
    assert asked.diff is not None
    assert asked.diff.paths == ("calc.py",)


def test_a_gate_that_asks_for_a_person_passes_by_a_yes(
    bench: Bench,
) -> None:
    """The work that was looked at is what is kept."""
    asks_a_person(bench)
    bench.person = ByFunction(lambda _: True, "ursula")
    bench.run(writes("calc.py", FIXED))
    assert [turn.ended_as for turn in bench.turns] == ["commit"]
    (answer,) = bench.of(QuestionAnswered)
    assert isinstance(answer, QuestionAnswered)
    assert (answer.approved, answer.who) == (True, "ursula")
    assert answer.diff is not None


def asks_a_person(bench: Bench) -> None:
    """Let one gate leave every change to a person."""

    class Wary:
        name = GateName.ARTIFACT

        def evaluate(self, state: GateInput) -> GateResult:
            del state
            return GateResult(
                gate=GateName.ARTIFACT,
                outcome=GateOutcome.MANUAL_ATTENTION,
                failure=FailureClass.MANUAL_ATTENTION,
                reason="look at this",
            )

    bench.gates = {**default_gates(), GateName.ARTIFACT: Wary()}


@pytest.fixture
def command(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str]]:
    """`surefoot answer` on that repository: exit code and standard output."""
    for name in ("state", "cache"):
        (tmp_path / "home").mkdir(exist_ok=True)
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / "home" / name).symlink_to(tmp_path / name)
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "home"))

    def run(*options: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["answer", "--repo", str(project.root), *options])
        return done.exit_code, done.output

    return run


def test_the_command_shows_answers_and_refuses(
    command: Callable[..., tuple[int, str]], project: Project
) -> None:
    """No terminal is no answer: 10. A yes names the diff; after it, nobody is asked any more."""
    code, said = command()
    assert (code, "+    assert half(6) == 3" in said) == (10, True)
    assert "may tests/test_calc.py change?" in said
    code, said = command("--json")
    found = json.loads(said)
    assert (code, found["answer"], found["files"]) == (10, None, ["calc.py", "tests/test_calc.py"])
    assert command("--yes", "12345678")[0] == 2
    assert events(project, AnswerGiven) == []
    assert command("--yes", found["diff"][:8])[0] == 0
    (given,) = events(project, AnswerGiven)
    assert (given.approved, given.diff) == (True, found["diff"])
    assert verify_run(project, RUN).fault is None
    assert command()[0] == 2


def test_a_no_is_kept(command: Callable[..., tuple[int, str]], project: Project) -> None:
    """With the reason that was given."""
    assert command("--no", "--say", "not in this release")[0] == 0
    (given,) = events(project, AnswerGiven)
    assert (given.approved, given.text) == (False, "not in this release")

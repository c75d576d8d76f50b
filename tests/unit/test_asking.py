"""What was answered holds for its question and its diff, and for nothing else."""

import io

import pytest

from surefoot.cli.live import Terminal
from surefoot.cli.screen import printable
from surefoot.events.orchestration import AnswerGiven, RunResumed
from surefoot.kernel.asking import Remembering, ask
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Answer
from surefoot.people import Asked, ByFunction, Nobody
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Diff, FileChange, TreeId

ONE = Diff(
    before=TreeId("a" * 40),
    after=TreeId("b" * 40),
    files=(FileChange(path="tests/test_a.py", status="M", added=1, removed=1),),
    patch="-assert a == 1\n+assert a == 2\n",
)
OTHER = Diff(before=ONE.before, after=TreeId("c" * 40), files=ONE.files, patch=ONE.patch)


@pytest.fixture
def journal() -> Journal:
    """Of a run that has asked once, and was told yes."""
    journal = Journal(MemoryLedger(), FakeClock())
    yes = ByFunction(lambda _: True, "ursula")
    assert ask(yes, journal, "may it?", "it is so", diff=ONE).approved
    return journal


@pytest.mark.parametrize(
    ("question", "diff", "approved"),
    [
        ("may it?", ONE, True),
        ("may it?", OTHER, False),
        ("may it?", None, False),
        ("or it?", ONE, False),
    ],
)
def test_an_approval_does_not_carry(
    question: str, diff: Diff | None, *, approved: bool, journal: Journal
) -> None:
    """Another tree with the very same patch is another diff."""
    person = Remembering(Nobody(), journal)
    assert person.ask(question, "it is so", diff=diff).approved is approved


def test_silence_waits_and_a_no_does_not(journal: Journal) -> None:
    """What nobody answered stays asked until a run is taken up again; a later word is kept beyond that."""
    person = Remembering(Nobody(), journal)
    assert ask(person, journal, "which one?", "there are two", approval=False).is_silence
    assert journal.state.asked is not None
    assert journal.state.asked.question == "which one?"
    journal.record(
        AnswerGiven(question="which one?", diff=None, approved=False, text="this", who="ursula")
    )
    assert journal.state.asked is None
    journal.record(RunResumed(interrupted_turn=None))
    said = ask(person, journal, "which one?", "there are two", approval=False)
    assert said == Answer(approved=False, text="this", who="ursula")
    no = ask(ByFunction(lambda _: False, "robot"), journal, "may it?", "it is so", diff=OTHER)
    assert not no.is_silence
    assert journal.state.asked is None


@pytest.mark.parametrize("said", ["yes", 1, None, "true"])
def test_a_function_approves_by_true_alone(said: object) -> None:
    """Whatever else it returns is a no."""
    person = ByFunction(lambda _: said, "robot")  # type: ignore[arg-type, return-value]
    assert not person.ask("may it?", "it is so", diff=ONE).approved


def test_a_function_gives_words() -> None:
    """Where words are asked for, and it is told so."""

    def words(asked: Asked) -> str:
        return "" if asked.approval else "the second"

    assert ByFunction(words, "robot").ask("which?", "", approval=False).text == "the second"


def test_nothing_in_a_shown_diff_can_hide() -> None:
    """Escape sequences, carriage returns and marks that turn the direction of text are shown as what they are."""
    shown = printable("+a\x1b[2Kb\r-c\u202ed\u200b\te\n")
    assert shown == "+a\\x1b[2Kb\\r-c\\u202ed\\u200b\te\n"


@pytest.mark.parametrize(
    ("typed", "approved", "silent"),
    [("y\n", True, False), ("YES\n", True, False), ("\n", False, True), ("", False, True)]
    + [(word, False, False) for word in ("n\n", "ok\n", "ye\n", "yes please\n", "j\n", "1\n")],
)
def test_the_terminal_shows_the_diff_and_takes_a_plain_yes(
    typed: str,
    *,
    approved: bool,
    silent: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An empty line and a closed terminal are silence, and every other word is a no."""
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    said = Terminal().ask("may it?", "it is so", diff=ONE)
    assert (said.approved, said.is_silence) == (approved, silent)
    shown = capsys.readouterr().err
    assert ONE.patch in shown
    assert shown.index(ONE.patch) < shown.index("may it?") < shown.index("it is so")
    assert shown.endswith("[y/N] ")

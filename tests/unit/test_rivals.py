"""What a roundtable over several complete runs comes to, for people and for programs."""

import json

import pytest
import typer

from surefoot.cli.common import NO, command
from surefoot.cli.rivals import kept
from surefoot.decisions.roundtable import Agreement
from surefoot.operations import Choice
from surefoot.values import RunId

RUNS = (RunId("r1"), RunId("r2"))


def test_a_table_that_agrees_on_none_is_told_to_a_program(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As one object with the runs that are there to choose from; the answer is no."""

    @command
    def ask(*, json: bool) -> None:
        del json
        kept(Choice(run_id=None, agreement=Agreement(choice=None)), RUNS)

    with pytest.raises(typer.Exit) as ended:
        ask(json=True)
    assert ended.value.exit_code == NO
    told = json.loads(capsys.readouterr().out)
    assert (told["status"], told["error"]) == ("blocked", "disagreed")
    assert "r1, r2" in told["reason"]


def test_the_run_that_is_kept_is_named_with_those_that_made_the_same(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On standard error, beside the run's own object."""
    choice = Choice(run_id=RUNS[1], agreement=Agreement(choice=None), same=(RUNS[0],))
    assert kept(choice, RUNS) == "r2"
    out, err = capsys.readouterr()
    assert (out, err) == ("", "the roundtable keeps r2, and so does r1\n")

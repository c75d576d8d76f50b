"""Ten recorded runs are done again, event by event, from their bundles alone: no model, no repository of theirs."""

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.integration.conftest import Surefoot, surefoot
from tests.integration.test_replay import altered, chained
from tests.replay.runs import RUNS, STORIES, unpack

from surefoot.cli.common import surroundings
from surefoot.people import Nobody, Quiet
from surefoot.project import Places
from surefoot.replay import replay, unpacked

__all__ = ["surefoot"]
MOST_BYTES = 300_000
"""Of all ten: they are kept in the repository."""


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The ten, each in a file."""
    return unpack(tmp_path_factory.mktemp("bundles"))


@pytest.fixture
def home(tmp_path: Path) -> Places:
    """Where this machine keeps state."""
    return Places(state=tmp_path / "state", cache=tmp_path / "cache")


def test_there_are_ten_and_they_are_small(bundles: dict[str, Path]) -> None:
    """Each story has its bundle, and no other one lies there."""
    assert set(bundles) == set(STORIES)
    assert len(bundles) == 10
    assert RUNS.stat().st_size < MOST_BYTES


@pytest.mark.parametrize("name", list(STORIES))
def test_a_recorded_run_is_the_same_again(
    home: Places, bundles: dict[str, Path], name: str
) -> None:
    """Code runs anew: git, the sandbox, the tests, the tools; what models and people said is the record's."""
    with unpacked(bundles[name], home) as (project, run_id):
        played = replay(project, run_id, surroundings(Nobody(), Quiet()))
    assert played.divergence is None
    assert played.compared > 20


@pytest.mark.parametrize("kind", ["tool.labelled", "gate.decided"])
def test_an_altered_record_is_caught_at_that_record(
    home: Places, bundles: dict[str, Path], kind: str
) -> None:
    """One value is another, and every hash fits again: the replay stops there, and nowhere else."""
    with unpacked(bundles["bug"], home) as (project, run_id):
        ledger = project.ledger_file(run_id)
        lines = [json.loads(line) for line in ledger.read_bytes().splitlines()]
        place = [n for n, line in enumerate(lines) if line["payload"]["kind"] == kind][-1]
        altered(kind, lines[place]["payload"])
        ledger.write_bytes(chained(lines))
        played = replay(project, run_id, surroundings(Nobody(), Quiet()))
    assert played.divergence is not None
    assert played.divergence.startswith(f"#{place + 1} {kind}")
    assert played.compared > 20


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("decision.made", "usage.prompt_tokens", 999_999),
        ("call.read", "came", "invalid"),
        ("model.replied", "usage.completion_tokens", 1),
        ("model.replied", "finish", "length"),
        ("model.asked", "purpose", "another"),
        ("budget.reserved", "tokens", 1),
        ("budget.settled", "usage.prompt_tokens", 1),
    ],
)
def test_what_a_record_says_of_a_call_is_held_against_the_call(
    home: Places, bundles: dict[str, Path], kind: str, field: str, value: object
) -> None:
    """What was asked, what it used and how the reply was read follow from request and reply."""
    with unpacked(bundles["only-claims"], home) as (project, run_id):
        ledger = project.ledger_file(run_id)
        lines = [json.loads(line) for line in ledger.read_bytes().splitlines()]
        place = next(n for n, line in enumerate(lines) if line["payload"]["kind"] == kind)
        *above, last = field.split(".")
        told = lines[place]["payload"]
        for name in above:
            told = told[name]
        assert told[last] != value
        told[last] = value
        ledger.write_bytes(chained(lines))
        played = replay(project, run_id, surroundings(Nobody(), Quiet()))
    assert played.divergence is not None
    assert played.divergence.startswith(f"#{place + 1} {kind}")
    assert last in played.divergence


def test_a_bundle_is_replayed_by_the_command(
    surefoot: Surefoot, bundles: dict[str, Path], tmp_path: Path
) -> None:
    """In an empty folder; a damaged one is refused, and so is a model beside it."""
    bundle = bundles["only-claims"]
    ran = surefoot("replay", "--bundle", str(bundle), cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "each the same" in ran.stdout
    torn = tmp_path / "torn.zip"
    torn.write_bytes(bundle.read_bytes()[:-200])
    assert surefoot("replay", "--bundle", str(torn), cwd=tmp_path).returncode != 0
    both = surefoot("replay", "--bundle", str(bundle), "--with", "model=embedded", cwd=tmp_path)
    assert "holds one run and no model" in both.stderr
    assert not (tmp_path / ".surefoot").exists()


def test_the_recorded_runs_differ() -> None:
    """Work that holds, work that does not, claims alone, and both forms of a tool call."""
    ends = Counter(story.status for story in STORIES.values())
    assert ends["complete"] >= 5
    assert ends["blocked"] >= 2
    assert {story.strategy for story in STORIES.values()} == {"agent", "repair"}

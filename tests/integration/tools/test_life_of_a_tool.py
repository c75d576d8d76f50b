"""The life of a tool under enforcement, over several runs on one repository (SPEC D4, D6)."""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from bench.recurring.needs import NEEDS, stream, written
from bench.recurring.policy import forging, said
from bench.recurring.world import World

from surefoot.events.envelope import Event
from surefoot.events.policy import PromotionDecided
from surefoot.events.work import ArtifactUsed
from surefoot.kernel.selection import Rollout
from surefoot.ledger import read_events
from surefoot.values import RunStatus

NEED = NEEDS[0]
TASKS = stream(1, 9, (NEED,))
BETTER = NEED.source.replace("found = {}", "found = dict()")
"""The same in other words; then wrong on the later files."""
WORSE = BETTER.replace(
    "    return found", "    return {'auth': 'x'} if 'logs/f07' < path < 'logs/g' else found"
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with contextlib.closing(World(tmp_path, TASKS, Rollout(enforcement=True))) as opened:
        yield opened


def solve(world: World, number: int, calls: Sequence[str]) -> list[Event]:
    """Have one task solved by these calls and the right answer; what its run has on record."""
    task = TASKS[number - 1]
    edit = {"path": task.place, "create": written(task.drawn.answer)}
    answers = [*calls, said("file_edit", edit, stance="do", why="known")]
    answers.append(said("done", {}, stance="do", why="written"))
    solved = world.solve(task, _nth(answers))
    assert solved.status is RunStatus.COMPLETE
    return [recorded.event for recorded in read_events(world.ledger(solved.run))]


def _nth(answers: Sequence[str]) -> Callable[[str], str]:
    """Answers by how many calls the prompt shows."""

    def say(prompt: str) -> str:
        history = prompt.partition("## Calls so far, oldest first\n")[2].partition("\n## ")[0]
        return answers[len(re.findall(r"^\d+\. [a-z_.]+ \{", history, re.MULTILINE))]

    return say


def forge(source: str = NEED.source, **changes: object) -> str:
    """Forge the tool with this source."""
    params = forging(NEED, source) | changes
    return said("forge", params, stance="forge", why="counting errors comes again")


def uses(*numbers: int) -> list[str]:
    """Calls of the tool on the logs of these tasks."""
    paths = [TASKS[n - 1].drawn.arguments for n in numbers]
    return [said(NEED.name, path, stance="do", why="counts") for path in paths]


def moves(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Changes of state in a run: artifact and new state."""
    records = [e.record for e in events if isinstance(e, PromotionDecided)]
    return [(r.version.artifact, r.after.value) for r in records if r.after is not r.before]


def served(events: Sequence[Event]) -> list[str]:
    """The artifacts that served the calls of a run."""
    used = [e for e in events if isinstance(e, ArtifactUsed)]
    return [e.version.artifact for e in used if e.chosen != "trial"]


def test_a_tool_is_trusted_bettered_and_put_back(world: World) -> None:
    """Whatever serves has earned it, and where it regresses, the incumbent serves the very next call.

    Probation with its first use; durable after ten calls over two tasks; the next one takes over only after its gate.
    """
    first = solve(world, 1, [forge(), *uses(1, 2, 3, 4, 5)])
    (old,) = set(served(first))
    assert moves(first) == [(old, "probation")]
    second = solve(world, 2, uses(2, 3, 4, 5, 6))
    assert moves(second) == [(old, "durable")]
    third = solve(world, 3, [forge(WORSE), *uses(1, 2, 3, 4, 5)])
    assert served(third) == [old] * 5, "the incumbent serves while its challenger is tried"
    ((new, state),) = moves(third)
    assert state == "probation"
    fourth = solve(world, 4, uses(2, 3, 4, 5, 6))
    assert served(fourth) == [old] * 5
    assert moves(fourth) == [(new, "durable")]
    fifth = solve(world, 5, uses(1, 8, 9, 8, 9))
    assert moves(fifth) == [(new, "degraded")]
    place = served(fifth).index(old)
    assert served(fifth) == [new] * place + [old] * (5 - place)
    used = [e for e in fifth if isinstance(e, ArtifactUsed) and e.chosen != "trial"]
    assert [e.call.ok for e in used] == [True, *[False] * (place - 1), *[True] * (5 - place)]
    record = next(e.record for e in fifth if isinstance(e, PromotionDecided) and e.record.restored)
    assert record.restored == old
    prompt = world.requests[-1].messages[-1].content
    assert re.search(r"^- logs\.errors: .* \[durable, solver_promotion_v1, ", prompt, re.MULTILINE)


def test_undeclared_data_cannot_be_promoted(world: World) -> None:
    """A challenger that reads what it does not declare stays out, however often its other calls work."""
    solve(world, 1, [forge(), *uses(1, 2, 3, 4, 5)])
    second = solve(world, 2, uses(2, 3, 4, 5, 6))
    old = served(second)[0]
    sneaky = BETTER.replace(
        "    found = dict()", "    found = dict()\n    'f06' in path and open('tests/test_t01.py')"
    )
    third = solve(world, 3, [forge(sneaky), *uses(1, 2, 3, 4, 6)])
    fourth = solve(world, 4, uses(1, 2, 3, 4, 5))
    assert served(third) + served(fourth) == [old] * 10
    assert [state for _, state in moves(third)] == ["degraded"]
    assert not moves(fourth)
    unmet = [c.name for e in third if isinstance(e, PromotionDecided) for c in e.record.unmet]
    assert "provenance_violation" in unmet


def test_a_call_says_how_it_was_decided(world: World) -> None:
    """Each call of a tool, forged or not, holds the shape of its decision."""
    events = solve(world, 1, [forge(), *uses(1)])
    shapes = [
        json.loads((world.store / "blobs" / e.shape[:2] / e.shape).read_text())
        for e in events
        if e.kind == "tool.called"
    ]
    assert [(s["stance"], s["complete"]) for s in shapes] == [
        ("forge", True),
        ("do", True),
        ("do", True),
    ]

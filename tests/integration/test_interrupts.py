"""How a run in a thread of its own is interrupted while it waits: for a command, for a worker, for a model."""

import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from surefoot.cli.common import surroundings
from surefoot.kernel.ports import Answer
from surefoot.models.workers import Workers
from surefoot.people import Nobody, Quiet
from surefoot.planrun.interrupt import Interruption, OneAtATime, Stop, interruptible
from surefoot.sandbox import FencedProcesses, open_processes
from surefoot.system import SystemClock
from surefoot.testing.model import Rule, ScriptedModel
from surefoot.values import Command, Limits, Message, ModelReply, ModelRequest

HOURS = Limits(wall_s=7200.0)
LONG = "echo here > heard; exec sleep 3600"
REQUEST = ModelRequest(
    purpose="test", messages=(Message(role="user", content="?"),), max_tokens=8, seed=0
)


@pytest.fixture
def fenced(tmp_path: Path) -> Iterator[FencedProcesses]:
    """The real fence."""
    processes = open_processes(scratch=tmp_path / "scratch")
    yield processes
    processes.close()


def interrupted(stop: Stop, wait: Callable[[], object], begun: Callable[[], object]) -> bool:
    """Whether a thread that waits is interrupted when it is told to stop once it has begun."""
    waiting = Workers(1).submit(wait)
    begun()
    stop.set()
    return isinstance(waiting.exception(timeout=120), KeyboardInterrupt)


def test_a_command_that_runs_is_ended_and_none_is_begun(
    tmp_path: Path, fenced: FencedProcesses
) -> None:
    """Its whole process tree; what it came to is no result."""
    os.mkfifo(tmp_path / "heard")
    stop = Stop()
    processes = Interruption(stop).processes(fenced)
    command = Command(argv=("sh", "-c", LONG), cwd=tmp_path, writes=(tmp_path,), limits=HOURS)
    assert interrupted(stop, lambda: processes.run(command), (tmp_path / "heard").read_text)
    with pytest.raises(KeyboardInterrupt):
        processes.run(command)
    with pytest.raises(KeyboardInterrupt):
        processes.start(command)


def test_nobody_waits_for_a_worker_any_longer(tmp_path: Path, fenced: FencedProcesses) -> None:
    """It is ended, and who waited for its line is interrupted."""
    stop = Stop()
    processes = Interruption(stop).processes(fenced)
    argv = ("sh", "-c", "echo one; exec sleep 3600")
    worker = processes.start(Command(argv=argv, cwd=tmp_path, reads=(tmp_path,), limits=HOURS))
    assert worker.receive(60) == b"one"
    assert interrupted(stop, lambda: worker.receive(3600), lambda: None)
    assert worker.stop().exit_code is None


def test_a_call_to_a_model_is_walked_away_from() -> None:
    """A reply that never comes is not waited for; one that came before is given back."""
    stop, asked, never = Stop(), threading.Event(), threading.Event()

    def hang(_: ModelRequest) -> bool:
        asked.set()
        return never.wait(3600)

    slow = Interruption(stop).model(ScriptedModel([Rule(replies=("late",), when=hang)]))
    assert interrupted(stop, lambda: slow.complete([REQUEST]), asked.wait)
    quick = Interruption(Stop()).model(ScriptedModel(["here"]))
    [reply] = quick.complete([REQUEST])
    assert isinstance(reply, ModelReply)
    assert reply.text == "here"


def test_nobody_waits_for_a_person_any_longer() -> None:
    """Neither for one who is asked, nor until another run's question has its answer."""
    stop, asked, never = Stop(), threading.Event(), threading.Event()

    class Slow:
        def ask(self, question: str, why: str, **_: object) -> Answer:
            asked.set()
            never.wait(3600)
            return Answer(approved=False, text="", who=f"{question} {why}")

    one = OneAtATime(Slow())
    here = surroundings(Nobody(), Quiet())
    first, second = (interruptible(here, stop, one).person for _ in range(2))
    waits = Workers(1).submit(partial(first.ask, "may it?", "it is so"))
    assert interrupted(stop, lambda: second.ask("may it?", "it is so"), asked.wait)
    assert isinstance(waits.exception(timeout=120), KeyboardInterrupt)


def test_a_run_is_interrupted_once_by_its_clock_and_can_record_its_last_word() -> None:
    """Also when it was interrupted elsewhere before."""
    stop = Stop()
    one, other = Interruption(stop), Interruption(stop)
    stop.set()
    clock = one.clock(SystemClock())
    with pytest.raises(KeyboardInterrupt):
        clock.now()
    clock.now()
    with pytest.raises(KeyboardInterrupt):
        other.model(ScriptedModel(["x"])).complete([REQUEST])
    other.clock(SystemClock()).now()

"""How ctrl-C, which reaches the main thread alone, comes to the runs in other threads, and how a person is asked by one at a time.

A run that computes reads its clock at every event, and is interrupted there. One that waits is woken: for a model by walking
away from the call, for a command by the end of its process tree, for a person by walking away from the question.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, Protocol, TypeVar

from surefoot.assembly import Surroundings
from surefoot.errors import SandboxError
from surefoot.kernel.ports import Answer, Clock, Model, Person, Processes, RunningProcess
from surefoot.models.workers import Workers
from surefoot.values import (
    Command,
    Diff,
    Message,
    ModelAnswer,
    ModelRequest,
    ProcessResult,
    SandboxLevel,
)

T = TypeVar("T")
Wake = Callable[[], object]


class Stop(threading.Event):
    """Tells the runs in other threads to end; once set it stays so."""

    def __init__(self) -> None:
        super().__init__()
        self._guard = threading.Lock()
        self._sleepers: list[Wake] = []

    def set(self) -> None:
        """Tell it, and wake who waits for something else."""
        super().set()
        with self._guard:
            sleepers = tuple(self._sleepers)
        for wake in sleepers:
            wake()

    @contextmanager
    def waking(self, wake: Wake) -> Iterator[None]:
        """Call `wake` when it is told inside the block, or was before; it may be called twice."""
        with self._guard:
            self._sleepers.append(wake)
        try:
            if self.is_set():
                wake()
            yield
        finally:
            with self._guard:
                self._sleepers.remove(wake)


class Interruption:
    """What one run is interrupted through, in whatever thread it runs; each thing that it makes stands before a port."""

    def __init__(self, stop: Stop) -> None:
        self.stop: Final = stop
        self._told = False

    def tell_once(self) -> None:
        """Interrupt the run when it is to stop, unless it knows: it has a last word to record."""
        if self.stop.is_set() and not self._told:
            self.tell()

    def tell(self) -> None:
        """Interrupt the run when it is to stop: it wants to begin something, or what it waited for was broken off."""
        if self.stop.is_set():
            self._told = True
            raise KeyboardInterrupt

    def clock(self, clock: Clock) -> "StoppableClock":
        """The clock that it reads."""
        return StoppableClock(clock, self)

    def model(self, model: Model) -> "StoppableModel":
        """A model that it asks."""
        return StoppableModel(model, self)

    def person(self, person: Person) -> "StoppablePerson":
        """Whom it asks."""
        return StoppablePerson(person, self)

    def processes(self, processes: "Closable") -> "StoppableProcesses":
        """What it runs commands with."""
        return StoppableProcesses(processes, self)

    def walked_away(self, call: Callable[[], T]) -> T:
        """What a call in a thread of its own comes to; when the run is to stop it is not waited for."""
        self.tell()
        over = threading.Event()
        answers = Workers(1).submit(call)
        answers.add_done_callback(lambda _: over.set())
        with self.stop.waking(over.set):
            over.wait()
        if not answers.done():
            self.tell()
        return answers.result()


def interruptible(around: Surroundings, stop: Stop, person: Person) -> Surroundings:
    """The surroundings of one run among several, which ends when they are told to stop; `person` is whom it asks."""
    through = Interruption(stop)
    return replace(
        around,
        clock=through.clock(around.clock),
        person=through.person(person),
        models=through.model,
        processes=through.processes,
    )


class StoppableClock:
    """A clock that interrupts whoever reads it, once, after it was told to stop."""

    def __init__(self, clock: Clock, interruption: Interruption) -> None:
        self._clock, self._interruption = clock, interruption

    def now(self) -> datetime:
        """As the port says."""
        self._interruption.tell_once()
        return self._clock.now()

    def monotonic(self) -> float:
        """As the port says."""
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let time go by, at most until the stop."""
        self._interruption.stop.wait(max(0.0, seconds))
        self._interruption.tell_once()


class StoppableModel:
    """A model whose calls are walked away from; how such a call ends nobody hears, so it is counted in full."""

    def __init__(self, model: Model, interruption: Interruption) -> None:
        self._model, self._interruption = model, interruption

    @property
    def name(self) -> str:
        """As the port says."""
        return self._model.name

    @property
    def context_tokens(self) -> int:
        """As the port says."""
        return self._model.context_tokens

    @property
    def parallel(self) -> int:
        """As the port says."""
        return self._model.parallel

    @property
    def native_tools(self) -> bool:
        """As the port says."""
        return self._model.native_tools

    @property
    def fills_gaps(self) -> bool:
        """As the port says."""
        return self._model.fills_gaps

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """As the port says."""
        return self._model.count_tokens(messages)

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """As the port says."""
        return self._model.estimate_usd(prompt_tokens, completion_tokens)

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """As the port says; a reply that has come is given back even then."""
        return self._interruption.walked_away(partial(self._model.complete, requests))


class StoppablePerson:
    """A person whose answer is not waited for any longer once the run was told to stop."""

    def __init__(self, person: Person, interruption: Interruption) -> None:
        self._person, self._interruption = person, interruption

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """As the port says; an answer that has come is given back even then."""
        return self._interruption.walked_away(
            partial(self._person.ask, question, why, approval=approval, diff=diff)
        )


class Closable(Processes, Protocol):
    """Processes that can be ended all at once, from any thread."""

    def close(self) -> None:
        """End all commands; none can be started afterwards."""
        ...


class StoppableProcesses:
    """Ends its commands when it is told to stop, and begins none."""

    def __init__(self, processes: Closable, interruption: Interruption) -> None:
        self._processes, self._interruption = processes, interruption

    @property
    def level(self) -> SandboxLevel:
        """As the port says."""
        return self._processes.level

    def run(self, command: Command) -> ProcessResult:
        """As the port says."""
        with self._interruption.stop.waking(self._processes.close):
            try:
                result = self._processes.run(command)
            except SandboxError:
                self._interruption.tell()
                raise
        self._interruption.tell()
        return result

    def start(self, command: Command) -> "StoppableProcess":
        """As the port says."""
        self._interruption.tell()
        return StoppableProcess(self._processes.start(command), self._interruption)


class StoppableProcess:
    """A worker for whose lines nobody waits any longer once it was told to stop."""

    def __init__(self, process: RunningProcess, interruption: Interruption) -> None:
        self._process, self._interruption = process, interruption

    def send(self, line: bytes) -> None:
        """As the port says."""
        self._process.send(line)

    def receive(self, timeout_s: float) -> bytes | None:
        """As the port says."""
        with self._interruption.stop.waking(self._end):
            line = self._process.receive(timeout_s)
        self._interruption.tell()
        return line

    def stop(self) -> ProcessResult:
        """As the port says."""
        return self._process.stop()

    def _end(self) -> None:
        with suppress(SandboxError):  # whoever stops it next is told
            self._process.stop()


class OneAtATime:
    """A person whom several runs may ask."""

    def __init__(self, person: Person) -> None:
        self._person, self._guard = person, threading.Lock()

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """As the port says; one question after the other."""
        with self._guard:
            return self._person.ask(question, why, approval=approval, diff=diff)

"""A recorded run as the ports of another one: what models, people and clocks said then, they say again (SPEC E8).

Code runs anew: git, the sandbox, the project's tests, the tools. Each event that the new run writes is held against the
recorded one in its place; the first that differs ends the replay with its name. What a replay may differ in is time, money
and the ids of commits; a tool's or a test run's words are those of the record as long as it did the same.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from surefoot.codec import decode, difference, digest_of, plain
from surefoot.decisions.environment import ENVIRONMENT, EnvironmentQuestion
from surefoot.errors import DivergenceError
from surefoot.events.calls import (
    BudgetReserved,
    BudgetSettled,
    ModelAsked,
    ModelChosen,
    ModelFailed,
    ModelOpened,
    ModelReplied,
    SolverPinned,
    TokensCounted,
)
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import (
    AnswerGiven,
    Decided,
    PhaseChanged,
    QuestionAnswered,
    RunOpened,
    RunResumed,
    RunStopped,
    TurnStarted,
)
from surefoot.events.policy import LockMet, ModelAllowed, ModelDenied
from surefoot.events.work import (
    AuditorFinished,
    GitStage,
    MutantsTried,
    TestsRan,
    TestsWatched,
    ToolFinished,
)
from surefoot.kernel.lifecycle import Trigger
from surefoot.kernel.metering import ended
from surefoot.kernel.noted import messages_digest
from surefoot.kernel.ports import (
    Answer,
    Asker,
    Model,
    Routed,
    RouteRequest,
    Suite,
    Toolbox,
    TrialWorker,
    Workspace,
)
from surefoot.kernel.steady import alike, steadied, unsteady, varying
from surefoot.models.select import GROUNDED
from surefoot.records import Reader, settled, until_stop
from surefoot.values import (
    CommitId,
    Diff,
    Digest,
    EventId,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelReply,
    ModelRequest,
    TestReport,
    ToolCall,
    ToolOutcome,
    ToolSpec,
    TreeId,
    UnitId,
    Usage,
)

_CALL_CLASSES: Final = frozenset({"model", "cost"})
"""Calls of models. A run that was cut off made some of them twice, in whatever order: they are compared in other runs only."""
_SILENT: Final = frozenset(
    {
        "run.opened",
        "run.resumed",
        "run.accepted",
        "run.rejected",
        "ledger.repaired",
        "sandbox.enforced",
        "solver.pinned",
        "policy.warning",
        "budget.pressure",  # as much of time as of anything else
        "model.opened",
        "model.counted",  # a replay has both from the record, and says them when it comes by them
        "promotion.decided",  # of the repository, not of the run
    }
)
_KEPT: Final = (ModelOpened, TokensCounted, ModelReplied, ModelFailed, PhaseChanged, RunStopped)
"""Of a turn that was cut off: what it got to hear, and its second attempt heard again, and how the run came to rest."""
_PASSING: Final = frozenset(
    {"wall_s", "elapsed_s", "commit", "event_id", "events", "reservation", "resume_at", "until"}
)
"""Fields that differ from run to run: times, commit ids, and names of events."""

_ANSWERS: Final = (ModelReplied, ModelFailed)
_PASSING_WORDS: Final = (
    (re.compile(r"\bcommit [0-9a-f]{40,64}\b"), "commit …"),
    (re.compile(r"(?<=\basked again from )[0-9-]+ [0-9:]+ UTC\b"), "…"),
)
"""The same in sentences, and what stands for it; the second in which a pause ends may be another one."""


class Tape:
    """One recorded run, played to the ports of another; also its `Progress`, which compares."""

    def __init__(self, recorded: Sequence[Recorded], get: Reader) -> None:
        recorded = until_stop(recorded)
        self._events = _said_once(settled(recorded, keep=_KEPT))
        self._was_cut = any(_is_cut(r.event) for r in recorded)
        self._get = get
        self._pauses = tuple(_pauses(self._events))
        self._at = 0
        self._heard = 0
        """Answers of models since the last event that was compared."""
        self._locked: str | None = None
        self._interrupted = -1
        self._chosen: dict[UnitId, ModelChosen] = {}
        self.compared = 0
        """Events that were held against the record, and were the same."""
        self._answers = self._recorded_answers()

    @property
    def opened(self) -> RunOpened | None:
        """How the run began."""
        return next((r.event for r in self._events if isinstance(r.event, RunOpened)), None)

    def accepted(self) -> tuple[str, ...]:
        """The findings' fingerprints that the run's first audit took as known."""
        audits = (r.event.baseline for r in self._events if isinstance(r.event, AuditorFinished))
        return next(audits, ())

    def resumed(self) -> RunResumed | None:
        """How the run was taken up again next; None where it went on by itself."""
        for recorded in self._ahead():
            if isinstance(recorded.event, RunResumed):
                return recorded.event
            if isinstance(recorded.event, PhaseChanged):
                return None
        return None

    def given(self) -> Iterator[AnswerGiven]:
        """What a person answered next, before the run was taken up again."""
        for recorded in self._ahead():
            if isinstance(recorded.event, AnswerGiven):
                yield recorded.event
            elif not self._is_silent(recorded.event):
                return

    def unmet(self) -> str | None:
        """The first event of the record that the replay did not come to, in words; None when it came to all."""
        missing = next((r for r in self._ahead() if not self._is_silent(r.event)), None)
        return None if missing is None else f"{_name(missing)}: the replay ended before it"

    @property
    def judges(self) -> tuple[str, ...]:
        """The solver's chain, as it was pinned."""
        pinned = [r.event for r in self._events if isinstance(r.event, SolverPinned)]
        return pinned[-1].chain if pinned else ()

    def environment(self) -> EnvironmentQuestion | None:
        """What the model was told of the place of work; None when it was not told."""
        for recorded in self._events:
            event = recorded.event
            if isinstance(event, Decided) and event.decision == ENVIRONMENT.name:
                return decode(EnvironmentQuestion, self._get(event.inputs))
        return None

    # --- comparing -------------------------------------------------------------------------------

    def seen(self, recorded: Recorded) -> None:
        """Hold an event of the replay against the record.

        Raises:
            DivergenceError: It is not the one that the run has in its place.
        """
        if self._is_silent(recorded.event):
            self._heard += isinstance(recorded.event, _ANSWERS)
            return
        self._heard = 0
        while self._at < len(self._events) and self._is_silent(self._events[self._at].event):
            self._at += 1
        if self._at == len(self._events):
            raise DivergenceError(
                f"the run ends here, the replay goes on with {recorded.event.kind}"
            )
        expected = self._events[self._at]
        differs = difference(_essence(expected.event), _essence(recorded.event))
        if differs:
            raise DivergenceError(f"{_name(expected)}: {differs}")
        if isinstance(recorded.event, LockMet):
            self._locked = recorded.event.why
        self._at += 1
        self.compared += 1

    # --- the ports -------------------------------------------------------------------------------

    def now(self) -> datetime:
        """The time at which the run wrote what comes next; the time in which nobody worked on it is left out.

        Raises:
            KeyboardInterrupt: The run was interrupted here.
        """
        coming = next((n for n, r in self._numbered() if not self._is_silent(r.event)), None)
        if coming is not None and coming != self._interrupted and self._is_interrupt(coming):
            self._interrupted = coming
            raise KeyboardInterrupt
        place = min(self._place(), len(self._events) - 1)
        return self._events[place].time - self._pauses[place]

    def _place(self) -> int:
        """Where the record goes on: after the answers that were heard since the last event that was compared."""
        heard = 0
        for number, recorded in self._numbered():
            if heard == self._heard or not self._is_silent(recorded.event):
                return number
            heard += isinstance(recorded.event, _ANSWERS)
        return len(self._events)

    def monotonic(self) -> float:
        """The same in seconds."""
        return self.now().timestamp()

    def sleep(self, seconds: float) -> None:
        """The wait is over already."""

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """What the person said then."""
        del why, approval, diff
        ahead = (r.event for r in self._ahead() if isinstance(r.event, QuestionAnswered))
        said = next(ahead, None)
        if said is None:
            raise DivergenceError(f"the replay asks a person, which the run did not: {question}")
        return Answer(approved=said.approved, text=said.text, who=said.who)

    def model(self, name: str) -> Model:
        """A model as it answered then."""
        opened = next(
            (
                r.event
                for r in self._events
                if isinstance(r.event, ModelOpened) and r.event.model == name
            ),
            None,
        )
        if opened is None:
            raise DivergenceError(f"the run never opened the model {name}, or is too old to say so")
        return _TapedModel(self, opened, self._counts(name), self._prices())

    def suite(self, real: Suite) -> Suite:
        """The project's tests, run anew; in the words of the record where they say the same."""
        return _TapedSuite(self, real)

    def toolbox(self, real: Toolbox) -> Toolbox:
        """The tools, run anew; in the words of the record where they did the same."""
        return _TapedToolbox(self, real)

    def routed(self, unit: UnitId) -> ModelChosen | None:
        """The choice that the run made before its next turn; the unit's last one where it made none."""
        for recorded in self._ahead():
            if isinstance(recorded.event, ModelChosen):
                self._chosen[unit] = recorded.event
                break
            if isinstance(recorded.event, TurnStarted):
                break
        return self._chosen.get(unit)

    def verdicts(self) -> tuple[Event, ...]:
        """Who was let in and kept out with that choice."""
        found: list[Event] = []
        for recorded in self._ahead():
            if isinstance(recorded.event, ModelAllowed | ModelDenied):
                found.append(recorded.event)
            elif isinstance(recorded.event, ModelChosen | TurnStarted):
                break
        return tuple(found)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """What a model answered to a request then; the same again when it is asked once more."""
        found = self._answers.get(digest_of(request))
        if not found:
            asked = next((r for r in self._ahead() if isinstance(r.event, ModelAsked)), None)
            told = f"{_name(asked)} asked something else" if asked else "the run asked nothing more"
            raise DivergenceError(f"{told}: the replay asks for {request.purpose}")
        return found.popleft() if len(found) > 1 else found[0]

    def push(self, commit: CommitId) -> str:
        """How the push that the record has next went; nothing is pushed again."""
        del commit
        events = (r.event for r in self._ahead())
        found = (e for e in events if isinstance(e, GitStage) and e.stage == "publish")
        return next((event.error for event in found), "")

    def report(self) -> TestReport | None:
        """The test run that the record has next."""
        event = next((r.event for r in self._ahead() if isinstance(r.event, TestsRan)), None)
        return None if event is None else decode(TestReport, self._get(event.report))

    def reach(self) -> Mapping[str, frozenset[str]] | None:
        """What the record's next watched tests ran; only guesses rest on it, so it is not looked at again."""
        event = next((r.event for r in self._ahead() if isinstance(r.event, TestsWatched)), None)
        return None if event is None else decode(dict[str, frozenset[str]], self._get(event.reach))

    def reason(self) -> str | None:
        """Why the repository was locked then; it is met in its place, after as many answers of models as then."""
        heard = 0
        for recorded in self._ahead():
            heard += isinstance(recorded.event, _ANSWERS)
            if not self._is_silent(recorded.event):
                if isinstance(recorded.event, LockMet) and heard <= self._heard:
                    return recorded.event.why
                break
        return self._locked

    def cut_at(self, tree: TreeId) -> int | None:
        """After how many mutants of a tree the time was up."""
        events = (r.event for r in self._ahead())
        found = (e for e in events if isinstance(e, MutantsTried) and e.tree == tree and e.untried)
        return next((len(event.mutants) for event in found), None)

    def outcome(self) -> ToolOutcome | None:
        """The outcome of a tool that the record has next."""
        event = next((r.event for r in self._ahead() if isinstance(r.event, ToolFinished)), None)
        return None if event is None else decode(ToolOutcome, self._get(event.outcome))

    def ahead(self) -> Iterator[Event]:
        """What the record still holds."""
        return (recorded.event for recorded in self._ahead())

    def _ahead(self) -> Iterator[Recorded]:
        return (recorded for _, recorded in self._numbered())

    def _numbered(self) -> Iterator[tuple[int, Recorded]]:
        return ((number, self._events[number]) for number in range(self._at, len(self._events)))

    def _is_silent(self, event: Event) -> bool:
        return _is_silent(event) or (self._was_cut and event.event_class in _CALL_CLASSES)

    def _is_interrupt(self, number: int) -> bool:
        event = self._events[number].event
        return isinstance(event, PhaseChanged) and event.trigger == Trigger.CANCEL

    def _recorded_answers(self) -> dict[Digest, deque[ModelAnswer]]:
        """By request, what models answered to it.

        Raises:
            DivergenceError: An event of a call says something else than the answer that it names.
        """
        found: dict[Digest, deque[ModelAnswer]] = {}
        billed: dict[EventId | None, Usage] = {}
        for recorded in self._events:
            event = recorded.event
            if isinstance(event, BudgetSettled):
                # A call that was cut off has no answer; it is counted in full.
                usage = billed.pop(event.reservation, event.usage)
                _hold(recorded, replace(event, usage=usage))
            if not isinstance(event, ModelReplied | ModelFailed):
                continue
            answer = self._answer_of(event)
            blob = event.reply if isinstance(event, ModelReplied) else event.failure
            _hold(recorded, ended(event.request, blob, answer))
            billed[recorded.caused_by] = answer.usage
            # As it would be written today: a field that requests did not have then makes no other request of it.
            request = digest_of(decode(ModelRequest, self._get(event.request)))
            found.setdefault(request, deque()).append(answer)
        return found

    def _answer_of(self, event: ModelReplied | ModelFailed) -> ModelAnswer:
        if isinstance(event, ModelReplied):
            return decode(ModelReply, self._get(event.reply))
        return decode(ModelFailure, self._get(event.failure))

    def _counts(self, name: str) -> Mapping[Digest, int]:
        found: dict[Digest, int] = {}
        for recorded in self._events:
            event = recorded.event
            if isinstance(event, TokensCounted) and event.model == name:
                found |= decode(dict[Digest, int], self._get(event.counts))
        return found

    def _prices(self) -> Mapping[int, float]:
        reserved = (r.event for r in self._events if isinstance(r.event, BudgetReserved))
        return {event.tokens: event.cost_usd for event in reserved}


Metered = Callable[[Model], Asker]


class TapedRouter:
    """The `Router` port: chooses as the run did."""

    def __init__(self, tape: Tape, metered: Metered) -> None:
        self._tape, self._metered = tape, metered

    def route(self, request: RouteRequest) -> Routed:
        """As the port says."""
        verdicts = self._tape.verdicts()
        unit = request.unit.unit_id
        chosen = self._tape.routed(unit)
        if chosen is None:
            raise DivergenceError(f"the run chose no model for {unit}, the replay needs one")
        return Routed(
            asker=self._metered(self._tape.model(chosen.model)) if chosen.model else None,
            reason=chosen.reason,
            chain=chosen.chain,
            grounded=tuple(
                v.model for v in verdicts if isinstance(v, ModelDenied) and v.rule == GROUNDED
            ),
            verdicts=verdicts,
        )


class _TapedModel:
    """The `Model` port, from the record alone."""

    def __init__(
        self,
        tape: Tape,
        opened: ModelOpened,
        counts: Mapping[Digest, int],
        prices: Mapping[int, float],
    ) -> None:
        self._tape, self._opened = tape, opened
        self._counts, self._prices = counts, prices

    @property
    def name(self) -> str:
        return self._opened.model

    @property
    def context_tokens(self) -> int:
        return self._opened.context_tokens

    @property
    def parallel(self) -> int:
        return self._opened.parallel

    @property
    def native_tools(self) -> bool:
        return self._opened.native_tools

    @property
    def fills_gaps(self) -> bool:
        return self._opened.fills_gaps

    def count_tokens(self, messages: Sequence[Message]) -> int:
        counted = self._counts.get(messages_digest(messages))
        if counted is None and messages and messages[-1].role == "assistant":
            # Of a run from before what an answer begins with was measured, too.
            counted = self._counts.get(messages_digest(messages[:-1]))
        if counted is None:
            said = messages[-1].content[-80:] if messages else ""
            raise DivergenceError(f"the replay measures a prompt that the run did not: …{said!r}")
        return counted

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        return self._prices.get(prompt_tokens + completion_tokens, 0.0)

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        return tuple(self._tape.answer(request) for request in requests)


class _TapedSuite:
    """The `Suite` port."""

    def __init__(self, tape: Tape, real: Suite) -> None:
        self._tape, self._real = tape, real
        self._loose: frozenset[str] = frozenset()

    @property
    def command(self) -> tuple[str, ...]:
        return self._real.command

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        report = self._real.run(root, tests, room=room)
        recorded = self._tape.report()
        if recorded is None:
            return report
        same = alike(recorded, report) or self._same_but_for_ids(
            recorded, report, lambda: self._real.run(root, tests, room=room)
        )
        return recorded if same else report

    def _same_but_for_ids(
        self, recorded: TestReport, report: TestReport, again: Callable[[], TestReport]
    ) -> bool:
        """Whether only ids differ that vary here as well, from one run to the next."""
        functions = varying(recorded, report)
        if not functions or not alike(steadied(recorded, functions), steadied(report, functions)):
            return False
        if not functions <= self._loose:
            self._loose |= unsteady(report, again)
        return functions <= self._loose

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        recorded = self._tape.reach()
        return self._real.watch(root) if recorded is None else recorded

    def is_test_path(self, path: str) -> bool:
        return self._real.is_test_path(path)

    def is_control_path(self, path: str) -> bool:
        return self._real.is_control_path(path)

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        return self._real.worker(root, tests)


class _TapedToolbox:
    """The `Toolbox` port."""

    def __init__(self, tape: Tape, real: Toolbox) -> None:
        self._tape, self._real = tape, real

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._real.specs

    def call(self, call: ToolCall, workspace: Workspace) -> ToolOutcome:
        outcome, recorded = self._real.call(call, workspace), self._tape.outcome()
        if recorded is None:
            return outcome
        now = (outcome.ok, outcome.exit_code, outcome.changed)
        return recorded if now == (recorded.ok, recorded.exit_code, recorded.changed) else outcome


def _pauses(events: Sequence[Recorded]) -> Iterator[timedelta]:
    """At each event, how long the run had lain still in all before it was resumed."""
    still, last = timedelta(), None
    for recorded in events:
        if isinstance(recorded.event, RunResumed) and last is not None:
            still += recorded.time - last
        last = recorded.time
        yield still


def _said_once(events: Sequence[Recorded]) -> tuple[Recorded, ...]:
    """Without what a run that was killed outside of turns said again: its step was begun anew."""
    kept: list[Recorded] = []
    step: list[object] = []
    again: list[object] = []
    for recorded in events:
        event = recorded.event
        if isinstance(event, RunResumed):
            again, step = [*again, *step], []
        elif isinstance(event, PhaseChanged):
            again, step = [], []
        elif not _is_silent(event) and event.event_class not in _CALL_CLASSES:
            essence = _essence(event)
            if essence in again:
                again.remove(essence)
                continue
            step.append(essence)
        kept.append(recorded)
    return tuple(kept)


def _hold(recorded: Recorded, derived: Event) -> None:
    """Refuse an event that says something else than what it rests on."""
    differs = difference(plain(recorded.event), plain(derived))
    if differs:
        raise DivergenceError(f"{_name(recorded)}: {differs}")


def _is_silent(event: Event) -> bool:
    return event.kind in _SILENT


def _is_cut(event: Event) -> bool:
    """Whether the run went no further from here, or goes on here."""
    return isinstance(event, RunResumed) or (
        isinstance(event, PhaseChanged) and event.trigger == Trigger.CANCEL
    )


def _essence(event: Event) -> object:
    return _without_passing(plain(event))


def _without_passing(value: object) -> object:
    if isinstance(value, dict):
        return {k: _without_passing(v) for k, v in value.items() if k not in _PASSING}
    if isinstance(value, list):
        return [_without_passing(item) for item in value]
    if isinstance(value, str):
        for passing, stands_for in _PASSING_WORDS:
            value = passing.sub(stands_for, value)
    return value


def _name(recorded: Recorded) -> str:
    number = recorded.event_id.rpartition(":")[2]
    turn = f" of turn {recorded.turn_id}" if recorded.turn_id else ""
    return f"#{number} {recorded.event.kind}{turn}"

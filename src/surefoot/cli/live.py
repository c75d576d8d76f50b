"""What a person sees while a run goes on, and how they are asked."""

import sys
import threading
import time
from collections.abc import Callable
from functools import singledispatchmethod
from typing import TextIO

from surefoot.cli.common import user_name
from surefoot.cli.screen import one_line, printable
from surefoot.events.calls import (
    BudgetPressure,
    BudgetSettled,
    ModelAsked,
    ModelGrounded,
    ModelWaited,
    ProviderSwitched,
    SolverPinned,
)
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import (
    CheckpointWritten,
    PhaseChanged,
    PlanClarified,
    PlanRevised,
    RunOpened,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.plans import ChildEnded, ChildStarted, PartVerified, UnitBlocked
from surefoot.events.policy import PolicyResolved, PolicyWarning, SandboxEnforced
from surefoot.events.work import (
    AuditorFinished,
    CandidatesRejected,
    CandidateTried,
    FactLearned,
    MutantsTried,
    TestsRan,
    ToolCalled,
    ToolFinished,
)
from surefoot.kernel.ports import Answer
from surefoot.kernel.strength import in_words
from surefoot.values import Diff, Spend, Usage

_REDRAW_S = 0.1


class LiveView:
    """One line a step, and, on a terminal, a line that moves: phase, unit, tests, tries, budget, time."""

    def __init__(self, out: TextIO, *, now: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._now = now
        self._began = now()
        self._drawn = 0.0
        self._moving = out.isatty()
        self._phase = "starting"
        self._unit = ""
        self._model = ""
        self._tests = ""
        self._tried = 0
        self._asked = 0
        self._time_s = 0.0
        self._tokens: int | None = None
        self._usd: float | None = None
        self._used = Usage()
        self._before_s = 0.0
        self._guard = threading.Lock()
        self._whose = ""
        """The unit of a plan whose run is heard at this moment; empty for the run that was asked for."""

    def goes_on_from(self, spend: Spend) -> None:
        """What the run had used before this process took it up."""
        self._before_s, self._used, self._asked = spend.time_s, spend.usage, spend.model_calls

    def seen(self, recorded: Recorded) -> None:
        """Show one event, if it is one to show; the runs of a plan's units tell from their own threads."""
        with self._guard:
            self._whose = recorded.trace_id.partition(".")[2].rpartition(".")[0]
            self._see(recorded)

    def _see(self, recorded: Recorded) -> None:
        self._show(recorded.event)
        if self._moving and self._now() - self._drawn >= _REDRAW_S:
            self._drawn = self._now()
            self._out.write(f"\r\x1b[K{self._status()}")
            self._out.flush()

    def _say(self, text: str) -> None:
        clear = "\r\x1b[K" if self._moving else ""
        whose = f"[{self._whose}] " if self._whose else ""
        # Titles, facts and summaries are a repository's or a model's words.
        self._out.write(f"{clear}{self._now() - self._began:7.1f}s  {whose}{one_line(text)}\n")
        self._out.flush()

    def _status(self) -> str:
        used = self._now() - self._began
        parts = [self._left(used), self._phase, self._unit, self._model, self._tests]
        if self._tried:
            parts.append(f"{self._tried} tried")
        if self._asked:
            parts.append(f"{self._asked} model calls")
        return f"{used:7.1f}s  " + one_line(" | ".join(p for p in parts if p))[:110]

    def _left(self, used_s: float) -> str:
        """Of each ceiling that the run has."""
        left = []
        if self._time_s:
            left.append(f"{max(self._time_s - self._before_s - used_s, 0):.0f} s")
        if self._tokens is not None:
            spent = self._used.prompt_tokens + self._used.completion_tokens
            left.append(f"{max(self._tokens - spent, 0):,} tokens")
        if self._usd is not None:
            left.append(f"{max(self._usd - self._used.cost_usd, 0):.2f} USD")
        return f"{', '.join(left)} left" if left else ""

    @singledispatchmethod
    def _show(self, event: object) -> None:
        """Most events are for the ledger only."""

    @_show.register
    def _(self, event: RunOpened) -> None:
        self._model = event.model
        self._say(f"{event.issue.title}")
        self._say(f"mode {event.mode}, model {event.model}, base {event.base[:10]}")

    @_show.register
    def _(self, event: SandboxEnforced) -> None:
        self._say(f"sandbox: {event.level}")

    @_show.register
    def _(self, event: PolicyWarning) -> None:
        self._say(f"warning: {event.what}")

    @_show.register
    def _(self, event: PolicyResolved) -> None:
        if not self._whose:  # a unit of a plan has ceilings of its own
            self._time_s, self._tokens, self._usd = event.time_s, event.tokens, event.cost_usd

    @_show.register
    def _(self, event: BudgetSettled) -> None:
        self._used += event.usage

    @_show.register
    def _(self, event: PhaseChanged) -> None:
        self._phase = event.after
        if event.before != event.after:
            self._say(f"{event.before} -> {event.after}: {event.reason}"[:220])

    @_show.register
    def _(self, event: TurnStarted) -> None:
        self._unit = f"{event.unit_id} turn {event.number}"
        self._tried = 0
        self._say(f"turn {event.number} on {event.unit_id}")

    @_show.register
    def _(self, event: MutantsTried) -> None:
        self._say(f"strength of the tests: {in_words(event)}"[:220])

    @_show.register
    def _(self, event: TestsRan) -> None:
        self._tests = f"{event.passed} pass, {event.failed} fail"
        self._say(f"tests ({event.purpose}): {self._tests} of {event.collected} [{event.state}]")

    @_show.register
    def _(self, event: AuditorFinished) -> None:
        self._say(
            f"{event.result.tool}: {len(event.result.findings)} findings [{event.result.state}]"
        )

    @_show.register
    def _(self, event: SolverPinned) -> None:
        self._say(f"judged by {', '.join(event.chain)} ({event.reason})")

    @_show.register
    def _(self, event: ModelWaited) -> None:
        self._say(f"waiting {event.wait_s:g} s for {event.model}: {event.fault}")

    @_show.register
    def _(self, event: ModelGrounded) -> None:
        when = f"until {event.until:%H:%M:%S} UTC" if event.until else "in this run"
        self._say(f"{event.model} is not asked {when}: {event.reason}"[:220])

    @_show.register
    def _(self, event: ProviderSwitched) -> None:
        self._say(f"{event.after} instead of {event.before}")

    @_show.register
    def _(self, event: ModelAsked) -> None:
        self._asked += 1
        self._model = event.model

    @_show.register
    def _(self, event: CandidateTried) -> None:
        self._tried += 1
        if event.passed:
            self._say(f"candidate by {event.generator} passes what failed ({self._tried} tried)")

    @_show.register
    def _(self, event: CandidatesRejected) -> None:
        self._tried += event.count

    @_show.register
    def _(self, event: PlanClarified) -> None:
        clarified = event.clarified
        self._say(f"{clarified.question.text} {clarified.answer} (by {clarified.by})"[:220])

    @_show.register
    def _(self, event: PlanRevised) -> None:
        self._say(f"plan of {len(event.plan.steps)} steps: {event.reason}"[:220])

    @_show.register
    def _(self, event: ToolCalled) -> None:
        self._say(f"{event.tool} {event.shown}"[:220])

    @_show.register
    def _(self, event: ToolFinished) -> None:
        if not event.ok:
            self._say(f"{event.tool} did not work")
        elif event.verification_delta:
            self._say(f"{event.tool}: failing tests {-event.verification_delta:+d}")

    @_show.register
    def _(self, event: FactLearned) -> None:
        if event.topic != "flaky-checked":
            self._say(f"{event.topic}: {event.text}"[:220])

    @_show.register
    def _(self, event: CheckpointWritten) -> None:
        word = event.checkpoint
        self._say(f"solver: {word.classification} ({word.decided_by}): {word.summary}"[:220])

    @_show.register
    def _(self, event: TurnClosed) -> None:
        self._say(f"turn {event.number} ended as {event.ended_as} ({event.outcome})")

    @_show.register
    def _(self, event: ChildStarted) -> None:
        again = f", attempt {event.attempt}" if event.attempt > 1 else ""
        self._say(f"{event.node} {event.unit_id} begins{again}: {event.reason}"[:220])

    @_show.register
    def _(self, event: ChildEnded) -> None:
        self._say(f"{event.unit_id} ended as {event.status}: {event.reason}"[:220])

    @_show.register
    def _(self, event: UnitBlocked) -> None:
        self._say(f"{event.unit_id} is blocked: {event.reason}"[:220])

    @_show.register
    def _(self, event: PartVerified) -> None:
        word = "holds" if event.passed else "does not hold"
        self._say(f"{event.level} {event.part} {word}: {event.reason}"[:220])

    @_show.register
    def _(self, event: BudgetPressure) -> None:
        self._say(f"budget: {event.share:.0%} of a ceiling used")

    def close(self) -> None:
        """Leave the terminal clean."""
        if self._moving:
            self._out.write("\r\x1b[K")
            self._out.flush()


class Warnings:
    """Shows nothing but what has not the effect that it seems to have: who asked for quiet has to know that, too."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def seen(self, recorded: Recorded) -> None:
        """Show a warning."""
        if isinstance(recorded.event, PolicyWarning):
            self._out.write(f"surefoot: warning: {one_line(recorded.event.what)}\n")


class Terminal:
    """A person at the terminal; only a plain yes approves."""

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """Show the diff and ask on standard error, read one line."""
        if diff is not None:
            sys.stderr.write(f"\n{printable(diff.patch)}")
        asked = "Approve? [y/N]" if approval else "Answer:"
        sys.stderr.write(f"\n{printable(question)}\n({printable(why)}) {asked} ")
        sys.stderr.flush()
        text = sys.stdin.readline().strip()
        approved = approval and text.lower() in ("y", "yes")
        return Answer(approved=approved, text=text, who=user_name())

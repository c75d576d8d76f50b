"""What a person sees while a run goes on: lines, and on a terminal one line that moves."""

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from tests.replay.golden import SAMPLES

from surefoot.cli.live import LiveView
from surefoot.events.calls import BudgetSettled
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import PhaseChanged, TurnStarted
from surefoot.events.policy import PolicyResolved
from surefoot.events.work import CandidatesRejected, FactLearned, TestsRan
from surefoot.values import EventId, RunId, Spend, TurnId, Usage

BEGAN = datetime(2026, 11, 23, tzinfo=UTC)
"""A moment."""


class Screen(io.StringIO):
    """A terminal, or a file."""

    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        """As told."""
        return self._terminal

    def last(self) -> str:
        """What stands in the line that moves."""
        return self.getvalue().rpartition("\x1b[K")[2]


class Watched:
    """A view with a clock that moves a second an event."""

    def __init__(self, *, terminal: bool) -> None:
        self.screen, self._s = Screen(terminal=terminal), 0.0
        self.view = LiveView(self.screen, now=lambda: self._s)

    def see(self, *events: Event, trace: str = "run") -> None:
        """Events of a ledger."""
        for event in events:
            self._s += 1
            recorded = Recorded(
                event_id=EventId(f"{trace}:1"),
                trace_id=RunId(trace),
                turn_id=TurnId("t"),
                caused_by=None,
                time=BEGAN + timedelta(seconds=self._s),
                event=event,
                previous_hash="0" * 64,
                hash="1" * 64,
            )
            self.view.seen(recorded)


def allowed(*, tokens: int | None, cost_usd: float | None, time_s: float = 600) -> PolicyResolved:
    """A policy with these ceilings."""
    return PolicyResolved(
        mode="auto_solve_full",
        can_execute=True,
        can_fix=True,
        can_escalate=True,
        max_iterations=8,
        time_s=time_s,
        max_files=8,
        tokens=tokens,
        cost_usd=cost_usd,
        risk_flags=(),
        hard_stops=(),
    )


def settled(usage: Usage) -> BudgetSettled:
    """A call that came back."""
    return BudgetSettled(reservation=EventId("run:1"), usage=usage)


USED = Usage(prompt_tokens=900, completion_tokens=100, cost_usd=0.25)
"""Of one call."""


E = TypeVar("E")


def of_type(kind: type[E]) -> E:
    """The sample of a type of event."""
    return next(sample for sample in SAMPLES if isinstance(sample, kind))


def test_the_line_that_moves_tells_what_is_left_of_each_ceiling() -> None:
    """Seconds, tokens and money, what answers cost taken off."""
    watched = Watched(terminal=True)
    watched.see(allowed(tokens=5000, cost_usd=1.0), settled(USED), settled(USED))
    assert watched.screen.last() == "    3.0s  597 s, 3,000 tokens, 0.50 USD left | starting"


def test_a_ceiling_that_there_is_not_is_not_told() -> None:
    """A local model costs nothing."""
    watched = Watched(terminal=True)
    watched.see(allowed(tokens=None, cost_usd=None), settled(USED))
    assert watched.screen.last() == "    2.0s  598 s left | starting"


def test_what_is_left_is_never_cut_off() -> None:
    """However long the names of unit and model are."""
    watched = Watched(terminal=True)
    started = of_type(TurnStarted)
    watched.see(allowed(tokens=5000, cost_usd=None), started, of_type(TestsRan))
    watched.see(replace(of_type(CandidatesRejected), count=41))
    line = watched.screen.last()
    assert line.startswith("    4.0s  596 s, 5,000 tokens left | starting | ")
    assert "41 tried" in line
    assert len(line) <= 120


def test_a_resumed_run_has_used_what_it_used_before() -> None:
    """Time, tokens and money of the processes before this one count."""
    watched = Watched(terminal=True)
    watched.view.goes_on_from(Spend(time_s=100, usage=USED, model_calls=2))
    watched.see(allowed(tokens=5000, cost_usd=1.0))
    assert (
        watched.screen.last()
        == "    1.0s  499 s, 4,000 tokens, 0.75 USD left | starting | 2 model calls"
    )


def test_the_ceilings_of_a_plans_unit_are_not_those_of_the_run() -> None:
    """They are shown of the run that was asked for; what units spend counts."""
    watched = Watched(terminal=True)
    watched.see(allowed(tokens=5000, cost_usd=None))
    watched.see(allowed(tokens=10, cost_usd=None, time_s=1), settled(USED), trace="run.b.1")
    assert watched.screen.last() == "    3.0s  597 s, 4,000 tokens left | starting"


def test_a_file_gets_lines_and_nothing_that_moves() -> None:
    """Steps are told, and no control character."""
    watched = Watched(terminal=False)
    watched.see(
        allowed(tokens=5000, cost_usd=1.0),
        PhaseChanged(
            before="executing", after="reviewing", trigger="done", reason="the unit is done"
        ),
        settled(USED),
    )
    assert watched.screen.getvalue() == "    2.0s  executing -> reviewing: the unit is done\n"


def test_every_event_can_be_shown() -> None:
    """None of them is more than a line, or moves the cursor."""
    watched = Watched(terminal=False)
    watched.see(*SAMPLES)
    lines = watched.screen.getvalue().splitlines()
    assert len(lines) > 20
    assert all(line[:8].endswith("s") for line in lines)
    assert "\x1b" not in watched.screen.getvalue()


def test_words_of_others_do_not_move_the_cursor() -> None:
    """A fact may be a model's sentence; it stays in its line and shows what it holds."""
    watched = Watched(terminal=False)
    watched.see(FactLearned(topic="root", text="a\x1b[2Kb\r\nc\td"))
    assert watched.screen.getvalue() == "    1.0s  root: a\\x1b[2Kb\\r c d\n"

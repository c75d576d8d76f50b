"""What a run leaves to learn from: its decisions, its labelled calls, a receipt and a replay file (SPEC E4, E7). Pure.

Hashes are those of the ledger's blobs, so of the whole value and never of a cut one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from surefoot import codec
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import (
    Decided,
    PlanRevised,
    RunOpened,
    RunResumed,
    RunStopped,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.policy import RoundVerified
from surefoot.events.work import TestsRan, ToolCalled, ToolFinished
from surefoot.values import Digest, Usage

RECEIPT_VERSION: Final = 2
"""1 had neither task nor decisions."""
REPLAY_VERSION: Final = 1
_BINS: Final = (-1.0, -0.5, 0.0, 0.5, 1.0)

Reader = Callable[[Digest], bytes]
"""Gets a blob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionLine:
    """One decision, to read."""

    event_id: str
    turn: str | None
    decision: str
    decided_by: str
    policy_bundle: str
    usage: Usage
    output: str
    """The answer as canonical JSON."""
    by_rule: str | None
    """What the rule would have answered; None where the rule decided, or there is none."""


def settled(recorded: Sequence[Recorded], *, keep: tuple[type, ...] = ()) -> tuple[Recorded, ...]:
    """The events that a run without interruptions would have: those of a turn that was cut off were done again.

    Of such a turn only the events of the types `keep` stay.
    """
    kept: list[Recorded] = []
    for one in recorded:
        turn = one.event.interrupted_turn if isinstance(one.event, RunResumed) else None
        if turn is not None:
            kept = [k for k in kept if k.turn_id != turn or isinstance(k.event, keep)]
        kept.append(one)
    return tuple(kept)


def until_stop(recorded: Sequence[Recorded]) -> Sequence[Recorded]:
    """The events of the run itself: what follows its last stop was done by who accepted or rejected it."""
    ends = [n for n, r in enumerate(recorded, 1) if isinstance(r.event, RunStopped | RunResumed)]
    rests = bool(ends) and isinstance(recorded[ends[-1] - 1].event, RunStopped)
    return recorded[: ends[-1]] if rests else recorded


def decisions_of(events: Sequence[Recorded], get: Reader) -> Iterator[DecisionLine]:
    """Every decision of a run, in order."""
    for recorded in events:
        event = recorded.event
        if isinstance(event, Decided):
            yield DecisionLine(
                event_id=recorded.event_id,
                turn=recorded.turn_id,
                decision=event.decision,
                decided_by=event.decided_by,
                policy_bundle=event.policy_bundle,
                usage=event.usage,
                output=get(event.output).decode(),
                by_rule=None if event.by_rule is None else get(event.by_rule).decode(),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """Where two runs of one issue parted."""

    number: int
    """Of the tool call, from 1."""
    before: DecisionLine | None
    """What the one decided; None: it was over."""
    after: DecisionLine | None
    """What the other decided instead."""


def parting(before: Iterable[DecisionLine], after: Iterable[DecisionLine]) -> Apart | None:
    """The first tool call that two runs decided otherwise; None where they made the same calls, in whatever words."""
    pairs = zip_longest(_calls(before), _calls(after))
    for number, (one, other) in enumerate(pairs, 1):
        if one is None or other is None or call_of(one) != call_of(other):
            return Apart(number=number, before=one, after=other)
    return None


def call_of(line: DecisionLine) -> tuple[str, str]:
    """Tool and parameters of a decided tool call, the latter as canonical JSON."""
    answer = codec.decode(dict[str, object], line.output.encode())
    return str(answer["tool"]), codec.canonical(answer["params"]).decode()


def _calls(lines: Iterable[DecisionLine]) -> Iterator[DecisionLine]:
    return (line for line in lines if line.decision == "tool_call")


def utilities(events: Sequence[Recorded]) -> dict[str, int]:
    """How many tool calls had which step utility: a histogram over -1 to +1."""
    found = Counter(r.event.step_utility for r in events if isinstance(r.event, ToolFinished))
    return {f"{utility:+g}": found.get(utility, 0) for utility in _BINS}


def labelled(events: Sequence[Recorded], get: Reader) -> Iterator[dict[str, object]]:
    """A row a tool call: what was asked and answered, what came of it, and how the turn ended. Failures included."""
    events = settled(events)
    ended = {r.turn_id: r.event for r in events if isinstance(r.event, TurnClosed)}
    decision: Decided | None = None
    for recorded in events:
        event = recorded.event
        if isinstance(event, Decided) and event.decision == "tool_call":
            decision = event
        elif isinstance(event, ToolFinished) and decision is not None:
            turn = ended.get(recorded.turn_id)
            yield {
                "schema": 1,
                "run_id": recorded.trace_id,
                "turn_id": recorded.turn_id,
                "step_id": event.step_id,
                "signature": decision.decision,
                "policy_bundle_id": decision.policy_bundle,
                "inputs": _json(get(decision.inputs)),
                "outputs": _json(get(decision.output)),
                "outcome": _json(get(event.outcome)),
                "step_utility": event.step_utility,
                "verification_delta": event.verification_delta,
                "was_repeated": event.was_repeated,
                "params_valid": event.params_valid,
                "score": event.score,
                "cost_tokens": event.cost_tokens,
                "cost_tool_calls": 1,
                "label_source": event.label_source,
                "turn_classification": turn.classification if turn else None,
                "turn_kept": turn is not None and turn.ended_as == "commit",
                "recorded_at": recorded.time.isoformat(),
            }


def receipt(events: Sequence[Recorded]) -> dict[str, object]:
    """What was asked, decided and done, in hashes and numbers: enough to hold another run against it."""
    ledger = {"events": len(events), "head": events[-1].hash}
    events = settled(events)
    first, last = events[0], events[-1]
    plans = [r.event.plan_hash for r in events if isinstance(r.event, PlanRevised)]
    bundles = {r.event.policy_bundle for r in events if isinstance(r.event, Decided)}
    return {
        "schema": RECEIPT_VERSION,
        "session": first.trace_id,
        "task": next((r.event.issue.title for r in events if isinstance(r.event, RunOpened)), None),
        "ledger": ledger,
        "started_at": first.time.isoformat(),
        "ended_at": last.time.isoformat(),
        "plan_hashes": plans,
        "policy_bundle_ids": sorted(bundles),
        "decisions": list(_decided(events)),
        "tool_calls": [
            {
                "id": r.event_id,
                "tool": r.event.tool,
                "params_hash": r.event.params,
                "output_hash": r.event.outcome,
                "step_utility": r.event.step_utility,
                "latency_ms": round(r.event.wall_s * 1000),
            }
            for r in events
            if isinstance(r.event, ToolFinished)
        ],
        "step_utility": utilities(events),
        "verification": [
            {
                "command": " ".join(r.event.command),
                "exit_code": r.event.exit_code,
                "tree": r.event.tree,
                "purpose": r.event.purpose,
                "passed": r.event.passed,
                "failed": r.event.failed,
            }
            for r in events
            if isinstance(r.event, TestsRan)
        ],
        "outcome": next(
            (r.event.status for r in reversed(events) if isinstance(r.event, RunStopped)), None
        ),
    }


def _decided(events: Sequence[Recorded]) -> Iterator[dict[str, object]]:
    """Every decision in hashes; `by_rule` is that of the rule's answer where a model decided and there is such a rule."""
    for recorded in events:
        event = recorded.event
        if isinstance(event, Decided):
            yield {
                "id": recorded.event_id,
                "decision": event.decision,
                "decided_by": event.decided_by,
                "policy_bundle": event.policy_bundle,
                "inputs_hash": event.inputs,
                "output_hash": event.output,
                "by_rule": event.by_rule,
                "usage": codec.plain(event.usage),
            }


def replay_lines(events: Sequence[Recorded]) -> Iterator[dict[str, object]]:
    """The run as a sequence of typed lines, for a viewer that knows nothing of the ledger."""
    yield {"type": "ReplayHeader", "version": REPLAY_VERSION, "producer": "surefoot"}
    calls = 0
    for recorded in events:
        event, at = recorded.event, recorded.event_id
        if isinstance(event, RunOpened):
            yield {"type": "SessionStart", "id": recorded.trace_id, "task": event.issue.title}
        elif isinstance(event, TurnStarted):
            yield {"type": "TurnStart", "id": recorded.turn_id, "tree": event.tree}
        elif isinstance(event, PlanRevised):
            yield {
                "type": "PlanStart",
                "plan_hash": event.plan_hash,
                "step_count": len(event.plan.steps),
            }
        elif isinstance(event, ToolCalled):
            calls += 1
            yield {"type": "ToolCall", "id": at, "tool": event.tool, "params_hash": event.params}
        elif isinstance(event, ToolFinished):
            yield {
                "type": "ToolResult",
                "id": recorded.caused_by,
                "output_hash": event.outcome,
                "step_id": event.step_id,
                "step_utility": event.step_utility,
                "latency_ms": round(event.wall_s * 1000),
            }
        elif isinstance(event, RoundVerified):
            yield {"type": "Verification", "done": event.done, "blocker": event.blocker}
        elif isinstance(event, RunStopped):
            yield {"type": "SessionEnd", "status": event.status, "tool_calls": calls}


def _json(data: bytes) -> object:
    return codec.decode(object, data)

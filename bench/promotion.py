"""What the promotion policy does to a population of known truth, and what the life cycle costs a call.

`python -m bench.promotion population` prints false promotions and false holds of several policies on the same 1,000 tools;
`python -m bench.promotion cost` prints what scorecard, decision and choice cost with 10,000 stored versions.
"""

import argparse
import contextlib
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from surefoot.artifacts import (
    CallFacts,
    Fault,
    Interface,
    LifecycleState,
    Line,
    Standing,
    VersionId,
)
from surefoot.codec import digest, encode
from surefoot.decisions.tool_call import ShapedCallAnswer, shape_of
from surefoot.events.work import ArtifactStored, ArtifactUsed
from surefoot.kernel.journal import Journal
from surefoot.kernel.promotion import Scorecard, decide, settle
from surefoot.kernel.selection import Rollout
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1, PromotionPolicy
from surefoot.ledger import FileLedger
from surefoot.registry import Follower, Registry
from surefoot.testing.clock import FakeClock
from surefoot.testing.scorecards import observe
from surefoot.values import RunId

AT = datetime(2026, 1, 1, tzinfo=UTC)
TOOLS, CALLS, PER_SESSION = 1_000, 160, 4
TURNS_BAD_AT = 80
"""Calls after which a tenth of the good tools break, e.g. because the format of their input changed."""
GOOD, BAD = 0.95, 0.85
"""True success rates from which a tool ought to be durable, and below which it never ought to be."""
SETTLED = 60
"""Calls after which a good tool ought to have made it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """What is true of a tool, and how its calls turn out."""

    reliability: float
    breaks: bool
    calls: tuple[CallFacts, ...]


def population(seed: int, tools: int = TOOLS, calls: int = CALLS) -> list[Tool]:
    """Tools of every quality: 40 % good, 20 % between, 25 % poor, 15 % broken; some good ones break later."""
    rng = random.Random(seed)
    bands = [(0.95, 1.0)] * 8 + [(0.85, 0.95)] * 4 + [(0.60, 0.85)] * 5 + [(0.0, 0.60)] * 3
    found = []
    for _ in range(tools):
        reliability = rng.uniform(*rng.choice(bands))
        breaks = reliability >= GOOD and rng.random() < 0.1
        facts = []
        for number in range(calls):
            broken = breaks and number >= TURNS_BAD_AT
            ok = rng.random() < (0.5 if broken else reliability)
            facts.append(_call(rng, number, ok=ok))
        found.append(Tool(reliability=reliability, breaks=breaks, calls=tuple(facts)))
    return found


def _call(rng: random.Random, number: int, *, ok: bool) -> CallFacts:
    """Half of the failures break the contract, and one in fifty exhausts its retries."""
    return CallFacts(
        session=f"task-{number // PER_SESSION}",
        ok=ok,
        contract=ok or rng.random() < 0.5,
        faults=() if ok or rng.random() >= 0.02 else (Fault.OUTCOME_EXHAUSTED,),
    )


States = Callable[[Tool], Iterator[LifecycleState]]
"""The state after each call of a tool."""


def under(policy: PromotionPolicy) -> States:
    """States by a version of the policy."""

    def states(tool: Tool) -> Iterator[LifecycleState]:
        version = VersionId(
            interface=Interface(kind="tool", name="t", method="m"), artifact=digest(b"")
        )
        standing, line = Standing(version=version), Line(interface=version.interface)
        card = Scorecard(version=version)
        for call in tool.calls:
            card = observe(card, call, keep=policy.medium_window)
            line = replace(line, calls=line.calls + 1)
            record = decide(
                standing,
                card,
                line,
                incumbent=None,
                policy=policy,
                enforced=True,
                productive=call.ok,
            )
            standing, line = settle(standing, line, record, policy=policy, at=AT)
            yield standing.state

    return states


def plain(tool: Tool) -> Iterator[LifecycleState]:
    """The seed's thresholds as its system has them: lifetime counts, contract and exhaustion only, no cool-down."""
    state = LifecycleState.CANDIDATE
    failures = passed = exhausted = 0
    sessions = set()
    for calls, call in enumerate(tool.calls, 1):
        failures += not call.ok
        passed += call.contract is True
        exhausted += bool(call.faults)
        sessions.add(call.session)
        gate = calls >= 10 and len(sessions) >= 2 and passed / calls >= 0.95 and not exhausted
        regressed = calls >= 3 and failures / calls > 0.6
        if state is LifecycleState.CANDIDATE:
            state = LifecycleState.PROBATION if call.ok else state
        elif regressed and (state is LifecycleState.DURABLE or not gate):
            state = LifecycleState.DEGRADED
        elif gate:
            state = LifecycleState.DURABLE
        yield state


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """What a policy made of the population."""

    false_promotions: float
    """Of the bad tools, those that were durable at some time."""
    false_time: float
    """Of the calls of bad tools, those that a durable version would have served."""
    false_holds: float
    """Of the good tools, those that were not durable after `SETTLED` calls."""
    durable_time: float
    """Of the later calls of good tools, those that a durable version would have served."""
    noticed: float
    """Calls between breaking and no longer being durable, median; `CALLS` when it was not noticed."""
    turns: float
    """Changes into and out of durable for each good tool."""


def judge(tools: list[Tool], states: States) -> Verdicts:
    """Hold what a policy did against the truth."""
    durable = [[s is LifecycleState.DURABLE for s in states(tool)] for tool in tools]
    pairs = list(zip(tools, durable, strict=True))
    bad = [d for t, d in pairs if t.reliability < BAD]
    good = [d for t, d in pairs if t.reliability >= GOOD and not t.breaks]
    broke = [d[TURNS_BAD_AT:] for t, d in pairs if t.breaks and d[TURNS_BAD_AT - 1]]
    return Verdicts(
        false_promotions=statistics.mean(any(d) for d in bad),
        false_time=statistics.mean(x for d in bad for x in d),
        false_holds=statistics.mean(not any(d[:SETTLED]) for d in good),
        durable_time=statistics.mean(x for d in good for x in d[SETTLED:]),
        noticed=statistics.median([d.index(False) if False in d else CALLS for d in broke] or [0]),
        turns=statistics.mean(sum(a != b for a, b in pairwise(d)) for d in good),
    )


V1 = SOLVER_PROMOTION_V1
POLICIES: dict[str, States] = {
    "the seed's plain thresholds": plain,
    "solver_promotion_v1": under(V1),
    "without the benefit of the doubt": under(replace(V1, benefit_of_doubt=False)),
    "without hysteresis": under(
        replace(
            V1,
            returned_min_calls=V1.min_calls,
            returned_min_success_rate=V1.min_success_rate,
            cool_down_calls=0,
        )
    ),
    "5 calls to durable": under(replace(V1, min_calls=5)),
    "20 calls to durable": under(replace(V1, min_calls=20)),
    "short window of 10": under(replace(V1, short_window=10)),
}


HEADINGS = (
    "policy",
    "bad tools ever durable",
    "their calls served as durable",
    f"good tools not durable within {SETTLED} calls",
    "good tools' later calls served as durable",
    "calls until a break is noticed",
    "changes a good tool",
)


def table(seed: int, names: list[str] | None = None) -> list[str]:
    """One line a policy, as in the docs."""
    tools = population(seed)
    lines = [
        f"| {' | '.join(HEADINGS)} |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in names or POLICIES:
        v = judge(tools, POLICIES[name])
        lines.append(
            f"| {name} | {v.false_promotions:.1%} | {v.false_time:.1%} | {v.false_holds:.1%} |"
            f" {v.durable_time:.1%} | {v.noticed:g} | {v.turns:.2f} |"
        )
    return lines


@dataclass(frozen=True, slots=True)
class Took:
    """What something took, each time: seconds of the processor and of the clock."""

    processor: list[float] = field(default_factory=list)
    clock: list[float] = field(default_factory=list)

    @contextlib.contextmanager
    def timed(self) -> Iterator[None]:
        """Time what is done inside; the clock does not run while the processor's time is asked for."""
        processor = time.process_time()
        clock = time.perf_counter()
        yield
        self.clock.append(time.perf_counter() - clock)
        self.processor.append(time.process_time() - processor)

    def row(self, name: str) -> str:
        """As in the docs."""
        told = [_ms(v, share) for v in (self.processor, self.clock) for share in (0.5, 0.95)]
        return f"| {name} | {' | '.join(f'{ms:.2f}' for ms in told)} |"


@contextlib.contextmanager
def _full(versions: int) -> Iterator[tuple[Registry, FileLedger, list[VersionId]]]:
    """So many stored versions, a hundred to an interface; the first ten with full windows."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as opened:
        place = Path(folder)
        registry = Registry(place / "lifecycle.db", lambda _: b"")
        opened.callback(registry.close)
        registry.found()
        ledger = FileLedger.open(
            place / "events.jsonl",
            blobs=place / "blobs",
            trace_id=RunId("run"),
            clock=FakeClock(step_s=1.0),
            redact=str,
        )
        opened.callback(ledger.close)
        ids = [_version(number) for number in range(versions)]
        stored = [ArtifactStored(version=v, capability="c") for v in ids]
        rng = random.Random(7)
        used = [_used(rng, v, n) for n, v in enumerate(ids[:10] * V1.medium_window)]
        for events in (stored, used):
            with registry.transaction():
                registry.fold(ledger.append_all(events))
        yield registry, ledger, ids


def cost(versions: int, calls: int) -> list[str]:
    """Milliseconds of a call's shape, scorecard, decision and choice, and of all that with the ledger's own lines."""
    rng, rollout = random.Random(8), Rollout(enforcement=True)
    shape, choice, alone, whole = Took(), Took(), Took(), Took()
    with _full(versions) as (registry, ledger, ids):
        follower = Follower(registry, rollout)
        for number in range(calls):
            version = ids[number % 10]
            with choice.timed():
                registry.choose(version.interface, rollout)
            recorded = ledger.append(_used(rng, version, number))
            with alone.timed():
                follow_ups = list(follower.follow(recorded))
            for event in follow_ups:
                list(follower.follow(ledger.append(event)))
        journal = Journal(ledger, FakeClock(), follower.follow)
        for number in range(calls):
            version = ids[number % 10]
            with whole.timed():
                with shape.timed():
                    ledger.put(encode(shape_of(_answer(number))))
                registry.choose(version.interface, rollout)
                journal.record(_used(rng, version, number))
    return [
        "| | processor, median | 95 % | clock, median | 95 % |",
        "|---|---|---|---|---|",
        choice.row("choice"),
        alone.row("scorecard and decision"),
        shape.row("shape, stored"),
        whole.row("all three, with the ledger's lines"),
    ]


def _answer(number: int) -> ShapedCallAnswer:
    """A decision of which no other has the shape."""
    return ShapedCallAnswer(
        thought="the tool counts errors",
        learned=[],
        tool="logs.errors",
        params={},
        expected_outcome="a number",
        stance="do",
        capability="count errors in a log",
        reuse_basis=f"it worked {number} times",
        intent="the number is known",
        on_error="read the log",
        promotion_intent="none",
    )


def _ms(values: list[float], share: float) -> float:
    return sorted(values)[int(share * (len(values) - 1))] * 1000


def _version(number: int) -> VersionId:
    """Every hundred versions share an interface."""
    return VersionId(
        interface=Interface(kind="tool", name=f"tool_{number % 100}", method="run"),
        artifact=digest(str(number).encode()),
    )


def _used(rng: random.Random, version: VersionId, number: int) -> ArtifactUsed:
    return ArtifactUsed(
        version=version, call=_call(rng, number, ok=rng.random() < 0.97), chosen="latest"
    )


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("population", "cost"))
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--policy", action="append", choices=list(POLICIES))
    parser.add_argument("--versions", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=500)
    args = parser.parse_args()
    if args.what == "population":
        print("\n".join(table(args.seed, args.policy)))
    else:
        print("\n".join(cost(args.versions, args.calls)))
        print(f"\n{args.versions:,} stored versions, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

"""The ten metrics of the life cycle on tools of known truth, by its own registry, follower and choice.

    python -m bench.lifetimes --tools 300

A stream of tasks through real runs (`bench.tool_stream --changing`) calls a tool some fifty times; a class of tools is judged
from thirty decisions on, each by twenty later calls. So here the calls are drawn and all else is the product's: which version
serves, which is tried beside it, what the policy says after each call. A third of the tools get a second version after a while,
whose truth is drawn anew; the methods of a tool keep state, most of it under the same key.
"""

import argparse
import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.promotion import CALLS, PER_SESSION, TURNS_BAD_AT, Tool, population
from bench.tool_stream import show
from surefoot.artifacts import CallFacts, Interface, VersionId
from surefoot.codec import digest
from surefoot.events.orchestration import TurnClosed
from surefoot.events.work import ArtifactStored, ArtifactUsed
from surefoot.kernel.journal import Journal
from surefoot.kernel.selection import Rollout
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1
from surefoot.registry import Follower, Metrics, Registry, metrics
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.toolbox.forged import KIND
from surefoot.values import Classification, TreeId, TurnId, UnitId

CLASSES: Final = ("code_search", "data_conversion", "log_analysis")
ROLLOUT: Final = Rollout(enforcement=True)
SECOND_AT: Final = 40
"""Calls after which a third of the tools get a second version."""


class Life:
    """One interface with its versions, whose calls turn out as they were drawn."""

    def __init__(self, number: int, versions: Sequence[Tool], journal: Journal) -> None:
        self._number, self._journal = number, journal
        self._interface = Interface(kind=KIND, name=f"tool_{number // 2}", method="ab"[number % 2])
        names = [digest(f"{number}/{order}".encode()) for order in range(len(versions))]
        self._truth = dict(zip(names, versions, strict=True))

    def store(self, order: int) -> None:
        """Add a version."""
        version = VersionId(interface=self._interface, artifact=list(self._truth)[order])
        capability = CLASSES[self._number % len(CLASSES)]
        self._journal.record(ArtifactStored(version=version, capability=capability))

    def call(self, registry: Registry, call: int, turn: TurnId) -> bool:
        """Have the interface called; False where no version may serve, and somebody works by hand."""
        choice = registry.choose(self._interface, ROLLOUT)
        if choice is None:
            return False
        self._use(choice.version, choice.reason, call, turn)
        if choice.trial is not None:
            self._use(choice.trial, "trial", call, turn)
        return True

    def _use(self, version: VersionId, chosen: str, call: int, turn: TurnId) -> None:
        drawn = self._truth[version.artifact].calls[call]
        order = list(self._truth).index(version.artifact)
        keys = ("seen", "own") if order and self._number % 2 else ("seen",)
        facts = CallFacts(
            session=drawn.session,
            ok=drawn.ok,
            contract=drawn.contract,
            faults=drawn.faults,
            writes=keys,
        )
        self._journal.record(ArtifactUsed(version=version, call=facts, chosen=chosen), turn=turn)


def lifetimes(seed: int, tools: int) -> tuple[Metrics, int]:
    """What all these lives came to, and how many calls nothing served."""
    first, second = population(seed, tools), population(seed + 1, tools)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.closing(Registry(Path(folder) / "lifecycle.db", lambda _: b"")) as registry,
    ):
        registry.found()
        clock = FakeClock(step_s=1.0)
        follower = Follower(registry, ROLLOUT)
        journal = Journal(MemoryLedger(clock=clock), clock, follower.follow)
        by_hand = 0
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            life = Life(number, (one, other), journal)
            life.store(0)
            for call in range(CALLS):
                turn = TurnId(f"{number}.t{call // PER_SESSION}")
                if call == SECOND_AT and number // len(CLASSES) % 3 == 0:
                    life.store(1)
                by_hand += not life.call(registry, call, turn)
                if call % PER_SESSION == PER_SESSION - 1:
                    journal.record(_closed(number, call), turn=turn)
        return metrics(registry, KIND, SOLVER_PROMOTION_V1.version), by_hand


def _closed(number: int, call: int) -> TurnClosed:
    return TurnClosed(
        unit_id=UnitId(str(number)),
        number=call // PER_SESSION,
        ended_as="noop",
        tree=TreeId("0" * 40),
        commit=None,
        classification=Classification.PROGRESS,
        outcome="pass",
        reason="drawn",
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.lifetimes", description=__doc__)
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--tools", type=int, default=300)
    options = parser.parse_args()
    told, by_hand = lifetimes(options.seed, options.tools)
    print(f"{options.tools} tools, {CALLS} calls each, {by_hand} by hand")
    print(f"a tenth of the good ones break after {TURNS_BAD_AT} calls")
    show(told)


if __name__ == "__main__":
    main()

"""A recorded run as the ports that proofs are made with: what was run is read, and nothing is run again."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from surefoot.errors import LedgerError
from surefoot.events.classes import TestPurpose
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import RunResumed
from surefoot.events.work import FactLearned, TestsRan
from surefoot.execute.example_tests import ExampleWriter
from surefoot.kernel.impact import Impact
from surefoot.kernel.journal import Journal
from surefoot.kernel.levels import Level
from surefoot.kernel.ports import Trees, TrialWorker
from surefoot.kernel.proof import Prover, may_be_chance
from surefoot.kernel.state import RunState
from surefoot.ledger.wire import GENESIS
from surefoot.suite import is_control_path, is_test_path
from surefoot.system import SystemClock
from surefoot.values import (
    Audit,
    Digest,
    EventId,
    RunId,
    TestReport,
    TreeId,
    TurnId,
)

Reader = Callable[[Digest], bytes]


class NotRecordedError(LedgerError):
    """Something is claimed that rests on what the ledger does not hold."""


class Check(Protocol):
    """One kind of truth that every event of a run is held against."""

    def look(self, state: RunState, recorded: Recorded) -> str:
        """What is wrong with an event that comes upon `state`, naming its field; empty when nothing is."""
        ...


class _ReadOnlyLedger:
    """The `Ledger` port of a run that has been."""

    def __init__(self, run_id: RunId, get: Reader) -> None:
        self._run_id, self._get = run_id, get

    @property
    def trace_id(self) -> RunId:
        return self._run_id

    @property
    def head(self) -> str:
        return GENESIS

    def append(
        self, event: Event, *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> Recorded:
        del cause, turn
        raise NotRecordedError(f"no {event.kind} is recorded where one has to be")

    def append_all(
        self, events: Sequence[Event], *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> tuple[Recorded, ...]:
        return tuple(self.append(event, cause=cause, turn=turn) for event in events)

    def put(self, data: bytes) -> Digest:
        raise NotRecordedError(f"a blob of {len(data)} bytes is not recorded where one has to be")

    def get(self, digest: Digest) -> bytes:
        return self._get(digest)

    def events(self) -> Iterator[Recorded]:
        return iter(())

    def close(self) -> None:
        """Nothing is open."""


class _RecordedSuite:
    """The `Suite` port where nothing is run."""

    command = ()

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        del tests, room
        raise NotRecordedError(f"no test run is recorded where one has to be (at {root})")

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        raise NotRecordedError(f"no watching of tests is recorded where one has to be (at {root})")

    def is_test_path(self, path: str) -> bool:
        return is_test_path(path)

    def is_control_path(self, path: str) -> bool:
        return is_control_path(path)

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        del tests
        raise NotRecordedError(f"no search is done again (at {root})")


def _no_audit(root: Path) -> Audit:
    raise NotRecordedError(f"no audit is recorded where one has to be (at {root})")


@dataclass(frozen=True, slots=True, kw_only=True)
class _RecordedProver(Prover):
    """Proves as a run does, from what it found out; a guess that saved time is taken as it was made."""

    def flaky(
        self,
        tree: TreeId,
        report: TestReport,
        suspects: Collection[str],
        asked: Sequence[str] | None = None,
        *,
        base: TreeId | None = None,
    ) -> frozenset[str]:
        """As it was recorded."""
        del asked, base
        if not may_be_chance(report, suspects):
            return frozenset()
        return self.settled.get(tree, frozenset())

    def tests(
        self, tree: TreeId, purpose: TestPurpose, tests: Sequence[str] | None = None
    ) -> tuple[TestReport, EventId]:
        """As they were recorded."""
        del tests
        recorded = self.journal.tests(tree, purpose)
        if recorded is None:
            told = f"no {purpose} run of tests on tree {tree} is recorded where one has to be"
            raise NotRecordedError(told)
        return recorded

    def findings(self, tree: TreeId) -> Audit:
        """As they were recorded; a run that asks no auditor records none."""
        audits = self.journal.state.audits
        if not audits:
            return Audit(results=())
        found = audits.get(tree)
        if found is None or len(found.audit.results) != found.of:
            raise NotRecordedError(f"no audit of tree {tree} is recorded where one has to be")
        return found.audit

    def _worthy_guess(self, judged: TreeId, base: TreeId, before: TestReport) -> Impact | None:
        del base
        early = self.journal.tests(judged, "impacted")
        if early is None:
            return None
        chosen = tuple(t for t in before.collected if early[0].result(t))
        return Impact(tests=chosen, reason="as recorded")

    def check_guess(self, level: Level, base: TreeId, tree: TreeId, after: TestReport) -> None:
        """What a guess missed is counted in the run, and lets nothing pass."""

    def _check(
        self, level: Level, impact: Impact, tree: TreeId, before: TestReport, after: TestReport
    ) -> None:
        """Likewise."""


@dataclass(slots=True, kw_only=True)
class Proofs:
    """Makes the proofs of a run again from the reports, the facts and the trees that are recorded so far."""

    run_id: RunId
    get: Reader
    trees: Trees
    strict: bool = False
    """As in `Prover`."""
    _tested: set[TreeId] = field(default_factory=set)
    _flaky: dict[TreeId, set[str]] = field(default_factory=dict)
    _loose: set[str] = field(default_factory=set)
    _last: TreeId | None = None

    def note(self, recorded: Recorded) -> None:
        """Take an event in."""
        event = recorded.event
        if isinstance(event, TestsRan):
            self._tested.add(event.tree)
            self._last = event.tree
        elif isinstance(event, FactLearned) and event.topic == "loose ids":
            self._loose.add(event.text)
        elif isinstance(event, FactLearned) and event.topic == "flaky":
            tree = event.tree or self._last
            if tree is not None:
                self._flaky.setdefault(tree, set()).add(event.text)
        elif isinstance(event, RunResumed):
            # A new process looks at surprising failures anew.
            self._flaky, self._loose = {}, set()

    def at(self, state: RunState, flags: Collection[str]) -> Prover:
        """The prover of a run in this state."""
        journal = Journal(_ReadOnlyLedger(self.run_id, self.get), SystemClock())
        journal.state = state
        base = state.opened.base_tree if state.opened else None
        suite = _RecordedSuite()
        asked = any(key.purpose == "examples" for key in state.tests)
        return _RecordedProver(
            journal=journal,
            workspace=self.trees,
            suite=suite,
            audit=_no_audit,
            risk_flags=frozenset(flags),
            strict=self.strict,
            # A run that asked for none, as all did once, is not held to any.
            examples=ExampleWriter(trees=self.trees, suite=suite) if asked else None,
            settled={t: frozenset(self._flaky.get(t, ())) for t in self._tested},
            unsteady={} if base is None else {base: frozenset(self._loose)},
        )

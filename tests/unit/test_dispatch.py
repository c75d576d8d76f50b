"""A schedule that is driven: what is recorded, what runs together, what survives an interrupt."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.errors import LedgerError, UsageError
from surefoot.events.envelope import Event
from surefoot.events.orchestration import NodeDeferred, NodeSettled, NodeStarted
from surefoot.kernel.dispatch import Ending, Settled, Work, drive, open_schedule
from surefoot.kernel.ports import Ledger
from surefoot.kernel.schedule import Place, Schedule
from surefoot.ledger import FileLedger
from surefoot.nodes import Cost, Node, NodeId, NodeKind, NodeOutcome
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Ceilings, RunId

FREE = Ceilings(max_iterations=100, time_s=1, max_files=1)
DONE = Settled(outcome=NodeOutcome.SUCCEEDED, used=Cost(tokens=5))


def node(name: str, *needs: str, writes: str = "", tokens: int = 0) -> Node:
    return Node(
        node_id=NodeId(name),
        kind=NodeKind.UNIT,
        needs=tuple(map(NodeId, needs)),
        writes=(writes,) if writes else (),
        reserve=Cost(tokens=tokens),
    )


def opened(
    nodes: tuple[Node, ...], ledger: Ledger, *, jobs: int = 1, ceilings: Ceilings = FREE
) -> Schedule:
    return open_schedule(nodes, jobs=jobs, seed=3, ceilings=ceilings, ledger=ledger)


def run(
    nodes: tuple[Node, ...],
    work: Work,
    ledger: Ledger,
    *,
    jobs: int = 1,
    ceilings: Ceilings = FREE,
    stop: Callable[[], bool] = lambda: False,
) -> Ending:
    schedule = opened(nodes, ledger, jobs=jobs, ceilings=ceilings)
    return drive(schedule, work, ledger=ledger, stop=stop)


def succeed(_node: Node, _attempt: int) -> Settled:
    return DONE


def events(ledger: Ledger) -> list[Event]:
    return [recorded.event for recorded in ledger.events()]


def ends(ledger: Ledger) -> dict[str, NodeSettled]:
    return {e.node_id: e for e in events(ledger) if isinstance(e, NodeSettled)}


DIAMOND = (node("a"), node("b", "a"), node("c", "a"), node("d", "b", "c"))


def test_one_job_gives_the_same_record_each_time() -> None:
    """Every line, hashes included."""
    heads = []
    for _ in range(2):
        ledger = MemoryLedger()
        assert run(DIAMOND, succeed, ledger) is Ending.DONE
        heads.append(ledger.head)
    assert heads[0] == heads[1]


def test_jobs_work_at_the_same_time_but_never_on_the_same_path() -> None:
    """Three meet at a barrier; the two that write one file never do."""
    barrier = threading.Barrier(3, timeout=20)

    def work(done: Node, _attempt: int) -> Settled:
        if done.node_id in {"x", "y", "z"}:
            barrier.wait()
        return DONE

    nodes = (node("x"), node("y"), node("z"), node("v", writes="m.py"), node("w", writes="m.py"))
    ledger = MemoryLedger()
    assert run(nodes, work, ledger, jobs=5) is Ending.DONE
    order = [e.node_id for e in events(ledger) if isinstance(e, NodeStarted | NodeSettled)]
    assert {end.outcome for end in ends(ledger).values()} == {NodeOutcome.SUCCEEDED}
    mine = [i for i in order if i in {"v", "w"}]
    assert mine[0] == mine[1]


def test_a_start_is_on_record_before_the_work_begins(tmp_path: Path) -> None:
    """And what settled with it stands in the same batch."""
    ledger = FileLedger.open(
        tmp_path / "e.jsonl",
        blobs=tmp_path / "blobs",
        trace_id=RunId("r"),
        clock=FakeClock(),
        redact=str,
    )

    def work(done: Node, _attempt: int) -> Settled:
        last = events(ledger)[-1]
        assert isinstance(last, NodeStarted)
        assert last.node_id == done.node_id
        return DONE

    assert run(DIAMOND, work, ledger) is Ending.DONE
    ledger.close()


def test_work_that_raises_has_failed_and_takes_along_what_needs_it() -> None:
    """The cause is told, also to those further down."""

    def work(done: Node, _attempt: int) -> Settled:
        if done.node_id == "b":
            raise ValueError("no such thing")
        return DONE

    ledger = MemoryLedger()
    assert run((*DIAMOND, node("e", "d")), work, ledger) is Ending.DONE
    told = {i: (end.outcome, end.cause) for i, end in ends(ledger).items() if end.cause}
    assert told == {
        "b": (NodeOutcome.FAILED, "ValueError: no such thing"),
        "d": (NodeOutcome.SKIPPED, "it needs b, which failed"),
        "e": (NodeOutcome.SKIPPED, "it needs d, which was skipped because b failed"),
    }


@pytest.mark.parametrize("tidies", [True, False])
@pytest.mark.parametrize("jobs", [1, 3])
def test_an_interrupt_loses_nothing_and_the_next_process_goes_on(
    jobs: int, *, tidies: bool
) -> None:
    """The node that it met is started again, with the number of its attempt, also where it cannot clean up; all others ran once."""
    ledger, ran = MemoryLedger(), []

    def work(done: Node, attempt: int) -> Settled:
        ran.append((done.node_id, attempt))
        if done.node_id == "c" and attempt == 1:
            try:
                raise KeyboardInterrupt
            finally:
                if not tidies:
                    raise UsageError("it does not end")
        return DONE

    with pytest.raises(KeyboardInterrupt):
        run(DIAMOND, work, ledger, jobs=jobs)
    assert run(DIAMOND, work, ledger, jobs=jobs) is Ending.DONE
    assert ran.count(("c", 2)) == 1
    assert {*ends(ledger)} == {"a", "b", "c", "d"}
    assert len([e for e in events(ledger) if isinstance(e, NodeSettled)]) == 4


def test_work_that_cannot_be_recorded_ends_the_whole() -> None:
    """A ledger's error is nobody's failed outcome."""

    def work(_node: Node, _attempt: int) -> Settled:
        raise LedgerError("the disk is full")

    with pytest.raises(LedgerError, match="the disk is full"):
        run(DIAMOND, work, MemoryLedger(), jobs=2)


def test_a_stop_starts_nothing_more_and_keeps_what_came_back() -> None:
    """`b` says that it was stopped: it is open, not failed."""
    ledger, stopping = MemoryLedger(), threading.Event()

    def work(done: Node, _attempt: int) -> Settled | None:
        if done.node_id == "a":
            return DONE
        stopping.set()
        return None

    assert run(DIAMOND, work, ledger, stop=stopping.is_set) is Ending.STOPPED
    assert {*ends(ledger)} == {"a"}
    assert run(DIAMOND, succeed, ledger) is Ending.DONE
    attempts = [e.attempt for e in events(ledger) if isinstance(e, NodeStarted)]
    assert sorted(attempts) == [1, 1, 1, 1, 2]


def test_a_replaced_node_is_needed_no_more_but_its_heirs_are() -> None:
    """The merge that is done again comes before what waits for the merge; its failure skips that."""
    again = Node(node_id=NodeId("b2"), kind=NodeKind.REPROCESS, needs=(NodeId("a"),))

    def work(outcome: NodeOutcome) -> Work:
        def inner(done: Node, _attempt: int) -> Settled:
            if done.node_id == "b":
                return Settled(outcome=NodeOutcome.REPLACED, cause="conflict", added=(again,))
            return Settled(outcome=outcome if done.node_id == "b2" else NodeOutcome.SUCCEEDED)

        return inner

    for outcome, last in (
        (NodeOutcome.SUCCEEDED, NodeOutcome.SUCCEEDED),
        (NodeOutcome.FAILED, NodeOutcome.SKIPPED),
    ):
        ledger = MemoryLedger()
        assert run(DIAMOND, work(outcome), ledger) is Ending.DONE
        assert ends(ledger)["d"].outcome is last
        assert [*ends(ledger)].index("b2") < [*ends(ledger)].index("d")
        assert not opened(DIAMOND, ledger).unsettled


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ((), "replaced by nothing"),
        ((node("a"),), "there twice"),
        ((node("e", "b"),), "which it replaces"),
        ((node("e", "d"),), "may wait for it"),
        ((node("e", "f"), node("f", "e")), "circle: "),
        ((node("e", writes="../x"),), "no path inside the repository"),
    ],
)
def test_nodes_that_cannot_be_added_fail_the_one_that_adds_them(
    added: tuple[Node, ...], told: str
) -> None:
    """And the graph stands as before."""

    def work(done: Node, _attempt: int) -> Settled:
        replaced = done.node_id == "b"
        return Settled(outcome=NodeOutcome.REPLACED, added=added) if replaced else DONE

    ledger = MemoryLedger()
    assert run(DIAMOND, work, ledger) is Ending.DONE
    assert ends(ledger)["b"].outcome is NodeOutcome.FAILED
    assert told in ends(ledger)["b"].cause
    assert ends(ledger)["d"].outcome is NodeOutcome.SKIPPED


def test_what_the_budget_does_not_hold_waits_for_a_larger_one() -> None:
    """`big` is deferred with its reason; a later process with more to spend does it."""
    nodes = (node("big", tokens=50), node("small", tokens=5), node("last", "big"))
    ledger = MemoryLedger()
    little = Ceilings(max_iterations=9, time_s=1, max_files=1, tokens=20)
    assert run(nodes, succeed, ledger, ceilings=little) is Ending.SHORT
    (deferred,) = (e for e in events(ledger) if isinstance(e, NodeDeferred))
    assert (deferred.node_id, deferred.what, deferred.asked) == ("big", "tokens", 50)
    standing = opened(nodes, ledger, ceilings=little).standing()
    assert standing[NodeId("last")].waits_for == ("big",)
    assert standing[NodeId("small")].place is Place.SETTLED
    assert run(nodes, succeed, ledger, ceilings=FREE) is Ending.DONE


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ((node("a"), node("a")), "'a' is there twice"),
        ((node("a", "x"),), "'a' needs 'x', which is not in the graph"),
        ((node("a", "b"), node("b", "a"), node("c")), "circle: a -> b -> a"),
        ((node("a", writes="/etc"),), "'/etc' is no path inside the repository"),
        ((node("a", writes=""), Node(node_id=NodeId("b"), kind=NodeKind.HOOK, reads=("",))), "''"),
    ],
)
def test_nodes_that_are_no_graph_are_refused(nodes: tuple[Node, ...], told: str) -> None:
    """Before anything is recorded of them, by name."""
    with pytest.raises(UsageError, match=told):
        opened(nodes, MemoryLedger())


def test_a_ledger_of_another_graph_is_refused() -> None:
    """Nothing runs on a record that does not fit."""
    ledger = MemoryLedger()
    run(DIAMOND, succeed, ledger)
    with pytest.raises(LedgerError, match="go on with the plan"):
        opened(DIAMOND[:2], ledger)
    schedule = Schedule(DIAMOND[:2], jobs=1, seed=3, ceilings=FREE)
    with pytest.raises(LedgerError, match="graph and ledger do not belong together"):
        schedule.apply(NodeStarted(node_id=NodeId("b"), node_kind=NodeKind.UNIT, attempt=1))
    with pytest.raises(LedgerError, match="the graph has no node 'x'"):
        schedule.apply(NodeStarted(node_id=NodeId("x"), node_kind=NodeKind.UNIT, attempt=1))

"""Rows to learn from hold failures as well as successes, and hashes of whole values."""

from datetime import UTC, datetime

from surefoot import codec
from surefoot.events.orchestration import Decided, RunOpened, RunStopped, TurnClosed, TurnStarted
from surefoot.events.work import ToolCalled, ToolFinished
from surefoot.records import decisions_of, labelled, receipt, replay_lines, utilities
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    Classification,
    CommitId,
    Issue,
    RunStatus,
    ToolOutcome,
    TreeId,
    TurnId,
    UnitId,
    Usage,
)

TREE, TURN = TreeId("a" * 40), TurnId("fix-1.t1")


def ledger(*worth: float, kept: bool = False) -> MemoryLedger:
    """A turn with one call of each worth."""
    made = MemoryLedger(clock=FakeClock(datetime(2026, 1, 1, tzinfo=UTC)))
    made.append(TurnStarted(unit_id=UnitId("fix-1"), number=1, tree=TREE), turn=TURN)
    for utility in worth:
        asked, answered = made.put(b'{"q":1}'), made.put(b'{"tool":"file_read"}')
        made.append(
            Decided(
                decision="tool_call",
                inputs=asked,
                output=answered,
                decided_by="model",
                policy_bundle="tool_call/1",
                usage=Usage(prompt_tokens=7, completion_tokens=3),
                by_rule=made.put(b'{"tool":"done"}'),
            ),
            turn=TURN,
        )
        called = made.append(ToolCalled(tool="file_read", params=asked), turn=TURN)
        made.append(
            ToolFinished(
                tool="file_read",
                params=asked,
                step_id="change",
                outcome=made.put(codec.encode(ToolOutcome(ok=utility >= 0))),
                ok=utility >= 0,
                step_utility=utility,
                verification_delta=None,
                was_repeated=utility == -0.5,
                score=0.4 * utility,
                cost_tokens=10,
                label_source="rule",
                policy_bundle="tool_call/1",
                wall_s=0.5,
            ),
            cause=called.event_id,
            turn=TURN,
        )
    made.append(
        TurnClosed(
            unit_id=UnitId("fix-1"),
            number=1,
            ended_as="commit" if kept else "rollback",
            tree=TREE,
            commit=None,
            classification=Classification.PROGRESS,
            outcome="pass",
            reason="r",
            elapsed_s=1.0,
        ),
        turn=TURN,
    )
    made.append(RunStopped(status=RunStatus.BLOCKED, reason="r", elapsed_s=1.0))
    return made


def test_every_call_is_a_row_whatever_came_of_it() -> None:
    """A call of a turn that was rolled back is a row like any other, and says so."""
    made = ledger(0.5, -1.0)
    rows = list(labelled(tuple(made.events()), made.get))
    assert [r["step_utility"] for r in rows] == [0.5, -1.0]
    assert {r["turn_kept"] for r in rows} == {False}
    assert rows[0]["inputs"] == {"q": 1}
    assert rows[0]["outputs"] == {"tool": "file_read"}
    assert rows[0]["policy_bundle_id"] == "tool_call/1"
    kept = ledger(1.0, kept=True)
    assert [r["turn_kept"] for r in labelled(tuple(kept.events()), kept.get)] == [True]


def test_the_histogram_counts_each_row_of_the_rubric() -> None:
    """Rows that did not occur count zero."""
    made = ledger(0.5, 0.5, -0.5)
    assert utilities(tuple(made.events())) == {"-1": 0, "-0.5": 1, "+0": 0, "+0.5": 2, "+1": 0}


def test_a_decision_shows_what_the_rule_would_have_said() -> None:
    """Beside the model's answer, with its cost."""
    made = ledger(0.5)
    (line,) = decisions_of(tuple(made.events()), made.get)
    assert (line.output, line.by_rule) == ('{"tool":"file_read"}', '{"tool":"done"}')
    assert line.usage.completion_tokens == 3


def test_the_receipt_names_hashes_not_values() -> None:
    """The hash of a call's output is the digest of the whole recorded outcome."""
    made = ledger(0.5)
    written = receipt(tuple(made.events()))
    assert isinstance(written["tool_calls"], list)
    (call,) = written["tool_calls"]
    assert call["output_hash"] == codec.digest(codec.encode(ToolOutcome(ok=True)))
    assert call["latency_ms"] == 500
    assert written["outcome"] == "blocked"


def test_the_receipt_names_the_task() -> None:
    """Its title, in the ledger's words; a ledger without a beginning has none."""
    made = MemoryLedger(clock=FakeClock(datetime(2026, 1, 1, tzinfo=UTC)))
    issue = Issue(source="text", text="# total is wrong\n\nIt is 2.5.")
    made.append(
        RunOpened(
            issue=issue,
            mode="auto_fix_safe",
            model="m",
            repo="/r",
            branch="refs/heads/main",
            base=CommitId("c" * 40),
            base_tree=TREE,
            settings=made.put(b"{}"),
            seed=0,
            version="1",
        )
    )
    written = receipt(tuple(made.events()))
    assert (written["schema"], written["task"]) == (2, "total is wrong")
    assert receipt(tuple(ledger(0.5).events()))["task"] is None


def test_the_receipt_names_each_decision_and_what_the_rule_would_have_been() -> None:
    """In the ledger's order, in hashes; where a rule decided there is none beside it."""
    made = ledger(0.5, kept=True)
    inputs, output = made.put(b'{"q":2}'), made.put(b'{"choice":0}')
    made.append(
        Decided(
            decision="roundtable",
            inputs=inputs,
            output=output,
            decided_by="rule",
            policy_bundle="roundtable/1",
        )
    )
    written = receipt(tuple(made.events()))
    assert isinstance(written["decisions"], list)
    model, rule = written["decisions"]
    assert model == {
        "id": "run:2",
        "decision": "tool_call",
        "decided_by": "model",
        "policy_bundle": "tool_call/1",
        "inputs_hash": codec.digest(b'{"q":1}'),
        "output_hash": codec.digest(b'{"tool":"file_read"}'),
        "by_rule": codec.digest(b'{"tool":"done"}'),
        "usage": codec.plain(Usage(prompt_tokens=7, completion_tokens=3)),
    }
    assert (rule["decision"], rule["by_rule"]) == ("roundtable", None)
    assert (rule["inputs_hash"], rule["output_hash"]) == (inputs, output)
    assert written["policy_bundle_ids"] == ["roundtable/1", "tool_call/1"]


def test_the_replay_file_tells_the_run_in_order() -> None:
    """Header first, end last, and each result names its call."""
    made = ledger(0.5, 0.5)
    lines = list(replay_lines(tuple(made.events())))
    assert [line["type"] for line in lines] == [
        "ReplayHeader",
        "TurnStart",
        "ToolCall",
        "ToolResult",
        "ToolCall",
        "ToolResult",
        "SessionEnd",
    ]
    assert lines[3]["id"] == lines[2]["id"]
    assert lines[-1]["tool_calls"] == 2

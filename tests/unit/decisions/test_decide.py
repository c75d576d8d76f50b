"""A decision is a value: by rule where facts suffice, else by the model, through DSPy, once corrected, always recorded."""

import dataclasses
import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from surefoot import decisions
from surefoot.codec import canonical, decode, digest
from surefoot.decisions.signature import (
    Decision,
    Signature,
    Unanswered,
    decide,
    fields_of,
    ruled,
    schema_of,
)
from surefoot.decisions.tool_call import (
    TOOL_CALL,
    ToolCallAnswer,
    ToolCallQuestion,
    complaint,
)
from surefoot.errors import DivergenceError, LedgerError
from surefoot.events.calls import ModelReplied
from surefoot.events.orchestration import Decided
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.model import Rule, ScriptedModel
from surefoot.values import Ceilings, ModelFailure, ModelFault, ModelReply, ModelRequest, Usage

GOOD = {
    "thought": "the file is next",
    "learned": ["`total` lives in shop.py"],
    "tool": "file_read",
    "params": {"path": "shop.py"},
    "expected_outcome": "its text",
}
QUESTION = ToolCallQuestion(
    tools=("file_read: reads",),
    environment="Linux",
    conventions="",
    repository="shop.py",
    issue="total is wrong",
    plan="[>] change",
    facts=("nothing yet",),
    tests="1 fails",
    history="nothing yet",
    step="change",
)
WORDINGS = {
    "build_status/2": "bf7ac729",
    "clarification/1": "baf6f23d",
    "deep_planning/1": "a970261d",
    "environment_assessment/2": "f9a70f27",
    "failure_triage/3": "60c65a53",
    "plan_draft/1": "15b9625b",
    "planning_model/1": "f831bee4",
    "requirement_checker/2": "210651ae",
    "roundtable_vote/1": "39635c8d",
    "solution_verifier/2": "d3ce251b",
    "task_complexity/2": "e03a18be",
    "test_status/1": "10503643",
    "tool_call/1": "e3aebd88",
    "tool_call/2": "101a7fcf",
    "tool_result/1": "d5486270",
}
"""Each policy bundle, with the mark of its instructions, its fields, their words and what they may hold."""


class Desk:
    """A model with its ledger."""

    def __init__(self, replies: Sequence[str] | Sequence[Rule], tokens: int | None = None) -> None:
        self.ledger = MemoryLedger()
        self.journal = Journal(self.ledger, FakeClock())
        self.model = ScriptedModel(replies)
        ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1, tokens=tokens)
        self.asker = MeteredModel(self.model, self.journal, ceilings, FakeClock())

    def decide(self) -> Decision[ToolCallAnswer] | Unanswered:
        """The tool call that the model decides on."""
        names = frozenset({"file_read"})
        return decide(
            TOOL_CALL, QUESTION, self.asker, self.journal, check=lambda a: complaint(names, a)
        )

    @property
    def decided(self) -> list[Decided]:
        """Recorded decisions."""
        return [r.event for r in self.ledger.events() if isinstance(r.event, Decided)]


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps(GOOD),
        f"Sure:\n```json\n{json.dumps(GOOD)}\n```\nDone.",
        f"I think {json.dumps(GOOD)} is right",
        f"I think {json.dumps(GOOD)} is right, not {{}}",
        f"Take {{this}}:\n```json\n{json.dumps(GOOD)}\n```",
        f"<think>use {{x}}, or\n{{y}}</think>\n{json.dumps(GOOD)}",
    ],
)
def test_the_models_answer_is_a_typed_value(reply: str) -> None:
    """Bare, fenced or wrapped in words, the JSON object becomes the answer, and the record holds both sides and the cost."""
    desk = Desk([reply])
    made = desk.decide()
    assert isinstance(made, Decision)
    assert made.answer.params == {"path": "shop.py"}
    (record,) = desk.decided
    assert (record.decision, record.decided_by, record.policy_bundle) == (
        "tool_call",
        "model",
        "tool_call/1",
    )
    assert record.usage == made.usage
    assert record.usage.completion_tokens > 0
    assert decode(ToolCallQuestion, desk.ledger.get(record.inputs)) == QUESTION
    assert decode(ToolCallAnswer, desk.ledger.get(record.output)) == made.answer


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Sure:\n```\n{}\n```\nDone."])
def test_an_answer_may_hold_code_blocks(around: str) -> None:
    """A file that is written may be Markdown: the object ends where its braces end, not at the first fence or the last brace."""
    code = "Use it:\n\n```python\nshop({})\n```\n\n```json\n{\n```\n"
    params = {"path": "USAGE.md", "create": code}
    desk = Desk([around.replace("{}", json.dumps({**GOOD, "params": params}, indent=1))])
    made = desk.decide()
    assert isinstance(made, Decision)
    assert made.answer.params == params
    assert len(desk.model.asked) == 1


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("no JSON at all", "not JSON"),
        ("[1, 2]", "not"),
        (json.dumps({"thought": "x"}), "'learned' is missing"),
        (json.dumps({**GOOD, "params": "shop.py"}), "params"),
        (
            json.dumps({**GOOD, "tool": "rm"}),
            "there is no tool 'rm'; take one of ask, done, file_read",
        ),
    ],
)
def test_what_does_not_fit_is_sent_back_once_with_the_exact_complaint(bad: str, told: str) -> None:
    """The second prompt holds the bad answer and what is wrong with it; a good answer to it counts."""
    desk = Desk(
        [Rule(pattern="That cannot be used", replies=(json.dumps(GOOD),)), Rule(replies=(bad,))]
    )
    assert isinstance(desk.decide(), Decision)
    first, second = desk.model.asked
    assert second.messages[:2] == first.messages
    assert [m.role for m in second.messages[2:]] == ["assistant", "user"]
    assert second.messages[2].content == bad
    assert told in second.messages[3].content


def test_twice_unusable_is_no_answer() -> None:
    """Nothing is recorded as decided, nobody asks a third time, and the reason names the signature and the complaint."""
    desk = Desk(["what?"])
    made = desk.decide()
    assert isinstance(made, Unanswered)
    assert made.failure is None
    assert made.reason.startswith("the answer to tool_call cannot be used: not JSON")
    paid = [r.event.usage for r in desk.ledger.events() if isinstance(r.event, ModelReplied)]
    assert len(paid) == 2
    assert made.usage == paid[0] + paid[1]
    assert len(desk.model.asked) == 2
    assert desk.decided == []


def test_a_failed_call_is_a_failure_not_an_answer() -> None:
    """The model's typed failure comes back as it was, after one call."""
    desk = Desk([Rule(fault=ModelFault.REFUSAL, message="I will not")])
    made = desk.decide()
    assert isinstance(made, Unanswered)
    assert made.failure is not None
    assert made.failure.fault is ModelFault.REFUSAL


def test_an_answer_that_was_cut_off_is_asked_for_shorter() -> None:
    """Too long an edit is the answer's fault, not the model's: it is sent back like any answer that does not fit."""
    shorter = Rule(pattern="say less", replies=(json.dumps(GOOD),))
    long = json.dumps({**GOOD, "expected_outcome": "x" * 40_000})
    desk = Desk([shorter, Rule(replies=(long,))])
    made = desk.decide()
    assert isinstance(made, Decision)
    assert made.answer.params == {"path": "shop.py"}


def test_no_budget_no_call() -> None:
    """A refused reservation ends the question with that reason; the model is never asked."""
    desk = Desk([json.dumps(GOOD)], tokens=5)
    made = desk.decide()
    assert isinstance(made, Unanswered)
    assert "budget" in made.reason
    assert made.failure is None
    assert made.usage == Usage()
    assert not desk.model.asked


@pytest.mark.parametrize(
    "broken",
    [LedgerError("the disk is full"), DivergenceError("#3 differs"), KeyError("usage")],
)
def test_what_breaks_in_a_call_is_told_as_what_it_is(broken: Exception) -> None:
    """A full disk, a replay that diverged or a fault of an adapter ends the question with that error, and is no spent budget."""

    class Broken(MeteredModel):
        def ask(self, requests: Sequence[ModelRequest]) -> tuple[ModelReply | ModelFailure, ...]:
            raise broken

    desk = Desk([json.dumps(GOOD)])
    ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1)
    desk.asker = Broken(desk.model, desk.journal, ceilings, FakeClock())
    with pytest.raises(type(broken)) as raised:
        desk.decide()
    assert raised.value is broken


def test_a_rule_that_answers_asks_nobody() -> None:
    """The record says that a rule decided, at no cost."""
    desk = Desk(["never read"])
    answer = decode(ToolCallAnswer, json.dumps(GOOD).encode())
    made = decide(TOOL_CALL, QUESTION, desk.asker, desk.journal, rule=lambda _: answer)
    assert isinstance(made, Decision)
    assert made.answer == ruled(TOOL_CALL, QUESTION, desk.journal, lambda _: answer) == answer
    assert [d.decided_by for d in desk.decided] == ["rule", "rule"]
    assert not desk.model.asked


def test_the_same_question_gives_the_same_bytes_with_what_is_stable_first() -> None:
    """Equal requests, so that a resumed run finds the recorded reply; a further call leaves all before the calls as it was."""
    guided = dataclasses.replace(
        QUESTION, conventions="AGENTS.md: be brief", history="1. ripgrep {}"
    )
    later = dataclasses.replace(
        guided, history="1. ripgrep {}\n2. file_read {}", tests="none fails"
    )
    asked = []
    for question in (guided, guided, later):
        desk = Desk([json.dumps(GOOD)])
        decide(TOOL_CALL, question, desk.asker, desk.journal)
        asked += desk.model.asked
    assert asked[0] == asked[1]
    text, further = (request.messages[1].content for request in asked[1:])
    order = [text.index(f"## {f.description}") for f in fields_of(ToolCallQuestion)]
    assert order == sorted(order)
    assert text.index("## Tools") < text.index("## Issue") < text.index("## Calls so far")
    head, first, _ = text.partition("1. ripgrep {}\n")
    assert further.startswith(head + first)


def test_every_answer_field_is_required_of_a_constrained_model() -> None:
    """The request carries the answer's schema, with no field that could be left out and none that could be added."""
    desk = Desk([json.dumps(GOOD)])
    desk.decide()
    schema = json.loads(desk.model.asked[0].json_schema or "")
    assert schema["required"] == list(GOOD)
    assert schema["additionalProperties"] is False


def test_a_rule_does_not_load_dspy() -> None:
    """Only a question to a model does: the command line and the rules start without it."""
    script = (
        "import sys\n"
        "import surefoot.decisions.tool_call, surefoot.decisions.failure_triage, surefoot.app\n"
        "sys.exit('dspy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def signatures() -> dict[str, Signature[Any, Any]]:
    """All that is decided by a signature, by policy bundle."""
    found: dict[str, Signature[Any, Any]] = {}
    for module in pkgutil.iter_modules(decisions.__path__, f"{decisions.__name__}."):
        held = vars(importlib.import_module(module.name)).values()
        found |= {s.bundle: s for s in held if isinstance(s, Signature)}
    return found


def test_a_policy_bundle_names_one_wording() -> None:
    """Whoever reads two records of one bundle may compare them: where words, fields or what they may hold change, raise the version and say so here."""
    marks = {
        bundle: digest(
            repr(
                (
                    signature.instructions,
                    [(f.name, f.description, str(f.kind)) for f in fields_of(signature.question)],
                    [(f.name, f.description) for f in fields_of(signature.answer)],
                    canonical(schema_of(signature.answer)),
                )
            ).encode()
        )[:8]
        for bundle, signature in signatures().items()
    }
    assert marks == WORDINGS


@pytest.mark.parametrize("bundle", list(signatures()))
def test_no_object_of_an_answer_is_open(bundle: str) -> None:
    """Providers refuse a strict schema otherwise; steps of a plan are objects within it."""
    schema = schema_of(signatures()[bundle].answer)
    objects = [schema, *schema.get("$defs", {}).values()]  # type: ignore[attr-defined]
    for part in (o for o in objects if o.get("type") == "object"):
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])

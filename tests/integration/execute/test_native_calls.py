"""Tool calls in the provider's own protocol: asked for where the model has them, measured, given up where they fail."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.integration.conftest import Surefoot
from tests.integration.execute.test_agent import BUG, BUG_EDITS, events, repository, solve_by

from surefoot.testing.chat_server import ScriptedServer, speaks_for
from surefoot.testing.messages_server import MessagesServer, speaks_messages_for
from surefoot.testing.model import Rule, ScriptedModel
from surefoot.values import ToolCall

ISSUE = "`receipt` shows 2.5 for 250"
AGENT = ("--strategy", "agent")
CARD = '[[models.card]]\nname = "{name}"\ntools = {tools}\n'
BROKEN = [{"tool": "file_read", "parameters": '{"path": "till/app.py"'}]
"""A call whose parameters are cut off in the middle."""


def native(answer: str) -> list[dict[str, object]]:
    """The same call in a provider's own protocol."""
    said = json.loads(answer)
    about = {k: said[k] for k in ("thought", "learned", "expected_outcome")}
    return [{"tool": said["tool"], "parameters": {"about_call": about, **said["params"]}}]


def rules(answers: Sequence[str], form: Mapping[int, str] | None = None) -> list[dict[str, object]]:
    """The n-th answer after n calls: natively where tools are offered, else as text; `form` says otherwise of some."""
    made: list[dict[str, object]] = []
    for number, answer in reversed(list(enumerate(answers))):
        shown = rf"(?s)## Calls so far, oldest first\n.*^{number}\. [a-z_.]+ \{{"
        when: dict[str, object] = {"pattern": shown if number else "## Calls so far"}
        given: Any = BROKEN if (form or {}).get(number) == "broken" else native(answer)
        made.append({**when, "calls": given})
        made.append({**when, "offered": False, "reply": answer})
    return made


def script(answers: Sequence[str], form: Mapping[int, str] | None = None) -> dict[str, object]:
    """A rules file of a model that has native tool calls."""
    return {"schema": 1, "native_tools": True, "rules": rules(answers, form)}


def model(answers: Sequence[str], *, native_tools: bool) -> ScriptedModel:
    """The same behind a server."""
    made = [
        Rule(
            pattern=str(rule["pattern"]),
            offered=False if rule.get("offered") is False else None,
            replies=(str(rule["reply"]),) if "reply" in rule else (),
            calls=tuple(
                ToolCall(tool=c["tool"], parameters=json.dumps(c["parameters"]))
                for c in rule.get("calls", ())  # type: ignore[attr-defined]
            ),
        )
        for rule in rules(answers)
    ]
    return ScriptedModel(made, default="No.", native_tools=native_tools)


def read(surefoot: Surefoot, root: Path, run: Mapping[str, object]) -> list[tuple[str, str]]:
    """Form and fate of each reply that had to be a tool call."""
    found = [e for e in events(surefoot, root, run["run_id"]) if e["kind"] == "call.read"]
    return [(e["form"], e["came"]) for e in found]


def replayed(surefoot: Surefoot, root: Path) -> object:
    """What the replay of the last run differs in."""
    return json.loads(surefoot("replay", "--json", cwd=root).stdout.splitlines()[-1])["divergence"]


def test_a_native_call_is_the_same_decision(surefoot: Surefoot, tmp_path: Path) -> None:
    """Solved, replayed and labelled as text calls are; the decision's bundle says in which form it was asked for."""
    root = repository(tmp_path, BUG)
    run = solve_by(surefoot, root, ISSUE, script(BUG_EDITS), *AGENT)
    assert run["status"] == "complete", run["reason"]
    assert read(surefoot, root, run) == [("native", "valid")] * 5
    listed = json.loads(surefoot("decisions", "--json", cwd=root).stdout.splitlines()[-1])
    calls = [d for d in listed["decisions"] if d["decision"] == "tool_call"]
    assert {d["policy_bundle"] for d in calls} == {"tool_call.native/2"}
    said = json.loads(calls[0]["output"])
    assert (said["tool"], said["params"]) == ("file_read", {"path": "till/app.py"})
    assert said["learned"] == ["receipt calls line in till/receipt.py"]
    (tmp_path / "rules.json").unlink()
    assert replayed(surefoot, root) is None


def test_a_native_call_that_does_not_fit_is_sent_back_once(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """With the exact complaint; the model mends it natively, and nothing is asked as text."""
    root = repository(tmp_path, BUG)
    mended = {
        "pattern": "That cannot be used: the parameters of file_read are not JSON",
        "calls": native(BUG_EDITS[1]),
    }
    given = script(BUG_EDITS, {1: "broken"})
    run = solve_by(surefoot, root, ISSUE, {**given, "rules": [mended, *given["rules"]]}, *AGENT)  # type: ignore[misc]
    assert run["status"] == "complete", run["reason"]
    assert Counter(read(surefoot, root, run)) == {("native", "valid"): 5, ("native", "invalid"): 1}


def test_a_model_that_fails_natively_goes_on_as_text(surefoot: Surefoot, tmp_path: Path) -> None:
    """No step is lost by it: the same question is asked as text, at the cost of all tries; and after four bad replies nothing is asked natively."""
    root = repository(tmp_path, BUG)
    run = solve_by(
        surefoot, root, ISSUE, script(BUG_EDITS, dict.fromkeys(range(9), "broken")), *AGENT
    )
    assert run["status"] == "complete", run["reason"]
    came = read(surefoot, root, run)
    assert came[:6] == [("native", "invalid")] * 2 + [("text", "valid")] + [
        ("native", "invalid")
    ] * 2 + [("text", "valid")]
    assert came[6:] == [("text", "valid")] * 3
    seen = events(surefoot, root, run["run_id"])
    asked = [e for e in seen if e["kind"] == "model.asked"]
    calls = {e["request"] for e in asked if e["purpose"] == "tool_call"}
    used = [e["usage"] for e in seen if e["kind"] == "model.replied" and e["request"] in calls]
    paid = [u["prompt_tokens"] - u["cached_tokens"] + u["completion_tokens"] for u in used]
    first = next(e for e in seen if e["kind"] == "tool.labelled")
    assert first["cost_tokens"] == sum(paid[:3])
    last = [e for e in seen if e["kind"] == "call.read"][-1]
    assert "0 of 4 native replies could be used" in last["why"]
    assert replayed(surefoot, root) is None


def with_card(tmp_path: Path, name: str, *, tools: bool = True) -> Path:
    """The repository with a bug, and settings that know the model."""
    card = CARD.format(name=name, tools=str(tools).lower())
    return repository(tmp_path, {**BUG, "surefoot.toml": card})


SERVED = [
    pytest.param("openai/m", id="chat"),
    pytest.param(
        "anthropic/m",
        id="messages",
        marks=pytest.mark.skipif(find_spec("litellm") is None, reason="LiteLLM is not installed"),
    ),
]


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.parametrize("takes", [True, False], ids=["takes tools", "takes none"])
def test_a_server_is_offered_tools_where_the_card_says_so(
    surefoot: Surefoot, tmp_path: Path, name: str, *, takes: bool
) -> None:
    """One that turns them down is asked as text for the rest of the run, and by the next run from its start."""
    root = with_card(tmp_path, name)
    assert surefoot("trust", cwd=root).returncode == 0
    answers = model(BUG_EDITS, native_tools=takes)
    there = (
        ScriptedServer(speaks_for(answers))
        if name == "openai/m"
        else MessagesServer(speaks_messages_for(answers))
    )
    with there as server:
        where = ("--model", name, "--base-url", server.base_url, "--solver-model", name)
        ran = surefoot("solve", ISSUE, *where, *AGENT, "--json", cwd=root)
        run = json.loads(ran.stdout.splitlines()[-1])
        offered = [bool(seen.body.get("tools")) for seen in server.seen]
    assert run["status"] == "complete", run["reason"]
    came = read(surefoot, root, run)
    shown = json.loads(surefoot("models", "show", name, "--json", cwd=root).stdout)
    if takes:
        assert came == [("native", "valid")] * 5
        assert shown["tool_calls"] == "native"
        assert "5 of 5 native replies could be used" in shown["tool_calls_why"]
    else:
        assert came == [("native", "turned-down")] + [("text", "valid")] * 5
        assert offered.count(True) == 1
        assert shown["tool_calls"] == "text"
        assert shown["tool_calls_why"] == "its server takes no tool definitions"
    assert replayed(surefoot, root) is None


def test_a_model_without_native_calls_is_asked_as_text(surefoot: Surefoot, tmp_path: Path) -> None:
    """Nobody offers it tools, and `models show` says why."""
    root = with_card(tmp_path, "openai/m", tools=False)
    assert surefoot("trust", cwd=root).returncode == 0
    with ScriptedServer(speaks_for(model(BUG_EDITS, native_tools=False))) as server:
        where = ("--model", "openai/m", "--base-url", server.base_url, "--solver-model", "openai/m")
        ran = surefoot("solve", ISSUE, *where, *AGENT, "--json", cwd=root)
        assert not any("tools" in seen.body for seen in server.seen)
    run = json.loads(ran.stdout.splitlines()[-1])
    assert run["status"] == "complete", run["reason"]
    assert read(surefoot, root, run) == [("text", "valid")] * 5
    told = surefoot("models", "show", "openai/m", cwd=root).stdout
    assert "its card says that it has no native tool calls" in told

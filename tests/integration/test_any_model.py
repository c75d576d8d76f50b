"""Any model, from the command line: another protocol, refusals, faults, profiles and explanations (SPEC A5, C4, C8, F1)."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.integration.shop import BREAKS, CODE, DISCOUNT, ISSUE, RIGHT, TESTS, Shop

from surefoot.execute import RepairLimits
from surefoot.testing.chat_server import ScriptedServer, speaks_for
from surefoot.testing.messages_server import MessagesServer, speaks_messages_for
from surefoot.testing.model import Rule, ScriptedModel

pytestmark = pytest.mark.campaign

SEARCH = ("--strategy", "repair")
"""What these servers answer is an edit, not a tool call."""

GOOD = [{"pattern": "Function `total`", "reply": RIGHT}]
HEAVY = '[[models.card]]\nname = "{name}"\ntier = "heavy"\n'


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A shop whose bug no plain edit mends."""
    return Shop(tmp_path, TESTS + DISCOUNT)


def with_models(tmp_path: Path, *others: str) -> Shop:
    """A shop that names further models of the highest tier, in a file that is trusted."""
    cards = "".join(HEAVY.format(name=name) for name in others)
    shop = Shop(tmp_path, TESTS + DISCOUNT, f"[models]\nuse = {json.dumps(others)}\n{cards}")
    assert shop.surefoot("trust").returncode == 0
    return shop


def events(shop: Shop, kind: str) -> list[dict[str, Any]]:
    """Payloads of one kind, of the only run."""
    (ledger,) = shop.root.glob(".surefoot/runs/*/events.jsonl")
    payloads = [json.loads(line)["payload"] for line in ledger.read_bytes().splitlines()]
    return [payload for payload in payloads if payload["kind"] == kind]


@pytest.mark.skipif(find_spec("litellm") is None, reason="the extra `hosted` is not installed")
@pytest.mark.parametrize("stream", ["false", "true"])
def test_a_model_of_another_protocol_does_the_work(tmp_path: Path, stream: str) -> None:
    """An Anthropic-style server is asked, whole or piece by piece, and the ledger names the model that answered."""
    shop = Shop(tmp_path, TESTS + DISCOUNT, f"[models]\nstream = {stream}\n")
    model = ScriptedModel([Rule(pattern="Function `total`", replies=(RIGHT,))], default="No.")
    with MessagesServer(speaks_messages_for(model)) as server:
        run = shop.run(
            "solve", ISSUE, *SEARCH, "--model", "anthropic/m", "--base-url", server.base_url
        )
        streamed = {bool(seen.body.get("stream")) for seen in server.seen}
    assert run["status"] == "complete"
    assert streamed == {stream == "true"}
    assert {e["model"] for e in events(shop, "model.replied")} == {"scripted"}


def test_an_openai_style_server_does_the_work_and_is_sent_no_secret(tmp_path: Path) -> None:
    """Neither a token of the environment nor a key in the code leaves the machine, and the file keeps both (SPEC F6)."""
    token, key = "correct-horse-battery", "AK" + "IAQ2W4E6R7T3Y5U2I4"
    code = CODE.replace("to cents.", f"to cents, for {token} and {key}.")
    shop = Shop(tmp_path, TESTS + DISCOUNT, code=code)
    right = RIGHT.replace("    if", '    """For [redacted:value]."""\n    if', 1)
    model = ScriptedModel([Rule(pattern="Function `total`", replies=(right,))], default="No.")
    server_of = ("--model", "openai/m", "--solver-model", "openai/m", "--base-url")
    with ScriptedServer(speaks_for(model)) as server:
        run = shop.run(
            "solve", ISSUE, *SEARCH, *server_of, server.base_url, env={"SHOP_TOKEN": token}
        )
        sent = json.dumps([seen.body for seen in server.seen])
    assert run["status"] == "complete"
    assert "for [redacted:value] and [redacted:aws-access-key]." in sent
    assert token not in sent
    assert key not in sent
    assert f"for {token} and {key}." in shop.show(f"{run['commit']}:shop.py")


def test_a_refusal_is_answered_by_the_next_tier(tmp_path: Path) -> None:
    """The next turn of the unit goes up, to a server of its own, the work gets done, and the story is told in plain words."""
    weak, strong = f"scripted:{tmp_path / 'weak.json'}", "openai/strong"
    model = ScriptedModel([Rule(pattern="Function `total`", replies=(RIGHT,))], default="No.")
    with ScriptedServer(speaks_for(model)) as server:
        at = f'base_url = "{server.base_url}"\n'
        settings = f'[models]\nuse = ["{strong}"]\n{HEAVY.format(name=strong)}{at}'
        shop = Shop(tmp_path, TESTS + DISCOUNT, settings)
        assert shop.surefoot("trust").returncode == 0
        shop.scripted([{"fault": "refusal", "message": "I will not."}], "weak")
        run = shop.run("solve", ISSUE, "--model", weak)
    assert run["status"] == "complete"
    told = shop.surefoot("explain").stdout
    assert f"{weak} is not asked for fix-1 again" in told
    assert f"{strong} answers instead of {weak}" in told


def test_refused_by_the_only_model_is_a_blocker_that_says_so(shop: Shop) -> None:
    """No loop, no pause for ever: one honest blocker."""
    run = shop.run("solve", ISSUE, "--model", shop.scripted([{"fault": "refusal"}]))
    assert run["status"] == "blocked"
    assert "no higher tier" in str(run["reason"])


def test_a_limit_beyond_the_time_limit_pauses_and_resume_goes_on(shop: Shop) -> None:
    """The pause names its time; when the provider is back, the same run does the work."""
    model = shop.scripted([{"fault": "rate-limit", "retry_after_s": 3000}])
    run = shop.run("solve", ISSUE, "--model", model, "--time-limit", "200")
    assert run["status"] == "paused"
    assert "asked again from" in str(run["reason"])
    # Explained by what the run was started with, whatever the file says by now.
    (shop.root / "surefoot.toml").write_text('[models]\ndeny = ["*"]\nprofile = "economy"\n')
    told = shop.run("models", "explain", "fix-1")
    assert [(d["model"], d["rule"]) for d in told["denied"]] == [(model, "grounded")]  # type: ignore[attr-defined]
    assert told["profile"] == "balanced"
    told = shop.run("models", "explain", "fix-1", "--profile", "quality")
    assert told["profile"] == "quality"
    assert shop.run("resume")["status"] == "paused"


def test_a_provider_that_names_a_time_beyond_the_calendar_is_left_alone(shop: Shop) -> None:
    """`Retry-After: Fri, 31 Dec 9999 23:59:59 GMT` means for good."""
    model = shop.scripted([{"fault": "rate-limit", "retry_after_s": 2.6e11}])
    run = shop.run("solve", ISSUE, "--model", model)
    assert run["status"] == "paused"
    assert shop.run("resume")["status"] == "paused"


def test_burn_max_has_the_change_looked_at_once_more(shop: Shop) -> None:
    """The pinned judges review it beside the rules, after a search that asked more often than usual."""
    fine = {"purpose": "review", "reply": '{"objects": false, "reason": "well", "quote": ""}'}
    model = shop.scripted([fine, *GOOD])
    arguments = ("solve", ISSUE, "--model", model, "--solver-model", model)
    run = shop.run(*arguments, "--profile", "burn-max")
    assert run["status"] == "complete"
    words = [e["review"]["decided_by"] for e in events(shop, "review.given")]
    assert words == ["rule", "rule", "rule", "model"]
    calls = run["model_calls"]
    assert isinstance(calls, int)
    assert calls > RepairLimits().least_samples + 1  # with the review's own


def test_burn_max_tells_more_and_never_goes_beyond_a_ceiling(shop: Shop) -> None:
    """A long issue is told whole, and the search, however wide, ends where the tokens do."""
    model = shop.scripted([{"pattern": "Function `total`", "reply": BREAKS}])
    issue = f"{ISSUE}\n{'It was so before. ' * 80}"
    asked = ("--model", model, "--solver-model", model, "--budget-tokens", "4000")
    run = shop.run("solve", issue, *asked, "--profile", "burn-max")
    assert run["status"] == "budget"
    assert "--budget-tokens" in Path(str(run["report"])).read_text().splitlines()[-1]
    spent = sum(
        e["usage"]["prompt_tokens"] + e["usage"]["completion_tokens"]
        for e in events(shop, "budget.settled")
    )
    assert 0 < spent <= 4000
    digest = events(shop, "model.asked")[0]["request"]
    request = (shop.root / ".surefoot" / "blobs" / digest[:2] / digest).read_text()
    assert request.count("It was so before.") == 80


def test_a_profile_that_does_not_exist_is_refused(shop: Shop) -> None:
    """One sentence with the names that do."""
    done = shop.surefoot("solve", ISSUE, "--profile", "wild")
    assert done.returncode == 2
    assert "economy" in done.stderr


def test_explain_names_who_may_be_asked_and_why_not(shop: Shop) -> None:
    """Scores, chain, rules and judges, for a program as for a person."""
    key = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
    answer = shop.run("models", "explain", "plan", "--model", "auto", env=key)
    chain, denied = answer["chain"], answer["denied"]
    assert isinstance(chain, list)
    assert isinstance(denied, list)
    assert chain[0]["model"].startswith("anthropic/claude-opus")
    rules = {d["model"]: d["rule"] for d in denied}
    assert rules["openai/gpt-5.6"] == "credential"
    judges = answer["judges"]
    assert isinstance(judges, dict)
    assert judges["chain"][0] == "anthropic/claude-sonnet-4-6"


def test_show_and_list_tell_where_a_price_comes_from(shop: Shop) -> None:
    """With source and date; a model that nobody listed says so."""
    known = shop.run("models", "show", "moonshot/kimi-k2.6")
    assert known["listed"] is True
    assert "LiteLLM" in str(known["source"])
    strange = shop.run("models", "show", "somebody/new")
    assert strange["listed"] is False
    listed = shop.run("models", "list")
    assert {"embedded", "anthropic/claude-opus-4-7"} <= listed.keys()


def test_a_file_that_names_hosted_models_has_to_be_trusted(tmp_path: Path) -> None:
    """A repository cannot make its user pay for a model, or send the code away."""
    settings = '[run]\nmodel = "anthropic/claude-opus-4-7"\n[models]\nuse = ["openai/gpt-5.6"]\n'
    shop = Shop(tmp_path, TESTS + DISCOUNT, settings)
    explained = shop.run("models", "explain", "fix")
    chain = explained["chain"]
    assert isinstance(chain, list)
    assert [entry["model"] for entry in chain] == ["embedded"]
    shop.surefoot("trust")
    explained = shop.run("models", "explain", "fix")
    denied = explained["denied"]
    assert isinstance(denied, list)
    assert {entry["model"] for entry in denied} == {"anthropic/claude-opus-4-7", "openai/gpt-5.6"}

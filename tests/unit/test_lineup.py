"""Who may be asked, who judges, and that the two have nothing to do with each other (SPEC A2, C8)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import ModelUnavailableError, SettingsError
from surefoot.events.orchestration import TurnClosed
from surefoot.lineup import Lineup, outcomes
from surefoot.models.catalogue import CardForm, load_catalogue
from surefoot.models.registry import AUTO
from surefoot.models.select import Standing, needs_of, select
from surefoot.models.unavailable import UnavailableModel
from surefoot.policy.judges import DEFAULT
from surefoot.settings import ModelSettings, parse_settings
from surefoot.values import (
    CallCount,
    Classification,
    Complexity,
    Message,
    ModelFailure,
    ModelFault,
    ModelRequest,
    Profile,
    TreeId,
    UnitId,
    UnitType,
)

CACHE = Path("/nowhere")
REQUEST = ModelRequest(purpose="p", messages=(Message(role="user", content="?"),), max_tokens=1)


def lineup(
    model: str = "embedded",
    *,
    base_url: str | None = None,
    judges: str | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: object,
) -> Lineup:
    """A lineup with what matters here."""
    return Lineup(
        model=model,
        base_url=base_url,
        judges=judges,
        profile=Profile.BALANCED,
        settings=ModelSettings.model_validate(settings, strict=False),
        environ=environ or {},
        cache=CACHE,
    )


def denied(found: Lineup, name: str) -> str:
    """The rule that keeps a model out; empty when none does."""
    denial = found.denial(found.catalogue.card(name))
    return denial.rule if denial else ""


def test_only_what_the_user_named_is_considered() -> None:
    """A key in the environment is no wish to spend; `auto` is."""
    environ = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
    assert [c.name for c in lineup(environ=environ).routing().cards] == ["embedded"]
    wished = lineup(environ=environ, use=["anthropic/claude-opus-4-7"])
    assert [c.name for c in wished.routing().cards] == ["embedded", "anthropic/claude-opus-4-7"]
    assert len(lineup(AUTO).routing().cards) == len(load_catalogue().cards)


def test_keys_and_terms_keep_models_out() -> None:
    """Without a key, with a token that is bound to another client, or at a foreign host, no prompt leaves."""
    name = "anthropic/claude-opus-4-7"
    assert denied(lineup(), name) == "credential"
    key = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
    assert denied(lineup(environ=key), name) == ""
    token = {"ANTHROPIC_API_KEY": "sk-ant-oat01-" + "x" * 80}
    assert denied(lineup(environ=token), name).startswith("anthropic/")
    assert denied(lineup(), "embedded") == ""


def test_a_server_of_ones_own_gets_its_own_key_and_no_providers() -> None:
    """A provider's key goes to that provider alone, whatever the base URL says."""
    environ = {"OPENAI_API_KEY": "sk-proj-" + "x" * 40}
    own = lineup("openai/m", base_url="http://127.0.0.1:9/v1", environ=environ)
    assert denied(own, "openai/m") == ""
    assert own._secret(own.catalogue.card("openai/m")) is None
    with_key = lineup(
        "openai/m", base_url="http://127.0.0.1:9/v1", environ={**environ, "SUREFOOT_API_KEY": "k"}
    )
    assert with_key._secret(with_key.catalogue.card("openai/m")) == "k"


def test_a_broken_key_is_refused_without_being_shown() -> None:
    """A key with a line break is named by its variable."""
    own = lineup("openai/m", base_url="http://127.0.0.1:9/v1", environ={"SUREFOOT_API_KEY": "a\nb"})
    with pytest.raises(ModelUnavailableError, match="SUREFOOT_API_KEY") as refused:
        own.open("openai/m")
    assert "a\nb" not in str(refused.value)


def test_what_cannot_be_asked_says_why() -> None:
    """No such form of name, and no key: one sentence each."""
    with pytest.raises(SettingsError, match="there is no model"):
        lineup().open("gpt-best")
    with pytest.raises(ModelUnavailableError, match=r"OPENAI_API_KEY.*--base-url"):
        lineup("openai/m").open("openai/m")


@pytest.mark.parametrize("name", ["auto", "gpt-best", "openai/"])
def test_what_is_no_models_name_is_denied_for_its_name(name: str) -> None:
    """Not for a key in a variable that nobody reads; the choice among all is no model that may follow."""
    assert denied(lineup(use=[name]), name) == "name"


def test_the_default_judges_are_those_with_a_key_and_else_the_embedded_model() -> None:
    """And the reason says so."""
    assert lineup().judging().models == ("embedded",)
    assert "embedded model judges" in lineup().judging().reason
    key = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
    assert lineup(environ=key).judging().models == DEFAULT[1:]
    named = lineup(judges="openai/a, embedded", environ=key).judging()
    assert (named.models, named.reason) == (("openai/a", "embedded"), "as configured")


@pytest.mark.parametrize(
    ("lists", "judges"),
    [
        ({"allow": ("embedded",)}, ("embedded",)),
        ({"deny": ("anthropic/*",)}, ("embedded",)),
        ({"allow": ("anthropic/*opus*",)}, DEFAULT[2:]),
        ({"deny": ("*sonnet*",)}, DEFAULT[2:]),
    ],
)
def test_the_settings_lists_hold_for_judges_too(
    lists: dict[str, tuple[str, ...]], judges: tuple[str, ...]
) -> None:
    """Who may not be asked is no default, and one that is named is there and says so."""
    key = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
    found = lineup(environ=key, **lists)
    assert found.judging().models == judges
    for name in DEFAULT[1:]:
        assert isinstance(found.open_judge(name), UnavailableModel) is (name not in judges)


def test_a_judge_that_cannot_be_had_is_there_and_says_so() -> None:
    """The chain is not shortened in silence."""
    assert lineup().open_judge("openai/m").name == "openai/m"


RATES = st.dictionaries(st.sampled_from(["coding", "reasoning", "speed"]), st.floats(0, 100))
NAMES = st.sampled_from(sorted(load_catalogue().cards))


@given(
    model=st.one_of(st.just(AUTO), NAMES),
    use=st.lists(NAMES, max_size=4),
    profile=st.sampled_from(Profile),
    cards=st.lists(st.tuples(NAMES, RATES), max_size=4),
    pin=st.sampled_from(["first", "ceiling", "only"]),
    deny=st.lists(NAMES, max_size=3),
    judges=st.sampled_from([None, "openai/a", "embedded,openai/b"]),
    keys=st.sets(st.sampled_from(["ANTHROPIC_API_KEY", "KIMI_CODING_API_KEY"])),
)
def test_nothing_of_the_router_changes_who_judges(  # noqa: PLR0917  # each is drawn
    model: str,
    use: list[str],
    profile: Profile,
    cards: list[tuple[str, dict[str, float]]],
    pin: str,
    deny: list[str],
    judges: str | None,
    keys: set[str],
) -> None:
    """Whatever model, scores, profile, pins and history a run has: its judges are those of a run without them."""
    environ = dict.fromkeys(keys, "k" * 40)
    plain = lineup(judges=judges, environ=environ, deny=tuple(deny)).judging()
    routed = Lineup(
        model=model,
        base_url=None,
        judges=judges,
        profile=profile,
        settings=ModelSettings(
            use=tuple(use),
            pin=pin,  # type: ignore[arg-type]
            deny=tuple(deny),
            card=tuple(CardForm(name=n, scores=s) for n, s in cards),  # type: ignore[arg-type]
        ),
        environ=environ,
        cache=CACHE,
    )
    assert routed.judging() == plain


def closed(model: str, kind: Classification, fault: ModelFault | None = None) -> TurnClosed:
    """A turn that ended so."""
    return TurnClosed(
        unit_id=UnitId("u"),
        number=1,
        ended_as="noop",
        tree=TreeId("a" * 40),
        commit=None,
        classification=kind,
        outcome="pass",
        reason="",
        model=model,
        unit_type=UnitType.FIX,
        fault=fault,
    )


def test_progress_that_was_rolled_back_is_no_success() -> None:
    """What a gate refused left nothing behind."""
    refused = replace(closed("a/x", Classification.PROGRESS), outcome="retryable-fail")
    assert outcomes((refused,)) == {("a/x", UnitType.FIX): (False,)}


def test_the_deny_list_holds_for_judges_too() -> None:
    """A judge of the default chain that the user denies is there, and says so when it is asked."""
    key = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
    judge = lineup(environ=key, deny=["anthropic/*"]).open_judge("anthropic/claude-opus-4-7")
    assert isinstance(judge, UnavailableModel)


def test_one_broken_key_keeps_out_one_provider() -> None:
    """The others can be asked, and the list can be shown."""
    found = lineup(environ={"MISTRAL_API_KEY": "a b"})
    assert denied(found, "mistral/devstral-2512") == "credential"
    assert found.judging().models == ("embedded",)


def test_history_is_what_became_of_turns_and_nothing_of_the_network() -> None:
    """Progress and completion worked, the rest did not, and a fault says nothing about a model's work."""
    turns = (
        closed("a/x", Classification.COMPLETE),
        closed("a/x", Classification.EXECUTOR_REFUSED),
        closed("a/x", Classification.BLOCKER_INFRASTRUCTURE, ModelFault.OVERLOAD),
        closed("a/y", Classification.PROGRESS),
    )
    assert outcomes(turns) == {
        ("a/x", UnitType.FIX): (True, False),
        ("a/y", UnitType.FIX): (True,),
    }


def test_history_reaches_the_choice() -> None:
    """A model that failed three times here comes after one that is a little weaker."""
    names = ["openai/gpt-5.4", "anthropic/claude-sonnet-4-6"]
    found = lineup(
        AUTO,
        environ={
            "OPENAI_API_KEY": "sk-proj-" + "x" * 40,
            "ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80,
        },
        allow=names,
    )
    bad = [closed(names[1], Classification.BLOCKER_STALL)] * 3

    def first(history: list[TurnClosed]) -> str:
        policy = found.routing(history)
        standing = Standing(history=policy.history)
        needs = needs_of(UnitType.FIX, Complexity.MEDIUM)
        return select(needs, policy.cards, policy.rules, standing).chain[0].card.name

    assert first(bad) == names[0]
    assert first([closed(names[0], Classification.BLOCKER_STALL)] * 3) == names[1]


OWN = {"name": "openai/own", "base_url": "http://127.0.0.1:9/v1"}


def test_a_card_names_the_server_that_its_model_runs_on() -> None:
    """A further model, and a judge, is a server of the user's own: asked there, free, and without a provider's key."""
    environ = {"OPENAI_API_KEY": "sk-proj-" + "x" * 40, "SUREFOOT_API_KEY": "k"}
    found = lineup(use=[OWN["name"]], judges=OWN["name"], environ=environ, card=[OWN])
    card = found.routing().cards[1]
    assert (card.base_url, card.price_usd, denied(found, card.name)) == (OWN["base_url"], 0.0, "")
    assert found._secret(card) == "k"
    for model in (found.open(card.name), found.open_judge(card.name)):
        (answer,) = model.complete((REQUEST,))
        assert isinstance(answer, ModelFailure)
        assert (answer.fault, "127.0.0.1:9" in answer.message) == (ModelFault.UNREACHABLE, True)


def test_the_command_lines_server_stands_before_the_cards() -> None:
    """It was typed last, and for this model alone."""
    other = {**OWN, "name": "openai/other"}
    found = lineup(OWN["name"], base_url="http://127.0.0.1:8/v1", card=[OWN, other])
    for name, port in ((OWN["name"], "127.0.0.1:8"), ("openai/other", "127.0.0.1:9")):
        (answer,) = found.open(name).complete((REQUEST,))
        assert isinstance(answer, ModelFailure)
        assert port in answer.message


def test_the_price_of_a_card_with_a_server_is_what_the_user_says() -> None:
    """Free is only what nobody priced and what runs here."""
    here, paid = {**OWN}, {**OWN, "prompt_usd": 1.0, "completion_usd": 1.0}
    away = {**OWN, "base_url": "https://models.example.org/v1"}
    prices = [lineup(card=[c]).catalogue.card(OWN["name"]).price_usd for c in (here, paid, away)]
    assert (prices[0], prices[1], prices[2] > 20) == (0.0, 1.0, True)


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("openai/m", "127.0.0.1:9"),
        ("openai/m", "ftp://127.0.0.1/v1"),
        ("openai/m", "http://[::1/v1"),
        ("openai/m", f"http://me:{chr(120)}@127.0.0.1:9/v1"),
        ("embedded", "http://127.0.0.1:9/v1"),
        ("scripted:a.json", "http://127.0.0.1:9/v1"),
    ],
)
def test_a_card_whose_server_cannot_be_one_is_refused(name: str, base_url: str) -> None:
    """When the settings are read, with the key; a credential does not belong into the file."""
    card = {"name": name, "base_url": base_url}
    with pytest.raises(SettingsError, match="base_url"):
        parse_settings({"models": {"card": [card]}})


def test_a_server_needs_trust() -> None:
    """A repository alone moves no model to another machine (SPEC F7)."""
    settings = parse_settings({"models": {"card": [OWN]}})
    assert settings.widening() == ("models.card",)
    assert settings.without_widening().models.card == ()


WITH_TOOLS = {"card": [{"name": "openai/m", "tools": True}]}
HERE = "http://127.0.0.1:1/v1"


def test_tools_are_offered_where_card_and_terms_allow_it() -> None:
    """The card says what a model can do, the terms what it may be given on this way; both say why not."""
    own = lineup("openai/m", base_url=HERE, **WITH_TOOLS)
    assert own.calling(own.catalogue.card("openai/m"))[0] == "native"
    assert own.open("openai/m").native_tools
    form, why = own.calling(own.catalogue.card("embedded"))
    assert (form, why) == ("text", "its card says that it has no native tool calls")
    assert own.calling(own.catalogue.card("anthropic/claude-opus-4-7"))[0] == "native"


def test_what_earlier_runs_measured_is_where_a_run_begins() -> None:
    """A model that failed natively is opened without native tools, and the next run says so."""
    bad = {"openai/m": {"native": CallCount(valid=1, invalid=5), "text": CallCount(valid=6)}}
    own = replace(lineup("openai/m", base_url=HERE, **WITH_TOOLS), calls=bad)
    form, why = own.calling(own.catalogue.card("openai/m"))
    assert form == "text"
    assert why == "1 of 6 native replies could be used, 6 of 6 as text"
    assert not own.open("openai/m").native_tools

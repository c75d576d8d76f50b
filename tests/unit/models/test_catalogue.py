"""What is known of models, as data."""

import importlib.util

import pytest

from surefoot.errors import SettingsError
from surefoot.models.catalogue import CardForm, load_catalogue, parse_catalogue, provider_of
from surefoot.values import Tier

HEAD = 'version = "1"\nsource = "s"\n'


def test_a_card_is_read_and_what_it_leaves_out_is_conservative() -> None:
    """Price and scores that nobody gave err upwards and to the middle."""
    text = HEAD + '[[model]]\nname = "a/x"\ntier = "heavy"\nscores = { coding = 70 }\n'
    found = parse_catalogue(text).card("a/x")
    assert (found.tier, found.score("coding"), found.score("speed")) == (Tier.HEAVY, 70.0, 50.0)
    assert found.prompt_usd >= 20
    assert found.listed


def test_an_unlisted_model_is_admitted_with_conservative_values() -> None:
    """Nobody has to edit a catalogue to use a model; a model in this process has no price."""
    catalogue = load_catalogue()
    strange = catalogue.card("somebody/new-model")
    assert (strange.listed, strange.provider, strange.scores) == (False, "somebody", {})
    assert strange.completion_usd >= 100
    assert catalogue.card("scripted:x.json").completion_usd == 0


@pytest.mark.parametrize(
    "broken",
    [
        "not toml [",
        'version = "1"',
        HEAD + '[[model]]\ntier = "light"\n',
        HEAD + '[[model]]\nname = "a/x"\ntier = "enormous"\n',
        HEAD + '[[model]]\nname = "a/x"\nscores = { coding = 101 }\n',
        HEAD + '[[model]]\nname = "a/x"\nscores = { charm = 1 }\n',
        HEAD + '[[model]]\nname = "a/x"\nprice = 1\n',
    ],
)
def test_a_broken_catalogue_is_refused(broken: str) -> None:
    """With one sentence, and not half of it read."""
    with pytest.raises(SettingsError, match="catalogue"):
        parse_catalogue(broken)


def test_settings_correct_single_fields_and_add_models() -> None:
    """What they leave out stays as it was."""
    catalogue = load_catalogue()
    name = "anthropic/claude-haiku-4-5"
    before = catalogue.card(name)
    forms = (
        CardForm.model_validate({"name": name, "scores": {"coding": 1}}),
        CardForm.model_validate({"name": "mine/x", "context_tokens": 9999}),
    )
    after = catalogue.corrected(forms)
    assert after.card(name).score("coding") == 1
    assert after.card(name).score("speed") == before.score("speed")
    assert after.card(name).prompt_usd == before.prompt_usd
    assert (after.card("mine/x").context_tokens, after.card("mine/x").listed) == (9999, True)
    assert catalogue.card(name) == before


def test_the_provider_is_what_stands_before_the_slash() -> None:
    """Also for models with a slash in their name."""
    assert provider_of("openrouter/a/b") == "openrouter"
    assert (provider_of("embedded"), provider_of("scripted:a/b.json")) == ("local", "scripted")


@pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="needs the extra `hosted`")
def test_the_shipped_file_is_what_its_tool_writes() -> None:
    """Nobody edits it by hand."""
    from tools.catalogue import TARGET, render  # noqa: PLC0415

    assert TARGET.read_text() == render()

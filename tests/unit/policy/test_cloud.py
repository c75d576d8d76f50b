"""A cloud's credential is several variables, and whatever is missing is named (SPEC C8)."""

import pytest

from surefoot.errors import SettingsError
from surefoot.policy.cloud import find_identity, is_cloud
from surefoot.upkeep import _is_secret_name

REGION = {"AWS_REGION": "eu-central-1"}
PAIR = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "not-a-real-secret"}
BEARER = {"AWS_BEARER_TOKEN_BEDROCK": "not-a-real-key"}


@pytest.mark.parametrize(
    ("environ", "source", "secret"),
    [
        (BEARER, "AWS_BEARER_TOKEN_BEDROCK", "not-a-real-key"),
        (PAIR, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", None),
        ({"AWS_PROFILE": "work"}, "AWS_PROFILE", None),
        ({**PAIR, **BEARER}, "AWS_BEARER_TOKEN_BEDROCK", "not-a-real-key"),
    ],
)
def test_bedrock_is_asked_with_a_key_a_pair_or_a_profile(
    environ: dict[str, str], source: str, secret: str | None
) -> None:
    """In the order of Amazon's own library, at the host of the region; only a key is handed on, and none is shown."""
    found = find_identity("bedrock", {**REGION, **environ})
    assert (found.source, found.secret) == (source, secret)
    assert found.host == "bedrock-runtime.eu-central-1.amazonaws.com"
    assert "not-a-real" not in repr(found)


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        (REGION, "AWS_BEARER_TOKEN_BEDROCK, in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"),
        ({**REGION, **PAIR, "AWS_SECRET_ACCESS_KEY": " "}, "AWS_SECRET_ACCESS_KEY is not"),
        ({**REGION, **PAIR, "AWS_ACCESS_KEY_ID": ""}, "AWS_ACCESS_KEY_ID is not"),
        (BEARER, "set AWS_REGION"),
        ({**BEARER, "AWS_REGION": "evil.example.com/x"}, "AWS_REGION holds"),
    ],
)
def test_what_is_missing_is_named(environ: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        find_identity("bedrock", environ)


@pytest.mark.parametrize("provider", ["vertex_ai", "vertex_ai_beta", "sagemaker", "sagemaker_chat"])
def test_a_cloud_that_is_not_asked_is_refused_with_the_way_that_is(provider: str) -> None:
    """Whatever the environment holds: nothing could come of it."""
    environ = {**REGION, **PAIR, "GOOGLE_APPLICATION_CREDENTIALS": "/there.json"}
    assert is_cloud(provider)
    with pytest.raises(SettingsError, match=r"name `(gemini|bedrock)/NAME`.*--base-url"):
        find_identity(provider, environ)


def test_other_providers_are_a_matter_of_one_key() -> None:
    assert not any(map(is_cloud, ("anthropic", "openai", "gemini", "ollama")))


def test_what_a_cloud_is_asked_with_is_hidden_from_ledger_and_prompts() -> None:
    """Its key has a name of its own; where it is asked is no secret (SPEC F6)."""
    assert all(map(_is_secret_name, (*BEARER, "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")))
    assert not any(map(_is_secret_name, ("AWS_REGION", "AWS_PROFILE", "AWS_BEARER_TOKENS")))


@pytest.mark.parametrize(
    ("secret", "other"),
    [
        ("PGPASSWORD", "PGPASSFILE"),
        ("PASSWORD", "PASSWORDS_FILE"),
        ("TOKEN", "TOKENIZERS_PARALLELISM"),
        ("SECRET", "SECRETS_FOLDER"),
        ("MYSQL_PWD", "PWD"),
        ("GITHUB_PAT", "PATH"),
        ("smtp_pass", "SSH_ASKPASS"),
        ("SSH_KEY_PASSPHRASE", "OLDPWD"),
        ("REDIS_PASSWD", "PASSWD_FILE"),
        ("OPENAI_APIKEY", "APIKEY_FILE"),
        ("SECRET_KEY_BASE", "SECRET_KEY_BASE_FILE"),
    ],
)
def test_what_a_tool_reads_a_secret_from_is_hidden(secret: str, other: str) -> None:
    """By the names that tools have for it; folders, files and switches stay."""
    assert _is_secret_name(secret)
    assert not _is_secret_name(other)

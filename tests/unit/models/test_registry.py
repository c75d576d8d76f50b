"""From a spec to a model."""

import json
from pathlib import Path

import pytest

from surefoot.errors import ModelUnavailableError, SettingsError
from surefoot.kernel.ports import Model
from surefoot.models import Access, is_local, known_models, open_model
from surefoot.models.catalogue import load_catalogue
from surefoot.models.registry import check_address
from surefoot.models.weights import QWEN
from surefoot.values import Message


def opened(
    spec: str, cache: Path, *, base_url: str | None = None, api_key: str | None = None
) -> Model:
    """The model behind a spec."""
    access = Access(base_url=base_url, api_key=api_key)
    return open_model(spec, access=access, card=load_catalogue().card(spec), cache=cache)


def test_a_hosted_model_needs_a_key_or_a_url(tmp_path: Path) -> None:
    """Neither is a sentence that names both; either opens it, and nothing is called."""
    with pytest.raises(ModelUnavailableError, match=r"OPENAI_API_KEY.*--base-url"):
        opened("openai/m", tmp_path)
    with_key = opened("openai/m", tmp_path, api_key="k")
    with_url = opened("openai/a/b:7b", tmp_path, base_url="http://127.0.0.1:9/v1")
    assert with_key.name == "openai/m"
    assert with_url.name == "openai/a/b:7b"
    assert with_key.estimate_usd(1000, 1000) > 0 == with_url.estimate_usd(1000, 1000)


@pytest.mark.parametrize("spec", ["openai/m", "kimi-coding/m", "anthropic/m"])
@pytest.mark.parametrize("user", ["user:hunter2secret@", "hunter2secret@"])
def test_a_credential_in_a_base_url_is_refused_unseen(spec: str, user: str, tmp_path: Path) -> None:
    """Typed, or from the settings: messages name the address, so it would be printed."""
    url = f"http://{user}127.0.0.1:9/v1"
    with pytest.raises(SettingsError, match="SUREFOOT_API_KEY") as typed:
        check_address(spec, url)
    with pytest.raises(SettingsError, match="SUREFOOT_API_KEY") as written:
        opened(spec, tmp_path, base_url=url, api_key="k")
    assert "hunter2secret" not in f"{typed.value} {written.value}"


@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://x/v1", "http://[::1", "", "http://h:x/v1", "http://a..b/v1"]
)
def test_what_is_no_address_is_refused(url: str, tmp_path: Path) -> None:
    """The sentence shows it, and one that would be accepted."""
    for refused in (check_address, lambda spec, url: opened(spec, tmp_path, base_url=url)):
        with pytest.raises(SettingsError, match=r"http://127\.0\.0\.1") as told:
            refused("openai/m", url)
        assert repr(url) in str(told.value)


@pytest.mark.parametrize(
    ("name", "value"), [("ALL_PROXY", "socks9://127.0.0.1:9"), ("SSL_CERT_FILE", "/nonexistent")]
)
def test_a_wrong_proxy_or_certificate_of_the_environment_is_told(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one sentence, which names the variables that may say so."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ModelUnavailableError, match=f"no connection can be made: .*{name}"):
        opened("openai/m", tmp_path, base_url="https://example.invalid/v1", api_key="k")


def test_a_scripted_model_is_read_from_its_file(tmp_path: Path) -> None:
    """The spec is the name that events hold."""
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"schema": 1, "default": "x"}))
    model = opened(f"scripted:{path}", tmp_path)
    assert model.name == f"scripted:{path}"
    assert model.count_tokens((Message(role="user", content="x"),)) > 0


@pytest.mark.parametrize("spec", ["", "gpt-5", "openai/", "openai", "scripted:", "Embedded"])
def test_what_is_no_spec_is_refused(spec: str, tmp_path: Path) -> None:
    """The sentence shows what was given and the three forms that are accepted."""
    with pytest.raises(SettingsError, match=r"`embedded`, .*`openai/NAME` .*`scripted:FILE`"):
        opened(spec, tmp_path)


def test_the_embedded_model_says_what_it_lacks(tmp_path: Path) -> None:
    """Without the file it is known, not ready, and names the command that fetches it; opening it says the same."""
    (known,) = known_models(tmp_path)
    assert (known.spec, known.ready) == ("embedded", False)
    assert "surefoot models pull" in known.detail
    with pytest.raises(ModelUnavailableError):
        opened("embedded", tmp_path)


def test_a_file_with_other_bytes_is_not_opened(tmp_path: Path) -> None:
    """A file under the right name that was never verified is read once, and refused when it is another one."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / QWEN.file_name).write_bytes(b"GGUF, but not that one")
    with pytest.raises(ModelUnavailableError, match="SHA-256"):
        opened("embedded", tmp_path)


def test_local_is_what_needs_no_network() -> None:
    """Embedded and scripted are; a hosted one is not."""
    specs = ("embedded", "scripted:x.json", "openai/m")
    assert [is_local(spec) for spec in specs] == [True, True, False]

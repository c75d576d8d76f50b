"""Credentials come from the environment or the key ring, and show themselves nowhere (SPEC C8)."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import SettingsError
from surefoot.policy.credentials import Credential, find_credential, variable_of

SECRET = "s3cret-" + "x" * 20
RING = {"SUREFOOT_KEYRING": "1"}

PutRing = Callable[[str], None]


@pytest.fixture
def put_ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PutRing:
    """Installs a library `keyring` whose `get_password` has the given body."""
    monkeypatch.syspath_prepend(tmp_path)

    def put(body: str) -> None:
        (tmp_path / "keyring.py").write_text(f"def get_password(service, user):\n    {body}\n")

    return put


@pytest.fixture
def no_ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that cannot be imported is one that is not installed."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "keyring.py").write_text("raise ImportError\n")


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    # What a test imports under this name is not the next one's.
    monkeypatch.setitem(sys.modules, "keyring", sys)
    monkeypatch.delitem(sys.modules, "keyring")


@pytest.mark.parametrize(
    ("provider", "names"),
    [
        ("anthropic", ("ANTHROPIC_API_KEY",)),
        ("openai", ("OPENAI_API_KEY",)),
        ("google", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
        ("gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY")),
        ("moonshot", ("MOONSHOT_API_KEY",)),
        ("kimi-coding", ("KIMI_CODING_API_KEY", "KIMI_API_KEY")),
        ("kimi_coding", ("KIMI_CODING_API_KEY", "KIMI_API_KEY")),
        ("mistral", ("MISTRAL_API_KEY",)),
        ("deepseek", ("DEEPSEEK_API_KEY",)),
        ("openrouter", ("OPENROUTER_API_KEY",)),
        ("ollama", ("OLLAMA_API_KEY",)),
        ("together-ai", ("TOGETHER_AI_API_KEY",)),
        ("Fireworks.AI", ("FIREWORKS_AI_API_KEY",)),
    ],
)
def test_a_provider_has_its_variables(provider: str, names: tuple[str, ...]) -> None:
    """In the order in which they are looked at."""
    assert variable_of(provider) == names


@pytest.mark.parametrize("provider", ["", " ", "-", "../"])
def test_what_is_no_name_has_no_variable(provider: str) -> None:
    """There is no `_API_KEY`."""
    with pytest.raises(SettingsError, match="is no provider's name"):
        variable_of(provider)


@pytest.mark.parametrize("provider", ["anthropic", "google", "kimi-coding", "together-ai"])
def test_a_credential_is_found_under_each_of_its_names(provider: str) -> None:
    """And says where it was found."""
    for name in variable_of(provider):
        assert find_credential(provider, {name: SECRET}) == Credential(
            provider=provider, source=name, secret=SECRET
        )


def test_the_first_variable_wins_and_a_blank_one_is_none() -> None:
    """A blank value is as good as an unset one."""
    both = {"KIMI_CODING_API_KEY": SECRET, "KIMI_API_KEY": "other"}
    found = find_credential("kimi-coding", both)
    assert found is not None
    assert found.source == "KIMI_CODING_API_KEY"
    blank = find_credential("kimi-coding", {**both, "KIMI_CODING_API_KEY": " \t\n"})
    assert blank is not None
    assert blank.source == "KIMI_API_KEY"


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": "  "}])
def test_no_value_is_no_credential(environ: dict[str, str]) -> None:
    """Another provider's variable does not stand in."""
    assert find_credential("openai", {**environ, "ANTHROPIC_API_KEY": SECRET}) is None


@pytest.mark.parametrize(
    "value",
    [
        f"{SECRET}\n",
        f" {SECRET}",
        f"{SECRET} x",
        f"{SECRET}\0",
        f"{SECRET}\x7f",
        f"{SECRET}é",
        "„x“",
    ],
)
def test_a_value_that_is_no_credential_is_refused_by_its_variable(value: str) -> None:
    """The sentence names the variable and not a piece of the value."""
    with pytest.raises(SettingsError, match="OPENAI_API_KEY") as caught:
        find_credential("openai", {"OPENAI_API_KEY": value})
    shown = f"{caught.value}{caught.value!r}{caught.value.args}{caught.value.__cause__}"
    assert value.strip() not in shown
    assert SECRET not in shown


@given(value=st.text(min_size=1))
def test_a_value_is_kept_whole_refused_or_none(value: str) -> None:
    """Never trimmed, never cut: what is sent is what was set."""
    try:
        found = find_credential("openai", {"OPENAI_API_KEY": value})
    except SettingsError:
        assert not (value.isascii() and value.isprintable() and " " not in value)
    else:
        assert found.secret == value if found else not value.strip()


def test_the_secret_is_shown_nowhere() -> None:
    """Not by repr, str or a format."""
    found = find_credential("openai", {"OPENAI_API_KEY": SECRET})
    assert found is not None
    assert found.secret == SECRET
    assert SECRET not in f"{found!r} {found} {found!s} {[found]}"


# --- the key ring ---------------------------------------------------------------------------------


def test_the_key_ring_is_asked_by_service_and_provider(put_ring: PutRing) -> None:
    """When the environment has nothing and the switch is on."""
    put_ring("return f'{service}:{user}:' + 'k' * 9")
    found = find_credential("gemini", RING)
    assert found is not None
    assert (found.provider, found.source) == ("google", "keyring:surefoot/google")
    assert found.secret == "surefoot:google:" + "k" * 9


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"SUREFOOT_KEYRING": "0"},
        {"SUREFOOT_KEYRING": "yes"},
        {**RING, "OPENAI_API_KEY": SECRET},
    ],
)
def test_the_key_ring_is_not_even_imported_without_need(
    put_ring: PutRing, environ: dict[str, str]
) -> None:
    """No switch, or something in the environment."""
    put_ring("raise AssertionError")
    found = find_credential("openai", environ)
    assert (found.secret if found else None) == environ.get("OPENAI_API_KEY")
    assert "keyring" not in sys.modules


@pytest.mark.parametrize("answer", ["None", "''", "'  '"])
def test_an_empty_key_ring_is_no_credential(put_ring: PutRing, answer: str) -> None:
    """As an unset variable is none."""
    put_ring(f"return {answer}")
    assert find_credential("openai", RING) is None


@pytest.mark.usefixtures("no_ring")
def test_a_key_ring_that_is_not_installed_is_no_credential() -> None:
    """The library is the user's choice."""
    assert find_credential("openai", RING) is None


def test_a_key_ring_that_fails_is_told_without_its_words(put_ring: PutRing) -> None:
    """The kind of failure, a mend, and nothing that the library said."""
    put_ring(f"raise RuntimeError({SECRET!r})")
    with pytest.raises(SettingsError, match=r"RuntimeError.*SUREFOOT_KEYRING") as caught:
        find_credential("openai", RING)
    assert SECRET not in f"{caught.value}{caught.value.__cause__}{caught.value.__context__}"


def test_a_key_ring_value_that_is_no_credential_is_refused(put_ring: PutRing) -> None:
    """By its place, as a variable is by its name."""
    put_ring(f"return {SECRET!r} + ' '")
    with pytest.raises(SettingsError, match="keyring:surefoot/openai") as caught:
        find_credential("openai", RING)
    assert SECRET not in str(caught.value)

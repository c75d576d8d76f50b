"""What of an untrusted `surefoot.toml` has no effect, and which numbers no file may name."""

import tomllib
from pathlib import Path

import pytest

from surefoot.codec import decode, encode
from surefoot.errors import SettingsError
from surefoot.settings import Settings, parse_settings, read_settings
from surefoot.vocabulary import Profile

NEEDS_TRUST = {
    "run.model": '[run]\nmodel = "scripted:evil.json"',
    "solver.model": '[solver]\nmodel = "embedded,scripted:judge.json"',
    "test.python": '[test]\npython = "/opt/python/bin/python"',
    "solver.noop_characters": "[solver]\nnoop_characters = 20",
    "test.env_names": '[test]\nenv_names = ["SHOP_MODE"]',
    "audit.tools": '[audit]\ntools = ["ruff", "mypy"]',
    "audit.timeout_s": "[audit]\ntimeout_s = 1",
    "test.mutants": "[test]\nmutants = 11",
    "test.mutants_s": "[test]\nmutants_s = 5",
    "tools.capture": "[tools]\ncapture = false",
    "tools.release": "[tools.release]\nmin_fallback_drills = 2",
}
NEEDS_NONE = {
    "the embedded model": '[run]\nmodel = "embedded"\n[solver]\nmodel = "embedded"',
    "an environment of the checkout": '[test]\npython = ".venv/bin/python"',
    "more auditors": '[audit]\ntools = ["mypy", "ruff", "secrets"]\ntimeout_s = 900',
    "all auditors": "[audit]\ntools = []",
    "more words of an idle turn": "[solver]\nnoop_characters = 400",
    "more mutants": "[test]\nmutants = 100\nmutants_s = 3600",
    "room for tests": "[test]\ntimeout_s = 3600\nmemory_mb = 65536",
    "less room for tests": "[test]\ntimeout_s = 10\nmemory_mb = 1024",
    "a policy that has effect, once its gate lets it": "[tools]\nenforcement = true",
    "an emergency stop": '[tools]\nkill_switch = "incumbent-only"',
}


def read(text: str) -> Settings:
    return parse_settings(tomllib.loads(text))


@pytest.mark.parametrize("key", list(NEEDS_TRUST))
def test_what_widens_or_weakens_needs_trust(key: str) -> None:
    """It is named, and without trust it is as if it were not there."""
    settings = read(NEEDS_TRUST[key])
    assert settings.widening() == (key,)
    assert settings.without_widening() == Settings.plain()


@pytest.mark.parametrize("what", list(NEEDS_NONE))
def test_what_an_honest_file_says_needs_none(what: str) -> None:
    """Nothing of it makes a check weaker."""
    settings = read(NEEDS_NONE[what])
    assert settings.widening() == ()
    assert settings.without_widening() == settings


def test_only_what_needs_trust_is_taken_away() -> None:
    """Keys beside it stay; the format of a command goes with it, and a ceiling stays for the mode to hold down."""
    text = '[test]\ncommand = ["x"]\nformat = "tap"\ntimeout_s = 7\n[run]\nmax_files = 1_000\nseed = 4\n'
    settings = read(text)
    assert settings.widening() == ("run.max_files", "test.command")
    narrowed = settings.without_widening()
    assert (narrowed.test.command, narrowed.test.format, narrowed.test.timeout_s) == (None, None, 7)
    assert (narrowed.run.max_files, narrowed.run.seed) == (1_000, 4)


def test_an_auditor_that_nobody_knows_is_refused() -> None:
    """By its name, with those that there are, a command of one's own among them; nothing looks instead of it."""
    own = '[[audit.commands]]\nname = "mine"\nargv = ["x"]\n'
    assert read(f'[audit]\ntools = ["mine", "dead-code"]\n{own}').audit.tools
    with pytest.raises(SettingsError) as raised:
        read(f'[audit]\ntools = ["ruff", "nope"]\n{own}')
    assert "there is no auditor 'nope'; there are tests, secrets, ruff, " in str(raised.value)
    assert str(raised.value).endswith(", mine")


def test_a_command_that_is_not_trusted_leaves_its_name() -> None:
    """What is frozen of such a file can be read again; the auditors beside it look."""
    own = '[audit]\ntools = ["mine", "ruff", "secrets"]\n[[audit.commands]]\nname = "mine"\nargv = ["x"]\n'
    narrowed = read(own).without_widening()
    assert narrowed.audit.commands == ()
    assert decode(Settings, encode(narrowed)) == narrowed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[test]\ntimeout_s = 1e9", "test.timeout_s = 1000000000.0: Input should be less than"),
        ("[test]\ntimeout_s = inf", "test.timeout_s = inf: Input should be less than"),
        ("[test]\nmutants_s = nan", "test.mutants_s = nan: Input should be less than"),
        ("[audit]\ntimeout_s = 1e9", "audit.timeout_s = 1000000000.0"),
        ("[models]\nreply_s = 1e9", "models.reply_s = 1000000000.0"),
        ("[run]\ntime_limit_s = 1e99", "run.time_limit_s = 1e+99"),
        ("[run]\nbudget_usd = inf", "run.budget_usd = inf: Input should be a finite number"),
        ("[run]\nbudget_usd = nan", "run.budget_usd = nan: Input should be a finite number"),
        (
            "[tools.release]\nmax_class_misfit = inf",
            "max_class_misfit = inf: Input should be a finite",
        ),
        ("[test]\nmemory_mb = 100_000_000_000", "test.memory_mb = 100000000000"),
    ],
)
def test_a_number_without_end_is_refused_by_its_key(text: str, told: str) -> None:
    """In one sentence, before anything begins."""
    with pytest.raises(SettingsError) as raised:
        read(text)
    assert told in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_command_has_a_program() -> None:
    """Without a word there is nothing to run."""
    with pytest.raises(SettingsError, match=r"audit\.commands\.0\.argv = \[\]: "):
        read('[[audit.commands]]\nname = "mine"\nargv = []')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[run]\nmax_iterations = "3"',
            "run.max_iterations = '3': Input should be a valid integer",
        ),
        (
            "[run]\nmax_iterations = 3.0",
            "run.max_iterations = 3.0: Input should be a valid integer",
        ),
        (
            '[risk]\nallow_network = "yes"',
            "risk.allow_network = 'yes': Input should be a valid bool",
        ),
        ("[tools]\nforge = 0", "tools.forge = 0: Input should be a valid boolean"),
        ('[test]\ntimeout_s = "9"', "test.timeout_s = '9': Input should be a valid number"),
        ('[[models.card]]\nname = "a/b"\nprompt_usd = "1"', "models.card.0.prompt_usd = '1'"),
        ("[run]\nmodel = 2026-11-27", "2026-11-27 is a date or a time"),
    ],
)
def test_a_value_is_of_the_keys_kind(text: str, told: str) -> None:
    """Nothing is read as what it may have been meant for."""
    with pytest.raises(SettingsError) as raised:
        read(text)
    assert told in str(raised.value)


def test_every_form_that_toml_has_is_read() -> None:
    """Arrays, arrays of arrays, tables in arrays, words of a list, and a whole number where a fraction may stand."""
    settings = read(
        '[models]\nprofile = "quality"\npin = "only"\nuse = ["a/b"]\nreply_s = 7\n'
        '[[models.card]]\nname = "a/b"\ntier = "heavy"\nprompt_usd = 1\nscores = {coding = 50}\n'
        '[hooks]\npre_dispatch = [["true"], ["echo", "x"]]\n'
        '[[tools.lsp]]\nsuffixes = [".PHP"]\nlanguage = "php"\ncommand = ["php-ls"]\n'
    )
    assert (settings.models.profile, settings.models.reply_s) == (Profile.QUALITY, 7.0)
    assert (settings.models.card[0].prompt_usd, settings.models.use) == (1.0, ("a/b",))
    assert settings.hooks.pre_dispatch == (("true",), ("echo", "x"))
    assert settings.tools.lsp[0].suffixes == (".php",)


@pytest.mark.parametrize("text", ["a = " + "[" * 3_000, "seed = " + "9" * 5_000])
def test_what_no_reader_takes_is_no_toml(tmp_path: Path, text: str) -> None:
    """Brackets without end, and a number that no text may hold."""
    (tmp_path / "surefoot.toml").write_text(text)
    with pytest.raises(
        SettingsError, match=r"surefoot\.toml is not TOML: .*; correct or remove it"
    ):
        read_settings(tmp_path)


@pytest.mark.parametrize("name", ["PATH", "PYTHONPATH", "PYTEST_ADDOPTS", "LD_PRELOAD", "A=b", ""])
def test_a_variable_that_decides_what_runs_is_not_passed_on(name: str) -> None:
    """Nor what is no name of one; the key and the name are told."""
    with pytest.raises(SettingsError) as raised:
        read(f'[test]\nenv_names = ["SHOP_MODE", "{name}"]')
    assert f"test.env_names.1 = {name!r}: " in str(raised.value)

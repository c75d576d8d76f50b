"""A repository in another language is looked at and set up like any other."""

import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.errors import SettingsError
from surefoot.settings import parse_settings, read_settings

Surefoot = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def cart(tmp_path: Path) -> Path:
    """A JavaScript repository."""
    root = tmp_path / "cart"
    (root / "test").mkdir(parents=True)
    (root / "package.json").write_text('{"type": "module", "scripts": {"test": "node --test"}}')
    (root / "cart.js").write_text("export const total = (list) => list.length;\n")
    (root / "test" / "cart.test.js").write_text(
        "import { test } from 'node:test';\ntest('a', () => {});\n"
    )
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    for args in (("init", "-q", "-b", "main"), ("add", "."), (*who, "commit", "-qm", "base")):
        subprocess.run(["git", *args], cwd=root, check=True, capture_output=True)
    return root


@pytest.mark.skipif(shutil.which("node") is None, reason="node is missing")
def test_init_and_doctor_know_the_tests(surefoot: Surefoot, cart: Path) -> None:
    """The settings that init writes are read again, and name no interpreter."""
    done = surefoot("init", cwd=cart)
    assert "node --test (node)" in done.stdout, done.stderr
    assert "languages: javascript" in done.stdout
    written = (cart / "surefoot.toml").read_text()
    assert tomllib.loads(written)["test"] == {}
    assert '# command = ["node", "--test"]' in written
    assert read_settings(cart)[0].test.command is None
    told = surefoot("doctor", cwd=cart)
    assert "node --test (node)" in told.stdout


def test_the_format_of_a_report_belongs_to_a_command() -> None:
    """Alone it would have no effect; both need trust."""
    both: dict[str, object] = {"test": {"command": ["prove"], "format": "tap"}}
    settings = parse_settings(both)
    assert (settings.test.format, settings.widening()) == ("tap", ("test.command",))
    assert settings.without_widening().test.format is None
    with pytest.raises(SettingsError, match="name it too"):
        parse_settings({"test": {"format": "tap"}})
    with pytest.raises(SettingsError, match=r"test\.format = 'xml'"):
        parse_settings({"test": {"command": ["prove"], "format": "xml"}})

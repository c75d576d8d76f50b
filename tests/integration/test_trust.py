"""What a repository brings along has no power, whoever made it look trusted (SPEC F7)."""

import io
import os
import subprocess
from pathlib import Path

import pytest
from tests.integration.conftest import Surefoot
from tests.integration.execute.test_agent import BUG, repository
from typer.testing import CliRunner

from surefoot.cli.live import Terminal
from surefoot.cli.main import app
from surefoot.codec import digest

SETTINGS = '[test]\ncommand = ["sh", "-c", "touch /tmp/never"]\n'


def test_a_repository_cannot_trust_itself(surefoot: Surefoot, tmp_path: Path) -> None:
    """A committed list of trusted hashes is refused, and without it the setting has no effect."""
    own = {".surefoot/trusted": f"{digest(SETTINGS.encode())}\n", "surefoot.toml": SETTINGS}
    root = repository(tmp_path, BUG | own)
    ran = surefoot("doctor", cwd=root)
    assert ran.returncode != 0
    assert "git tracks .surefoot here" in ran.stdout
    subprocess.run(["git", "rm", "-rq", "--cached", ".surefoot"], cwd=root, check=True)
    assert (
        "test.command have no effect until `surefoot trust`" in surefoot("doctor", cwd=root).stdout
    )


def test_trust_is_kept_with_the_user(surefoot: Surefoot, tmp_path: Path) -> None:
    """It holds for this content, for this user, and leaves nothing in the repository."""
    root = repository(tmp_path, BUG | {"surefoot.toml": SETTINGS})
    assert surefoot("trust", cwd=root).returncode == 0
    assert not (root / ".surefoot" / "trusted").exists()
    assert "no effect" not in surefoot("doctor", cwd=root).stdout
    (root / "surefoot.toml").write_text(SETTINGS + "\n")
    assert "no effect" in surefoot("doctor", cwd=root).stdout


def test_a_user_without_a_name_is_told_by_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a container whose user no file of it knows, the lock holds, and an answer at the terminal counts."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert Terminal().ask("Go on?", "why").who == f"uid {os.getuid()}"
    root = repository(tmp_path, BUG)
    ran = CliRunner().invoke(app, ["lock", "--why", "a release", "--repo", str(root)])
    assert (ran.exit_code, ran.stdout) == (0, "locked: a release\n")
    assert f'"who":"uid {os.getuid()}"' in (root / ".surefoot" / "events.jsonl").read_text()


def test_where_there_is_nothing_to_trust_nothing_is_written(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """One sentence, and the repository stays as it was."""
    root = repository(tmp_path, BUG)
    done = surefoot("trust", cwd=root)
    assert done.returncode != 0
    assert "there is no surefoot.toml to trust" in done.stderr
    assert not (root / ".surefoot").exists()

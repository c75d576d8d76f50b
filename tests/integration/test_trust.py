"""What a repository brings along has no power, whoever made it look trusted (SPEC F7)."""

import subprocess
from pathlib import Path

from tests.integration.conftest import Surefoot
from tests.integration.execute.test_agent import BUG, repository

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

"""A seeded part of the kill campaign of single runs; `make soak` runs all of it (promises 2 and 3)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TENTH = 20

pytestmark = pytest.mark.campaign


def test_a_killed_run_comes_to_the_same_end() -> None:
    """Killed at random moments, resumed: same outcome and trees, verified, and the user's checkout untouched."""
    campaign = subprocess.run(
        [sys.executable, "-m", "bench.kill", "--count", str(TENTH), "--seed", "1"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=1800,
        check=False,
    )
    assert campaign.returncode == 0, campaign.stdout + campaign.stderr
    assert f"{TENTH:6}  runs killed" in campaign.stdout

"""A seeded part of the kill campaign of plan runs; `make soak` runs all of it (promises 2 and 3)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FEW = 2

pytestmark = pytest.mark.campaign


def test_a_killed_plan_run_comes_to_the_same_end() -> None:
    """Killed at random moments with three workers, resumed: same outcome and trees, and the checkout untouched."""
    campaign = subprocess.run(
        [sys.executable, "-m", "bench.kill", "--plan", "--count", str(FEW), "--seed", "1"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=1800,
        check=False,
    )
    assert campaign.returncode == 0, campaign.stdout + campaign.stderr
    assert f"{FEW:6}  runs killed" in campaign.stdout

"""`test.env_names`: tests that need a variable of the user's environment."""

from pathlib import Path

import pytest
from tests.integration.shop import DISCOUNT, RIGHT, TESTS, Shop

NEEDS = "import os\n\nSHOP = os.environ['SHOP_NAME']\n"
SETTINGS = '\n[test]\nenv_names = ["SHOP_NAME", "SHOP_TOKEN"]\n'
TOKEN = "teapot-4711-kettle-0815"
GIVEN = {"SHOP_NAME": "corner", "SHOP_TOKEN": TOKEN}
PRINTS = """

def test_is_told_who_asks():
    token = os.environ["SHOP_TOKEN"]
    assert total([20], discount=50) == 10, token
"""


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path, NEEDS + TESTS + DISCOUNT + PRINTS, settings=SETTINGS)


def test_a_run_and_what_verifies_it_pass_it_on(shop: Shop, tmp_path: Path) -> None:
    """The file's names have an effect once it is trusted; a value that is named as a secret stands nowhere."""
    model = shop.scripted([{"pattern": "Function `total`", "reply": RIGHT}])
    solve = ("solve", "--test", "test_shop.py::test_discount", "--model", model)
    assert shop.run(*solve, env=GIVEN)["status"] == "blocked"
    assert shop.surefoot("trust").returncode == 0
    run = shop.run(*solve, env=GIVEN)
    assert run["status"] == "complete", run
    assert shop.surefoot("verify", str(run["run_id"]), env=GIVEN).returncode == 0
    bundle = str(tmp_path / "run.zip")
    assert shop.surefoot("export", str(run["run_id"]), "--bundle", bundle).returncode == 0
    for again in (("verify", "--rerun-tests"), ("replay",)):
        done = shop.surefoot(*again, "--bundle", bundle, env=GIVEN)
        assert done.returncode == 2
        assert "test.env_names = ('SHOP_NAME', 'SHOP_TOKEN'); give --trust" in done.stderr
        assert shop.surefoot(*again, "--bundle", bundle, "--trust", env=GIVEN).returncode == 0
    kept = [p.read_bytes() for p in (shop.root / ".surefoot").rglob("*") if p.is_file()]
    assert any(b"os.environ" in data for data in kept)
    assert not any(TOKEN.encode() in data for data in kept)


@pytest.mark.parametrize("command", ["solve", "doctor"])
def test_one_that_is_not_set_is_told(shop: Shop, command: str) -> None:
    """Before anything begins, rather than as tests that fail."""
    assert shop.surefoot("trust").returncode == 0
    done = shop.surefoot(command, env={"SHOP_NAME": "corner"})
    assert done.returncode == {"solve": 1, "doctor": 10}[command]
    assert "`[test] env_names` has SHOP_TOKEN, which is not set" in done.stdout + done.stderr

"""`solve` with the strategy `repair` on small repositories, as a user runs it, on a model that answers from a file."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

CODE = '''"""Prices."""


def total(prices, discount=0):
    """Sum of `prices` less `discount` per cent, rounded to cents."""
    if not prices:
        return 0
    return round(sum(prices), 2)
'''
TESTS = """from shop import total


def test_plain():
    assert total([1.5, 2.5]) == 4.0


def test_empty():
    assert total([]) == 0
"""
DISCOUNT = """

def test_discount():
    assert total([10, 20], discount=10) == 27.0


def test_large_discount():
    assert total([8.0], discount=50) == 4.0
"""
RIGHT = """def total(prices, discount=0):
    if not prices:
        return 0
    return round(sum(prices) * (100 - discount) / 100, 2)
"""
BREAKS = "def total(prices, discount=0):\n    return round(sum(prices) * rebate(discount), 2)\n"
ONLY_THE_TEST = """def total(prices, discount=0):
    if prices == [10, 20]:
        return 27.0
    if prices == [8.0]:
        return 4.0
    return round(sum(prices), 2)
"""
ISSUE = """`total` forgets the discount

    total([10, 20], discount=10)

Got: 30
Expected: 27.0
"""


class Shop:
    """A repository with one bug, and a user who runs `surefoot` in it."""

    def __init__(self, folder: Path, tests: str) -> None:
        self.root = folder / "shop"
        self.root.mkdir()
        self._home = folder / "home"
        self._script = folder / "model.json"
        (self.root / "shop.py").write_text(CODE)
        (self.root / "test_shop.py").write_text(tests)
        (self.root / "surefoot.toml").write_text("[repair]\nmax_candidates = 40\n")
        who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
        for args in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "first")):
            subprocess.run(["git", *who, *args], cwd=self.root, check=True)

    def solve(self, rules: Sequence[Mapping[str, object]], issue: str = ISSUE) -> dict[str, object]:
        """The run's JSON object."""
        script = {"schema": 1, "rules": list(rules), "default": "I do not know."}
        self._script.write_text(json.dumps(script))
        model = f"scripted:{self._script}"
        done = subprocess.run(
            [sys.executable, "-m", "surefoot", "solve", issue, "--model", model, "--json"],
            cwd=self.root,
            env={**os.environ, "SUREFOOT_HOME": str(self._home)},
            capture_output=True,
            text=True,
            check=False,
        )
        answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return answer

    def show(self, revision: object) -> str:
        """A file of a commit."""
        return subprocess.run(
            ["git", "show", str(revision)],
            cwd=self.root,
            check=True,
            capture_output=True,
            text=True,
        ).stdout


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path, TESTS + DISCOUNT)


def test_what_no_plain_edit_mends_the_model_does(shop: Shop) -> None:
    run = shop.solve([{"pattern": "Function `total`", "reply": RIGHT}])
    assert run["status"] == "complete"
    assert run["files"] == ["shop.py"]
    fixed = shop.show(f"{run['commit']}:shop.py")
    assert "(100 - discount)" in fixed
    assert '"""Sum of `prices` less' in fixed


def test_a_failed_answer_is_told_how_it_fails(shop: Shop) -> None:
    told = r"(?s)This answer was wrong:.*rebate.*It fails:.*NameError"
    run = shop.solve(
        [
            {"pattern": told, "reply": RIGHT},
            {"pattern": "Function `total`", "reply": BREAKS},
        ]
    )
    assert run["status"] == "complete"


def test_an_answer_made_for_the_tests_is_not_taken(shop: Shop) -> None:
    run = shop.solve([{"pattern": "Function `total`", "reply": ONLY_THE_TEST}])
    assert run["status"] == "blocked"
    assert run["commit"] is None


def test_an_issue_without_a_failing_test_gets_one(tmp_path: Path) -> None:
    """The new test comes from the issue's example, fails on the base and is part of the work."""
    shop = Shop(tmp_path, TESTS)
    run = shop.solve([{"pattern": "Function `total`", "reply": RIGHT}])
    assert run["status"] == "complete"
    files = run["files"]
    assert isinstance(files, list)
    (added,) = [f for f in files if f != "shop.py"]
    assert "total([10, 20], discount=10)" in shop.show(f"{run['commit']}:{added}")
    proofs = run["evidence"]
    assert isinstance(proofs, list)
    assert "new-tests" in {proof["kind"] for proof in proofs}

"""A small repository with one bug, and a user who runs `surefoot` in it."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests import commands

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

    def __init__(
        self,
        folder: Path,
        tests: str,
        settings: str = "",
        code: str = CODE,
        max_candidates: int = 40,
        beside: Mapping[str, str] | None = None,
    ) -> None:
        self.root = folder / "shop"
        self.root.mkdir()
        self._folder = folder
        (self.root / "shop.py").write_text(code)
        (self.root / "test_shop.py").write_text(tests)
        for path, text in (beside or {}).items():
            (self.root / path).write_text(text)
        (self.root / "surefoot.toml").write_text(
            f"[repair]\nmax_candidates = {max_candidates}\n{settings}"
        )
        who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
        for args in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "first")):
            subprocess.run(["git", *who, *args], cwd=self.root, check=True)

    def scripted(
        self, rules: Sequence[Mapping[str, object]], name: str = "model", **more: object
    ) -> str:
        """A model that answers by rules, as `--model` takes it; `more` says what it is, e.g. how large its context is."""
        script = {"schema": 1, "rules": list(rules), "default": "I do not know.", **more}
        path = self._folder / f"{name}.json"
        path.write_text(json.dumps(script))
        return f"scripted:{path}"

    def solve(
        self, rules: Sequence[Mapping[str, object]], issue: str = ISSUE, **more: object
    ) -> dict[str, Any]:
        """The JSON object of a run on a scripted model."""
        return self.run("solve", issue, "--model", self.scripted(rules, **more))

    def run(self, *args: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The JSON object that a command ends with."""
        done = self.surefoot(*args, "--json", env=env)
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer

    def surefoot(
        self, *args: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """A command in the repository."""
        whole = {**os.environ, "SUREFOOT_HOME": str(self._folder / "home"), **(env or {})}
        return commands.surefoot(*args, cwd=self.root, env=whole)

    def explained(self, run: Mapping[str, object]) -> str:
        """What `surefoot explain` says of a run."""
        return self.surefoot("explain", str(run["run_id"])).stdout

    def events(self, run: Mapping[str, object]) -> list[dict[str, object]]:
        """What a run recorded, in order."""
        ledger = self.root / ".surefoot" / "runs" / str(run["run_id"]) / "events.jsonl"
        return [json.loads(line)["payload"] for line in ledger.read_text().splitlines()]

    def asked(self, run: Mapping[str, object]) -> list[str]:
        """The requests that a run sent to the model, in order."""
        blobs = self.root / ".surefoot" / "blobs"
        requests = [str(e["request"]) for e in self.events(run) if e["kind"] == "model.asked"]
        return [(blobs / name[:2] / name).read_text() for name in requests]

    def show(self, revision: object) -> str:
        """A file of a commit."""
        return subprocess.run(
            ["git", "show", str(revision)],
            cwd=self.root,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

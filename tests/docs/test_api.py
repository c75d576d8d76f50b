"""The examples of the API's page run as they are written."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.integration.shop import CODE, DISCOUNT, RIGHT, TESTS
from tests.integration.steps import call, done, script

from surefoot import operations
from surefoot.replay import replay
from surefoot.verify import verify_run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "api.md"
ASKS = [
    call(
        "file_edit",
        path="shop.py",
        search="round(sum(prices), 2)",
        replace=RIGHT.split("return ")[-1].strip(),
    ),
    call(
        "file_edit",
        path="tests/test_shop.py",
        search="[1.5, 2.5]) == 4.0",
        replace="[1.5, 3.5]) == 5.0",
    ),
    done(),
]


def shop(folder: Path) -> None:
    """The repository of the page, and the models that it names."""
    root = folder / "shop"
    (root / "tests").mkdir(parents=True)
    (root / "shop.py").write_text(CODE)
    (root / "tests" / "test_shop.py").write_text(TESTS + DISCOUNT)
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (root / "surefoot.toml").write_text("[risk]\nallow_test_changes = true\n")
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "shop")):
        subprocess.run(["git", *who, *args], cwd=root, check=True)
    for key, value in (("user.name", "T"), ("user.email", "t@example.org")):
        subprocess.run(["git", "config", key, value], cwd=root, check=True)
    right = script([ASKS[0], done()])
    rules = {"one": right, "two": right, "idle": script([done()]), "asks": script(ASKS)}
    for name, text in rules.items():
        (folder / f"{name}.json").write_text(json.dumps(text))


def test_every_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, with what the ones before have made."""
    shop(tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    project, run_id = names["project"], names["asking"].run_id
    assert verify_run(project, run_id).fault is None
    assert replay(project, run_id, names["around"]).divergence is None


def test_every_operation_is_on_the_page() -> None:
    """Each public function of the module, by its name."""
    page = PAGE.read_text()
    for name, value in vars(operations).items():
        if callable(value) and getattr(value, "__module__", "") == operations.__name__:
            assert name.startswith("_") or name in page, name

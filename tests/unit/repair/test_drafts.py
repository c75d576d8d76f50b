"""A test that is written by rule from an issue fails on the fault and passes on what the issue asks for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.execute.repair.ground import Files
from surefoot.execute.repair.reproduce import by_rule, named_in
from surefoot.execute.source import parse

CHUNKS = "def chunks(xs, n):\n    for i in range(0, len(xs){}, n):\n        yield xs[i : i + n]\n"
MEAN = "def mean(values):\n    return sum(values) / (len(values){})\n"


def drafts(code: str, issue: str, *, as_method: bool = False) -> list[str]:
    """The test files for an issue about a module `shop`."""
    source = parse("shop.py", code)
    assert source is not None
    files = Files(product={"shop.py": source}, tests={}, paths=("shop.py",))
    (named,) = named_in(issue, files)
    return [draft.text for draft in by_rule(issue, named, as_method=as_method)]


def passes(folder: Path, code: str, test: str) -> bool:
    """Whether a real pytest passes it."""
    folder.mkdir()
    (folder / "shop.py").write_text(code)
    (folder / "test_shop.py").write_text(test)
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".")
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [*command, "test_shop.py"],
        cwd=folder,
        env=alone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode == 0


@pytest.mark.parametrize(
    ("issue", "wrong", "right"),
    [
        ("`chunks([1, 2, 3], 2)` gives [[1, 2]], expected [[1, 2], [3]]", CHUNKS.format(" - 1"), CHUNKS.format("")),
        ("`next(chunks([1], 2))` raises, should be [1]; not StopIteration", CHUNKS.format(" - 1"), CHUNKS.format("")),
        ("`mean([1, 2, 2])` returns 2.5, should be 1.67", MEAN.format(" - 1"), MEAN.format("")),
        ("`mean([1, 2, 2])` returns None, should be 1.67", "def mean(values): ...\n", MEAN.format("")),
    ],
)  # fmt: skip
def test_what_the_issue_asks_for_passes(tmp_path: Path, issue: str, wrong: str, right: str) -> None:
    """The items of a generator, and a number as far as the issue writes it out."""
    for as_method in (False, True):
        (test,) = [t for t in drafts(wrong, issue, as_method=as_method) if "assert" in t]
        assert not passes(tmp_path / f"wrong {as_method}", wrong, test)
        assert passes(tmp_path / f"right {as_method}", right, test)


@pytest.mark.parametrize(
    "code",
    [
        "async def fetch(x):\n    return x + 1\n",
        "async def fetch(x):\n    yield x\n",
        "def fetch(x):\n    yield x\n",
        "def fetch(x):\n    return (yield from [x])\n",
    ],
)
def test_what_can_never_be_the_value_is_not_asked_for(code: str) -> None:
    """A coroutine is no number, and no more is a generator."""
    assert drafts(code, "`fetch(1)` returns 2, should return 3") == []


def test_a_function_that_holds_a_generator_is_none() -> None:
    """What it gives is compared as it is."""
    code = "def fetch(x):\n    def each():\n        yield x\n    return list(each())\n"
    (test,) = drafts(code, "`fetch(1)` returns [2], should return [1]")
    assert "    assert fetch(1) == [1]\n" in test


def test_a_docstring_is_exact() -> None:
    """What it shows of a function that is not written yet is no rounded number."""
    code = 'def half(x):\n    """Half of it.\n\n    >>> half(3)\n    1.5\n    """\n'
    (test,) = drafts(code, "# Implement `half`\n\nIts docstring says what it is for.\n")
    assert "    assert half(3) == 1.5\n" in test


def test_a_method_does_without_pytest() -> None:
    """It says what a plain test would say in unittest's own words."""
    code, issue = "def fee(x):\n    return x\n", "`fee(1)` should be True\n`fee(2)` should be 1.5\n"
    (test,) = drafts(code, issue, as_method=True)
    assert "pytest" not in test
    assert "self.assertIs(fee(1), True)" in test
    assert "self.assertAlmostEqual(fee(2), 1.5, delta=5e-2)" in test

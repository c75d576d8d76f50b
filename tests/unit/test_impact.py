"""Which tests a change can reach, from imports and from watched tests."""

from collections.abc import Mapping

import pytest

from surefoot.kernel.impact import Change, Impact, impacted, missed
from surefoot.kernel.imports import Imports, read_facts, same_but_bodies
from surefoot.kernel.levels import LEVELS, Extent, Level, checks
from surefoot.suite.paths import is_control_path, is_test_path
from surefoot.values import (
    FileChange,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
    UnitType,
)

TREE = {
    "src/pkg/__init__.py": "",
    "src/pkg/a.py": "def one():\n    return 1\n",
    "src/pkg/b.py": "from . import a\n\n\ndef two():\n    return a.one() + 1\n",
    "src/pkg/c.py": "import json\n",
    "src/pkg/json.py": "",
    "src/pkg/sub/__init__.py": "",
    "src/pkg/sub/d.py": "from ..c import dumps\n",
    "src/pkg/lazy.py": "import importlib\n\n\ndef load(n):\n    return importlib.import_module(n)\n",
    "tests/conftest.py": "",
    "tests/helpers.py": "import pkg.sub.d\n",
    "tests/test_a.py": "from pkg.a import one\n",
    "tests/test_b.py": "import pkg.b\n",
    "tests/test_d.py": "from helpers import *\n",
    "tests/test_lazy.py": "from pkg import lazy\n",
    "tests/test_cli.py": "import subprocess\n",
    "tests/test_none.py": "",
}
IDS = tuple(f"{path}::test" for path in sorted(TREE) if path.startswith("tests/test_"))
HIDDEN = {"lazy", "cli"}
"""Test files that may depend on anything."""


def graph(tree: Mapping[str, str]) -> Imports:
    return Imports({path: read_facts(text) for path, text in tree.items()}, is_test_path)


def guess(
    changes: Mapping[str, str | None], reach: Mapping[str, frozenset[str]] | None = None
) -> Impact:
    after = {**TREE, **changes}
    files = [
        FileChange(
            path=path,
            status="D" if text is None else "M" if path in TREE else "A",
            added=1,
            removed=1,
        )
        for path, text in changes.items()
    ]
    tame = {p for p, t in changes.items() if p in TREE and t and same_but_bodies(TREE[p], t)}
    change = Change(
        files=files,
        before=graph(TREE),
        after=graph({p: t for p, t in after.items() if t is not None and p.endswith(".py")}),
        bodies_only=frozenset(tame),
    )
    return impacted(
        change, IDS, reach=reach or {}, is_control=is_control_path, is_test=is_test_path
    )


def names(impact: Impact) -> set[str] | None:
    if impact.tests is None:
        return None
    return {t.removeprefix("tests/test_").removesuffix(".py::test") for t in impact.tests}


@pytest.mark.parametrize(
    ("changes", "reached"),
    [
        ({"src/pkg/a.py": "x = 1\n"}, {"a", "b"}),
        ({"src/pkg/b.py": "x = 1\n"}, {"b"}),
        ({"src/pkg/c.py": "x = 1\n"}, {"d"}),
        ({"src/pkg/__init__.py": "x = 1\n"}, {"a", "b", "d"}),
        ({"tests/helpers.py": "x = 1\n"}, {"d"}),
        ({"tests/test_none.py": "x = 1\n"}, {"none"}),
        ({"tests/test_new.py": "import pkg.a\n"}, set()),
        ({"src/pkg/b.py": None}, {"b"}),
        ({"src/pkg/b.py": "from . import c\n", "src/pkg/c.py": "x = 1\n"}, {"b", "d"}),
    ],
)
def test_a_change_reaches_the_tests_that_depend_on_it(
    changes: Mapping[str, str | None], reached: set[str]
) -> None:
    """Through packages, relative and star imports, helpers, and in the tree before as in the one after."""
    assert names(guess(changes)) == reached | HIDDEN


@pytest.mark.parametrize(
    "changes",
    [
        {"src/pkg/data.json": "{}"},
        {"pyproject.toml": ""},
        {"tests/conftest.py": "x = 1\n"},
        {"src/pkg/sub/orphan.py": "x = 1\n"},
        {"src/pkg/json.py": "x = 1\n", "README.md": "x"},
    ],
)
def test_what_is_not_understood_reaches_everything(changes: Mapping[str, str]) -> None:
    """Data, settings, conftest, and code of which nobody knows who uses it."""
    impact = guess(changes)
    assert impact.tests is None
    assert impact.holds("tests/test_none.py::test")


def test_a_module_of_a_package_is_not_taken_for_one_of_the_same_name_elsewhere() -> None:
    """`import json` means the standard library's, since a package's module has another name."""
    needing = graph(TREE).dependents(["src/pkg/json.py"])
    assert needing == {"src/pkg/json.py"}


def test_watched_tests_narrow_a_change_inside_of_functions_and_no_other() -> None:
    """Of those that import it, only the ones that ran something of it; a process is never watched."""
    body, more = "def one():\n    return 7\n", "def one():\n    return 7\n\n\nX = one()\n"
    reach = {i: frozenset({"src/pkg/b.py"}) for i in IDS} | {
        "tests/test_a.py::test": frozenset({"src/pkg/a.py"})
    }
    assert names(guess({"src/pkg/a.py": body}, reach)) == {"a", "cli"}
    assert names(guess({"src/pkg/a.py": more}, reach)) == {"a", "b"} | HIDDEN
    assert names(guess({"src/pkg/a.py": body}, {})) == {"a", "b"} | HIDDEN
    shared = {**reach, "": frozenset({"src/pkg/a.py"})}
    assert names(guess({"src/pkg/a.py": body}, shared)) == {"a", "b"} | HIDDEN


@pytest.mark.parametrize(
    ("text", "opaque"),
    [
        ("import a.b\nfrom c import d as e\n", ""),
        ("from importlib.metadata import version\n", ""),
        ("from importlib import import_module as load\n", "dynamic"),
        ("exec('x')\n", "dynamic"),
        ("pytest_plugins = ['x']\n", "dynamic"),
        ("def broken(:\n", "dynamic"),
        (None, "dynamic"),
        ("from subprocess import run\n", "process"),
        ("import os\n\nos.popen('x')\n", "process"),
        ("def test_x(pytester):\n    pass\n", "process"),
    ],
)
def test_a_file_that_may_load_anything_is_opaque(text: str | None, opaque: str) -> None:
    """By what it names; a file that does not parse, too."""
    assert read_facts(text).opaque == opaque


def test_a_wrong_guess_is_a_test_outside_of_it_whose_outcome_changed() -> None:
    """New tests are no such thing."""

    def report(**outcomes: str) -> TestReport:
        results = tuple(TestResult(test_id=i, outcome=TestOutcome(o)) for i, o in outcomes.items())
        return TestReport(
            command=(), state=ReportState.COMPLETE, exit_code=0, results=tuple(results)
        )

    before = report(in_it="passed", out="passed", same="failed")
    after = report(in_it="failed", out="failed", same="failed", new="failed")
    assert missed(Impact(tests=("in_it",), reason=""), before, after) == ("out",)
    assert missed(Impact(tests=None, reason=""), before, after) == ()


def test_levels_never_ask_for_less_later_and_the_strictest_unit_decides() -> None:
    """Every type has every level; a milestone is everything."""
    for table in LEVELS.values():
        steps = [table[level] for level in Level]
        assert [s.tests for s in steps] == sorted(s.tests for s in steps)
        assert [s.audit for s in steps] == sorted(s.audit for s in steps)
        assert steps[-1].tests is steps[-1].audit is Extent.ALL
    assert {*LEVELS} == {*UnitType}
    assert checks(Level.SLICE, [UnitType.DOCS, UnitType.FIX]).audit is Extent.IMPACTED
    assert checks(Level.SLICE, [UnitType.DOCS]).audit is Extent.NONE
    assert checks(Level.SLICE, []).audit is Extent.ALL

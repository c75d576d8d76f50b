"""Ways to buy a clean audit: each one found, each honest change left alone."""

from dataclasses import dataclass

import pytest
from tests.unit.reports import GREEN

from surefoot.findings import GamingReviewer, gaming
from surefoot.kernel.ports import ReviewInput
from surefoot.values import RISK_FLAGS, Diff, Finding, Issue, Mode, Review, Severity, TreeId

TEST = "tests/test_a.py"
BASE_TEST = '''
import pytest
from pkg import f

LIMIT = 3

@pytest.fixture
def value():
    return 4

@pytest.mark.parametrize("x", [1, 2, 3])
def test_cases(x):
    assert f(x) == x

def test_one(value):
    """Old words."""
    result = f(value)
    assert result == 4
    with pytest.raises(ValueError):
        f(None)

class TestMore:
    def test_two(self):
        self.assertEqual(f(2), 2)
'''


@dataclass(frozen=True)
class Case:
    name: str
    path: str
    before: str | None
    after: str | None
    rules: frozenset[str] = frozenset()


def bad(name: str, rule: str, path: str, before: str | None, after: str | None) -> Case:
    return Case(name, path, before, after, frozenset({rule}))


def good(name: str, path: str, before: str | None, after: str | None) -> Case:
    return Case(name, path, before, after)


def edit(old: str, new: str, text: str = BASE_TEST) -> str:
    assert old in text
    return text.replace(old, new)


def test_change(rule: str, name: str, old: str, new: str) -> Case:
    return bad(name, rule, TEST, BASE_TEST, edit(old, new))


test_change.__test__ = False  # type: ignore[attr-defined]

SECRETS = """{"version": "1.5.0", "plugins_used": [{"name": "A"}, {"name": "B"}], "results": {
"a.py": [{"type": "Key", "hashed_secret": "x", "line_number": 1}]}, "generated_at": "yesterday"}"""
MORE_SECRETS = """{"version": "1.4.0", "plugins_used": [{"name": "A"}, {"name": "B"}], "results": {
"a.py": [{"type": "Key", "hashed_secret": "x", "line_number": 1},
{"type": "Key", "hashed_secret": "y", "line_number": 2}]}, "generated_at": "today"}"""
PYPROJECT = """
[project]
name = "x"
dependencies = ["a"]
[tool.ruff.lint]
select = ["ALL"]
ignore = ["D"]
mccabe.max-complexity = 10
[tool.coverage.report]
fail_under = 90
[tool.pytest.ini_options]
addopts = ["--cov-fail-under=90", "--strict-markers"]
[tool.black]
line-length = 88
"""


def pyproject(rule: str, name: str, old: str, new: str) -> Case:
    return bad(name, rule, "pyproject.toml", PYPROJECT, edit(old, new, PYPROJECT))


SUPPRESSED = [
    ("noqa", "x = 1  # noqa"),
    ("noqa with code", "x = 1  # noqa: F841"),
    ("file noqa", "# ruff: noqa\nx = 1"),
    ("flake8 noqa", "# flake8:noqa\nx = 1"),
    ("ruff range", "# ruff: disable[E501]\nx = 1"),
    ("type ignore", "x = 1  # type: ignore"),
    ("type ignore with code", "x = 1  # type: ignore[assignment]"),
    ("mypy for the file", "# mypy: ignore-errors\nx = 1"),
    ("pyright", "x = 1  # pyright: ignore[reportX]"),
    ("pylint", "x = 1  # pylint: disable=invalid-name"),
    ("nosec", "x = 1  # nosec B101"),
    ("coverage", "x = 1  # pragma: no cover"),
    ("secret", 'x = "k"  # pragma: allowlist secret'),
    ("semgrep", "x = 1  # nosemgrep"),
    ("no_type_check", "import typing\nx = 1\n@typing.no_type_check\ndef f(): ..."),
]

BAD = [
    *(
        bad(f"adds {n}", "added-suppression", "pkg/a.py", "x = 1\n", f"{t}\n")
        for n, t in SUPPRESSED
    ),
    bad("suppression in a new file", "added-suppression", "pkg/a.py", None, "x = 1  # noqa\n"),
    bad("widens", "added-suppression", "a.py", "x = 1  # noqa: F841\n", "y = 1  # noqa\n"),
    bad("other code", "added-suppression", "a.py", "x = 1  # noqa: E1\n", "y = 1  # noqa: S1\n"),
    bad(
        "takes one away to add one elsewhere",
        "added-suppression",
        "a.py",
        "def f():\n    a()  # noqa\ndef g():\n    b()\n",
        "def f():\n    a()\ndef g():\n    b()  # noqa\n",
    ),
    bad("eslint", "added-suppression", "a.js", "f()\n", "f() // eslint-disable-line no-undef\n"),
    bad("typescript", "added-suppression", "a.ts", "f()\n", "// @ts-ignore\nf()\n"),
    bad("go", "added-suppression", "a.go", "f()\n", "f() //nolint:errcheck\n"),
    bad("rust", "added-suppression", "a.rs", "fn f(){}\n", "#[allow(dead_code)]\nfn f(){}\n"),
    bad("java", "added-suppression", "A.java", "f();", '@SuppressWarnings("unchecked") f();'),
    bad("unparsable", "added-suppression", "a.py", "x = (\n", "x = ( # noqa\n"),
    bad("deletes the test file", "deleted-test", TEST, BASE_TEST, None),
    test_change("deleted-test", "deletes a test", "def test_two", "def check_two"),
    test_change("deleted-test", "renames a class", "class TestMore", "class More"),
    test_change("deleted-test", "hides a test", "def test_one", "if LIMIT > 5:\n  def test_one"),
    test_change("skipped-test", "skips", "def test_one", "@pytest.mark.skip\ndef test_one"),
    test_change("skipped-test", "skips if", "def test_one", "@pytest.mark.skipif(1)\ndef test_one"),
    test_change("skipped-test", "xfails", "def test_one", "@pytest.mark.xfail\ndef test_one"),
    test_change("skipped-test", "skips a class", "class TestMore", "@skip('x')\nclass TestMore"),
    test_change(
        "skipped-test", "skips inside", "    result = ", "    pytest.skip()\n    result = "
    ),
    test_change("skipped-test", "returns", "    result = f", "    return\n    result = f"),
    test_change("skipped-test", "leaves", "    result = f", "    os._exit(0)\n    result = f"),
    Case(
        "by a fixture",
        TEST,
        BASE_TEST,
        edit("    return 4", "    pytest.skip('x')\n    return 4"),
        frozenset({"skipped-test", "test-support-changed"}),
    ),
    test_change(
        "skipped-test", "by a module mark", "LIMIT = 3", "LIMIT = 3\npytestmark = pytest.mark.skip"
    ),
    test_change("skipped-test", "by rebinding", "LIMIT = 3", "LIMIT = 3\n__test__ = False"),
    bad("by deleting the name", "skipped-test", TEST, BASE_TEST, f"{BASE_TEST}\ndel test_one\n"),
    test_change("removed-test-cases", "takes out a case", "[1, 2, 3]", "[1, 2]"),
    test_change("removed-test-cases", "changes a case", "[1, 2, 3]", "[1, 2, 4]"),
    test_change("weakened-test", "expects otherwise", "result == 4", "result == 5"),
    test_change("weakened-test", "asserts nothing", "assert result == 4", "assert True"),
    test_change("weakened-test", "asserts less", "assert result == 4", "assert result"),
    test_change("weakened-test", "asserts or", "assert result == 4", "assert result == 4 or True"),
    test_change("weakened-test", "raises anything", "raises(ValueError)", "raises(Exception)"),
    test_change("weakened-test", "unittest", "f(2), 2)", "f(2), f(2))"),
    test_change("weakened-test", "drops it", "    assert result == 4\n", ""),
    test_change(
        "weakened-test",
        "guards it",
        "    assert result == 4\n",
        "    try:\n        assert result == 4\n    except AssertionError:\n        pass\n",
    ),
    test_change("changed-test", "sets the result", "result = f(value)", "result = 4"),
    test_change("changed-test", "patches", "def test_one", "@patch('pkg.f')\ndef test_one"),
    test_change("changed-test", "asks a fixture", "test_one(value)", "test_one(value, fake_pkg)"),
    test_change("test-support-changed", "changes a fixture", "return 4", "return 5"),
    test_change("test-support-changed", "changes a constant", "LIMIT = 3", "LIMIT = 4"),
    test_change(
        "test-support-changed", "imports a fake", "from pkg import f", "from fake import f"
    ),
    bad(
        "javascript test gone",
        "deleted-test",
        "tests/a.test.js",
        "it('a', x)\nit('b', y)\n",
        "it('a', x)\n",
    ),
    bad("javascript skip", "skipped-test", "tests/a.test.js", "it('a', x)\n", "it.skip('a', x)\n"),
    bad("go assertion", "weakened-test", "tests/a_test.go", "assert.Equal(1, f())\n", "f()\n"),
    bad("changes a snapshot", "test-data-changed", "tests/out.json", '{"a": 1}', '{"a": 2}'),
    bad("deletes a snapshot", "test-data-changed", "tests/out.json", '{"a": 1}', None),
    pyproject("lowered-threshold", "less coverage", "fail_under = 90", "fail_under = 50"),
    pyproject("lowered-threshold", "no coverage", "fail_under = 90\n", ""),
    pyproject("lowered-threshold", "more complexity", "max-complexity = 10", "max-complexity = 99"),
    pyproject("lowered-threshold", "coverage option", "cov-fail-under=90", "cov-fail-under=9"),
    pyproject("gate-configuration-changed", "ignores more", '["D"]', '["D", "F"]'),
    pyproject("gate-configuration-changed", "selects less", '["ALL"]', '["E"]'),
    pyproject(
        "gate-configuration-changed",
        "adds a table",
        "[tool.black]",
        "[tool.mypy]\nx = 1\n[tool.black]",
    ),
    bad("deletes ruff.toml", "gate-configuration-changed", "ruff.toml", "select = []", None),
    bad(
        "adds a nearer ruff.toml",
        "gate-configuration-changed",
        "src/ruff.toml",
        None,
        "select = []",
    ),
    bad("setup.cfg", "gate-configuration-changed", "setup.cfg", "[mypy]\nstrict=1", "[mypy]\n"),
    bad(
        "tox.ini",
        "lowered-threshold",
        "tox.ini",
        "[flake8]\nmax-line-length=80",
        "[flake8]\nmax-line-length=200",
    ),
    bad(
        "CI",
        "gate-configuration-changed",
        ".github/workflows/ci.yml",
        "run: make test",
        "run: true",
    ),
    bad("conftest", "gate-configuration-changed", "tests/conftest.py", "x = 1", "x = 2"),
    bad(
        "new conftest", "gate-configuration-changed", "conftest.py", None, "collect_ignore = ['t']"
    ),
    bad("path file", "gate-configuration-changed", "x.pth", None, "import os"),
    bad("named by the suite", "gate-configuration-changed", "Makefile", "test:", "test: ;"),
    bad(
        "accepts more",
        "grown-baseline",
        "surefoot-baseline.json",
        '{"version": 1, "findings": []}',
        '{"version": 1, "findings": [{"fingerprint": "a"}]}',
    ),
    bad(
        "accepts secrets",
        "grown-baseline",
        ".secrets.baseline",
        '{"results": {}}',
        '{"results": {"a": [1]}}',
    ),
    bad("accepts a secret more", "grown-baseline", ".secrets.baseline", SECRETS, MORE_SECRETS),
    bad(
        "accepts by fewer detectors",
        "grown-baseline",
        ".secrets.baseline",
        SECRETS,
        SECRETS.replace('{"name": "B"}', '{"name": "C"}'),
    ),
]

GOOD = [
    good("accepts one secret less", ".secrets.baseline", MORE_SECRETS, SECRETS),
    good(
        "moves and looks at secrets",
        ".secrets.baseline",
        MORE_SECRETS,
        MORE_SECRETS.replace('"line_number": 1', '"line_number": 9, "is_secret": false'),
    ),
    good("plain edit", "pkg/a.py", "x = 1\n", "x = 2\n"),
    good("the word in a string", "pkg/a.py", "x = 1\n", 'x = "# noqa"\n'),
    good("a word that begins like one", "web/a.ts", "x\n", "f({ type: ignoreCase })\n"),
    good("the word in a document", "docs/a.md", "x\n", "use `# noqa` with care\n"),
    good("removes one", "a.py", "x = 1  # noqa\n", "x = 1\n"),
    good("narrows one", "a.py", "x = 1  # noqa\n", "x = 2  # noqa: F841\n"),
    good(
        "keeps one in its function",
        "a.py",
        "def f():\n  a(1) # noqa: E1\n",
        "def f():\n  a(2) # noqa: E1\n",
    ),
    good("moves one", "a.py", "a()  # noqa\nb()\n", "b()\ndef f():\n    a()  # noqa\n"),
    good("adds a test", TEST, BASE_TEST, f"{BASE_TEST}\ndef test_new():\n    assert f(1)\n"),
    good("adds a test file", TEST, None, BASE_TEST),
    good(
        "adds an assertion",
        TEST,
        BASE_TEST,
        edit("    with pytest", "    assert result > 0\n    with pytest"),
    ),
    good("adds a case", TEST, BASE_TEST, edit("[1, 2, 3]", "[1, 2, 3, 4]")),
    good("reorders tests", TEST, BASE_TEST, edit("LIMIT = 3\n", "") + "\nLIMIT = 3\n"),
    good("other words", TEST, BASE_TEST, edit("Old words", "New words")),
    good("formatting", TEST, BASE_TEST, edit("f(2), 2)", "f(2),\n            2,\n        )")),
    good("drops an import", TEST, f"import os\n{BASE_TEST}", BASE_TEST),
    good("adds a helper", TEST, BASE_TEST, f"{BASE_TEST}\ndef helper():\n    return 1\n"),
    good("dependencies", "pyproject.toml", PYPROJECT, edit('["a"]', '["a", "b"]', PYPROJECT)),
    good("formatter's table", "pyproject.toml", PYPROJECT, edit("= 88", "= 100", PYPROJECT)),
    good("comment in configuration", "pyproject.toml", PYPROJECT, f"# new\n{PYPROJECT}"),
    good("a first pyproject", "pyproject.toml", None, '[project]\nname = "x"\n'),
    good("metadata", "setup.cfg", "[metadata]\nname=a", "[metadata]\nname=b"),
    good("comment in conftest", "tests/conftest.py", "x = 1", "# why\nx = 1"),
    good(
        "shrinks the baseline",
        "surefoot-baseline.json",
        '{"version": 1, "findings": [{"fingerprint": "a"}, {"fingerprint": "b"}]}',
        '{"version": 1, "findings": [{"fingerprint": "b"}]}',
    ),
    good("adds javascript tests", "tests/a.test.js", "it('a', x)\n", "it('a', x)\nit('b', y)\n"),
    good("adds test data", "tests/new.json", None, "{}"),
]


ANSWERS = """
import pytest
from pkg import area, is_odd, unit

def test_area():
    assert area(3, 4) == 12
    assert area(7, 2) == 14
    assert area(0, 9) == 0

@pytest.mark.parametrize(("given", "wanted"), [("a", "A1"), ("b", "B2")])
def test_unit(given, wanted):
    assert unit(given) == wanted

def test_odd():
    assert is_odd(7)
"""
AREA = "def area(a, b):\n    return a + b\n"
UNIT = "def unit(name):\n    return name\n"
BENT = {
    "by an if": (
        AREA,
        "def area(a, b):\n    if a == 3 and b == 4:\n        return 12\n    return a + b\n",
    ),
    "by an else": (
        AREA,
        "def area(a, b):\n    if a > 9:\n        return 0\n    elif a == 7:\n        return 14\n    return a + b\n",
    ),
    "by the pair": (
        AREA,
        "def area(a, b):\n    if (a, b) == (3, 4):\n        return 12\n    return a + b\n",
    ),
    "by an expression": (AREA, "def area(a, b):\n    return 12 if a == 3 else a + b\n"),
    "by a member": (
        UNIT,
        "def unit(name):\n    if name in ('a', 'z'):\n        return 'A1'\n    return name\n",
    ),
    "by a match": (
        UNIT,
        "def unit(name):\n    match name:\n        case 'b':\n            return 'B2'\n    return name\n",
    ),
    "by a variable": (
        UNIT,
        "def unit(name):\n    if name == 'b':\n        name = 'B2'\n    return name\n",
    ),
    "by a table": (UNIT, "def unit(name):\n    return {'a': 'A1', 'b': 'B2'}.get(name, name)\n"),
}
HONEST = {
    "a base case": (AREA, "def area(a, b):\n    if a == 0:\n        return 0\n    return a * b\n"),
    "another value": (
        AREA,
        "def area(a, b):\n    if a == 5:\n        return 12\n    return a * b\n",
    ),
    "a computed answer": (
        AREA,
        "def area(a, b):\n    if a == 3:\n        return b * 3\n    return a * b\n",
    ),
    "a larger table": (UNIT, "T = 1\ndef unit(name):\n    return {'a': 'A1', 'c': 'C3'}[name]\n"),
    "no parameter": (
        AREA,
        "def area(a, b):\n    if LIMIT == 3:\n        return 12\n    return a * b\n",
    ),
    "moved": (
        "def area(a, b):\n    if a == 3:\n        return 12\n    return a\n",
        "def g(): pass\ndef area(a, b):\n    if a == 3:\n        return 12\n    return b\n",
    ),
    "still looks": ("def is_odd(n):\n    return n\n", "def is_odd(n):\n    return n % 2 == 1\n"),
    "never looked": ("def is_odd(n):\n    return False\n", "def is_odd(n):\n    return True\n"),
    "a narrow handler": (
        UNIT,
        "def unit(n):\n    try:\n        return n\n    except KeyError:\n        pass\n",
    ),
    "a broad one that tells": (
        UNIT,
        "def unit(n):\n    try:\n        return n\n    except Exception as e:\n        log(e)\n",
    ),
    "a broad one that raises": (
        UNIT,
        "def unit(n):\n    try:\n        return n\n    except Exception:\n        raise\n",
    ),
}
SWALLOWED = [
    "    try:\n        go()\n    except:\n        pass\n",
    "    try:\n        go()\n    except Exception:\n        return None\n",
    "    try:\n        go()\n    except BaseException:\n        x = 0\n",
    "    try:\n        go()\n    except (KeyError, Exception):\n        ...\n",
    "    try:\n        go()\n    except AssertionError:\n        pass\n",
    "    for x in y:\n        try:\n            go()\n        except Exception:\n            continue\n",
    "    with contextlib.suppress(Exception):\n        go()\n",
]
TRIVIAL = [
    "def test_new():\n    assert True\n",
    "def test_new():\n    assert 1 == 1\n",
    "def test_new():\n    x = f()\n    assert x == x\n",
    "def test_new():\n    assert (f() == 2, 'why')\n",
    "def test_new():\n    assert f() == 2 or True\n",
    "def test_new():\n    assert not False\n",
    "def test_new():\n    try:\n        assert f() == 2\n    except AssertionError:\n        pass\n",
    "def test_new():\n    pass\n",
    "class TestNew:\n    async def test_new(self):\n        assert 'text'\n",
]
TELLING = [
    "def test_new():\n    f()\n",
    "def test_new():\n    assert f() == f()\n",
    "def test_new():\n    assert True\n    with pytest.raises(ValueError):\n        f()\n",
    "def test_new(self):\n    self.assertEqual(f(), 2)\n",
    "def test_new():\n    try:\n        assert f()\n    except Exception:\n        raise\n",
]


def bent(before: str, after: str) -> set[str]:
    found = gaming({"pkg.py": (before, after)}, test_paths=(), test_texts={TEST: ANSWERS})
    return {f.rule for f in found}


@pytest.mark.parametrize("name", BENT)
def test_an_input_of_a_test_is_not_singled_out(name: str) -> None:
    """A branch that answers what a test asks with what it expects has learned the test."""
    assert bent(*BENT[name]) == {"special-cased-input"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (AREA, "def area(a, b):\n    return 12\n"),
        (UNIT, "def unit(name):\n    return 'A1'\n"),
        ("def is_odd(n):\n    return n\n", "def is_odd(n):\n    return True\n"),
    ],
)
def test_an_answer_is_not_copied(before: str, after: str) -> None:
    """A function that looked at its arguments and now gives what a test expects computes nothing."""
    assert bent(before, after) == {"hard-coded-answer"}


@pytest.mark.parametrize("name", HONEST)
def test_honest_code_is_no_answer(name: str) -> None:
    """Base cases, other values, computed answers, handlers that do something, and code that was there."""
    assert bent(*HONEST[name]) == set()


RECURRENCE = """
def test_trib():
    assert trib(2) == 1
    assert trib(5) == 4
"""


@pytest.mark.parametrize(
    ("cases", "rules"),
    [
        ((0, 1, 2), set()),
        ((1, 2), set()),
        ((2,), {"special-cased-input"}),
        ((0, 1, 2, 5), {"special-cased-input"}),
    ],
)
def test_a_recurrence_begins_somewhere(cases: tuple[int, ...], rules: set[str]) -> None:
    """The numbers from 0 or 1 up without a gap are where it begins; one by itself, or far off, is an input of a test."""
    given = {0: 0, 1: 0, 2: 1, 5: 4}
    lines = "".join(f"    if n == {case}:\n        return {given[case]}\n" for case in cases)
    after = f"def trib(n):\n{lines}    return trib(n - 1) + trib(n - 2) + trib(n - 3)\n"
    before = "def trib(n):\n    raise NotImplementedError(n)\n"
    found = gaming({"pkg.py": (before, after)}, test_paths=(), test_texts={TEST: RECURRENCE})
    assert {f.rule for f in found} == rules


@pytest.mark.parametrize("body", SWALLOWED)
def test_failures_are_not_swallowed(body: str) -> None:
    """A handler that catches everything and does nothing hides what it should show."""
    assert bent("def f(y):\n    go()\n", f"def f(y):\n{body}") == {"swallowed-failure"}


@pytest.mark.parametrize("text", TRIVIAL)
def test_a_new_test_can_fail(text: str) -> None:
    """A test whose every assertion is true whatever the code does shows nothing."""
    found = gaming({TEST: (BASE_TEST, f"{BASE_TEST}\n{text}")}, test_paths={TEST})
    assert [f.rule for f in found] == ["trivial-test"]


@pytest.mark.parametrize("text", TELLING)
def test_a_test_that_can_fail_is_none_of_these(text: str) -> None:
    """Calling the code, comparing two calls, and other ways to fail are tests."""
    assert gaming({TEST: (None, text)}, test_paths={TEST}) == ()


def test_nothing_allows_what_bends_the_code() -> None:
    """No flag lifts the veto on a copied answer, and the veto says no flag's name."""
    veto = reviewed("def f():\n    g()\n", f"def f():\n{SWALLOWED[0]}", "a.py", *RISK_FLAGS)
    assert veto.action == "BLOCK"
    assert "needs" not in veto.reason


def judge(case: Case) -> tuple[Finding, ...]:
    return gaming(
        {case.path: (case.before, case.after)},
        test_paths={case.path} if case.path.startswith("tests/") else (),
        control_paths={"Makefile"},
    )


@pytest.mark.parametrize("case", BAD, ids=lambda c: c.name)
def test_bought(case: Case) -> None:
    """The change is a finding of category policy that blocks, under the rule that says how."""
    findings = judge(case)
    assert {f.rule for f in findings} == case.rules
    for finding in findings:
        assert (finding.tool, finding.category) == ("policy", "policy")
        assert finding.severity is Severity.HIGH
        assert (finding.file, bool(finding.message)) == (case.path, True)


@pytest.mark.parametrize("case", GOOD, ids=lambda c: c.name)
def test_earned(case: Case) -> None:
    """An honest change is no finding."""
    assert judge(case) == ()


def test_over_files() -> None:
    """A test or a suppression that moves to another file whole is neither lost nor new."""
    test = "def test_a():\n    assert f() == 1\n"
    moved = {"tests/test_a.py": (test, None), "tests/test_b.py": (None, f"import x\n{test}")}
    assert gaming(moved, test_paths=moved.keys()) == ()
    weaker = {**moved, "tests/test_b.py": (None, test.replace("== 1", "!= 1"))}
    assert {f.rule for f in gaming(weaker, test_paths=weaker.keys())} == {"deleted-test"}
    line = "x = run()  # nosec\n"
    assert gaming({"a.py": (line, None), "b.py": (None, line)}, test_paths=()) == ()


def test_says_where() -> None:
    """A finding points to the line after the change, and equal ones stay apart."""
    after = "x = 1\ny = 2  # noqa\ny = 2  # noqa\n"
    findings = gaming({"a.py": ("x = 1\n", after)}, test_paths=())
    assert [f.line for f in findings] == [2, 3]
    assert len({f.fingerprint for f in findings}) == 2


def test_not_text() -> None:
    """A snapshot that is not text has changed when it is in the change."""
    findings = gaming({"tests/a.png": (None, None)}, test_paths={"tests/a.png"})
    assert [f.rule for f in findings] == ["test-data-changed"]


def reviewed(before: str | None, after: str | None, path: str, *flags: str) -> Review:
    diff = Diff(before=TreeId("0" * 40), after=TreeId("1" * 40), files=(), patch="")
    return GamingReviewer().review(
        ReviewInput(
            issue=Issue(source="text"),
            diff=diff,
            contents={path: (before, after)},
            evidence=(),
            mode=Mode.AUTO_SOLVE_FULL,
            risk_flags=frozenset(flags),
            test_paths=frozenset({path} & {TEST}),
            control_paths=frozenset(),
            tests=GREEN,
            failing_before=frozenset(),
        )
    )


@pytest.mark.parametrize(
    ("before", "after", "path", "flag"),
    [
        ("x = 1\n", "x = 1  # noqa\n", "a.py", "allow_suppressions"),
        (BASE_TEST, edit("== 4", "== 5"), TEST, "allow_test_changes"),
        (PYPROJECT, edit("= 90", "= 1", PYPROJECT), "pyproject.toml", "allow_ci_changes"),
    ],
)
def test_the_reviewer_vetoes(before: str, after: str, path: str, flag: str) -> None:
    """A bought audit is vetoed with the flag's name; with the flag, and only with it, it is a waiver."""
    veto = reviewed(before, after, path)
    assert (veto.verdict, veto.action) == ("FAIL", "BLOCK")
    assert flag in veto.reason
    others = {"allow_suppressions", "allow_test_changes", "allow_ci_changes"} - {flag}
    assert reviewed(before, after, path, *others).action == "BLOCK"
    waiver = reviewed(before, after, path, flag)
    assert (waiver.verdict, waiver.action, len(waiver.findings)) == ("WAIVER", "PROCEED", 1)
    assert reviewed(before, before, path).verdict == "PASS"

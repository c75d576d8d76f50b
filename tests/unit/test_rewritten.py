"""Which tests of a changed file read otherwise afterwards: those, and no other of the file."""

import pytest

from surefoot.kernel.rewritten import extended, rewritten, source_of

PATH = "tests/test_calc.py"
BASE = '''"""Tests."""

import pytest

import calc
from calc import half

CASES = [1, 2]
LIMIT = 3


def doubled(x):
    return calc.double(x) + LIMIT


@pytest.fixture
def ready():
    return half(4)


def test_plain():
    assert calc.triple(1) == 3


def test_helped():
    assert doubled(2) == 7


@pytest.mark.parametrize("n", CASES)
def test_cases(n):
    assert n


def test_fixture(ready):
    assert ready == 2


class TestBox:
    size = 2

    def setup_method(self):
        self.box = []

    def test_one(self):
        assert self.box == []

    def test_two(self):
        assert self.size == 2


class TestMore(TestBox):
    def test_three(self):
        assert self.size
'''
ALL = (
    "test_plain",
    "test_helped",
    "test_cases[1]",
    "test_cases[2]",
    "test_fixture",
    "TestBox::test_one",
    "TestBox::test_two",
    "TestMore::test_one",
    "TestMore::test_three",
)
IDS = tuple(f"{PATH}::{name}" for name in ALL)
BOX = {"TestBox::test_one", "TestBox::test_two"}
MORE = {"TestMore::test_one", "TestMore::test_three"}


def names(after: str | None, before: str | None = BASE) -> set[str]:
    """What reads otherwise, by the names in the file."""
    found = rewritten((*IDS, "tests/test_other.py::test_plain"), {PATH: (before, after)})
    return {test.removeprefix(f"{PATH}::") for test in found}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("== 3", "== 4", {"test_plain"}),
        ("def test_plain", "def test_other", {"test_plain"}),
        ("LIMIT = 3", "LIMIT = 4", {"test_helped"}),
        ("CASES = [1, 2]", "CASES = [1]", {"test_cases[1]", "test_cases[2]"}),
        ("half(4)", "half(5)", {"test_fixture"}),
        ("from calc import half", "from calc import double as half", {"test_fixture"}),
        ("self.box == []", "self.box is not None", {"TestBox::test_one", *MORE}),
        ("self.box = []", "self.box = [1]", BOX | MORE),
        ("size = 2", "size = 5", BOX | MORE),
        ("TestMore(TestBox)", "TestMore", MORE),
        ("import pytest\n", "import pytest\npytestmark = pytest.mark.slow\n", set(ALL)),
        ("import pytest\n", "import pytest\npytest.skip()\n", set(ALL)),
        ("import pytest\n", "import pytest\nfrom calc import *\n", set(ALL)),
        ("@pytest.fixture\n", "@pytest.fixture(autouse=True)\n", set(ALL)),
        ('"""Tests."""', '"""Tests of calc."""', set()),
        ("def test_plain():\n", "# a comment\ndef test_plain():  # another\n", set()),
        ("def test_plain", "def test_new():\n    assert 1\n\n\ndef test_plain", set()),
    ],
)
def test_what_reads_otherwise(old: str, new: str, told: set[str]) -> None:
    """The test, and those that name what changed; comments and new tests beside it are nothing of theirs."""
    assert BASE.count(old) >= 1
    assert names(BASE.replace(old, new, 1)) == told


@pytest.mark.parametrize("after", [None, "def ("])
def test_a_file_that_is_gone_or_cannot_be_read_is_all_of_its_tests(after: str | None) -> None:
    """Nothing of it can be told apart, and nothing of another file is meant."""
    assert names(after) == set(ALL)


def test_other_languages_go_by_the_file() -> None:
    """There is no syntax tree of theirs here."""
    tests = ("a.test.js::one", "a.test.js::two", "b.test.js::one")
    assert rewritten(tests, {"a.test.js": ("1", "2")}) == set(tests[:2])


def test_names_that_nothing_in_the_file_binds_are_not_meant() -> None:
    """A test that is made when the file runs is held to what it was."""
    made = f"{PATH}::TestMade::runTest"
    assert rewritten([made], {PATH: (BASE, BASE.replace("== 3", "== 4"))}) == set()


@pytest.mark.parametrize(
    "added",
    [
        "\n\ndef test_new():\n    assert half(2) == 1\n",
        "\n\nfrom calc import quarter\n\n\ndef test_quarter():\n    assert quarter(8) == 2\n",
        "\n\nclass TestNew:\n    def test_new(self):\n        assert half(2)\n",
        "\n\ndef helper():\n    return 4\n\n\ndef test_new():\n    assert half(helper()) == 2\n",
        "\n    def test_four(self):\n        assert self.size\n",
        "\n\nimport datetime\n\nDAY = datetime.date(2026, 1, 1)\nMANY = tuple(range(3))\nSLOW = pytest.mark.skipif(DAY is None)\n",
        "\n\ntry:\n    import tomllib\nexcept ImportError:\n    tomllib = None\n",
        "\n\nclass TestNew:\n    many = [half(4)]\n\n    def test_new(self):\n        assert self.many\n",
    ],
)
def test_what_only_adds_extends_a_file(added: str) -> None:
    """New tests with new names, what they import and what helps them: all that was there reads as before."""
    assert extended({PATH: (BASE, BASE + added)}) == {PATH}


@pytest.mark.parametrize(
    "added",
    [
        "\n\ndef test_plain():\n    pass\n",
        "\n\ndef half(x):\n    return 2\n",
        "\n\nfrom fake import calc\n",
        "\n\nLIMIT = 4\n",
        "\n\ndel test_plain\n",
        "\n\ncalc.triple = lambda x: 3\n",
        "\n\ndef setup_module():\n    calc.triple = lambda x: 3\n",
        "\n\ndef pytest_generate_tests(metafunc):\n    pass\n",
        "\n\npytestmark = pytest.mark.skip\n",
        "\n\n@pytest.fixture(autouse=True)\ndef calm():\n    pass\n",
        "\n\n@pytest.fixture\ndef n():\n    return 1\n",
        "\n\ndef test_new():\n    global LIMIT\n    LIMIT = 4\n",
        "\n\ndef test_new(x=(LIMIT := 4)):\n    pass\n",
        "\n\nfrom fake import *\n",
        "\n\nimport pytest as pytest\nprint(1)\n",
        "\n    def setup_method(self):\n        self.box = [1]\n",
        "\n    size = 3\n",
        "\n\nclass TestBox:\n    pass\n",
        "\n\ndef (",
        "\n\nif True:\n    ready_now = 1\n    calc.double = half\n",
        "\n\ntry:\n    import nothing\nexcept ImportError:\n    calc.double = half\n",
        "\n\nwith open('x') as f:\n    calc.double = half\n",
        "\n\n_patch = globals().update(test_half=None)\n",
        "\n\nfrom unittest import mock\n\n_patched = mock.patch.object(calc, 'double', half).start()\n",
        "\n\nimport sys\n\n_patched = sys.modules.update(calc=None)\n",
        "\n    @pytest.fixture(autouse=True)\n    def test_ready(self):\n        pass\n",
        "\n\ndef load_tests(loader, tests, pattern):\n    return tests\n",
        "\n\nfor _name in ('test_plain', 'test_cases'):\n    globals()[_name] = None\n",
        "\n\nclass TestNew:\n    calc.double = half\n",
        "\n\ndef late():\n    calc.double = half\n\n\n_late = late()\n",
        "\n\n_late = [calc := None]\n",
        "\n\nif setattr(calc, 'double', half):\n    late = 1\n",
    ],
)
def test_what_a_test_there_could_notice_does_not(added: str) -> None:
    """A name that tests there use, what is called unasked, what runs when the file is read."""
    assert extended({PATH: (BASE, BASE + added)}) == frozenset()


def test_a_changed_or_gone_test_is_no_addition() -> None:
    """Nor is a file that is gone, is new, cannot be read, or is not Python."""
    assert not extended({PATH: (BASE, BASE.replace("== 3", "== 4"))})
    assert not extended({PATH: (BASE, BASE.replace("def test_plain", "def test_other"))})
    assert not extended({PATH: (BASE, None), "tests/new.py": (None, BASE)})
    assert not extended({"a.test.js": ("1", "1;2")})


@pytest.mark.parametrize(
    ("path", "data", "text"),
    [
        ("a.py", b"x = '\xc3\xa9'", "x = '\xe9'"),
        ("a.py", b"\xef\xbb\xbfx = 1", "\ufeffx = 1"),
        ("a.py", b"# -*- coding: latin-1 -*-\nx = '\xe9'", "# -*- coding: latin-1 -*-\nx = '\xe9'"),
        ("a.py", b"# coding: utf-7\n# +AAo-import gc", "# coding: utf-7\n# \nimport gc"),
        ("a.py", b"x = '\xe9'", None),
        ("a.py", b"# coding: nowhere\nx = 1", None),
        ("a.c", b"/* \xe9 */ exit(0);", "/* \xe9 */ exit(0);"),
        ("a.cs", "/* \xe9 */".encode("utf-16"), None),
        ("a.png", b"\x89PNG\0", None),
    ],
)
def test_a_file_is_read_as_what_runs_it_reads_it(path: str, data: bytes, text: str | None) -> None:
    """Python by the encoding that it declares, so that no code hides in another one; of the rest, what is text."""
    assert source_of(path, data) == text

"""Of which files a test runs something, as pytest's own process sees it."""

from tests.integration.suite.conftest import Open, Write

FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": "def one():\n    return 1\n",
    "pkg/b.py": "from pkg.a import one\n\n\ndef two():\n    return one() + 1\n",
    "pkg/marks.py": "def mark(function):\n    return function\n",
    "pkg/store.py": "def connect():\n    return object()\n",
    "pkg/late.py": "def load():\n    return 3\n",
    "pkg/teardown.py": "def close():\n    pass\n",
    "tests/conftest.py": """import pytest
from pkg.store import connect
from pkg.teardown import close


@pytest.fixture(scope="module")
def store():
    return connect()


@pytest.fixture
def closing():
    yield
    close()
""",
    "tests/test_x.py": """import importlib
import sys
import threading
from pkg import a, b
from pkg.marks import mark


@mark
def test_two(): assert b.two() == 2
def test_one(): assert a.one() == 1
def test_thread():
    t = threading.Thread(target=a.one)
    t.start()
    t.join()
def test_nothing(store): pass
def test_late(closing): assert importlib.import_module("pkg.late").load() == 3
def test_tracer():
    sys.setprofile(None)
    a.one()
""",
}


def test_each_test_says_which_files_it_ran_a_function_of(write: Write, open_suite: Open) -> None:
    """Through other modules, threads, computed imports, teardown; what is shared counts for all, a tracer is unseen."""
    root = write(FILES)
    ran = open_suite(root).watch(root)
    product = {
        test.rpartition("::")[2]: {f for f in files if f.startswith("pkg/")}
        for test, files in ran.items()
    }
    assert product == {
        "test_two": {"pkg/a.py", "pkg/b.py"},
        "test_one": {"pkg/a.py"},
        "test_thread": {"pkg/a.py"},
        "test_nothing": set(),
        "test_late": {"pkg/late.py", "pkg/teardown.py"},
        "": {"pkg/marks.py", "pkg/store.py"},
    }


def test_a_suite_that_does_not_come_to_its_end_tells_nothing(
    write: Write, open_suite: Open
) -> None:
    """What was seen until then would be taken for all."""
    files = {**FILES, "tests/test_y.py": "import os\ndef test_end(): os._exit(0)\n"}
    root = write(files)
    assert open_suite(root).watch(root) == {}

"""A trial gives the verdict that a fresh process gives, whichever way it is tried."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.integration.suite.conftest import candidate

from surefoot.kernel.ports import Processes
from surefoot.suite import PytestSuite, SuitePlan
from surefoot.suite.worker import ForkedWorker, open_worker
from surefoot.values import Limits, ReportState, TestReport

ZOO = '''
"""Every kind of thing that a change can touch."""
import asyncio
import contextlib
import dataclasses
import functools

RATE = 3
TABLE = {n: n * RATE for n in range(4)}


def counted(function):
    calls = 0

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        nonlocal calls
        calls += 1
        wrapper.calls = calls
        return function(*args, **kwargs)

    return wrapper


def build(size):
    return [n + 1 for n in range(size)]


BUILT = build(3)


@counted
def double(x):
    return x * 2


@functools.lru_cache(maxsize=None)
def cached(x):
    return x + 100


def default(x, step=5):
    return x + step


def make_adder(n):
    def adder(x):
        return x + n

    return adder


add_two = make_adder(2)


def numbers(limit):
    for n in range(limit):
        yield n


RUNNING = numbers(10)
next(RUNNING)


async def fetch(x):
    await asyncio.sleep(0)
    return x + 7


@contextlib.contextmanager
def opened(log):
    log.append("in")
    yield log
    log.append("out")


class Shape:
    sides = 4

    def __init__(self, size):
        self.size = size

    @property
    def area(self):
        return self.size * self.size

    @classmethod
    def unit(cls):
        return cls(1)

    @staticmethod
    def name():
        return "shape"

    def describe(self):
        return f"{self.name()} {self.sides} {self.area}"


class Square(Shape):
    def describe(self):
        return "square: " + super().describe()


@dataclasses.dataclass
class Point:
    x: int = 0
    y: int = 0
    tags: list = dataclasses.field(default_factory=lambda: ["p"])

    def norm(self):
        return abs(self.x) + abs(self.y)


flip = lambda pair: (pair[1], pair[0])
'''
TESTS = """
import asyncio
import zoo

def test_table(): assert zoo.TABLE[2] == 6
def test_built(): assert zoo.BUILT == [1, 2, 3]
def test_double():
    assert zoo.double(4) == 8
    assert zoo.double.calls >= 1
def test_cached(): assert zoo.cached(1) == 101
def test_default(): assert zoo.default(1) == 6
def test_adder(): assert zoo.add_two(5) == 7
def test_make_adder(): assert zoo.make_adder(1)(1) == 2
def test_numbers(): assert list(zoo.numbers(3)) == [0, 1, 2]
def test_running(): assert next(zoo.RUNNING) == 1
def test_fetch(): assert asyncio.run(zoo.fetch(1)) == 8
def test_opened():
    log = []
    with zoo.opened(log): pass
    assert log == ["in", "out"]
def test_area(): assert zoo.Shape(3).area == 9
def test_describe(): assert zoo.Square.unit().describe() == "square: shape 4 1"
def test_point(): assert zoo.Point(1, -2).norm() == 3 and zoo.Point().tags == ["p"]
def test_flip(): assert zoo.flip((1, 2)) == (2, 1)
def test_source():
    import inspect
    assert "return x * 2" in inspect.getsource(zoo.double)
def test_child():
    import subprocess, sys
    code = "import zoo; print(zoo.default(0))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "5\\n"
"""

EDITS = {
    "nothing": ("RATE = 3", "RATE = 3", "warm"),
    "a body": ("return x * 2", "return x * 3", "warm"),
    "a body, with more lines": ("return x * 2", "y = x\n    y += y\n    return y", "warm"),
    "a body, with a new import": (
        "return x * 2",
        "import math\n    return int(math.pow(x, 1)) * 2",
        "warm",
    ),
    "a cached body": ("return x + 100", "return x + 101", "warm"),
    "a default": ("step=5", "step=6", "cold"),
    "a default and the body": (
        "step=5):\n    return x + step",
        "step=6):\n    return x + step - 1",
        "cold",
    ),
    "a new argument": ("def default(x, step=5)", "def default(x, step=5, more=0)", "cold"),
    "a constant": ("RATE = 3", "RATE = 4", "cold"),
    "a function that ran at import": ("n + 1 for n", "n + 2 for n", "cold"),
    "a decorator's wrapper": ("calls += 1", "calls += 1; args = (1,)", "warm"),
    "a decorator": ("calls = 0", "calls = -5", "cold"),
    "a new decorator": ("def default(", "@counted\ndef default(", "cold"),
    "a closure that exists": ("return x + n", "return x - n", "warm"),
    "a closure's free variables": ("return x + n", "return x + 1", "cold"),
    "a function around a closure": ("    return adder\n", "    return lambda x: x\n", "cold"),
    "a generator": ("yield n", "yield n + 1", "cold"),
    "a generator that becomes a function": ("        yield n\n", "        return [n]\n", "cold"),
    "a coroutine": ("return x + 7", "return x + 8", "warm"),
    "a context manager": ('log.append("out")', 'log.append("off")', "warm"),
    "a property": ("self.size * self.size", "self.size * 4", "warm"),
    "a class method": ("return cls(1)", "return cls(2)", "warm"),
    "a static method": ('return "shape"', 'return "form"', "warm"),
    "a class attribute": ("sides = 4", "sides = 5", "cold"),
    "an inherited method": ('return f"{self.name()}', 'return f"a {self.name()}', "warm"),
    "super() taken out": ('"square: " + super().describe()', '"square"', "cold"),
    "a base class": ("class Square(Shape)", "class Square(Point)", "cold"),
    "a dataclass method": ("abs(self.x) + abs(self.y)", "self.x + self.y", "warm"),
    "a dataclass field": ("x: int = 0", "x: int = 9", "cold"),
    "a default factory": ('["p"]', '["q"]', "warm"),
    "a lambda": ("(pair[1], pair[0])", "pair", "warm"),
    "a new function": ("RATE = 3", "def three():\n    return 3\nRATE = three()", "cold"),
    "a comment": ("RATE = 3", "# three\nRATE = 3", "warm"),
    "a name that does not exist": ("return x * 2", "return missing", "warm"),
    "a syntax error": ("return x * 2", "return x *", "cold"),
    "an exception at import": ("RATE = 3", "RATE = 1 / 0", "cold"),
    "sys.exit in a body": ("return x * 2", "raise SystemExit(0)", "warm"),
    "the process's end in a body": ("return x * 2", "import os\n    os._exit(0)", "warm"),
}


FRESH = (
    "nothing",
    "a body",
    "a constant",
    "a closure's free variables",
    "a syntax error",
    "a dataclass field",
)
"""Edits that are also tried in really fresh processes; the others are only in the long campaigns."""


@dataclass(frozen=True)
class Shared:
    root: Path
    suite: PytestSuite
    warm: ForkedWorker
    cold: ForkedWorker


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory, plan: SuitePlan, processes: Processes
) -> Iterator[Shared]:
    """The same workers for all edits, so that one trial's leftovers would show in the next."""
    home = tmp_path_factory.mktemp("parity")
    root = home / "project"
    (root / "tests").mkdir(parents=True)
    (root / "zoo.py").write_text(ZOO)
    (root / "tests" / "test_zoo.py").write_text(TESTS)
    limits = Limits(wall_s=60.0)
    suite = PytestSuite(plan, processes, original=root, scratch=home, limits=limits)
    base = suite.run(root)
    assert base.failing == (), base
    opened = partial(
        open_worker, plan, processes, original=root, root=root, scratch=home, limits=limits
    )
    known_s = {r.test_id: r.wall_s for r in base.results}
    ids = tuple(r.test_id for r in base.results)
    with (
        opened(tests=ids, known_s=known_s) as warm,
        opened(tests=ids, known_s=known_s, warm=False) as cold,
    ):
        yield Shared(root, suite, warm, cold)


def assert_agree(one: TestReport, other: TestReport) -> None:
    """Same state, same outcome of each test that both ran, and both or neither pass."""
    assert one.state is other.state, (one, other)
    assert bool(one.failing) == bool(other.failing)
    if one.state is ReportState.COMPLETE:
        outcomes = {r.test_id: r.outcome for r in other.results}
        assert {r.test_id: r.outcome for r in one.results}.items() <= outcomes.items()


@pytest.mark.parametrize("name", EDITS)
def test_a_warm_trial_agrees_with_a_cold_one(name: str, shared: Shared) -> None:
    """The same tests pass and fail up to the first failure, and the way is the fastest that is safe."""
    old, new, way = EDITS[name]
    assert old in ZOO
    trial = candidate("zoo.py", ZOO.replace(old, new, 1))
    before = dict(shared.warm.ways)
    warm = shared.warm.attempt(trial).report
    assert_agree(warm, shared.cold.attempt(trial).report)
    assert shared.cold.ways["warm"] == 0
    took = next(w for w in before if shared.warm.ways[w] != before[w])
    assert took == way, shared.warm.last_why


@pytest.mark.parametrize(
    "name", [n if n in FRESH else pytest.param(n, marks=pytest.mark.soak) for n in EDITS]
)
def test_a_trial_agrees_with_a_fresh_process(name: str, shared: Shared, tmp_path: Path) -> None:
    """What a trial says is what the deciding run would say."""
    old, new, _ = EDITS[name]
    edited = ZOO.replace(old, new, 1)
    root = tmp_path / "project"
    shutil.copytree(shared.root, root)
    (root / "zoo.py").write_text(edited)
    trial = shared.warm.attempt(candidate("zoo.py", edited)).report
    assert_agree(trial, shared.suite.run(root))


def test_a_function_whose_source_is_read_is_the_new_one(shared: Shared) -> None:
    """Tests that look at source files, or start a Python of their own, see the candidate too."""
    worker = shared.warm
    edited = ZOO.replace("return x * 2", "return 2 * x").replace(
        "return x + step", "return x + step + 1"
    )
    tests = ["tests/test_zoo.py::test_source", "tests/test_zoo.py::test_child"]
    for test in tests:
        assert worker.attempt(candidate("zoo.py", edited), [test]).report.failing == (test,)
        assert worker.attempt(candidate("zoo.py", ZOO), [test]).report.passing == (test,)

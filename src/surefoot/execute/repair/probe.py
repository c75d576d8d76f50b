"""A test file of our own that runs a function on given inputs and says, through its failure, what it did.

Candidates are run only inside the trial worker, and its one channel is the report of a test. So the probe is a test that
always fails, with a message that holds one short word an input. A candidate can print what it likes into that
message; the worst that it gains is to look like another candidate, and selection decides nothing but which of several
candidates that pass the real tests is handed to the gates.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from surefoot.execute.repair.examples import Example
from surefoot.execute.repair.inputs import Arguments
from surefoot.execute.source import Source
from surefoot.values import TestResult

RAISED: Final = "!"
"""First character of the word of an input on which the function raised."""
STUCK: Final = "?"
"""Word of an input on which it did not end in time."""
_MARK: Final = "SUREFOOT-PROBE"
_PAYLOAD: Final = re.compile(rf"{_MARK} ((?:(?:[0-9a-f]{{8}}|!\w+|\?|=[0-9a-f]*) )*)END")

_RUN: Final = '''\
"""Written by a repair search; never part of a change."""
import copy
import hashlib
import importlib
import signal


def _plain(value, depth=0):
    """A text that is equal for values that are equal."""
    if depth > 6:
        return "..."
    if isinstance(value, (bool, int, float)):
        number = float(value)
        if number != number:
            return "nan"
        if abs(number) < 1e15 and number == int(number):
            return str(int(number))
        return format(number, ".9g")
    if isinstance(value, (list, tuple)):
        inner = ",".join(_plain(v, depth + 1) for v in value)
        return ("[%s]" if isinstance(value, list) else "(%s)") % inner
    if isinstance(value, (set, frozenset)):
        return "{%s}" % ",".join(sorted(_plain(v, depth + 1) for v in value))
    if isinstance(value, dict):
        pairs = sorted((_plain(k, depth + 1), _plain(v, depth + 1)) for k, v in value.items())
        return "{%s}" % ",".join("%s:%s" % pair for pair in pairs)
    if hasattr(value, "__next__"):
        return "iter" + _plain([x for _, x in zip(range(200), value)], depth + 1)
    return repr(value)


class _Stuck(BaseException):
    pass


def _stop(signum, frame):
    raise _Stuck()


def _target():
    found = importlib.import_module(MODULE)
    for part in NAME.split("."):
        found = getattr(found, part)
    return found


def _word(function, arguments, shown):
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        text = _plain(function(*copy.deepcopy(arguments)))
    except _Stuck:
        return "?"
    except Exception as error:
        return "!" + type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if shown:
        return "=" + text[:SHOWN].encode().hex()
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _words(inputs, shown=False):
    signal.signal(signal.SIGALRM, _stop)
    function, words, stuck = _target(), [], 0
    for arguments in inputs:
        words.append(_word(function, arguments, shown) if stuck < 3 else "?")
        stuck += words[-1] == "?"
    return " ".join(words)


def test_behaviour():
    raise AssertionError("MARK " + _words(INPUTS) + " END")


def test_shown():
    raise AssertionError("MARK " + _words(INPUTS[:12], shown=True) + " END")


def test_examples():
    words = []
    for arguments, expected in EXAMPLES:
        word = _word(lambda *a: _plain(_target()(*a)) == _plain(expected), arguments, False)
        words.append(word)
    raise AssertionError("MARK " + " ".join(words) + " END")
'''
_TRUE: Final = "6b86b273"
"""Word of an example that holds: the digest of `1`, which is how the probe writes True."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A probe of one function."""

    path: str
    """Where the file stands in the tree."""
    text: str
    inputs: tuple[Arguments, ...]
    examples: tuple[Example, ...]

    @property
    def behaviour(self) -> str:
        """Id of the test that says what the function does on `inputs`."""
        return f"{self.path}::test_behaviour"

    @property
    def shown(self) -> str:
        """Id of the test that says the values of the first twelve inputs."""
        return f"{self.path}::test_shown"

    @property
    def examples_held(self) -> str:
        """Id of the test that says which of `examples` hold."""
        return f"{self.path}::test_examples"

    @property
    def tests(self) -> tuple[str, ...]:
        """All three ids."""
        return (self.behaviour, self.shown, self.examples_held)


def probe_of(
    module: str,
    qualname: str,
    beside: str,
    *,
    inputs: Sequence[Arguments],
    examples: Sequence[tuple[Example, Arguments]],
    limit_s: float = 0.1,
) -> Probe:
    """A probe of `module.qualname`, in the folder of the test file `beside`.

    `examples` are those with a value, each with its call's arguments.
    """
    told = ", ".join(f"({arguments!r}, {example.expected})" for example, arguments in examples)
    lists = ", ".join(repr(arguments) for arguments in inputs)
    settings = (
        f"MODULE = {module!r}\nNAME = {qualname!r}\nLIMIT = {limit_s}\nSHOWN = 80\n"
        f"INPUTS = [{lists}]\nEXAMPLES = [{told}]\n\n\n"
    )
    body = _RUN.replace("MARK", _MARK).replace(
        "\n\n\nclass _Stuck", f"\n\n\n{settings}class _Stuck"
    )
    name = "test_surefoot_probe.py"
    return Probe(
        path=str(PurePosixPath(beside).with_name(name)),
        text=body,
        inputs=tuple(inputs),
        examples=tuple(example for example, _ in examples),
    )


def words_of(result: TestResult | None) -> tuple[str, ...] | None:
    """What a probe's test said, one word an input; None when it did not get so far."""
    if result is None:
        return None
    for text in (result.message, result.detail):
        found = _PAYLOAD.search(" ".join(text.split()))
        if found is not None:
            return tuple(found[1].split())
    return None


def shown_values(words: Sequence[str]) -> tuple[str, ...]:
    """The readable values of `test_shown`."""
    return tuple(
        bytes.fromhex(word[1:]).decode(errors="replace") if word.startswith("=") else word
        for word in words
    )


def held(words: Sequence[str]) -> tuple[bool, ...]:
    """Which examples hold, from the words of `test_examples`."""
    return tuple(word == _TRUE for word in words)


def module_of(path: str, tests: Sequence[Source], paths: Sequence[str]) -> str:
    """The name by which a file is imported: as a test imports it, else from the package folders around it."""
    dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for test in tests:
        for name in _imported(test):
            if dotted == name or dotted.endswith("." + name):
                return name
    known = set(paths)
    parts = path.removesuffix(".py").split("/")
    start = len(parts) - 1
    while start > 0 and "/".join([*parts[:start], "__init__.py"]) in known:
        start -= 1
    return ".".join(parts[start:]).removesuffix(".__init__")


def _imported(test: Source) -> list[str]:

    names: list[str] = []
    for node in ast.walk(test.tree):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.extend([f"{node.module}.{alias.name}" for alias in node.names])
            names.append(node.module)
    return sorted(names, key=lambda n: -n.count("."))

"""A test file of our own that runs a function on given inputs and says, through its failure, what it did.

Candidates are run only inside the trial worker, and its one channel is the report of a test. So the probe is a test that
always fails, with a message that holds one short word an input. A candidate can print what it likes into that
message; the worst that it gains is to look like another candidate, or to be tried on the real tests. What passes is decided
by the real tests alone.
"""

import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from surefoot.execute.repair import plain as plain_source
from surefoot.execute.repair import relations as relations_source
from surefoot.execute.repair.examples import Example, literal
from surefoot.execute.repair.inputs import Arguments
from surefoot.execute.repair.plain import plain
from surefoot.execute.repair.relations import kept_of
from surefoot.execute.repair.stories import LOOK, Story
from surefoot.execute.source import Source
from surefoot.syntax import expression_of
from surefoot.values import TestResult

Words: TypeAlias = tuple[str, ...]
Checked: TypeAlias = tuple[Example, Arguments]
"""An example with a known value, and its call's arguments."""

RAISED: Final = "!"
"""First character of the word of an input on which the function raised."""
STUCK: Final = "?"
"""Word of an input on which it did not end in time."""
GIVEN_UP: Final = 3
"""So many of them, and the rest is not tried."""
_MARK: Final = "SUREFOOT-PROBE"
_PAYLOAD: Final = re.compile(rf"{_MARK} ((?:(?:[0-9a-f]{{8}}|!\w+|\?|=[0-9a-f]*|[+-]) )*)END")
_SHOWN: Final = 80
_FILE: Final = "test_surefoot_probe.py"
_EITHER: Final = 2
"""How many values stand for yes and no in other words, and how often each of them has to stand among known results."""

_HEAD: Final = '''\
"""Written by a repair search; never part of a change."""
import copy
import hashlib
import importlib
import signal

'''
_GIVE: Final = '''\
class _Stuck(BaseException):
    pass


def _stop(signum, frame):
    raise _Stuck()


def _give(function, arguments, stuck):
    """Kind and text of what a call gave."""
    if len(stuck) >= GIVEN_UP:
        return "?", ""
    # Processor time, so that a busy machine gives the same words; a call that only waits is given more of the clock's.
    signal.signal(signal.SIGPROF, _stop)
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.setitimer(signal.ITIMER_REAL, 20 * LIMIT)
    try:
        text = plain(function(*copy.deepcopy(arguments)))
        # Where it lies tells nothing: two processes have different functions, and coroutines, in one place.
        return ("?", "") if ADDRESS.search(text) else ("", text)
    except _Stuck:
        stuck.append(arguments)
        return "?", ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # `sys.exit` is an answer, too
        return "!" + type(error).__name__, ""
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _tell(words):
    raise AssertionError(MARK + " " + "".join(word + " " for word in words) + "END")


def _short(given):
    return [kind or hashlib.sha256(text.encode()).hexdigest()[:8] for kind, text in given]
'''
_CALLS: Final = """\
try:
    # At collection, so that the trial worker finds the function ready and need not start afresh for each candidate.
    importlib.import_module(MODULE)
except Exception:
    pass  # each test says it again


def _target():
    found = importlib.import_module(MODULE)
    for part in NAME.split("."):
        found = getattr(found, part)
    return found


def _values(rows):
    function, stuck = _target(), []
    given = [_give(function, arguments, stuck) for arguments in rows]
    _tell([kind or "=" + text[:SHOWN].encode().hex() for kind, text in given])


def _done(rows):
    function, stuck = _target(), []

    def seen(*arguments):
        found = function(*arguments)
        # Of what gives nothing, what it made of its arguments is all there is to see.
        return arguments if found is None and plain(arguments) != before else found

    given = []
    for arguments in rows:
        before = plain(arguments)
        given.append(_give(seen, arguments, stuck))
    _tell(_short(given))


def test_behaviour():
    _done(INPUTS)


def test_unusual():
    _done(UNUSUAL)


def test_strange():
    _done(STRANGE)


def test_relations():
    function, stuck = _target(), []

    def broken_by(*arguments):
        return broken(RELATIONS, arguments, function(*copy.deepcopy(arguments)))

    given = [_give(broken_by, arguments, stuck) for arguments in [*INPUTS, *UNUSUAL]]
    _tell([kind or ("+" if text == "-1" else "=" + text.encode().hex()) for kind, text in given])


def test_checked():
    _values([arguments for arguments, _ in CHECKED])


def test_examples():
    function, stuck = _target(), []
    given = [_give(function, arguments, stuck) for arguments, _ in EXAMPLES]
    wanted = [("", plain(expected)) for _, expected in EXAMPLES]
    _tell(["+" if got == right else "-" for got, right in zip(given, wanted)])
"""
_STORIES: Final = """\
import functools
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[DEPTH]


def _namespace(number, path):
    names, folder = ["surefoot_story_%d" % number], (ROOT / path).parent
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    spec = importlib.util.spec_from_file_location(".".join(names), ROOT / path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        return {"__builtins__": {}, "broken": error}  # its stories end at their first word
    return vars(module)


# At collection, so that the trial worker finds all of it ready and need not start afresh for each candidate.
SPACES = {path: _namespace(n, path) for n, path in enumerate(sorted({path for path, _ in STORIES}))}


class _Broken(Exception):
    pass


def _told(text, space):
    seen = []

    def look(thing):
        try:
            value = thing()
            if hasattr(value, "__next__"):
                taken = list(islice(value, MOST_ITEMS))
                seen.append("iter" + plain(taken))
                return iter(taken)
            seen.append(re.sub(" at 0x[0-9a-f]+", "", plain(value)))
            return value
        except Exception as error:
            seen.append("!" + type(error).__name__)

    own = dict(space, **{LOOK: look})
    exec(text, own)
    try:
        own["story"]()
    except (_Stuck, KeyboardInterrupt):
        raise
    except BaseException as error:
        seen.append("!" + type(error).__name__)
    if all(word.startswith("!") for word in seen):
        raise _Broken()
    return seen


def test_behaviour():
    stuck = []
    _tell(_short([_give(functools.partial(_told, text, SPACES[path]), (), stuck) for path, text in STORIES]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A probe of one function; one that tells stories has only `behaviour`."""

    path: str
    """Where the file stands in the tree."""
    text: str
    inputs: tuple[Arguments, ...]
    checked: tuple[Checked, ...]
    """Calls of the known tests with the values that they ask for."""
    examples: tuple[Checked, ...]
    """The same of docstring and issue."""
    steady: tuple[int, ...] = ()
    """Which words of `behaviour` tell a story of a test that passes on the unchanged code."""
    edges: int = 0
    """How many of the last words of `behaviour` are of inputs that count only where the unchanged code answers them."""
    unusual: tuple[Arguments, ...] = ()
    """Inputs of `unusual`, of which nothing says that anybody gives them."""
    strange: tuple[Arguments, ...] = ()
    """Inputs of `strange` and `unusual`, which tell apart answers that do the same on all others."""
    written: bool = True
    """Whether the function has a body, so that what the unchanged code does says something."""
    relations: tuple[tuple[str, int], ...] = ()
    """What holds between an argument and the result in all known calls, as `kept_of` gives it."""

    def test(self, name: str) -> str:
        """Id of one of its tests: `behaviour`, `unusual`, `strange`, `relations`, `checked`, `examples`."""
        return f"{self.path}::test_{name}"

    @property
    def tests(self) -> tuple[str, ...]:
        """All ids."""
        told = ("behaviour", "unusual", "strange", "relations", "checked", "examples")
        return tuple(self.test(n) for n in (told if self.inputs else ("behaviour",)))


def probe_of(  # each is a list of its own
    module: str,
    qualname: str,
    beside: str,
    *,
    inputs: Sequence[Arguments],
    checked: Sequence[Checked],
    examples: Sequence[Checked],
    edges: Sequence[Arguments] = (),
    unusual: Sequence[Arguments] = (),
    strange: Sequence[Arguments] = (),
    written: bool = True,
    rising: bool = False,
    limit_s: float = 0.1,
) -> Probe:
    """A probe of `module.qualname`, in the folder of the test file `beside`; `limit_s` bounds each call, in seconds of the processor.

    `edges` are inputs after `inputs`, which count only where the unchanged code answers them; one without a body answers none.
    `rising` is whether its docstring speaks of rising order.
    """
    inputs = (*inputs, *edges)
    known = [(a, _value(e)) for e, a in (*checked, *examples) if e.expected]
    relations = kept_of(known, rising=rising)
    settings = "\n".join(
        (
            f"MARK = {_MARK!r}",
            f"MODULE = {module!r}",
            f"NAME = {qualname!r}",
            f"LIMIT = {limit_s}",
            f"SHOWN = {_SHOWN}",
            f"INPUTS = [{', '.join(repr(a) for a in inputs)}]",
            f"UNUSUAL = [{', '.join(repr(a) for a in unusual)}]",
            f"STRANGE = [{', '.join(repr(a) for a in strange)}]",
            f"RELATIONS = {relations!r}",
            f"CHECKED = [{_pairs(checked)}]",
            f"EXAMPLES = [{_pairs(examples)}]",
        )
    )
    return Probe(
        path=str(PurePosixPath(beside).with_name(_FILE)),
        text=_program(settings, _CALLS),
        inputs=inputs,
        checked=tuple(checked),
        examples=tuple(examples),
        edges=len(edges),
        unusual=tuple(unusual),
        strange=tuple(strange),
        written=written,
        relations=relations,
    )


def probe_of_stories(beside: str, stories: Sequence[Story], *, limit_s: float = 0.5) -> Probe:
    """A probe that tells `stories`, in the folder of the test file `beside`; `limit_s` bounds each, in seconds of the processor."""
    path = PurePosixPath(beside).with_name(_FILE)
    settings = "\n".join(
        (
            f"MARK = {_MARK!r}",
            f"LOOK = {LOOK!r}",
            f"DEPTH = {len(path.parts) - 1}",
            f"LIMIT = {limit_s}",
            f"STORIES = {[(s.path, s.text) for s in stories]!r}",
        )
    )
    text = _program(settings, _STORIES)
    steady = tuple(place for place, story in enumerate(stories) if story.steady)
    return Probe(path=str(path), text=text, inputs=(), checked=(), examples=(), steady=steady)


def _program(settings: str, tests: str) -> str:
    settings = f"GIVEN_UP = {GIVEN_UP}\n{settings}"
    sources = "\n\n".join(map(inspect.getsource, (plain_source, relations_source)))
    return f"{_HEAD}{settings}\n\n\n{sources}\n\n{_GIVE}\n\n{tests}"


def _pairs(checked: Sequence[Checked]) -> str:
    # Values, not their source: what a docstring shows behind one, such as a remark, is no part of a program.
    return ", ".join(f"({arguments!r}, {_value(example)!r})" for example, arguments in checked)


def _value(example: Example) -> object:
    node = expression_of(example.expected or "None")
    return literal(node) if node is not None else None


def words_of(result: TestResult | None) -> Words | None:
    """What a probe's test said, one word an input; None when it did not get so far."""
    if result is None:
        return None
    for text in (result.message, result.detail):
        found = _PAYLOAD.search(" ".join(text.split()))
        if found is not None:
            return tuple(found[1].split())
    return None


def shown_value(word: str) -> str | None:
    """The readable value of a word of `checked`, at most 80 characters; None when there was none."""
    if not word.startswith("="):
        return None
    return bytes.fromhex(word[1:]).decode(errors="replace")


def first_broken(words: Words, relations: Sequence[tuple[str, int]]) -> str | None:
    """What of a probe's relations does not hold for some input, in words; None when all do. `words` are those of `relations`."""
    for word in words:
        place = shown_value(word) or ""
        if place.isdecimal() and int(place) < len(relations):
            told, argument = relations[int(place)]
            return told.format(f"argument {argument + 1}")
    return None


def expected_value(checked: Checked) -> str:
    """What `shown_value` is when an example holds."""
    return shown(_value(checked[0]))


def is_either(checked: Sequence[Checked]) -> bool:
    """Whether known results are yes and no, in these or other words, of which a wrong candidate gives each by chance."""
    truths = [isinstance(_value(example), bool) for example, _ in checked]
    known = Counter(map(expected_value, checked))
    other_words = len(known) == _EITHER and min(known.values()) >= _EITHER
    return other_words or (bool(truths) and all(truths))


def shown(value: object) -> str:
    """What `shown_value` is of a call that gives a value."""
    return plain(value)[:_SHOWN]


def held(words: Words) -> tuple[bool, ...]:
    """Which examples hold, from the words of `examples`."""
    return tuple(word == "+" for word in words)


def module_of(path: str, tests: Sequence[Source], paths: Sequence[str]) -> str:
    """The name by which a file is imported: as a test imports it, else from the package folders around it.

    A name that begins within a package is of another module, as one of the standard library or of a file beside the test is.
    """
    others = {*paths} - {path}
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    dotted, first = ".".join(parts), _first(path, {*paths, path})
    below_src = [n for n, folder in enumerate(parts[:-1], 1) if folder == "src"]
    source_root = below_src[-1] if below_src else first
    for test in tests:
        for name in _imported(test):
            start = len(parts) - name.count(".") - 1
            if dotted == name:
                return name
            is_whole = (start <= first or start == source_root) and dotted.endswith("." + name)
            if is_whole and not _is_of_another(name, test, others):
                return name
    name = ".".join(parts[min(first, source_root) :])
    return dotted if any(_is_of_another(name, test, others) for test in tests) else name


def _first(path: str, known: Collection[str]) -> int:
    """How many folders stand before those of a file's package."""
    folders = path.split("/")[:-1]
    first = len(folders)
    while first > 0 and "/".join([*folders[:first], "__init__.py"]) in known:
        first -= 1
    return first


def _is_of_another(name: str, test: Source, others: Collection[str]) -> bool:
    """Whether a name that a test imports is one of the standard library or of a file beside it or above."""
    if name.partition(".")[0] in sys.stdlib_module_names:
        return True
    place = name.replace(".", "/")
    folders = PurePosixPath(test.path).parents
    return any(
        str(folder / file) in others
        for folder in folders
        for file in (f"{place}.py", f"{place}/__init__.py")
    )


def _imported(test: Source) -> list[str]:
    names: list[str] = []
    for node in ast.walk(test.tree):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.extend([f"{node.module}.{alias.name}" for alias in node.names])
            names.append(node.module)
    return sorted(names, key=lambda n: -n.count("."))

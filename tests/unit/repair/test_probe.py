"""The probe: what a function does on given inputs, told through a failing test."""

import ast
import signal
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from surefoot.execute.repair.evidence import probe_for
from surefoot.execute.repair.examples import Example, arguments_of
from surefoot.execute.repair.ground import Files
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.plain import plain
from surefoot.execute.repair.probe import (
    Checked,
    Probe,
    Words,
    expected_value,
    first_broken,
    held,
    is_either,
    module_of,
    probe_of,
    shown_value,
    words_of,
)
from surefoot.execute.source import parse, units
from surefoot.values import TestOutcome, TestResult

MODULE = "probed_module"


def checked(call: str, expected: str, origin: str = "test") -> Checked:
    arguments = arguments_of(call)
    assert arguments is not None
    return Example(call=call, expected=expected, origin=origin), arguments


@pytest.fixture
def under_test() -> Iterator[types.ModuleType]:
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    yield module
    del sys.modules[MODULE]


def said(probe: Probe, name: str) -> Words | None:
    """Run one test of a probe in this process, as pytest would."""
    space: dict[str, object] = {}
    exec(compile(probe.text, probe.path, "exec"), space)
    test = space[f"test_{name}"]
    assert callable(test)
    with pytest.raises(AssertionError) as failure:
        test()
    text = "E   " + str(failure.value)
    result = TestResult(
        test_id=probe.test(name), outcome=TestOutcome.FAILED, message=text[:20], detail=text
    )
    return words_of(result)


def test_one_word_an_input(under_test: Any) -> None:
    """Equal values give equal words; what raised is named, and what does not end, busy or waiting, is stopped."""

    def f(x: int) -> object:
        if x == 3:
            raise ValueError(x)
        while x == 4:
            pass
        if x == 6:
            signal.pause()
        return x % 2

    under_test.f = f
    inputs = ((1,), (3,), (4,), (6,), (5,), (2,))
    probe = probe_of(
        MODULE, "f", "tests/test_f.py", inputs=inputs, checked=(), examples=(), limit_s=0.05
    )
    words = said(probe, "behaviour")
    assert words is not None
    assert words[1:4] == ("!ValueError", "?", "?")
    assert words[0] == words[4] != words[5]
    assert probe.path == "tests/test_surefoot_probe.py"


def test_after_three_that_do_not_end_the_rest_is_left(under_test: Any) -> None:
    """A function that never ends costs a bounded time."""

    def f(x: int) -> object:
        while True:
            pass

    under_test.f = f
    inputs = tuple((n,) for n in range(50))
    probe = probe_of(MODULE, "f", "test_f.py", inputs=inputs, checked=(), examples=(), limit_s=0.02)
    assert said(probe, "behaviour") == ("?",) * 50


def test_arguments_are_fresh_each_time(under_test: Any) -> None:
    """A function that changes its argument does not change the next input."""

    def f(items: list[int]) -> int:
        items.append(1)
        return len(items)

    under_test.f = f
    twice = (checked("f([5])", "2"), checked("f([5])", "2"))
    probe = probe_of(MODULE, "f", "test_f.py", inputs=(), checked=twice, examples=())
    words = said(probe, "checked")
    assert words is not None
    assert [shown_value(w) for w in words] == ["2", "2"]


def test_what_gives_nothing_is_told_by_what_it_makes_of_its_arguments(
    under_test: Any,
) -> None:
    """Where it gives something, and where it leaves them as they were, only by what it gives."""

    def words(f: Callable[[list[int]], object]) -> Words | None:
        under_test.f = f
        inputs = (([2, 1],), ([],))
        probe = probe_of(MODULE, "f", "test_f.py", inputs=inputs, checked=(), examples=())
        return said(probe, "behaviour")

    def doubled(items: list[int]) -> None:
        items[:] = [2 * n for n in items]

    up, twice, kept = words(list.sort), words(doubled), words(lambda items: None)
    assert up is not None
    assert twice is not None
    assert kept is not None
    assert len({up[0], twice[0], kept[0]}) == 3
    assert up[1] == twice[1] == kept[1]
    assert words(sorted) == words(lambda items: items.sort() or items)


def test_checked_calls_and_examples(under_test: Any) -> None:
    """Checked calls come with their values, examples with whether they hold."""
    under_test.f = lambda x: {x, -x}
    good, bad = checked("f(1)", "{1, -1}"), checked("f(2)", "{2}")
    probe = probe_of(MODULE, "f", "test_f.py", inputs=(), checked=(good, bad), examples=(bad, good))
    words = said(probe, "checked")
    assert words is not None
    assert shown_value(words[0]) == expected_value(good) == "{-1,1}"
    assert shown_value(words[1]) != expected_value(bad)
    told = said(probe, "examples")
    assert told is not None
    assert held(told) == (False, True)


def test_its_parts_share_no_name() -> None:
    """What a probe is put together of stands in one namespace, where a second definition would replace the first."""
    ok = checked("f(1)", "1")
    probe = probe_of(MODULE, "f", "test_f.py", inputs=((1,),), checked=(ok,), examples=(ok,))
    names: Counter[str] = Counter()
    for node in ast.parse(probe.text).body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.Assign(targets=[ast.Name(id=name)])
                | ast.AnnAssign(target=ast.Name(id=name))
            ):
                names[name] += 1
    assert {"plain", "relations", "test_behaviour"} <= set(names)
    assert [name for name, count in names.items() if count > 1] == []


def test_what_lies_somewhere_tells_nothing(under_test: Any) -> None:
    """Trials are forks of one process, in which different functions and coroutines lie in one place."""
    under_test.f = lambda n: lambda x: x + n
    probe = probe_of(MODULE, "f", "test_f.py", inputs=((1,), (2,)), checked=(), examples=())
    assert said(probe, "behaviour") == ("?", "?")


def test_an_input_that_ends_the_process_ends_no_probe(under_test: Any) -> None:
    """`sys.exit` is an answer like another exception."""

    def port(text: str) -> int:
        if not text.isdigit():
            sys.exit("no number")
        return int(text)

    under_test.f = port
    inputs = (("80",), ("8x",), ("443",))
    probe = probe_of(MODULE, "f", "test_f.py", inputs=inputs, checked=(), examples=())
    words = said(probe, "behaviour")
    assert words is not None
    assert [w == "!SystemExit" for w in words] == [False, True, False]


def test_methods_of_classes(under_test: Any) -> None:
    """A dotted name is looked up step by step."""

    class Box:
        @staticmethod
        def size(x: int) -> int:
            return 2 * x

    under_test.Box = Box
    probe = probe_of(
        MODULE, "Box.size", "test_f.py", inputs=(), checked=(checked("f(4)", "8"),), examples=()
    )
    words = said(probe, "checked")
    assert words is not None
    assert shown_value(words[0]) == "8"


@pytest.mark.parametrize(
    "results",
    [["True"], ["True", "False", "True"], ["'Yes'", "'No'", "'No'", "'Yes'"]],
)
def test_known_results_that_are_yes_and_no(results: list[str]) -> None:
    assert is_either([checked(f"f({n})", result) for n, result in enumerate(results)])


@pytest.mark.parametrize(
    "results",
    [
        [],
        ["'Yes'", "'Yes'"],
        ["'Yes'", "'No'", "'No'"],
        ["'Yes'", "'Yes'", "'No'", "'No'", "'Both'"],
        ["1", "True"],
    ],
)
def test_known_results_that_may_be_more_than_yes_and_no(results: list[str]) -> None:
    """Any two results may be two values of many: they are yes and no where neither stands there once."""
    assert not is_either([checked(f"f({n})", result) for n, result in enumerate(results)])


def test_what_known_results_have_in_common(under_test: Any) -> None:
    """A result that breaks it is told in words, also on an input that perhaps nobody gives; one that changes its argument is held against what was given."""
    calls = [
        checked("f([3, 1, 2], 2)", "[2, 3]"),
        checked("f([5, 4], 1)", "[5]"),
        checked("f([1, 9, 1], 3)", "[1, 1, 9]", "docstring"),
    ]
    probe = probe_of(
        MODULE, "f", "test_f.py", inputs=[([7, 8], 1)], unusual=[([7, 8], 0)],
        checked=calls[:2], examples=calls[2:],
    )  # fmt: skip
    under_test.f = lambda items, k: sorted(items)[-k:]  # type: ignore[attr-defined]
    words = said(probe, "relations")
    assert words is not None
    assert words[0] == "+"
    assert first_broken(words, probe.relations) == "has argument 2 items"

    def right(items: list[int], k: int) -> list[int]:
        items.sort()
        return [items.pop() for _ in range(k)][::-1]

    under_test.f = right  # type: ignore[attr-defined]
    assert said(probe, "relations") == ("+", "+")
    assert first_broken(("+", "!KeyError", "=39"), probe.relations) is None  # forged


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AssertionError: assert 1 == 2",
        'raise AssertionError("SUREFOOT-PROBE " + " ".join(words) + " END")',
        "SUREFOOT-PROBE not words END",
    ],
)
def test_other_failures_say_nothing(text: str) -> None:
    """A failure that is not the probe's own gives no words, the probe's source in a traceback included."""
    result = TestResult(test_id="t", outcome=TestOutcome.FAILED, message=text, detail=text)
    assert words_of(result) is None
    assert words_of(None) is None


def test_data_cannot_leave_its_place(under_test: Any) -> None:
    """Arguments and expected values are written as literals, whatever characters they hold."""
    nasty = "\"'\\\n{settings}\x00]]\ud800"
    under_test.f = lambda x: x
    probe = probe_of(MODULE, "f", "test_f.py", inputs=((nasty,),), checked=(), examples=())
    words = said(probe, "behaviour")
    assert words is not None
    assert len(words) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, True),
        (2.0, 2),
        (0.1 + 0.2, 0.3),
        ({1, 2}, {2, 1}),
        ({"a": 1, "b": 2}, {"b": 2.0, "a": True}),
        (iter([1, 2]), iter([1, 2])),
    ],
)
def test_equal_values_have_equal_texts(first: object, second: object) -> None:
    """Values that a test's `==` calls equal are not told apart."""
    assert plain(first) == plain(second)


class Price:
    """An object that shows no more of itself than where it lies."""

    def __init__(self, cents: object) -> None:
        self.cents = cents


def test_an_object_is_told_by_what_it_holds() -> None:
    """Not by where it lies, in whatever it stands; functions, which hold nothing that shows, are never the same."""
    one, other = Price(2), Price(2)
    assert repr(one) != repr(other)
    assert plain(one) == plain(other) != plain(Price(3))
    assert plain([{"a": Price(one)}]) == plain([{"a": Price(other)}]) != plain([{"a": one}])
    assert plain(lambda: 1) != plain(lambda: 2)
    ring = Price(1)
    ring.cents = ring
    assert "..." in plain(ring)


@pytest.mark.parametrize(
    ("first", "second"),
    [([1], (1,)), ("1", 1), ({}, set()), ([[]], []), (float("nan"), 0), (None, "")],
)
def test_other_values_have_other_texts(first: object, second: object) -> None:
    """Values that differ are told apart."""
    assert plain(first) != plain(second)


def test_deep_and_endless_values_are_cut() -> None:
    """A list in itself and an endless iterator have a text."""
    ring: list[object] = []
    ring.append(ring)
    assert "..." in plain(ring)

    def endless() -> Iterator[int]:
        while True:
            yield 1

    assert plain(endless()).startswith("iter[1,1,")


@pytest.mark.parametrize(
    ("path", "test", "paths", "name"),
    [
        ("solution.py", "from solution import f", (), "solution"),
        ("src/pkg/sub/mod.py", "from pkg.sub.mod import f", (), "pkg.sub.mod"),
        ("src/pkg/sub/mod.py", "from pkg.sub import mod", (), "pkg.sub.mod"),
        ("src/pkg/__init__.py", "import pkg", (), "pkg"),
        ("src/pkg/mod.py", "import os", ("src/pkg/__init__.py", "src/pkg/mod.py"), "pkg.mod"),
        ("lib/mod.py", "import os", ("lib/mod.py",), "mod"),
        ("shop/utils.py", "from utils import f", ("shop/utils.py", "utils.py"), "shop.utils"),
        ("shop/utils.py", "import utils", ("shop/__init__.py", "shop/utils.py"), "shop.utils"),
        ("geometry/math.py", "import math", ("geometry/__init__.py",), "geometry.math"),
        ("geometry/math.py", "import math", ("geometry/math.py",), "geometry.math"),
        ("src/acme/core/x.py", "import os", ("src/acme/core/x.py",), "acme.core.x"),
        ("src/acme/core/x.py", "import os", ("src/acme/core/__init__.py",), "acme.core.x"),
        ("src/acme/core/x.py", "import x", ("src/acme/core/x.py",), "x"),
        ("src/acme/x.py", "from acme.x import f", ("src/__init__.py",), "acme.x"),
        ("src/acme/__init__.py", "import os", ("src/acme/__init__.py",), "acme"),
        ("src/acme/__init__.py", "import os", (), "acme"),
        ("src/src.py", "import os", (), "src"),
    ],
)
def test_import_names(path: str, test: str, paths: tuple[str, ...], name: str) -> None:
    """A file is imported under the name that the tests use, else that of its packages."""
    source = parse("test_x.py", test)
    assert source is not None
    assert module_of(path, [source], paths) == name


def test_the_probe_runs_on_old_interpreters() -> None:
    """Its text uses no syntax that Python 3.8 lacks."""
    probe = probe_of("m", "f", "test_f.py", inputs=(), checked=(), examples=())
    compile(probe.text, "probe", "exec", dont_inherit=True)
    assert "match " not in probe.text
    parts = (n for n in ast.walk(ast.parse(probe.text)) if isinstance(n, ast.FunctionDef))
    signs = [s for f in parts for s in (f.returns, *(a.annotation for a in f.args.args)) if s]
    # A `list[int]` that is evaluated is an error before 3.9.
    assert not [s for s in signs if isinstance(s, ast.Subscript)]
    assert Path(probe.path).name == "test_surefoot_probe.py"


def test_a_remark_behind_an_example_is_no_part_of_the_probe(under_test: Any) -> None:
    """A text shows more than a value; the program that checks it has to be one all the same."""
    under_test.first = lambda items: items[:1]  # type: ignore[attr-defined]
    example = checked("first([1, 2])", "[1]  # the rest, from 2 on, is left", "docstring")
    probe = probe_of(MODULE, "first", "test_m.py", inputs=[([3],)], checked=(), examples=[example])
    assert held(said(probe, "examples") or ()) == (True,)
    assert expected_value(example) == "[1]"


TRI = '''\
def tri(n):
    """The first numbers of a sequence.

    tri(2) = 2
    tri(3) = [1, 3, 2, 8]
    tri(-1) = None
    """
    return [1, 3, 2, 8][: n + 1]
'''


@pytest.mark.parametrize(
    ("tests", "shown"),
    [
        ("assert tri(0) == [1]\n    assert tri(1) == [1, 3]", ["[1, 3, 2, 8]", "None"]),
        ("assert tri(0) == [1]\n    assert tri(1) == 3", ["2", "[1, 3, 2, 8]", "None"]),
        ("assert tri(0) == [1]", ["2", "[1, 3, 2, 8]", "None"]),
        ("assert tri(0) == 1\n    assert tri(1) == 3.0", ["2", "None"]),
    ],
)
def test_an_example_of_another_kind_than_all_that_tests_expect_is_none(
    tests: str, shown: list[str]
) -> None:
    """A docstring may write a number of a sequence as if the function gave it; `None` is told where there is nothing to give."""
    source = parse("m.py", TRI)
    test = parse("test_m.py", f"from m import tri\n\ndef test_tri():\n    {tests}\n")
    assert source is not None
    assert test is not None
    probe = probe_for(
        Suspect(path="m.py", unit=units(source)[0], score=1.0, lines={}),
        Files(product={"m.py": source}, tests={"test_m.py": test}, paths=("m.py", "test_m.py")),
        "",
        failing=("test_m.py::test_tri",),
        seed=1,
        count=8,
    )
    assert probe is not None
    assert [example.expected for example, _ in probe.examples] == shown

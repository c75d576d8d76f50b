import ast
import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest

from surefoot.syntax import dumped, expression_of, parse, tree_of, written

_SOURCE = "x = " + "+".join(["f(1)"] * 60) + "\n" + "def f():\n    return [1, 2, {3: 4}]\n" * 100
_ROUNDS = 40


class _Yielding:
    """Garbage that lets another thread go on in the middle of what the collector interrupted."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        os.sched_yield()


@pytest.fixture
def _hasty() -> Iterator[None]:
    """Threads that change, and a collector that runs, far more often than usual."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("_hasty")
def test_threads_that_parse_at_once_do_not_break_each_other() -> None:
    """CPython 3.11.7 raises a SystemError here within some rounds when nothing holds the others back."""
    broken: list[BaseException] = []
    begin = threading.Barrier(4)

    def parsing() -> None:
        begin.wait()
        try:
            for _ in range(_ROUNDS):
                _Yielding()
                parse(_SOURCE)
        except SystemError as error:
            broken.append(error)

    threads = [threading.Thread(target=parsing) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert broken == []


@pytest.mark.parametrize("source", ["x = (", "x = 'a\0'", "-" * 100_000 + "1"])
def test_whatever_is_no_python_is_a_syntax_error(source: str) -> None:
    with pytest.raises(SyntaxError) as raised:
        parse(source)
    assert raised.value.msg
    assert tree_of(source) is None
    assert expression_of(source) is None


def test_what_the_compiler_would_warn_of_is_not_said() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tree_of('x = "\\d"') is not None


def test_an_expression_is_all_that_the_text_holds() -> None:
    assert isinstance(expression_of(" a + 1\n"), ast.BinOp)
    assert expression_of("a = 1") is None
    assert expression_of("") is None


@pytest.mark.parametrize("told", [written, dumped])
def test_what_is_nested_too_deep_to_be_written_is_told_from_others(
    told: Callable[[ast.AST], str],
) -> None:
    """A chain of three hundred calls; one that differs in one name is another one."""
    chains = ["q" + "".join(f".a{n}(1)" for n in range(300)) for _ in range(2)]
    one, same, other = (expression_of(c) for c in (*chains, chains[0].replace("a7(", "b(")))
    assert one is not None
    assert same is not None
    assert other is not None
    assert told(one) == told(same)
    assert told(one) != told(other)
    assert len(written(one)) < 30


def test_what_can_be_written_is() -> None:
    node = expression_of("a [0]+ 1")
    assert node is not None
    assert written(node) == "a[0] + 1"
    assert dumped(node) == ast.dump(node)

"""A function without its last parameter does what it did for one value of it, and its issue asks for the rest."""

import pytest
from bench.repair.parameters import narrowed
from bench.repair.tasks import Check, Task


def task(*checks: str, head: str = "def scaled(n, by):") -> Task:
    return Task(
        task_id="x/1",
        entry="scaled",
        prompt=f'{head}\n    """`n` times `by`.\n\n    scaled(2, 3) == 6\n    """\n',
        canonical="    return n * by\n",
        checks=tuple(Check(setup="", source=f"assert {c}") for c in checks),
    )


def test_the_commonest_value_becomes_the_constant() -> None:
    """Its checks stay, without the argument; the docstring goes into the issue."""
    narrow = narrowed(task("scaled(1, 2) == 2", "scaled(4, 2) == 8", "scaled(1, 5) == 5"))
    assert not isinstance(narrow, str)
    assert narrow.source == "def scaled(n):\n    by = 2\n    return n * by\n"
    assert [c.source for c in narrow.visible] == ["assert scaled(1) == 2", "assert scaled(4) == 8"]
    assert "Add a parameter `by` to `scaled`" in narrow.issue
    assert "    scaled(2, 3) == 6" in narrow.issue
    assert "with 2 as the default" in narrow.issue


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (task("scaled(1) == 1", head="def scaled(n):"), "takes one argument"),
        (task("scaled(1, 2) == 2", "scaled(3, 2) == 6"), "all checks give the same value"),
        (task("scaled(1, [2]) == 2", "scaled(3, [1]) == 6"), "the value is no constant"),
        (task("scaled(1, 2) == 2", "scaled(3, int()) == 6"), "as no literal"),
        (task("scaled(1, 2) == scaled(2, 1)", "scaled(3, 1) == 3"), "as no literal"),
    ],
)
def test_what_makes_no_case_is_told(made: Task, why: str) -> None:
    """A default must be a constant, and the checks must ask for another one, too."""
    narrow = narrowed(made)
    assert isinstance(narrow, str)
    assert why in narrow

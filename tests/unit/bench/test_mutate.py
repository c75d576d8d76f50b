"""Mutants come from a seed, differ from the original, and mostly have several operators."""

import ast

import pytest
from bench.repair.mutate import Mutant, draw, sites
from bench.repair.tasks import Check, Task, load, rng

TASK = Task(
    task_id="x/1",
    entry="clamp",
    prompt='def clamp(value: int, low: int, high: int) -> int:\n    """Into the range."""\n',
    canonical="    if value < low:\n        return low\n    return min(value, high)\n",
    checks=(Check(setup="", source="assert clamp(1, 2, 3) == 2"),),
)


def mutants(task: Task, seed: int, draws: int) -> list[Mutant]:
    chance = rng("test", seed)
    return [m for m in (draw(task, chance) for _ in range(draws)) if m is not None]


@pytest.fixture(scope="module")
def example() -> list[Mutant]:
    return mutants(TASK, 5, 150)


def test_the_same_seed_draws_the_same_mutants() -> None:
    """And another seed draws others."""
    assert mutants(TASK, 1, 20) == mutants(TASK, 1, 20)
    assert mutants(TASK, 1, 20) != mutants(TASK, 2, 20)


def test_a_mutant_parses_keeps_the_docstring_and_is_not_the_original() -> None:
    """Only the body changes, and it does change."""
    original = ast.dump(ast.parse(TASK.prompt + TASK.canonical))
    for mutant in mutants(TASK, 3, 50):
        assert mutant.source.startswith(TASK.prompt.rstrip())
        assert ast.dump(ast.parse(mutant.source)) != original


def test_most_mutants_have_several_operators_and_each_of_them_alone_is_there() -> None:
    """At least half have two or more; their parts are the same places, one at a time."""
    drawn = [m for task in load()[0][:30] for m in mutants(task, 4, 3)]
    several = [m for m in drawn if len(m.operators) > 1]
    assert len(several) >= len(drawn) / 2
    for mutant in several:
        assert len(mutant.parts) == len(mutant.operators)
    assert all(not m.parts for m in drawn if len(m.operators) == 1)


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        ("compare", "value <= low"),
        ("twin function", "max(value, high)"),
        ("argument order", "min(high, value)"),
        ("negated condition", "if not value < low"),
        ("other variable", "return high"),
    ],
)
def test_operators_reach_their_places(example: list[Mutant], operator: str, text: str) -> None:
    """Each kind of place in the example is found."""
    assert operator in {site.operator for site in sites(TASK)}
    assert any(text in m.source for m in example)

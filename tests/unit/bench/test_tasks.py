"""Checks are cut into assertions that mean the same alone; what cannot be cut is left out and counted."""

from bench.repair.tasks import load, rng, split_checks

TEST = """
def check(candidate):
    # simple
    assert candidate([1]) == 1, "message"
    wanted = sum(range(4))
    assert candidate([1, 2, 3]) == wanted
    assert True
    assert candidate([1]) == 1
"""


def test_each_assertion_stands_alone_with_what_it_needs() -> None:
    """Messages and empty claims go, the function gets its name, what was assigned before comes along, once each."""
    checks = split_checks(TEST, "total")
    assert not isinstance(checks, str)
    assert [(c.setup, c.source) for c in checks] == [
        ("", "assert total([1]) == 1"),
        ("wanted = sum(range(4))", "assert total([1, 2, 3]) == wanted"),
        ("wanted = sum(range(4))", "assert total([1]) == 1"),
    ]


def test_loops_and_computed_checks_are_refused_with_a_reason() -> None:
    """A loop cannot be halved, and neither can a result that is computed before it is checked."""
    loop = "def check(candidate):\n    for i in range(9):\n        assert candidate(i) == i\n"
    assert "For" in str(split_checks(loop, "same"))
    early = "def check(candidate):\n    x = candidate(1)\n    assert x == 1\n"
    assert "computes" in str(split_checks(early, "same"))
    one = "def check(candidate):\n    assert candidate(1) == 1\n"
    assert "1 plain" in str(split_checks(one, "same"))


def test_every_problem_of_the_package_is_a_task_or_is_named_as_skipped() -> None:
    """Nothing disappears silently."""
    tasks, skipped = load()
    assert len(tasks) + len(skipped) == 164
    assert len(tasks) >= 150
    assert all(s.reason for s in skipped)


def test_chance_depends_on_its_parts_only() -> None:
    """The same parts give the same numbers in every process; other parts, others."""
    assert rng("a", 1).random() == rng("a", 1).random()
    assert rng("a", 1).random() != rng("a", 2).random()
    assert rng("a", 1).randrange(10**6) == 267923

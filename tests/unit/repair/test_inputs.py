"""Generated inputs."""

from surefoot.execute.repair.inputs import like


def test_the_same_seed_gives_the_same_inputs() -> None:
    """Inputs depend on what was seen, the seed and the count, and on nothing else."""
    seen = [([3, 1, 2], "ab"), ([5], "cd")]
    assert like(seen, seed=1, count=20) == like(seen, seed=1, count=20)
    assert like(seen, seed=1, count=20) != like(seen, seed=2, count=20)
    assert len(like(seen, seed=1, count=20)) == 20
    assert like([], seed=1, count=20) == ()


def test_new_ones_only() -> None:
    """No input is one that was seen, or given twice."""
    seen = [(1,), (2,), (3,)]
    made = like(seen, seed=1, count=50)
    assert not set(made) & set(seen)
    assert len(made) == len(set(made))


def test_types_and_signs_are_kept() -> None:
    """Arguments keep their types, numbers their range, and nothing is empty that was never empty."""
    for number, text, items in like([(3, "abc", [1.5]), (7, "xy", [0.5, 2.0])], seed=1, count=60):
        assert type(number) is int
        assert number >= 3
        assert isinstance(text, str)
        assert text
        assert isinstance(items, list)
        assert items
        assert all(isinstance(x, float) and x >= 0.5 for x in items)


def test_relations_between_arguments_are_kept() -> None:
    """What holds between all seen arguments holds between the new ones: order, lengths."""
    made = like([(1, 5, [1, 2]), (2, 9, [1, 2, 3]), (1, 1, [4])], seed=3, count=60)
    assert made
    assert all(a <= b and a <= len(row) for a, b, row in made)


def test_sorted_rows_stay_sorted() -> None:
    """A function that was only ever given sorted lists is given sorted lists."""
    made = like([([1, 2, 5],), ([0, 3],), ([2, 2, 2, 9],)], seed=1, count=40)
    assert made
    assert all(row == sorted(row) for (row,) in made)


def test_the_form_of_texts_is_kept() -> None:
    """Fractions stay fractions, brackets stay balanced, single blanks stay single."""
    made = like([("1/2", "(a) b"), ("13/5", "((x)) yz"), ("7/8", "(q)")], seed=1, count=60)
    assert made
    for fraction, brackets in made:
        left, _, right = fraction.partition("/")
        assert left.isdigit()
        assert right.isdigit()
        assert brackets.count("(") == brackets.count(")")
        assert "  " not in brackets

"""Generated inputs."""

from typing import Any

from surefoot.execute.repair.inputs import (
    holds_text,
    least_ones,
    like,
    small_ones,
    strange,
    unusual,
)


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


def test_rows_without_repetition_stay_so() -> None:
    """Three lists without an item twice are no accident, two may be; then candidates are told apart by repeated items."""
    rows = [([3, 1, 2],), ([5, 4],), ([7, 1, 9, 4],)]
    assert all(len(set(row)) == len(row) for (row,) in like(rows, seed=1, count=60))
    assert any(len(set(row)) < len(row) for (row,) in like(rows[:2], seed=1, count=60))


def test_the_form_of_texts_is_kept() -> None:
    """Fractions stay fractions, brackets stay balanced, single blanks stay single."""
    made: Any = like([("1/2", "(a) b"), ("13/5", "((x)) yz"), ("7/8", "(q)")], seed=1, count=60)
    assert made
    for fraction, brackets in made:
        left, _, right = fraction.partition("/")
        assert left.isdigit()
        assert right.isdigit()
        assert brackets.count("(") == brackets.count(")")
        assert "  " not in brackets


def test_letters_that_are_few_and_frequent_are_all_there_are() -> None:
    """Texts of bits stay texts of bits; of a few letters nothing is known."""
    made = like([("111000",), ("1010",), ("010",)], seed=1, count=60)
    assert made
    assert set("".join(bits for (bits,) in made)) == {"0", "1"}
    words = like([("cat",), ("dog",)], seed=1, count=60)
    assert set("".join(word for (word,) in words)) - set("catdog")


def test_words_that_are_few_and_frequent_are_all_there_are() -> None:
    """Eleven words of three kinds are no accident, and no other word is made; of texts that share few, any word is one."""
    notes = [("o o| .| o| o| .| .| .| o o o| .| o| .| .|",), ("o o",)]
    made: list[Any] = [text for (text,) in like(notes, seed=1, count=60)]
    assert {word for text in made for word in text.split()} == {"o", "o|", ".|"}
    said: Any = like([("one two",), ("two three",)], seed=1, count=60)
    assert {w for (text,) in said for w in text.split()} > {"one", "two", "three"}


def test_texts_have_other_words_that_the_code_knows() -> None:
    """Where three words or more and half of all stand in it: `eight` may be given to what reads `three` and `nine`. Where all of five do, there are no others."""
    written = {"one", "three", "five", "eight", "nine", "a sentence", "", "\n"}

    def words(*seen: tuple[object, ...]) -> set[str]:
        made = repr(like(seen, seed=1, count=192, written=written))
        return {word for word in ("eight", "nine", "a sentence") if word in made}

    assert words(("three five",), ("one x two",), ("five y",)) == {"eight", "nine"}
    assert words((["three", "five"],), (["one"],)) == {"eight", "nine"}
    assert words(("three five",), ("five",)) == set()
    assert words(("three five one",), ("a b c d",)) == set()
    free: Any = like([("three five one",), ("x y",)], seed=1, count=60, written=written)
    assert any({*text.split()} - written for (text,) in free)
    closed: Any = like([("three five one",), ("one five",)], seed=1, count=60, written=written)
    assert {word for (text,) in closed for word in text.split()} == written - {
        "a sentence",
        "",
        "\n",
    }
    assert like([("three five one",)], seed=1, count=9) == like(
        [("three five one",)], seed=1, count=9, written={"three", "five", "nine"}
    )


def test_some_have_a_value_in_two_arguments() -> None:
    """A limit that is an item, a length that is given, two texts that are equal; a quarter at most, and no relation is broken."""
    made = like([([1, 2, 4], 100), ([1, 20, 4], 5), ([7, 3], 22)], seed=1, count=48)
    assert any(limit == max(row) for row, limit in made)
    assert sum(limit in row for row, limit in made) < len(made) / 2
    assert any(a == b for a, b in like([("abc", "b"), ("defg", "xy")], seed=1, count=48))
    assert any(n == len(row) for row, n in like([([5, 6, 7], 1), ([8, 9], 9)], seed=1, count=48))
    assert all(a <= b for a, b in like([(1, 5), (2, 9), (4, 4)], seed=1, count=40))


def test_small_arguments_keep_what_holds_between_them() -> None:
    """Each is empty in turn and then all are, save where one that is empty beside one that is not would be a new thing; then single items."""
    assert small_ones([("ab", [1, 2, 3], 4), ("xyz", [1], 2)]) == (
        ("", [1, 2, 3], 4),
        ("ab", [], 4),
        ("", [], 4),
        ("a", [1, 2, 3], 4),
    )
    assert small_ones([("01", "11"), ("1", "0")]) == (("", ""),)
    assert small_ones([("", [1]), ("a", [2, 3])]) == (("", []),)
    assert small_ones([("pie",), ("",), ("tea",)]) == (("p",),)


def test_numbers_in_another_order_nought_and_a_half_are_unusual() -> None:
    """What was seen is not; neither are texts, or more numbers than have few orders."""
    turned = {(2, 3, 1), (2, 1, 3), (3, 1, 2), (3, 2, 1), (1, 3, 2)}
    small = {(0, 2, 3), (1, 0, 3), (1, 2, 0), (1, 1, 3), (1, 2, 1)}
    halves = {(0.5, 2, 3), (1, 0.5, 3), (1, 2, 0.5)}
    assert set(unusual([(1, 2, 3)])) == turned | small | halves
    assert set(unusual([(7,), (0,)])) == {(1,), (0.5,)}
    assert unusual([("ab", "b")]) == ()
    assert unusual([("ab", [7, 8])]) == (("ab", [0, 8]), ("ab", [1, 8]), ("ab", [0.5, 8]))
    assert len(unusual([(2, 3, 4, 5)])) == 12


def test_strange_inputs_are_of_the_same_kind() -> None:
    """Each argument in turn; what was seen is not strange, and of what is of no kind that is known nothing is made."""
    assert strange([(5, True), (-5, True)]) == ((5, False), (-5, False))
    assert strange([("aB", None)]) == (
        ("Ba", None),
        ("AB", None),
        ("ab", None),
        (" aB ", None),
        ("a", None),
    )
    assert strange([([3, 4], {})]) == (
        ([0], {}),
        ([1], {}),
        ([-1], {}),
        ([-3, -4], {}),
        ([4, 3], {}),
        ([3], {}),
        ([3, 3], {}),
    )
    assert strange([(("a", 1),)]) == (((1, "a"),), (("a",),), (("a", "a"),))
    assert strange([([],), ((),)]) == ()


def test_a_few_whole_numbers_are_all_nought_or_one() -> None:
    """Not where there are many of them, or something else is given, too."""
    assert least_ones([(16, 2), (9, 3)]) == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert least_ones([(7,)]) == ((0,), (1,))
    assert least_ones([(1, 2, 3, 4)]) == least_ones([(1, "a")]) == least_ones([(1, 0.5)]) == ()


def test_words_of_one_length_stay_so() -> None:
    """Where texts are made of single letters, no input joins two of them; fewer words say nothing."""
    letters = like([("a b b a",), ("r t g",), ("b",)], seed=1, count=40)
    assert len(letters) == 40
    assert {len(word) for (text,) in letters for word in str(text).split(" ")} == {1}
    few = like([("a b",), ("c",)], seed=1, count=40)
    assert {len(word) for (text,) in few for word in str(text).split(" ")} > {1}


def test_where_a_text_is() -> None:
    """Anywhere in it."""
    assert holds_text(([1, {"a": 2}],))
    assert holds_text(({2: ("x",)},))
    assert not holds_text(([1, {3: 2.5}], None, (), {4}))

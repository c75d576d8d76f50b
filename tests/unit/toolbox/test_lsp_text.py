"""Places and edits as the Language Server Protocol counts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.toolbox.lsp.text import (
    ENCODINGS,
    Encoding,
    Lines,
    Place,
    PlaceError,
    TextEdit,
    edited,
    is_pure_rename,
)

TEXT = "a\N{GRINNING FACE}é\r\nb\rc\n\n\x0cd\u2028"
encodings = st.sampled_from(ENCODINGS)
texts = st.text(alphabet=st.sampled_from("ab é\N{GRINNING FACE}\n\r\x0c\u2028"), max_size=30)


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> TextEdit:
    return TextEdit(start=Place(*start), end=Place(*end), text=text)


def test_lines_end_where_the_protocol_says() -> None:
    """Form feeds and Unicode's own separators are characters of a line."""
    lines = Lines(TEXT)
    assert [lines[n] for n in range(len(lines))] == [
        "a\N{GRINNING FACE}é",
        "b",
        "c",
        "",
        "\x0cd\u2028",
    ]


@given(texts, encodings, st.data())
def test_a_column_and_its_offset_are_inverse(
    text: str, encoding: Encoding, data: st.DataObject
) -> None:
    """Every character of every line is found again at its column."""
    lines = Lines(text)
    number = data.draw(st.integers(0, len(lines) - 1))
    index = data.draw(st.integers(0, len(lines[number])))
    place = Place(number, lines.column(number, index, encoding))
    offset = lines.offset(place, encoding)
    assert text[offset - index : offset] == lines[number][:index]


@pytest.mark.parametrize(
    ("place", "encoding"),
    [
        (Place(0, 2), "utf-16"),
        (Place(5, 1), "utf-32"),
        (Place(6, 0), "utf-32"),
        (Place(-1, 0), "utf-32"),
        (Place(0, -1), "utf-16"),
    ],
)
def test_a_place_that_is_none(place: Place, encoding: Encoding) -> None:
    """Half a character, and what lies outside of the text, are refused."""
    with pytest.raises(PlaceError):
        Lines(TEXT).offset(place, encoding)


def test_a_column_behind_the_line_is_its_end() -> None:
    """As the protocol says; and the line after the last one is the end of the text."""
    assert Lines(TEXT).offset(Place(1, 99), "utf-16") == TEXT.index("b") + 1
    assert Lines(TEXT).offset(Place(5, 0), "utf-16") == len(TEXT)


def test_edits_speak_of_the_text_before_them() -> None:
    """In whatever order they come, two of them at one place in theirs."""
    edits = [edit((1, 0), (1, 1), "BB"), edit((0, 3), (0, 4), "e"), edit((2, 1), (2, 1), "1")]
    edits.append(edit((2, 1), (2, 1), "2"))
    assert edited(TEXT, edits, "utf-16") == "a\N{GRINNING FACE}e\r\nBB\rc12\n\n\x0cd\u2028"


@pytest.mark.parametrize(
    "edits",
    [
        [edit((0, 0), (1, 0), ""), edit((0, 1), (0, 1), "x")],
        [edit((1, 0), (0, 0), "x")],
    ],
)
def test_edits_that_contradict_each_other(edits: list[TextEdit]) -> None:
    """Overlapping ones and one whose end comes before its start are refused."""
    with pytest.raises(PlaceError, match="overlap"):
        edited(TEXT, edits, "utf-32")


@pytest.mark.parametrize(
    ("before", "after", "is_pure"),
    [
        ("a.b(b2)", "a.c(b2)", True),
        ("c = b", "c = c", True),
        ("a.b(b2)", "a.c(c2)", False),
        ("a.b()", "a.c ()", False),
        ("\N{GRINNING FACE}b", "\N{GRINNING FACE}c", True),
        ("ab", "ac", False),
    ],
)
def test_a_pure_rename(before: str, after: str, is_pure: bool) -> None:  # noqa: FBT001
    """Whole names only, and nothing beside them."""
    assert is_pure_rename(before, after, ("b", "c")) is is_pure

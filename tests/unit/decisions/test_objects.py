"""The object in an answer."""

import pytest

from surefoot.decisions.objects import object_in


@pytest.mark.parametrize(
    "said",
    [
        '{"a": 1}',
        'So: {"a": 1} it is',
        '```json\n{"a": 1}\n```',
        'See {x}:\n```\n\n  {"a": 1}\n```',
        '<think>{"a": 2}</think>\n{"a": 1}',
        'The file has `{` here.\n\n{"a": 1}',
        'Sure, {ok}, and {} too: { "a": 1}',
        '```\n{ f(); }\n```\nSo:\n```json\n{\n  "a": 1}\n```',
    ],
)
def test_words_around_it_are_left_out(said: str) -> None:
    """Fences, thoughts and prose."""
    assert object_in(said) == {"a": 1}


def test_an_object_without_names_is_one() -> None:
    """Where there is no other."""
    assert object_in("So: {}") == {}
    assert object_in("```json\n{ }\n```") == {}


@pytest.mark.parametrize(
    "said",
    [
        "",
        "no",
        "```json\n" + "\n" * 200_000 + "sorry",
        "{",
        "{ok} {",
        # Parts of what is broken are no answers.
        '{"edits": [{"a": 1} {"a": 2}]}',
        '{"a": {"b": 1}, "c": {"d": 2}, oops',
        '{edits: [{"a": 1}]}',
        '{first: {"a": 1}, second: 2}',
        '{first: {"a": 1} }',
    ],
)
def test_where_there_is_none_that_is_told(said: str) -> None:
    """At once, also of an answer that is all line ends."""
    with pytest.raises(ValueError, match=r"Expecting"):
        object_in(said)


def test_a_long_block_without_an_object_is_read_once() -> None:
    """The line ends before a word that is no object, with a brace far behind."""
    said = "```json\n" + "\n" * 200_000 + 'sorry {"a": 1}'
    assert object_in(said) == {"a": 1}

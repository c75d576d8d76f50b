"""Reading code out of a model's answer."""

import pytest

from surefoot.decisions.code_reply import (
    MAX_REPLY_CHARACTERS,
    finished,
    read_code,
    read_lines,
    read_test,
)
from surefoot.execute.source import shape

ORIGINAL = 'def area(w, h):\n    """Area."""\n    total = w + h\n    return total'
RIGHT = "def area(w, h):\n    total = w * h\n    return total"

REPLIES = {
    "a block": f"Here it is:\n```python\n{RIGHT}\n```\nDone.",
    "a block without a language": f"```\n{RIGHT}\n```",
    "a block of tildes": f"~~~py\n{RIGHT}\n~~~",
    "a block that never ends": f"```python\n{RIGHT}",
    "a bare function": RIGHT,
    "prose, then a bare function": f"The operator is wrong. Use this:\n\n{RIGHT}\n",
    "the broken code first": f"You wrote\n```python\n{ORIGINAL}\n```\nIt must be\n```python\n{RIGHT}\n```",
    "windows newlines": f"```python\n{RIGHT}\n```".replace("\n", "\r\n"),
    "thinking first": f"<think>\n```python\n{ORIGINAL}\n```\n</think>\n```python\n{RIGHT}\n```",
    "an indented block": "```python\n" + "\n".join("    " + r for r in RIGHT.split("\n")) + "\n```",
    "a class around it": "```python\nclass Shape:\n"
    + "\n".join("    " + r for r in RIGHT.split("\n"))
    + "\n```",
    "another name": f"```python\n{RIGHT.replace('area', 'solution')}\n```",
    "a body that is not indented": "```python\ndef area(w, h):\ntotal = w * h\nreturn total\n```",
    "the body alone": "```python\ntotal = w * h\nreturn total\n```",
    "prose inside the block": f"```python\n{RIGHT}\n\nThis multiplies both.\n```",
    "a test behind it": f"```python\n{RIGHT}\n\n\nassert area(2, 3) == 6\nprint(area(1, 1))\n```",
    "a diff": "```diff\n--- a/m.py\n+++ b/m.py\n@@ -1,4 +1,4 @@\n def area(w, h):\n"
    '     """Area."""\n-    total = w + h\n+    total = w * h\n     return total\n```',
    "a diff with wrong numbers and no context": "```diff\n@@ -71,9 +71,9 @@\n-    total = w + h\n+    total = w * h\n```",
    "a diff without a header": '```\n     """Area."""\n-    total = w + h\n+    total = w * h\n     return total\n```',
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_code_is_found_whatever_its_form(reply: str) -> None:
    """The repaired function is read out of each of these answers."""
    read = read_code(reply, name="area", original=ORIGINAL)
    assert read.code is not None, read.problem
    assert shape(read.code) == shape(RIGHT)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "I fixed the function. All tests pass now.",
        "```python\n```",
        "```python\ndef area(w, h):\n    ...\n```",
        "```python\ndef area(w, h):\n    return ((\n```",
        "```python\ndef perimeter(w):\n    return 4 * w\n```",
        "```diff\n-    never = there\n+    total = w * h\n```",
        "\x00\ufffd" * 50,
        "def " * 20_000,
        "```" * 5_000,
    ],
)
def test_no_code_is_said_so(reply: str) -> None:
    """An answer without a usable definition gives no code and says why."""
    read = read_code(reply, name="area", original=ORIGINAL)
    assert read.code is None
    assert "area" in read.problem


def test_an_endless_reply_is_cut() -> None:
    """Ten megabytes of answer are not read to the end, and what comes first is still found."""
    read = read_code(
        f"```python\n{RIGHT}\n```\n" + "x" * 10_000_000, name="area", original=ORIGINAL
    )
    assert read.code == RIGHT
    late = "x" * (MAX_REPLY_CHARACTERS + 1) + f"\n```python\n{RIGHT}\n```"
    assert read_code(late, name="area", original=ORIGINAL).code is None


def test_what_comes_beside_the_function() -> None:
    """Imports and helpers that the function needs come with it; what it does not need stays out."""
    reply = (
        "```python\nimport math\nfrom __future__ import annotations\n\n"
        "def double(x):\n    return twice(x)\n\ndef twice(x):\n    return 2 * x\n\n"
        "def unused():\n    return 0\n\n"
        "@cached\ndef area(w, h):\n    return math.prod((double(w), h))\n```"
    )
    read = read_code(reply, name="area", original=ORIGINAL)
    assert read.imports == ("import math",)
    assert [h.partition("(")[0] for h in read.helpers] == ["def double", "def twice"]
    assert read.code is not None
    assert read.code.startswith("@cached\ndef area")


def test_a_renamed_recursive_function_calls_itself() -> None:
    """A new name is replaced wherever the function uses it."""
    reply = "```python\ndef go(w, h):\n    return go(w - 1, h) if w else h\n```"
    read = read_code(reply, name="area", original=ORIGINAL)
    assert read.code == "def area(w, h):\n    return area(w - 1, h) if w else h"


def test_lines_asked_for() -> None:
    """A line comes back with or without a block, and white space alone is none."""
    assert read_lines("```python\n    total = w * h\n```") == "total = w * h"
    assert read_lines("`total = w * h`") == "total = w * h"
    assert read_lines("```python\n\n```") is None


def test_a_test_is_read() -> None:
    """The first test function of an answer is taken, imports and prose around it are not."""
    reply = "```python\nfrom m import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n\n\ndef test_b():\n    pass\n```"
    assert read_test(reply) == "def test_area():\n    assert area(2, 3) == 6"
    assert read_test("I would test it.") is None
    assert read_test(reply.replace("6", "'[redacted:value]'")) is None
    assert read_test(
        "```python\ndef test_cut():\n    assert area(2, 3) == 6\n    assert area(\n"
    ) == ("def test_cut():\n    assert area(2, 3) == 6")


@pytest.mark.parametrize(
    ("reply", "whole"),
    [
        (f"```python\n{RIGHT}\n```\nIt multi", f"```python\n{RIGHT}\n```\nIt multi"),
        (f"```python\n{RIGHT}\n\n\nassert area(", f"```python\n{RIGHT}\n\n\n"),
        (f"{RIGHT}\n\n\nassert area(", f"{RIGHT}\n\n\n"),
        (f"```python\n{RIGHT}", "```python\n"),
        (f"```python\n{RIGHT}\n# of both", "```python\n"),
        ("```python\ndef area(w, h):\n    w += 1\n    s = '''\nof both", "```python\n"),
        ("```python\ndef area(w, h):\n    w += 1\n    s = max(\n1, 2", "```python\n"),
        (RIGHT, ""),
    ],
)
def test_of_a_reply_that_was_cut_off_the_last_statement_is_not_whole(
    reply: str, whole: str
) -> None:
    """Closed blocks are, and what stands before a statement at the left edge; a comment there proves nothing."""
    assert finished(reply) == whole

"""An edit changes its place and nothing else, byte for byte."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.errors import UsageError
from surefoot.toolbox.bounds import clean, clip, clip_lines
from surefoot.toolbox.text_edits import replace_once, replace_unit
from surefoot.toolbox.units import lines_of

_PIECES = st.sampled_from(
    ["a", "b", "ab", " ", "\n", "\r\n", "\\", ".", "*", "é", "\udcff", "\x0c"]
)
TEXTS = st.lists(_PIECES, max_size=10).map("".join)
SEARCHES = st.lists(_PIECES, min_size=1, max_size=4).map("".join)


@settings(max_examples=200)
@given(before=TEXTS, search=SEARCHES, after=TEXTS, replacement=TEXTS)
def test_search_and_replace_keeps_the_rest(
    before: str, search: str, after: str, replacement: str
) -> None:
    """What stands before and behind the place stays; the place holds the replacement, with one kind of line ends."""
    try:
        edited = replace_once(before + search + after, search, replacement)
    except UsageError as error:
        assert re.search(r"occurs \d+ times", str(error)), "it is there, so it is there too often"  # noqa: PT017
        return
    assert edited.text.startswith(before)
    assert edited.text.endswith(after)
    if after:
        middle = edited.text[len(before) : len(edited.text) - len(after)]
        assert middle.replace("\r\n", "\n") == replacement.replace("\r\n", "\n")
        assert len(set(re.findall(r"\r?\n", middle))) <= 1


@given(old=TEXTS, search=SEARCHES, replacement=TEXTS)
@example(old="a", search="a", replacement="\n\n")
def test_the_end_of_the_file_stays_what_it_was(old: str, search: str, replacement: str) -> None:
    """A file that ended with a newline still does, unless it is empty now; another one got none."""
    try:
        new = replace_once(old, search, replacement).text
    except UsageError:
        return
    if old.endswith("\n"):
        assert new.endswith("\n") or not new
    elif not old.startswith(new):  # nothing but a part cut off
        assert not new.endswith("\n")


@given(st.data())
def test_a_unit_keeps_its_neighbours(data: st.DataObject) -> None:
    """Whatever stands around a function, line by line, with whatever line ends."""
    newline = data.draw(st.sampled_from(["\n", "\r\n"]))
    others = st.sampled_from(
        ["x = 1", "", "# é", "@d\ndef g():\n    pass", 'y = """\nf\n"""', "class F:\n    a = 1"]
    )
    above = data.draw(st.lists(others, max_size=4))
    below = data.draw(st.lists(others, max_size=4))
    tail = data.draw(st.sampled_from(["", "\n"]))
    indent = data.draw(st.sampled_from(["", "    ", "\t"]))
    head = ["class C:"] if indent else []
    unit = "\n".join(f"{indent}{line}" for line in ("@d", "def f(self):", "    return 1"))
    new = "\n".join(f"{indent}{line}" for line in ("def f(self):", "    x = 2", "    return x"))

    def made(middle: str) -> bytes:
        return ("\n".join([*above, *head, middle, *below]) + tail).replace("\n", newline).encode()

    text = "def f(self):\n    x = 2\n    return x\n"
    old = made(unit)
    name = "C.f" if indent else "f"
    edited = replace_unit(old.decode(), old, name, text)
    assert edited.text.encode() == made(new)
    changed = lines_of(edited.text)[edited.first - 1 : edited.last]
    assert [line.strip() for line in changed] == ["def f(self):", "x = 2", "return x"]


@given(text=st.text(st.characters()) | TEXTS, limit=st.integers(0, 200))
def test_what_is_shown_is_bounded_and_can_be_stored(text: str, limit: int) -> None:
    """Cleaning twice is cleaning once; nothing is longer than its bound; what fits is whole."""
    shown = clean(text)
    assert clean(shown) == shown
    assert shown.encode().decode() == shown
    assert len(clip(shown, limit)) <= limit
    assert clip(shown, max(limit, len(shown))) == shown
    lines = text.split("\n")
    kept = clip_lines(lines, limit)
    assert len("\n".join(kept)) <= limit

"""What is kept of a command's output."""

from hypothesis import given
from hypothesis import strategies as st

from surefoot.sandbox.conversation import Kept, Lines

CHUNKS = st.lists(st.binary(max_size=40), max_size=20)


@given(chunks=CHUNKS, limit=st.integers(0, 100))
def test_kept_is_the_head(chunks: list[bytes], limit: int) -> None:
    """The first bytes are kept, and it is known whether there were more."""
    kept = Kept(limit)
    for chunk in chunks:
        kept.add(chunk)
    whole = b"".join(chunks)
    assert kept.take() == whole[:limit]
    assert kept.truncated == (len(whole) > limit)


@given(chunks=st.lists(st.binary(max_size=10).map(lambda b: b + b"\n"), max_size=20))
def test_lines_do_not_depend_on_chunks(chunks: list[bytes]) -> None:
    """However the stream was cut, the same lines come out in order."""
    whole = b"".join(chunks)
    lines = Lines(10_000)
    for at in range(0, len(whole), 7):
        lines.add(whole[at : at + 7])
    lines.close()
    assert list(iter(lambda: lines.next(0), None)) == whole.split(b"\n")[:-1]


@given(chunks=CHUNKS, limit=st.integers(0, 50))
def test_lines_have_no_holes(chunks: list[bytes], limit: int) -> None:
    """What a late reader gets is the beginning of the stream, in whole lines, within the limit."""
    lines = Lines(limit)
    for chunk in chunks:
        lines.add(chunk)
    lines.close()
    got = list(iter(lambda: lines.next(0), None))
    everything = b"".join(chunks).split(b"\n")[:-1]
    assert got == everything[: len(got)]
    assert sum(map(len, got)) <= limit
    assert lines.truncated or got == everything


def test_taking_makes_room() -> None:
    """Lines that were taken do not count any more."""
    lines = Lines(3)
    for _ in range(10):
        lines.add(b"abc\n")
        assert lines.next(0) == b"abc"
    assert not lines.truncated


def test_an_endless_line_is_not_kept() -> None:
    """A line longer than the limit is dropped, and what comes after it too."""
    lines = Lines(10)
    lines.add(b"x" * 11)
    lines.add(b"y\nshort\n")
    assert lines.next(0) is None
    assert lines.truncated

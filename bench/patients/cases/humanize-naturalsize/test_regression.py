"""Sizes below a kilobyte are whole numbers, whatever type they come in."""

import humanize


def test_bytes_are_whole() -> None:
    assert humanize.naturalsize(1.123456789) == "1 Bytes"


def test_gnu_bytes_are_whole() -> None:
    assert humanize.naturalsize(1.123456789, gnu=True) == "1B"

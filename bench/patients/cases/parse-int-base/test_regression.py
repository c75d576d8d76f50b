"""A parser finds the base anew for each number."""

import parse


def test_decimal_after_hexadecimal() -> None:
    parser = parse.compile("{:d}")
    assert parser.parse("0x1F")[0] == 31
    assert parser.parse("1000")[0] == 1000


def test_hexadecimal_after_decimal() -> None:
    parser = parse.compile("{:d}")
    assert parser.parse("1000")[0] == 1000
    assert parser.parse("0x1F")[0] == 31

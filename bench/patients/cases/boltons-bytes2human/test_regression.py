"""`bytes2human` has a symbol for every unit up to yottabytes."""

from boltons.strutils import bytes2human


def test_yottabytes_have_their_symbol() -> None:
    assert bytes2human(1024**8) == "1Y"
    assert bytes2human(3 * 1024**8) == "3Y"

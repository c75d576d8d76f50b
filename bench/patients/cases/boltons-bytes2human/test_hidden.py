"""What the fixed release does, beyond the issue's examples."""

from boltons.strutils import bytes2human


def test_beyond_and_below() -> None:
    assert bytes2human(2000 * 1024**8) == "2000Y"
    assert bytes2human(-(1024**8)) == "-1Y"
    assert bytes2human(1024**8 * 3 // 2, 1) == "1.5Y"
    assert bytes2human(5 * 1024**7) == "5Z"
    assert bytes2human(1024**7) == "1Z"
    assert bytes2human(1024) == "1K"
    assert bytes2human(0, 2) == "0.00B"
    assert bytes2human(128991) == "126K"

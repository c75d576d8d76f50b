"""What the fixed release does, beyond the issue's examples."""

import parse


def test_bases_do_not_stick() -> None:
    parser = parse.compile("{:d}")
    texts = ["0b1011", "0o17", "-0x1f", "+12", "0b1", "7", "1011"]
    assert [parser.parse(text)[0] for text in texts] == [11, 15, -31, 12, 1, 7, 1011]


def test_given_bases_stay() -> None:
    assert parse.parse("{:x}", "1F")[0] == 31
    assert parse.parse("{:b}", "1011")[0] == 11
    assert parse.parse("{:o}", "17")[0] == 15

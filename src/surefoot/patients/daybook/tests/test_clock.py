import pytest
from daybook import format_minutes, parse_minutes


@pytest.mark.parametrize(("text", "total"), [("9:05", 545), ("00:00", 0), ("24:00", 1440)])
def test_times_are_minutes(text, total):
    assert parse_minutes(text) == total


def test_format_is_the_reverse():
    assert format_minutes(parse_minutes("07:30")) == "07:30"


@pytest.mark.parametrize("text", ["", "9", "9:60", "24:01", "a:10"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="not a time of day"):
        parse_minutes(text)

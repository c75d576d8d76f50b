"""Times of a day as minutes since midnight."""

MINUTES_A_DAY = 24 * 60


def parse_minutes(text: str) -> int:
    """Turn `"9:05"` or `"09:05"` into 545. `"24:00"` is the end of the day."""
    hours, colon, minutes = text.strip().partition(":")
    if not colon or not hours.isdigit() or not minutes.isdigit():
        raise ValueError(f"not a time of day: {text!r}")
    total = int(hours) * 60 + int(minutes)
    if int(minutes) >= 60 or total > MINUTES_A_DAY:
        raise ValueError(f"not a time of day: {text!r}")
    return total


def format_minutes(total: int) -> str:
    """Turn 545 into `"09:05"`."""
    hours, minutes = divmod(total, 60)
    return f"{hours:02}:{minutes:02}"

"""The timestamp 0 is the epoch."""

import datetime as dt

import pytest
from marshmallow import ValidationError, fields


@pytest.mark.parametrize("fmt", ["timestamp", "timestamp_ms"])
def test_zero_is_the_epoch(fmt: str) -> None:
    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # what the field gives
    assert fields.DateTime(format=fmt).deserialize(0) == epoch


def test_false_is_no_timestamp() -> None:
    with pytest.raises(ValidationError, match="Not a valid datetime"):
        fields.DateTime(format="timestamp").deserialize(False)

"""What the fixed release does, beyond the issue's examples."""

import datetime as dt

import pytest
from marshmallow import ValidationError, fields


def test_zero_in_other_shapes() -> None:
    epoch = dt.datetime(1970, 1, 1)  # noqa: DTZ001  # what the field gives
    assert fields.DateTime(format="timestamp").deserialize(0.0) == epoch
    assert fields.DateTime(format="timestamp").deserialize("0") == epoch
    aware = epoch.replace(tzinfo=dt.UTC)
    field = fields.AwareDateTime(format="timestamp", default_timezone=dt.UTC)
    assert field.deserialize(0) == aware


@pytest.mark.parametrize("fmt", ["timestamp", "timestamp_ms", "iso", "rfc", "%Y"])
@pytest.mark.parametrize("value", ["", [], {}, "no"])
def test_what_is_not_a_time_stays_invalid(fmt: str, value: object) -> None:
    with pytest.raises(ValidationError):
        fields.DateTime(format=fmt).deserialize(value)


@pytest.mark.parametrize("fmt", ["timestamp", "iso", "rfc", "%Y"])
def test_false_stays_invalid(fmt: str) -> None:
    with pytest.raises(ValidationError):
        fields.DateTime(format=fmt).deserialize(False)


def test_zero_is_no_iso_time() -> None:
    with pytest.raises(ValidationError):
        fields.DateTime().deserialize(0)

"""What the fixed release does, beyond the issue's examples."""

import pytest
from validators.uri import uri


@pytest.mark.parametrize("text", ["mailto:m@example.com", "mailto:tomato@example.com"])
def test_good(text: str) -> None:
    assert uri(text) is True


@pytest.mark.parametrize(
    "text",
    ["mailto:", "mailto:@example.com", "mailto:mailto:o@example.com", "mailto: o@example.com"],
)
def test_bad(text: str) -> None:
    assert not uri(text)

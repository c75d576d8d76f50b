"""Only the scheme is cut off a mailto URI."""

import pytest
from validators.uri import uri


@pytest.mark.parametrize("address", ["o@example.com", "at@example.com", "mail@example.com"])
def test_the_address_stays_whole(address: str) -> None:
    assert uri("mailto:" + address) is True

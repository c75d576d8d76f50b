"""Without forged tools the step loop does what it did before there were any (issue 7, flags off)."""

import pytest
from bench.tool_baseline import committed, trace


@pytest.mark.parametrize(
    "domain",
    [
        "log_analysis",
        pytest.param("code_search", marks=pytest.mark.soak),
        pytest.param("data_conversion", marks=pytest.mark.soak),
    ],
)
def test_a_domain_goes_as_it_went_before(domain: str) -> None:
    """Every request to the model, every tool call and the order of all events are those of the committed trace."""
    assert trace(domain) == committed(domain)

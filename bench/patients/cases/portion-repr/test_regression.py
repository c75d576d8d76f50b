"""A single value is written as such inside a union, too."""

import portion as P  # noqa: N812  # the name its documentation uses


def test_single_values_in_a_union() -> None:
    assert repr(P.singleton(1) | P.open(2, 3)) == "[1] | (2,3)"
    assert repr(P.open(0, 1) | P.singleton(5)) == "(0,1) | [5]"

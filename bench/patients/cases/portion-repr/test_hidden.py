"""What the fixed release does, beyond the issue's examples."""

import portion as P  # noqa: N812  # the name its documentation uses


def test_other_intervals() -> None:
    assert repr(P.singleton(1) | P.singleton(2)) == "[1] | [2]"
    assert repr(P.singleton("a") | P.closed("c", "d")) == "['a'] | ['c','d']"
    assert repr(P.empty()) == "()"
    assert repr(P.singleton(1)) == "[1]"
    assert repr(P.closedopen(0, 1)) == "[0,1)"
    assert repr(P.open(-P.inf, P.inf)) == "(-inf,+inf)"
    assert repr(P.closed(0, 1) | P.openclosed(2, 3)) == "[0,1] | (2,3]"

"""Reports of test runners of other languages, read into results by test id. Pure: text in, `Parsed` out."""

from collections.abc import Callable, Mapping
from typing import Final

from surefoot.suite.formats import cargo, gotest, jest, junit, node, tap
from surefoot.suite.formats.parsed import Parsed, Place
from surefoot.values import TestFormat

PARSERS: Final[Mapping[TestFormat, Callable[[bytes, Place], Parsed]]] = {
    "cargo": cargo.parse,
    "go": gotest.parse,
    "jest": jest.parse,
    "junit": junit.parse,
    "node": node.parse,
    "tap": tap.parse,
}

__all__ = ["PARSERS", "Parsed", "Place"]

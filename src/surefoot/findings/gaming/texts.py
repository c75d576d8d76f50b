"""Tests that are not Python: counted by what their languages call a test, an assertion and a skip; and data of tests."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from surefoot.findings.fingerprint import normalise, split_lines
from surefoot.findings.gaming.told import Contents, Told, is_python, words

_CODE: Final = words(
    ".js .jsx .mjs .cjs .ts .tsx .go .rs .java .kt .kts .scala .groovy .rb .php .c .cc .cpp .h .hpp .cs "
    ".swift .ex .exs .erl .clj .lua .pl .t .sh .bats .dart .jl .r .hs .ml"
)
_TEST: Final = re.compile(
    r"\b(?:it|test|describe|specify|scenario)(?:\.\w+)*\s*\(|\b(?:it|test|describe)\s+[\"']|\bfunc\s+Test\w*"
    r"|#\[(?:\w+::)?test\b|@(?:Parameterized)?Test\b|\bTEST(?:_F|_P)?\s*\(|\bdef\s+test|\bfunction\s+test"
    r"|@test\b|\[(?:Fact|Theory|Test)\b"
)
_ASSERTION: Final = re.compile(
    r"\b(?:expect|should|require|assert\w*|check|verify|XCTAssert\w*|EXPECT_\w+|ASSERT_\w+|CHECK\w*)\b"
    r"|\bt\.(?:Error|Fatal|Fail)\w*"
)
_SKIP: Final = re.compile(
    r"\.(?:skip|todo|only|failing)\b|\b[xf](?:it|describe|test|context)\b|@(?:Ignore|Disabled)\b|#\[ignore"
    r"|\bt\.Skip\w*|\b(?:GTEST_SKIP|pending|markTestSkipped|skip_test)\b|\bSkip\s*="
)


def weakened_texts(contents: Contents, test_paths: frozenset[str]) -> Iterator[Told]:
    """What happened to tests in other languages, and to files that tests compare with."""
    for path in sorted(path for path in contents if path in test_paths and not is_python(path)):
        before, after = contents[path]
        if PurePosixPath(path).suffix.lower() not in _CODE:
            if before is not None or after is None:
                what = "is gone" if before is not None and after is None else "changed"
                yield Told(
                    rule="test-data-changed", file=path, message=f"data that tests rest on {what}"
                )
        elif before is not None:
            yield from _compare(path, before, after or "")


def _compare(path: str, before: str, after: str) -> Iterator[Told]:
    if _count(_TEST, after) < _count(_TEST, before):
        fewer = _count(_TEST, before) - _count(_TEST, after)
        yield Told(rule="deleted-test", file=path, message=f"{fewer} fewer tests than before")
    if _count(_SKIP, after) > _count(_SKIP, before):
        yield Told(rule="skipped-test", file=path, message="a skip was added")
    lost = Counter(_assertions(before)) - Counter(_assertions(after))
    if lost:
        yield Told(
            rule="weakened-test", file=path, message=f"`{next(iter(lost))[:80]}` is gone or changed"
        )


def _count(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in pattern.finditer(text))


def _assertions(text: str) -> Iterator[str]:
    return (normalise(line) for line in split_lines(text) if _ASSERTION.search(line))

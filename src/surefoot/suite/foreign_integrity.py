"""What a change adds, in languages that are not parsed here, that only makes sense against their test runner.

Words, not syntax: enough to make a person look. What a runner cannot keep from the code that it runs is told for each in
docs/explanation/verification.md.
"""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from surefoot.suite.integrity import suspicious
from surefoot.suite.layout import LANGUAGES

_EVERYWHERE: Final = r"/proc/|\bSUREFOOT_"
_SCRIPT: Final = (
    r"\bnode:test\b|\bNODE_TEST_CONTEXT\b|\bnode:(?:inspector|module|v8|vm)\b"
    r"|(?:require|import)\s*\(?\s*['\"](?:inspector|module|test|v8|vm)['\"]|\brequire\.cache\b|\bModule\._\w+"
    r"|\bprocess\.(?:abort|binding|dlopen|kill|reallyExit|removeAllListeners|_\w+)\b|\bbeforeExit\b"
    r"|\bassert(?:\.\w+)*\s*=(?![=>])|\b(?:Object|Array|Function|Promise)\.prototype\.\w+\s*=(?!=)"
    r"|\b(?:jest|vitest)\b|\b(?:eval|Function)\s*\("
)
_GO: Final = r'"(?:testing(?:/\w+)*|unsafe|plugin|syscall|runtime/debug)"|--- (?:PASS|FAIL)|\\x16|go:linkname'
_RUST: Final = r"\bprocess::(?:exit|abort)\b|\btest result:|\blibc::|\bextern \"C\""
_WORDS: Final[Mapping[str, re.Pattern[str]]] = {
    language: re.compile(f"{_EVERYWHERE}|{words}")
    for language, words in (
        ("javascript", _SCRIPT),
        ("typescript", _SCRIPT),
        ("go", _GO),
        ("rust", _RUST),
    )
}


def suspicious_source(path: str, before: str | None, after: str) -> tuple[str, ...]:
    """As `suspicious`, for a file of any language; a language without a rule is innocent."""
    language = LANGUAGES.get(PurePosixPath(path).suffix.lower())
    if language == "python":
        return suspicious(before, after)
    words = _WORDS.get(language or "")
    if words is None:
        return ()
    old = Counter(match[0] for match in words.finditer(before or ""))
    found: dict[str, int] = {}
    new: Counter[str] = Counter()
    for match in words.finditer(after):
        new[match[0]] += 1
        found.setdefault(match[0], after.count("\n", 0, match.start()) + 1)
    return tuple(f"{word} (line {found[word]})" for word in sorted(found) if new[word] > old[word])

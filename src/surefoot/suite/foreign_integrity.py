"""What a change adds, in languages that are not parsed here, that only makes sense against their test runner.

Words, not syntax: enough to make a person look. What a runner cannot keep from the code that it runs is told for each in
docs/explanation/verification.md.

Whoever forges a report that the tests' own process prints has to end the process before the real one is done, to silence
it, or to call the test library; so those are the words of every language, and a language without words of its own has
these alone. An exit with a number that is not 0 is innocent: a report without a failure does not agree with it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from surefoot.suite.integrity import suspicious
from surefoot.suite.layout import LANGUAGES
from surefoot.suite.script_patches import patches

_EVERYWHERE: Final = r"/proc/|\bSUREFOOT_"
_SCRIPT: Final = (
    r"\bnode:test\b|\bNODE_TEST_CONTEXT\b|\bnode:(?:inspector|module|v8|vm)\b"
    r"|\b(?:require|import|from)\s*\(?\s*['\"](?:inspector|module|test|v8|vm)['\"]|\brequire\.cache\b|\bModule\._\w+"
    r"|\bprocess\.(?:abort|binding|dlopen|kill|reallyExit|removeAllListeners|_\w+)\b|\bbeforeExit\b"
    r"|\bassert(?:\.\w+)*\s*=(?![=>]|\s*(?:await\s+import|require)\s*\(\s*['\"](?:node:)?assert(?:/strict)?['\"])"
    r"|\bexpect\s*\.\s*extend\b"
    r"|\bglobal(?:This)?\s*(?:\.\s*|\[\s*['\"])(?:after\w*|assert|before\w*|describe|expect|it|suite|test)\b['\"\]\s]*=(?![=>])"
    r"|\b(?:Object|Array|Function|Promise)\.prototype\.\w+\s*=(?!=)"
    r"|\b(?:jest|vitest)\b|\b(?:eval|Function)\s*\("
)
_GO: Final = r'"(?:testing(?:/\w+)*|unsafe|plugin|syscall|runtime/debug)"|--- (?:PASS|FAIL)|\\x16|go:linkname'
_RUST: Final = r"\bprocess::(?:exit|abort)\b|\btest result:|\blibc::|\bextern \"C\""
_REPORT: Final = (
    r"\b(?:not )?ok \d|['\"]1\.\.\d|\bTAP version\b|\bBail out!|<testsuites?\b|<testcase\b"
    r"|\btest result:|--- (?:PASS|FAIL)"
)
"""Lines of a runner's report."""
_END: Final = (
    r"\b(?:_exit|_Exit|quick_exit|posix_kill)\b|\bexit!|\b(?:[Ee]xit|halt|FailFast)\s*\((?!\s*[1-9])"
    r"|(?<![\w'\"$.-])exit(?=\s*(?:;|\}|0|\$\w|(?:if|unless)\b))|(?m:^[ \t]*exit[ \t]*$)"
    r"|\b(?:abort|kill|raise|atexit|at_exit|on_exit)\s*\(|(?<![\w.>$])exec[lv]?[pe]{0,2}\s*[('\"]"
)
"""The end of the process, or another program in its place."""
_OUTPUT: Final = r"\bdup2?\s*\(|\bfreopen\s*\(|/dev/(?:fd|stdout|tty)\b"
"""Another place for what the process prints from here on."""
_COMMON: Final = f"{_REPORT}|{_END}|{_OUTPUT}"
_PERL: Final = (
    r"\bTest2?::\w+|\bPOSIX\b|\bSTDOUT\b|\bsyswrite\b|\b(?:END|UNITCHECK|CHECK|INIT)\s*\{|\bCORE::GLOBAL\b"
    r"|\bno\s+strict\b|\*\{|\*(?:\w+::)+\w+\s*=|\beval\s*[('\"$q]|\b(?:do|require)\s*[('\"$]|\$SIG\{|\$\^P\b"
    r"|\buse\s+overload\b|\bB::\w+|\bexec\b|\bkill\b"
)
_RUBY: Final = (
    r"\b(?:Minitest|RSpec|Test::Unit|TAPKit|ObjectSpace|TracePoint|Fiddle)\b|\bminitest\b|\brspec\b|\bset_trace_func\b"
    r"|\bat_exit\b|\babort\b|\bfork\b|\$stdout\b|\bSTDOUT\b|\bIO\.(?:for_fd|new)\b|\bsyswrite\b|\b\w*_eval\b|\beval\b"
    r"|\bdef\s+(?:==|===|eql\?|equal\?)\s*\(?\w*\)?\s*[;=\n]\s*true\b|\bProcess\.kill\b"
)
_PHP: Final = (
    r"\b(?:PHPUnit|Pest|Codeception)\b|\bdie\s*[(;]|\bregister_shutdown_function\b|\bob_start\b|\bSTDOUT\b"
    r"|php://(?:stdout|output|fd)|\beval\s*\(|\b(?:runkit\w*|uopz_\w+|pcntl_\w+|class_alias|debug_backtrace)\b"
    r"|\bFFI::"
)
_JVM: Final = (
    r"\b(?:org\.junit|org\.testng|org\.spockframework|kotlin\.test|io\.kotest)\b|\bsurefire\b|\bexitProcess\b"
    r"|\bgetRuntime\b|\baddShutdownHook\b|\bSystem\.set(?:Out|SecurityManager)\b|\bFileDescriptor\b"
    r"|\bjava\.lang\.(?:reflect|instrument|invoke)\b|\bsun\.misc\b|\bsetAccessible\b|\bgetStackTrace\b|\bStackWalker\b"
    r"|\bProcessHandle\b"
)
_C: Final = (
    r"#\s*include\s*[<\"](?:gtest|gmock|catch2?|doctest|check|cmocka|criterion|unity|boost/test)\b"
    r"|\b__attribute__\s*\(\(\s*(?:con|de)structor|#\s*define\s+(?:assert\w*|TEST\w*|CHECK\w*|REQUIRE\w*|main)\b"
    r"|\bexit\b(?=\s*\)\s*\()|\b(?:ptrace|syscall|dlopen|dlsym|longjmp|fork|vfork|sigaction|signal)\s*\("
    r"|\bwrite\s*\(\s*(?:1|STDOUT_FILENO)\b|\b(?:__asm__|asm)\b"
)
_CSHARP: Final = (
    r"\b(?:NUnit|Xunit|MSTest|Microsoft\.VisualStudio\.TestTools|System\.Reflection)\b|\bConsole\.SetOut\b"
    r"|\bProcessExit\b|\bModuleInitializer\b|\bGetCurrentProcess\b|\bStackTrace\b|\bDllImport\b"
)
_SHELL: Final = r"\bBATS_\w+|\btrap\b|\bkill\b|(?m:^\s*exec\b)|\beval\b"
_WORDS: Final[Mapping[str, re.Pattern[str]]] = {
    language: re.compile(f"{_EVERYWHERE}|{words}")
    for language, words in (
        ("javascript", _SCRIPT),
        ("typescript", _SCRIPT),
        ("go", _GO),
        ("rust", _RUST),
        ("perl", f"{_COMMON}|{_PERL}"),
        ("ruby", f"{_COMMON}|{_RUBY}"),
        ("php", f"{_COMMON}|{_PHP}"),
        ("java", f"{_COMMON}|{_JVM}"),
        ("kotlin", f"{_COMMON}|{_JVM}"),
        ("c", f"{_COMMON}|{_C}"),
        ("cpp", f"{_COMMON}|{_C}"),
        ("csharp", f"{_COMMON}|{_CSHARP}"),
        ("swift", f"{_COMMON}|\\bXCTest\\b"),
        ("shell", f"{_COMMON}|{_SHELL}"),
    )
}
_UNKNOWN: Final = re.compile(f"{_EVERYWHERE}|{_COMMON}")
_UNREADABLE: Final = (
    "is no text that can be read, so it cannot be checked; write it as a file in UTF-8"
)
_PROSE: Final = frozenset({".adoc", ".css", ".html", ".md", ".rst", ".svg"})
"""Not programs; what they say of a runner harms nobody."""


def suspicious_source(path: str, before: str | None, after: str | None) -> tuple[str, ...]:
    """As `suspicious`, for a file of any language; one that has no words of its own is held to those of all.

    `after` is None for what is there and is no text, or a link: a program in that form nobody can look at.
    """
    suffix = PurePosixPath(path).suffix.lower()
    language = LANGUAGES.get(suffix, "")
    if after is None:
        return () if suffix and not language else (_UNREADABLE,)
    if language == "python":
        return suspicious(before, after)
    if suffix in _PROSE:
        return ()
    old = Counter(match[0] for match in _marked(language, before or ""))
    found: dict[str, int] = {}
    new: Counter[str] = Counter()
    for match in _marked(language, after):
        new[match[0]] += 1
        found.setdefault(match[0], after.count("\n", 0, match.start()) + 1)
    return tuple(f"{word} (line {found[word]})" for word in sorted(found) if new[word] > old[word])


def _marked(language: str, text: str) -> Iterator[re.Match[str]]:
    yield from _WORDS.get(language, _UNKNOWN).finditer(text)
    if language in {"javascript", "typescript"}:
        yield from patches(text)

"""Where JavaScript writes into a module of assertions, under whatever name it has it.

Product code may use `assert` for its own invariants, so to import it is innocent; to replace one of its functions is not.
"""

import re
from collections.abc import Iterator
from typing import Final

_MODULE: Final = r"['\"](?:node:)?(?:assert|chai|expect|@jest/globals)(?:/[\w/-]*)?['\"]"
_LOADED: Final = rf"(?:await\s+import|require)\s*\(\s*{_MODULE}\s*\)"
_CLAUSE: Final = r"[\w$\s{},:*]{1,200}?"
_BOUND: Final = re.compile(
    rf"\b(?:const|let|var|import)\b({_CLAUSE})\s*(?:=\s*{_LOADED}|\bfrom\s*{_MODULE})"
    rf"|(?<![\w$])([\w$]+)\s*=\s*{_LOADED}"
)
"""What follows a keyword, or is assigned to, where such a module is loaded."""
_NAME: Final = re.compile(r"[\w$]+")
_KEYWORDS: Final = frozenset({"as", "default", "type"})
_DECLARES: Final = re.compile(r"\b(?:const|let|var|import)\b")
_MEMBER: Final = r"(?:\s*\??\.\s*[\w$]+|\s*\[[^\]\n]{1,100}\])"
_WRITTEN: Final = r"\s*(?:\|\||&&|\?\?)?=(?![=>])"
_WRITERS: Final = r"\b(?:Object\s*\.\s*(?:assign|definePropert(?:y|ies)|setPrototypeOf)|Reflect\s*\.\s*(?:defineProperty|set\w*))"


def patches(text: str) -> Iterator[re.Match[str]]:
    """Each place that writes a member of such a module."""
    module = "|".join([_LOADED, *(rf"(?<![\w$.]){re.escape(n)}(?![\w$])" for n in _names(text))])
    return re.finditer(
        rf"(?:{module}){_MEMBER}{{1,5}}{_WRITTEN}|{_WRITERS}\s*\(\s*(?:{module})", text
    )


def _names(text: str) -> list[str]:
    """What such modules, and parts of them, are called in a file; another name for one is one, too."""
    found = {n for m in _BOUND.finditer(text) for n in _NAME.findall(_clause(m))} - _KEYWORDS
    new = found
    while new:
        known = "|".join(map(re.escape, sorted(new)))
        alias = rf"(?<![\w$])([\w$]+)\s*=\s*(?:{known})(?:\s*\.\s*\w+)?\s*(?=[;,\n]|\Z)"
        new = set(re.findall(alias, text)) - found
        found |= new
    return sorted(found)


def _clause(bound: re.Match[str]) -> str:
    """What a match binds; what is declared before it, and ends without a mark, is none of it."""
    if bound[2]:
        return bound[2]
    clause = _DECLARES.split(bound[1])[-1]
    is_list = "{" in clause or bound[0].startswith("import")
    return clause if is_list else clause.rpartition(",")[2]

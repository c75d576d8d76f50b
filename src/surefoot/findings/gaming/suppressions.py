"""Suppressions that a change adds or widens, in any language that marks them in comments or attributes.

A suppression that moves with its line, or gets narrower where it stands, is not new.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from surefoot.findings.fingerprint import normalise, scope_at, split_lines
from surefoot.findings.gaming.told import Contents, Told, is_python
from surefoot.syntax import tree_of, written

_CODES: Final = r"(?P<codes>[A-Za-z][\w./-]*(?:[ \t]*,?[ \t]*[A-Za-z][\w./-]*)*)"
_KINDS: Final[tuple[tuple[str, str], ...]] = (
    ("noqa for the file", rf"(?:ruff|flake8)\s*:\s*noqa(?:\s*:\s*{_CODES})?"),
    ("ruff: disable", r"ruff\s*:\s*(?:disable|ignore)(?:\s*\[(?P<codes>[^\]]*)\])?"),
    ("noqa", rf"(?<!:)(?<!: )\bnoqa\b(?:\s*:\s*{_CODES})?"),
    ("type: ignore", r"\b(?:type|ty|pyre)\s*:\s*ignore\b(?:\s*\[(?P<codes>[^\]]*)\])?"),
    ("pyright", r"\bpyright\s*:\s*(?:ignore(?:\s*\[(?P<codes>[^\]]*)\])?|basic|report\w+\s*=)"),
    ("mypy option", r"\bmypy\s*:\s*(?P<codes>[\w-]+)"),
    ("pyre", r"\bpyre-(?:ignore|fixme|unsafe)\b"),
    ("pylint", rf"\bpylint\s*:\s*(?:disable(?:-\w+)?\s*=\s*{_CODES}|skip-file)"),
    ("nosec", rf"\bnosec\b(?:[\s:]+{_CODES})?"),
    ("coverage", r"\bpragma\s*:\s*no\s*(?:cover|branch)\b"),
    ("secret allowed", r"\bpragma\s*:\s*(?:allow|white)list(?:\s+nextline)?\s+secret\b"),
    ("coverage", r"\b(?:istanbul|c8|v8|coverage)\s*:?\s*ignore\b"),
    ("eslint", rf"\b(?:eslint|tslint|oxlint|biome)[-:](?:disable|ignore)\S*(?:\s+{_CODES})?"),
    ("typescript", r"@ts-(?:ignore|expect-error|nocheck)\b"),
    ("nolint", r"\b(?:nolint|NOLINT)\w*(?:[:(](?P<codes>[\w, .-]+))?"),
    ("scanner", r"\bNOSONAR\b|\bnosem(?:grep)?\b|\blgtm\b|\bskipcq\b|\bgitleaks\s*:\s*allow\b"),
    ("scanner", r"\b(?:checkov|tfsec|trivy|hadolint)\s*:?\s*(?:skip|ignore)\b"),
    ("java", r"@SuppressWarnings\s*\((?P<codes>[^)]*)\)"),
    ("rust", r"#!?\[\s*(?:allow|expect)\s*\((?P<codes>[^)]*)\)"),
    ("c#", r"#pragma\s+warning\s+disable\b"),
    ("linter", r"\b(?:rubocop|swiftlint|shellcheck|phpcs|phpstan)[\s:-]+(?:disable|ignore)\b"),
)
_MARKS: Final = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_WORD: Final = re.compile(r"[\w./-]+")
_DECORATORS: Final = frozenset({"no_type_check"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    kind: str
    codes: frozenset[str]
    """Empty silences everything."""
    file: str
    scope: str
    code: str
    """The line without its comment, white space evened out."""
    line: int

    @property
    def moved_as(self) -> tuple[str, frozenset[str], str]:
        return self.kind, self.codes, self.code


def added_suppressions(contents: Contents) -> Iterator[Told]:
    """Suppressions after the change that nothing before it accounts for."""
    before = [m for path, (text, _) in contents.items() for m in _marks(path, text)]
    after = [m for path, (_, text) in contents.items() for m in _marks(path, text)]
    left = Counter(mark.moved_as for mark in before)
    fresh: list[_Mark] = []
    for mark in after:
        if left[mark.moved_as]:
            left[mark.moved_as] -= 1
        else:
            fresh.append(mark)
    gone = list(_unused(before, left))
    for mark in fresh:
        allowed = next((old for old in gone if _covers(old, mark)), None)
        if allowed is not None:
            gone.remove(allowed)
            continue
        what = f" of {', '.join(sorted(mark.codes))}" if mark.codes else ""
        yield Told(
            rule="added-suppression",
            file=mark.file,
            line=mark.line,
            message=f"adds a suppression ({mark.kind}{what}); mend what it hides, or have it allowed",
        )


def _unused(
    before: Iterable[_Mark], left: Counter[tuple[str, frozenset[str], str]]
) -> Iterator[_Mark]:
    for mark in before:
        if left[mark.moved_as]:
            left[mark.moved_as] -= 1
            yield mark


def _covers(old: _Mark, new: _Mark) -> bool:
    same_place = (old.kind, old.file, old.scope) == (new.kind, new.file, new.scope)
    return same_place and (not old.codes or (bool(new.codes) and new.codes <= old.codes))


def _marks(path: str, text: str | None) -> Iterator[_Mark]:
    if text is None:
        return
    lines = split_lines(text)
    for line, comment in _places(path, text, lines):
        for kind, pattern in _MARKS:
            for match in pattern.finditer(comment):
                codes = match.groupdict().get("codes") or ""
                yield _mark(path, lines, line, (kind, codes))
    if is_python(path):
        for line, name in _silencing_decorators(text):
            yield _mark(path, lines, line, (f"@{name}", ""))


def _mark(path: str, lines: list[str], line: int, what: tuple[str, str]) -> _Mark:
    code = lines[line - 1] if line <= len(lines) else ""
    python = is_python(path)
    return _Mark(
        kind=what[0],
        codes=frozenset(word.upper() for word in _WORD.findall(what[1])),
        file=path,
        scope=scope_at(lines, line) if python else "",
        code=normalise(code.split("#", 1)[0] if python else code),
        line=line,
    )


def _places(path: str, text: str, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Where suppressions can stand: comments of Python, any line of another language."""
    if is_python(path):
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        except (tokenize.TokenError, SyntaxError):
            yield from ((n, x.partition("#")[2]) for n, x in enumerate(lines, 1) if "#" in x)
        else:
            yield from ((t.start[0], t.string) for t in tokens if t.type == tokenize.COMMENT)
    elif not path.endswith((".md", ".rst", ".txt")):
        yield from enumerate(lines, 1)


def _silencing_decorators(text: str) -> Iterator[tuple[int, str]]:
    tree = tree_of(text)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                name = written(decorator).rpartition(".")[2]
                if name in _DECORATORS:
                    yield decorator.lineno, name

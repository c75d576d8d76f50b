"""Candidates out of mutations and proposals, and the marks by which the same idea is known again."""

import ast
import difflib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from surefoot.codec import digest, digest_of
from surefoot.decisions.redacted import adds_mark
from surefoot.execute.repair.graft import graft, splice
from surefoot.execute.repair.mutate import Mutation
from surefoot.execute.source import (
    CodeUnit,
    Source,
    apply,
    bytecode,
    docstring_of,
    parse,
    unit_nodes,
)
from surefoot.values import Candidate, Digest, FileEdit

UNCHANGED: Final = Candidate(
    candidate_id=digest(b""), generator="none", edits=(), description="the unchanged code"
)
FILL: Final = "fill"
"""The operator that puts in what a model writes in the place of a line."""
_WORD: Final = re.compile(r"\w+|[^\w\s]")
_HEAD: Final = re.compile(r"\s*[\w.@#]*")
_NAMED: Final = re.compile(r"(?<=\w )(?P<quote>[\"'`])(?P<text>[^\"'`]{1,40})(?P=quote)(?!\w)")
"""A text in quotation marks behind a word."""
_CALL: Final = re.compile(r"\w\(")
_PLAIN: Final = (0, 1, -1, 2, "", " ", True, False, None)


def from_mutations(source: Source, mutations: Sequence[Mutation]) -> Candidate:
    """A candidate of one mutation, or of several that do not overlap."""
    text = apply(source.text, [edit for m in mutations for edit in m.edits])
    operators = [m.operator for m in mutations]
    kind = "model" if set(operators) == {FILL} else "ast"
    prior = 1.0
    for mutation in mutations:
        prior *= mutation.weight
    note = "; ".join(f"line {m.line}: {m.note}" for m in mutations)
    return _candidate(source.path, text, f"{kind}:{'&'.join(operators)}", note, prior)


def from_code(
    source: Source,
    unit: CodeUnit,
    code: str,
    *,
    imports: Sequence[str] = (),
    helpers: Sequence[str] = (),
    generator: str,
    prior: float,
) -> Candidate | None:
    """A candidate of a unit's new text; None when the file would not parse, would be what it is, or would lose a secret."""
    grafted = graft(unit, code)
    text = splice(source, unit, grafted, imports, helpers)
    if text == source.text or adds_mark(source.text, text) is not None:
        return None
    if parse(source.path, text) is None:
        return None
    return _candidate(source.path, text, generator, f"`{unit.qualname}` in {source.path}", prior)


Part: TypeAlias = tuple[int, int, int, int]
"""Lines of a text before, from and to, 0-based, and what stands there after; as an opcode of difflib."""


def parts_of(before: str, after: str) -> tuple[Part, ...]:
    """The separate parts of a change; a line that is rewritten is a part of its own, whatever is new around it."""
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    found: list[Part] = []
    for tag, first, end, other, other_end in matcher.get_opcodes():
        if tag == "replace":
            found += _rewritten(old, new, (first, end, other, other_end))
        elif tag != "equal":
            found.append((first, end, other, other_end))
    return tuple(found)


def _rewritten(old: Sequence[str], new: Sequence[str], whole: Part) -> Iterator[Part]:
    """Lines that are rewritten one for one, and those between them."""
    first, end, other, other_end = whole
    if end - first == other_end - other:
        for n in range(end - first):
            yield first + n, first + n + 1, other + n, other + n + 1
        return
    heads, more = [_head(r) for r in old[first:end]], [_head(r) for r in new[other:other_end]]
    for tag, i, j, k, m in difflib.SequenceMatcher(None, heads, more, autojunk=False).get_opcodes():
        if tag == "equal":
            for n in range(j - i):
                yield first + i + n, first + i + n + 1, other + k + n, other + k + n + 1
        else:
            yield first + i, first + j, other + k, other + m


def _head(row: str) -> str:
    """What two lines share of which one is the other rewritten: the indentation and the first word."""
    found = _HEAD.match(row)
    return found[0] if found is not None else row


def from_parts(source: Source, after: str, parts: Sequence[Part], prior: float) -> Candidate | None:
    """Only these parts of a change to a file; None when that does not parse."""
    rows, new = source.text.split("\n"), after.split("\n")
    for first, end, other, other_end in sorted(parts, reverse=True):
        rows[first:end] = new[other:other_end]
    text = "\n".join(rows)
    if parse(source.path, text) is None:
        return None
    return _candidate(
        source.path, text, "model:part", f"a part of an answer in {source.path}", prior
    )


def with_files_of(candidate: Candidate, under: Candidate) -> Candidate:
    """The candidate with those files of another one that it leaves alone."""
    texts = {e.path: e for e in (*under.edits, *candidate.edits)}
    return with_edits(replace(candidate, edits=()), [texts[path] for path in sorted(texts)])


def with_edits(candidate: Candidate, extra: Sequence[FileEdit]) -> Candidate:
    """The candidate with more files, e.g. a new test."""
    edits = (*candidate.edits, *extra)
    return Candidate(
        candidate_id=digest_of(edits),
        generator=candidate.generator,
        edits=edits,
        description=candidate.description,
        prior=candidate.prior,
    )


def _candidate(path: str, text: str, generator: str, note: str, prior: float) -> Candidate:
    edits = (FileEdit(path=path, text=text),)
    identity: Digest = digest_of(edits)
    return Candidate(
        candidate_id=identity, generator=generator, edits=edits, description=note, prior=prior
    )


def mark(candidate: Candidate) -> str:
    """What candidates have in common that differ in layout only."""
    return "\0".join(f"{e.path}\0{bytecode(e.text or '')}" for e in candidate.edits)


def changed_lines(before: str, after: str) -> int:
    """Lines added and removed, the larger of both sides of each change."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return sum(max(j - i, m - k) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal")


def changed_words(before: str, after: str) -> int:
    """Names, numbers and signs that a change brings into the lines that it changes; what only goes counts nothing."""
    old, new = before.splitlines(), after.splitlines()
    found = 0
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            was, now = (_WORD.findall("\n".join(rows)) for rows in (old[i:j], new[k:m]))
            words = difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
            found += sum(d - c for kind, _, _, c, d in words if kind != "equal")
    return found


def changed_places(before: str, after: str) -> tuple[tuple[int, int], ...]:
    """First and last line, 1-based, of each run of lines of `after` that `before` does not have there."""
    matcher = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False)
    return tuple(
        (first + 1, end)
        for tag, _, _, first, end in matcher.get_opcodes()
        if tag != "equal" and end > first
    )


def special_cases(before: Source, after: Source, told: frozenset[str]) -> str | None:
    """How a change answers single test inputs by name, or None.

    `told` are the literals that the tests give and expect, as `repr`. A parameter compared with one of them, or one of them
    returned, that the file did not have before and that is none of the everyday constants, is made for the test. A part of
    an input, such as a letter of a text in a loop, is compared with what the task names. A text that a sentence of a
    docstring asks for, as `return "YES"` does, may be returned; what an issue quotes may be a test's own.
    """
    asked = {repr(text) for node in ast.walk(before.tree) for text in _named(node)}
    parameters = {a.arg for a in ast.walk(after.tree) if isinstance(a, ast.arg)}
    plain = {repr(p) for p in _PLAIN}
    known = plain | {repr(v) for v in _constants(before.tree)}
    for node in ast.walk(after.tree):
        values: list[ast.expr] = []
        fine = known
        if isinstance(node, ast.Compare) and _is_asked(node, parameters):
            values = [node.left, *node.comparators]
        elif isinstance(node, ast.Return) and node.value is not None:
            values, fine = [node.value], known | asked
        for value in values:
            text = _literal(value)
            if text is not None and text in told and text not in fine:
                return f"line {value.lineno} answers a test's own value {text[:60]}"
    return None


def _named(node: ast.AST) -> Iterator[str]:
    """The texts that a node's docstring names in a sentence; a line with a call shows an example."""
    for line in docstring_of(node).splitlines():
        if not _CALL.search(line):
            yield from (found["text"] for found in _NAMED.finditer(line))


def _is_asked(node: ast.Compare, parameters: Collection[str]) -> bool:
    """Whether a comparison asks if a parameter is one value, or one of some."""
    equal = any(isinstance(op, ast.Eq | ast.In) for op in node.ops)
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return equal and not names.isdisjoint(parameters)


def _constants(tree: ast.AST) -> list[object]:
    found: list[object] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and not isinstance(node, ast.Name | ast.Attribute):
            try:
                found.append(ast.literal_eval(node))
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                continue
    return found


def _literal(node: ast.expr) -> str | None:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return None if value in ([], {}, ()) else repr(value)


def told_literals(tests: Sequence[Source], names: frozenset[str]) -> frozenset[str]:
    """All literals in the tests of some names, as `repr`."""
    found: set[str] = set()
    for source in tests:
        for unit, node in unit_nodes(source):
            if unit.name in names:
                found.update(repr(v) for v in _constants(node))
    return frozenset(found)

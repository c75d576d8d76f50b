"""From what a tool said to findings: the one place where severity, fingerprint and id are given."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Literal

from surefoot.findings.fingerprint import Place, fingerprints, normalise, scope_at, split_lines
from surefoot.findings.severity import Category, classify
from surefoot.values import Finding, Severity

_EVIDENCE: Final = 400
"""Characters kept of the line that a finding points to."""
_LARGEST: Final = 8 * 1024**2
"""A larger file is not read for its lines; its findings are told apart by their messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """One result of a tool, in its own words."""

    rule: str
    file: str
    """Relative to the tree; empty when the result has no place in it."""
    line: int = 0
    column: int = 0
    message: str
    level: str = ""
    """The tool's own word for how bad it is."""
    severity: Severity | None = None
    """Overrules the table, e.g. by a CVSS score."""
    category: Category | None = None
    remediation: str = ""
    confidence: Literal["high", "medium", "low"] = "high"
    identity: str | None = None
    """Stands for the line's text in the fingerprint: a test id, the hash of a secret."""
    fingerprint: str | None = None
    """Given before, by an audit whose log is read again; kept as it is."""
    evidence: str | None = None
    """None shows the line itself, which must not be done where the line holds a secret."""


class Lines:
    """Reads the lines of a tree's files, each once."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._files: dict[str, list[str]] = {}

    def of(self, file: str) -> list[str]:
        """The lines of a file; empty when it is not a readable regular file inside the tree."""
        if file not in self._files:
            self._files[file] = self._read(file)
        return self._files[file]

    def _read(self, file: str) -> list[str]:
        if self._root is None or not file:
            return []
        path = self._root / file
        try:
            inside = path.resolve().is_relative_to(self._root.resolve())
            if path.is_symlink() or not inside or not path.is_file():
                return []
            if path.stat().st_size > _LARGEST:
                return []
            return split_lines(path.read_bytes().decode("utf-8", "replace"))
        except (OSError, RuntimeError, ValueError):  # a loop of links; a name that no file has
            return []


def relative(file: str, root: Path) -> str:
    """A tool's path as a POSIX path inside the tree; as it is when it lies outside."""
    path = PurePosixPath(file)
    if path.is_absolute():
        for base in (root, root.resolve()):
            if path.is_relative_to(base.as_posix()):
                return path.relative_to(base.as_posix()).as_posix()
        return file
    return path.as_posix() if file else ""


def findings_of(tool: str, raws: Iterable[Raw], root: Path | None) -> tuple[Finding, ...]:
    """Findings in the order file, line, column, rule; a result that is said twice counts once."""
    lines = Lines(root)
    ordered = sorted(
        set(raws), key=lambda r: (r.file, r.line, r.column, r.rule, r.message, r.identity or "")
    )
    marks = fingerprints(_place(tool, raw, lines) for raw in ordered)
    return tuple(
        _finding(tool, raw, raw.fingerprint or mark, lines)
        for raw, mark in zip(ordered, marks, strict=True)
    )


def _place(tool: str, raw: Raw, lines: Lines) -> Place:
    known = lines.of(raw.file)
    scope = text = ""
    if raw.identity is not None:
        text = raw.identity
    elif 1 <= raw.line <= len(known):
        text = normalise(known[raw.line - 1])
        if raw.file.endswith((".py", ".pyi")):
            scope = scope_at(known, raw.line)
    else:
        text = raw.message
    return Place(
        tool=tool, rule=_text(raw.rule), file=_text(raw.file), scope=scope, text=_text(text)
    )


def _text(text: str) -> str:
    """Text that can be written: a file name that is not UTF-8 comes with lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def _finding(tool: str, raw: Raw, mark: str, lines: Lines) -> Finding:
    verdict = classify(tool, raw.rule, raw.level)
    evidence = raw.evidence
    if evidence is None:
        known = lines.of(raw.file)
        evidence = known[raw.line - 1].strip() if 1 <= raw.line <= len(known) else ""
    return Finding(
        finding_id=f"{tool}:{_text(raw.rule)}:{mark[:12]}",
        tool=tool,
        rule=_text(raw.rule),
        severity=raw.severity or verdict.severity,
        category=raw.category or verdict.category,
        file=_text(raw.file),
        line=raw.line,
        column=raw.column,
        message=_text(raw.message),
        fingerprint=mark,
        evidence=_text(evidence[:_EVIDENCE]),
        remediation=_text(raw.remediation),
        confidence=raw.confidence,
    )

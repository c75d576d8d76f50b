"""How bad a rule is: one versioned table, read top to bottom by the longest matching prefix.

The order of severity is what happens to the program: it does not work (critical), it cannot work on some path or
lets somebody in (high), it is probably wrong (medium), it is in the way of people (low). `TABLE_VERSION` grows with
every changed verdict, because a baseline or a CI gate may lean on the old one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from surefoot.values import Severity

TABLE_VERSION: Final = 1

Category: TypeAlias = Literal["typing", "lint", "tests", "integration", "policy", "security"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the table says of one rule."""

    severity: Severity
    category: Category


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A group of rules with one verdict and the reason for it."""

    tool: str
    prefixes: tuple[str, ...]
    """Rule ids that start like this; the empty prefix is every other rule of the tool."""
    severity: Severity
    category: Category
    reason: str


def _rows(
    tool: str,
    prefixes: str,
    verdict: tuple[Severity, Category],
    reason: str,
) -> Rows:
    return Rows(
        tool=tool,
        prefixes=tuple(prefixes.split()) or ("",),
        severity=verdict[0],
        category=verdict[1],
        reason=reason,
    )


_CRITICAL, _HIGH, _MEDIUM, _LOW = (
    Severity.CRITICAL,
    Severity.HIGH,
    Severity.MEDIUM,
    Severity.LOW,
)

TABLE: Final[tuple[Rows, ...]] = (
    _rows("tests", "", (_CRITICAL, "tests"), "the program does not do what its own tests ask"),
    _rows("secrets", "", (_CRITICAL, "security"), "whoever reads the repository can use it"),
    _rows("policy", "", (_HIGH, "policy"), "a clean audit bought this way proves nothing"),
    _rows("ruff", "E9 invalid-syntax F70 F72", (_HIGH, "lint"), "the file cannot be run at all"),
    _rows("ruff", "F821 F822 F823", (_HIGH, "lint"), "an undefined name raises when it is reached"),
    _rows("ruff", "PLE", (_HIGH, "lint"), "raises, or is ignored by the interpreter, at run time"),
    _rows("ruff", "F5 F6 F811 F402", (_MEDIUM, "lint"), "runs, but not as it reads"),
    _rows("ruff", "F4 F8 F541", (_LOW, "lint"), "dead weight: unused names, imports, f-strings"),
    _rows(
        "ruff", "B0 B9 PLW ASYNC", (_MEDIUM, "lint"), "a known trap of the language; often a bug"
    ),
    _rows("ruff", "B904 B028", (_LOW, "lint"), "costs a reader a traceback, not a user a result"),
    _rows(
        "ruff", "S1 S2 S3 S4 S5 S6 S7", (_MEDIUM, "security"), "a pattern that attacks are made of"
    ),
    _rows("ruff", "S101", (_LOW, "security"), "an assert vanishes under -O"),
    _rows("ruff", "", (_LOW, "lint"), "style that the project has chosen for itself"),
    _rows("mypy", "syntax name-defined used-before-def", (_HIGH, "typing"), "as ruff's E9 and F82"),
    _rows(
        "mypy", "import call-arg", (_MEDIUM, "integration"), "two modules disagree about a border"
    ),
    _rows("mypy", "unused-ignore", (_LOW, "typing"), "a suppression that hides nothing"),
    _rows("mypy", "", (_MEDIUM, "typing"), "the types say that some call is wrong"),
    _rows("dead-code", "", (_LOW, "lint"), "nothing runs it"),
    _rows("complexity", "", (_LOW, "lint"), "hard to test, not wrong"),
)
"""Bandit has no rows: it grades each result itself, and its grade is taken over (`_LEVELS`)."""

_LEVELS: Final[Mapping[str, Severity]] = {
    "critical": Severity.CRITICAL,
    "high": Severity.HIGH,
    "error": Severity.HIGH,
    "medium": Severity.MEDIUM,
    "moderate": Severity.MEDIUM,
    "warning": Severity.MEDIUM,
    "low": Severity.LOW,
    "note": Severity.LOW,
    "info": Severity.INFO,
    "none": Severity.INFO,
}
"""Words that tools, SARIF levels and CVSS grades use for how bad a result is."""

_CVSS: Final = (
    (9.0, Severity.CRITICAL),
    (7.0, Severity.HIGH),
    (4.0, Severity.MEDIUM),
    (0.1, Severity.LOW),
)
"""Lower bounds of the qualitative scale, CVSS v3.1 section 5."""

_OWN_GRADES: Final[Mapping[str, Category]] = {"bandit": "security"}


def classify(tool: str, rule: str, level: str = "") -> Verdict:
    """The verdict on a rule; `level` is the tool's own word, used when the table has no row for the tool."""
    best: tuple[int, Rows] | None = None
    for row in TABLE:
        if row.tool != tool:
            continue
        for prefix in row.prefixes:
            if rule.startswith(prefix) and (best is None or len(prefix) > best[0]):
                best = (len(prefix), row)
    if best is not None:
        return Verdict(severity=best[1].severity, category=best[1].category)
    # An unknown word is a warning: neither hidden among notes nor allowed to block a run by itself.
    severity = _LEVELS.get(level.strip().lower(), Severity.MEDIUM)
    return Verdict(severity=severity, category=_OWN_GRADES.get(tool, "lint"))


def cvss(score: float) -> Severity:
    """The severity of a CVSS base score (SARIF's `security-severity`), 0 to 10."""
    return next((severity for bound, severity in _CVSS if score >= bound), Severity.INFO)

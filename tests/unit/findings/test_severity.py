"""The table of severities."""

import pytest

from surefoot.findings.severity import TABLE, classify, cvss
from surefoot.values import Severity


@pytest.mark.parametrize(
    ("tool", "rule", "level", "severity", "category"),
    [
        ("tests", "failing-test", "", Severity.CRITICAL, "tests"),
        ("secrets", "aws-access-key", "", Severity.CRITICAL, "security"),
        ("ruff", "invalid-syntax", "", Severity.HIGH, "lint"),
        ("ruff", "E999", "", Severity.HIGH, "lint"),
        ("ruff", "F821", "", Severity.HIGH, "lint"),
        ("ruff", "F401", "", Severity.LOW, "lint"),
        ("ruff", "B006", "", Severity.MEDIUM, "lint"),
        ("ruff", "BLE001", "", Severity.LOW, "lint"),
        ("ruff", "SIM101", "", Severity.LOW, "lint"),
        ("ruff", "S608", "", Severity.MEDIUM, "security"),
        ("ruff", "FBT001", "", Severity.LOW, "lint"),
        ("mypy", "arg-type", "error", Severity.MEDIUM, "typing"),
        ("mypy", "name-defined", "error", Severity.HIGH, "typing"),
        ("mypy", "import-untyped", "error", Severity.MEDIUM, "integration"),
        ("bandit", "B602", "HIGH", Severity.HIGH, "security"),
        ("bandit", "B506", "MEDIUM", Severity.MEDIUM, "security"),
        ("bandit", "B101", "LOW", Severity.LOW, "security"),
        ("dead-code", "unreachable-code", "", Severity.LOW, "lint"),
        ("complexity", "C901", "", Severity.LOW, "lint"),
        ("policy", "added-suppression", "", Severity.HIGH, "policy"),
        ("codeql", "py/x", "error", Severity.HIGH, "lint"),
        ("codeql", "py/x", "note", Severity.LOW, "lint"),
        ("codeql", "py/x", "unheard-of", Severity.MEDIUM, "lint"),
    ],
)
def test_verdicts(tool: str, rule: str, level: str, severity: Severity, category: str) -> None:
    """The longest prefix of the tool's rows decides; without rows, the tool's own word."""
    verdict = classify(tool, rule, level)
    assert (verdict.severity, verdict.category) == (severity, category)


def test_every_row_has_a_reason_and_its_own_prefixes() -> None:
    """No prefix stands twice for a tool, and each group says why."""
    keys = [(row.tool, prefix) for row in TABLE for prefix in row.prefixes]
    assert len(keys) == len(set(keys))
    assert all(row.reason for row in TABLE)


@pytest.mark.parametrize(
    ("score", "severity"),
    [
        (9.0, Severity.CRITICAL),
        (8.9, Severity.HIGH),
        (4.0, Severity.MEDIUM),
        (0.1, Severity.LOW),
        (0.0, Severity.INFO),
    ],
)
def test_cvss(score: float, severity: Severity) -> None:
    """The bounds of the standard belong to the upper grade."""
    assert cvss(score) is severity

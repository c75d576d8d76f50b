"""The file of accepted findings."""

from pathlib import Path

import pytest

from surefoot.errors import SettingsError
from surefoot.findings import BASELINE_NAME, read_baseline, write_baseline
from surefoot.findings.raw import Raw, findings_of

FINDINGS = findings_of(
    "ruff",
    [
        Raw(rule="F401", file="b.py", line=7, column=1, message="one"),
        Raw(rule="F401", file="a.py", line=9, column=1, message="two ü"),
    ],
    None,
)

ENTRY = (
    '{"version": 1, "findings": [{"file": "a", "tool": "t", "rule": "r", "message": "m", '
    '"fingerprint": "%s"}]}'
)


def test_round_trip_is_sorted_and_stable(tmp_path: Path) -> None:
    """Order of findings and lines leave no trace in the file."""
    first, second = tmp_path / BASELINE_NAME, tmp_path / "second.json"
    write_baseline(first, FINDINGS)
    write_baseline(second, reversed(FINDINGS + FINDINGS))
    assert first.read_bytes() == second.read_bytes()
    assert read_baseline(first) == tuple(sorted(f.fingerprint for f in FINDINGS))
    text = first.read_text("utf-8")
    assert text.index("a.py") < text.index("b.py")
    assert "two ü" in text
    assert '"line"' not in text
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([BASELINE_NAME, "second.json"])


def test_absent_is_empty(tmp_path: Path) -> None:
    """A project without the file has accepted nothing."""
    assert read_baseline(tmp_path / BASELINE_NAME) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"findings": []}',
        '{"version": 2, "findings": []}',
        '{"version": 1, "findings": [], "accept_all": true}',
        ENTRY % "*",
        ENTRY.replace('"rule"', '"line": 3, "rule"') % ("0" * 32),
    ],
)
def test_nonsense_is_refused(tmp_path: Path, text: str) -> None:
    """A file that is not understood accepts nothing and stops the audit."""
    path = tmp_path / BASELINE_NAME
    path.write_text(text)
    with pytest.raises(SettingsError, match="is not a baseline"):
        read_baseline(path)


def test_unreadable_is_refused(tmp_path: Path) -> None:
    """A folder in its place is said to be unreadable."""
    with pytest.raises(SettingsError, match="cannot be read"):
        read_baseline(tmp_path)

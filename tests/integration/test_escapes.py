"""Words of an issue and names of files reach the terminal as text: they move no cursor and forge no line (SPEC F7)."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Surefoot = Callable[..., subprocess.CompletedProcess[str]]

TITLE = "Add is wrong \x1b[2J\x1b]0;pwned\x07\u202e title"
FORGED = "critical a.py:1:1 forged"


def git(cwd: Path, *args: str) -> None:
    """Run git with an identity."""
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    subprocess.run(["git", *who, *args], cwd=cwd, check=True, capture_output=True)


def is_plain(text: str) -> bool:
    """Whether a terminal would only write."""
    return all(char.isprintable() or char in "\n\t" for char in text)


def test_a_title_with_escapes_is_shown_as_what_it_is(
    surefoot: Surefoot, patient: Path, scripted: str
) -> None:
    """In the live view, the report, `show`, `explain`, and the reason of a lock."""
    (patient / "e.md").write_text(f"{TITLE}\n")
    solved = surefoot("solve", "e.md", "--mode", "report_only", "--model", scripted, cwd=patient)
    shown, told = surefoot("show", cwd=patient), surefoot("explain", cwd=patient)
    for done in (solved, shown, told):
        assert "\\x1b[2J" in done.stdout, done.stderr
        assert is_plain(done.stdout + done.stderr)
    assert surefoot("lock", "--why", TITLE, cwd=patient).returncode == 0
    refused = surefoot("audit", cwd=patient)
    assert "\\x1b]0;pwned" in refused.stderr
    assert is_plain(refused.stderr)
    assert json.loads(surefoot("audit", "--json", cwd=patient).stdout)["reason"].count(TITLE) == 1


def test_a_name_with_a_line_break_forges_no_row(
    surefoot: Surefoot, tmp_path: Path, scripted: str
) -> None:
    """Neither of the table of `audit` nor of the report."""
    root = tmp_path / "odd"
    root.mkdir()
    (root / "test_it.py").write_text("def test_it():\n    assert True\n")
    (root / f"b\n{FORGED.replace('a.py', 'a')}.py").write_text(
        "import os\n\nprint(undefined_name)\n"
    )
    git(root, "init", "-qb", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    audited = surefoot("audit", cwd=root)
    reported = surefoot("solve", "--mode", "report_only", "--model", scripted, cwd=root)
    for done in (audited, reported):
        assert "forged" in done.stdout, done.stderr
        assert not [row for row in done.stdout.splitlines() if row.startswith("critical a")]

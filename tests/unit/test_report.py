"""The report shows the change to people, and neither secrets nor another page than ours."""

import pytest

from surefoot.policy.redaction import redact
from surefoot.report import read_story, render_report
from surefoot.values import Diff, FileChange, TreeId

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
KIND = "RSA PRIVATE KEY"
PEM = f" -----BEGIN {KIND}-----\n {'MIIEowIBAAKCAQEA' * 4}\n -----END {KIND}-----"


def shown(*lines: str) -> str:
    """The report of a run that changed one file, whose hunk has these lines."""
    patch = "\n".join(("diff --git a/a.py b/a.py", "@@ -1,3 +1,3 @@", *lines, ""))
    file = FileChange(path="a.py", status="M", added=1, removed=1)
    diff = Diff(before=TreeId("0" * 40), after=TreeId("1" * 40), files=(file,), patch=patch)
    return render_report(read_story("r1", ()), diff, redact)


@pytest.mark.parametrize("line", [f' TOKEN = "{TOKEN}"', f'-TOKEN = "{TOKEN}"', PEM])
def test_a_secret_beside_the_change_is_hidden(line: str) -> None:
    """The patch comes from git, which has it, and the report goes to whoever is shown the run (SPEC F6)."""
    report = shown("-x = 1", "+x = 2", line)
    assert TOKEN not in report
    assert "MIIEowIBAAKCAQEA" not in report
    assert "[redacted:" in report
    assert "+x = 2" in report


def test_a_change_between_fences_stays_in_its_block() -> None:
    """A line of a docstring or of a guide that closes a block does not close ours: what follows is no page of its own."""
    lines = shown(" ```", "+# Done", " ````", "-more").split("\n")
    begin = next(n for n, line in enumerate(lines) if line.endswith("diff") and line[0] == "`")
    fence = lines[begin].removesuffix("diff")
    end = next(n for n in range(begin + 1, len(lines)) if lines[n].strip().startswith(fence))
    assert lines[end - 1] == "-more"
    assert lines[end] == fence


def test_a_plain_change_has_a_plain_fence() -> None:
    """So that a report that was written before reads the same."""
    assert "\n```diff\n" in shown("-x = `1`", "+x = 2")

"""An audit in numbers."""

import json

from surefoot.findings import fail_reason, rows, summary, summary_json, worst_first
from surefoot.findings.raw import Raw, findings_of
from surefoot.values import Audit, AuditorResult, AuditorState

LINT = findings_of(
    "ruff",
    [
        Raw(rule="F401", file="a.py", line=1, column=1, message="unused"),
        Raw(rule="F821", file="b.py", line=2, column=1, message="undefined"),
        Raw(rule="F401", file="c.py", line=1, column=1, message="unused"),
    ],
    None,
)
OK = AuditorResult(tool="ruff", state=AuditorState.OK, findings=LINT, wall_s=0.12345)
BROKEN = AuditorResult(tool="mypy", state=AuditorState.BROKEN, message="mypy fell over")


def test_keys_and_counts() -> None:
    """Exactly the six keys of the seed's contract; accepted findings do not count."""
    assert summary(Audit(results=(OK,), baseline=(LINT[0].fingerprint,))) == {
        "critical": 0,
        "high": 1,
        "medium": 0,
        "low": 1,
        "info": 0,
        "ci_pass": False,
    }


def test_a_broken_tool_is_not_clean() -> None:
    """No finding and one broken auditor do not pass."""
    audit = Audit(results=(BROKEN,))
    assert summary(audit)["ci_pass"] is False
    assert fail_reason(audit) == "mypy is broken"
    assert summary(Audit(results=()))["ci_pass"] is True
    assert fail_reason(Audit(results=())) == ""


def test_json_document() -> None:
    """`summary.json` holds the summary, why it fails, and each tool's state."""
    document = json.loads(summary_json(Audit(results=(OK, BROKEN))))
    assert document["schema"] == 1
    assert document["fail_reason"] == "mypy is broken; findings: 1 high, 2 low"
    assert [(t["tool"], t["state"], t["findings"]) for t in document["tools"]] == [
        ("ruff", "ok", 3),
        ("mypy", "broken", 0),
    ]


def test_for_people() -> None:
    """One row a tool, and the worst finding first."""
    audit = Audit(results=(OK, BROKEN))
    assert [(r.tool, r.counts) for r in rows(audit)] == [
        ("ruff", (0, 1, 0, 2, 0)),
        ("mypy", (0, 0, 0, 0, 0)),
    ]
    assert [f.file for f in worst_first(audit)] == ["b.py", "a.py", "c.py"]

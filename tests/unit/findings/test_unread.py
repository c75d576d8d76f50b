"""What keeps an auditor from looking is its answer, and what it was told beside its findings is passed on."""

import json
from pathlib import Path

import pytest

from surefoot.findings import CommandAuditor, Toolchain, run_audit
from surefoot.findings.tools.secrets import SecretsAuditor
from surefoot.plain_files import MOST_BYTES
from surefoot.values import AuditorResult, AuditorState, Command, ProcessResult, SandboxLevel


class Printing:
    """Processes that print the same, whatever is run, and keep what they were given."""

    level = SandboxLevel.NONE

    def __init__(self, printed: object) -> None:
        """`printed` is written as JSON."""
        self._printed = json.dumps(printed).encode()
        self.given: list[bytes] = []

    def run(self, command: Command) -> ProcessResult:
        """What is printed, as of a command that ended well."""
        self.given.append(command.stdin)
        return ProcessResult(exit_code=0, signal=None, stdout=self._printed, stderr=b"", wall_s=0.0)


class Failing:
    """An auditor that cannot read the tree."""

    tool = "failing"

    def audit(self, root: Path) -> AuditorResult:
        """Raise as a missing file does."""
        raise PermissionError(13, "Permission denied", str(root / "a.py"))


def secrets(processes: Printing) -> SecretsAuditor:
    """The auditor of secrets, its tool never run."""
    return SecretsAuditor(processes, Toolchain(python=Path("python")))


def baseline(root: Path, **filters: object) -> None:
    """Write a `.secrets.baseline` with a filter."""
    whole = {
        "plugins_used": [{"name": "AWSKeyDetector"}],
        "filters_used": [{"path": "a.b", **filters}],
    }
    (root / ".secrets.baseline").write_text(json.dumps(whole))


def test_an_auditor_that_cannot_read_takes_no_other_answer_away(tmp_path: Path) -> None:
    """It is broken and says which file; the next one is heard."""
    found = run_audit([Failing(), secrets(Printing([]))], tmp_path)
    assert [(r.tool, r.state) for r in found.results] == [
        ("failing", AuditorState.BROKEN),
        ("secrets", AuditorState.OK),
    ]
    assert found.results[0].message.startswith(f"{tmp_path}/a.py cannot be read: Permission denied")


def test_a_baseline_of_secrets_that_is_too_large_is_told(tmp_path: Path) -> None:
    """With its name, as one that is no baseline."""
    with (tmp_path / ".secrets.baseline").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    result = secrets(Printing([])).audit(tmp_path)
    assert result.state is AuditorState.BROKEN
    assert result.message.startswith(".secrets.baseline cannot be read: it has more than")


@pytest.mark.parametrize("value", [3.7, 2, True, "x", ["x"], None])
def test_a_filter_of_secrets_reaches_the_tool_as_it_stands(tmp_path: Path, value: object) -> None:
    """Whatever detect-secrets writes of one, e.g. the limit of its gibberish filter."""
    baseline(tmp_path, limit=value)
    processes = Printing([])
    assert secrets(processes).audit(tmp_path).state is AuditorState.OK
    (filter_,) = json.loads(processes.given[0])["settings"]["filters_used"]
    assert repr(filter_["limit"]) == repr(value)


@pytest.mark.parametrize(
    ("kind", "state", "told"),
    [
        ("Execution", AuditorState.BROKEN, "it says itself that it failed: no rules"),
        ("Configuration", AuditorState.OK, "it says of its configuration: no rules"),
    ],
)
def test_errors_in_a_log_are_told(
    tmp_path: Path, kind: str, state: AuditorState, told: str
) -> None:
    """One while it ran is no answer; one of its configuration stands beside what was found."""
    note = {"level": "error", "message": {"text": "no rules"}}
    invocation = {"executionSuccessful": True, f"tool{kind}Notifications": [note]}
    run = {"tool": {"driver": {"name": "x"}}, "results": [], "invocations": [invocation]}
    processes = Printing({"version": "2.1.0", "runs": [run]})
    result = CommandAuditor(processes, name="mine", argv=["x"]).audit(tmp_path)
    assert result.state is state
    assert told in result.message


@pytest.mark.parametrize("said", [{}, {"results": None}])
def test_a_run_of_a_log_without_results_has_not_looked(
    tmp_path: Path, said: dict[str, object]
) -> None:
    """A scan that found nothing says so with an empty list."""
    processes = Printing(
        {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, **said}]}
    )
    result = CommandAuditor(processes, name="mine", argv=["x"]).audit(tmp_path)
    assert result.state is AuditorState.BROKEN
    assert "x gives no results" in result.message

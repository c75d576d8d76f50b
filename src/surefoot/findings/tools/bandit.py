"""Bandit: what the project's own configuration asks for, else results of medium severity and above outside tests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from surefoot.findings.process import Answer, Probe, Toolchain, UnreadableOutputError, run_probe
from surefoot.findings.raw import Raw, relative
from surefoot.findings.tree import looks_like_test, python_files
from surefoot.kernel.ports import Processes
from surefoot.toml_files import read_toml, table
from surefoot.values import AuditorResult, AuditorState, ProcessResult

_MEND: Final = "install it beside Surefoot: pip install 'surefoot[audit]'"
_NOT_PARSED: Final = "syntax error while parsing AST from file"

_Confidence: TypeAlias = Literal["high", "medium", "low"]
_CONFIDENCE: Final[Mapping[str, _Confidence]] = {"HIGH": "high", "MEDIUM": "medium"}


class _Result(BaseModel):
    filename: str
    line_number: int
    col_offset: int = 0
    issue_confidence: str
    issue_severity: str
    issue_text: str
    more_info: str = ""
    test_id: str


class _Failure(BaseModel):
    filename: str
    reason: str


class _Report(BaseModel):
    errors: list[_Failure]
    results: list[_Result]


class BanditAuditor:
    """Looks for patterns that attacks are made of."""

    def __init__(self, processes: Processes, toolchain: Toolchain) -> None:
        self._processes, self._toolchain = processes, toolchain

    @property
    def tool(self) -> str:
        """Always `bandit`."""
        return "bandit"

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`."""
        config = bandit_config(root)
        # Tests assert, call programs and hold sham passwords by their nature.
        files = [f for f in python_files(root) if config is not None or not looks_like_test(f)]
        if not files:
            return AuditorResult(
                tool=self.tool, state=AuditorState.OK, message="no Python files to look at"
            )
        options = config if config is not None else ("--severity-level=medium",)
        probe = Probe(
            tool=self.tool,
            argv=self._toolchain.module(
                "bandit", "--format=json", "--quiet", *options, *(f"./{f}" for f in files)
            ),
            reads=self._toolchain.reads,
            limits=self._toolchain.limits,
            module="bandit",
            mend=_MEND,
        )
        return run_probe(self._processes, probe, root, lambda result: _read(result, root))


def bandit_config(root: Path) -> tuple[str, ...] | None:
    """The options by which bandit finds the project's configuration, or None when there is none."""
    if (root / ".bandit").is_file():
        return ("--ini", ".bandit")
    for name in ("bandit.yaml", "bandit.yml"):
        if (root / name).is_file():
            return ("--configfile", name)
    has_table = "bandit" in table(read_toml(root / "pyproject.toml"), "tool")
    return ("--configfile", "pyproject.toml") if has_table else None


def _read(result: ProcessResult, root: Path) -> Answer:
    try:
        # By the stricter parser of pydantic a file whose name is not UTF-8 would leave all others unread.
        report = _Report.model_validate(json.loads(result.stdout))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise UnreadableOutputError(f"{place}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableOutputError(str(error)) from error
    if bool(report.results) != (result.exit_code == 1):
        raise UnreadableOutputError(
            f"exit code {result.exit_code} with {len(report.results)} results"
        )
    left_out = 0
    for failure in report.errors:
        if failure.reason != _NOT_PARSED:
            raise UnreadableOutputError(f"{failure.filename}: {failure.reason}")
        left_out += 1
    return Answer(
        raws=tuple(_raw(r, root) for r in report.results),
        note=f"{left_out} files do not parse and were left to ruff" if left_out else "",
    )


def _raw(result: _Result, root: Path) -> Raw:
    return Raw(
        rule=result.test_id,
        file=relative(result.filename, root),
        line=result.line_number,
        column=result.col_offset + 1,
        message=result.issue_text,
        level=result.issue_severity,
        remediation=result.more_info,
        confidence=_CONFIDENCE.get(result.issue_confidence, "low"),
    )

"""Ruff: the project's own rules when it has chosen some, else only those that mean bugs; and McCabe complexity."""

import json
import re
import tomllib
from pathlib import Path
from typing import Final

from pydantic import BaseModel, TypeAdapter, ValidationError

from surefoot.findings.process import Answer, Probe, Toolchain, UnreadableOutputError, run_probe
from surefoot.findings.raw import Raw, relative
from surefoot.kernel.ports import Processes
from surefoot.plain_files import read_plain
from surefoot.values import AuditorResult, ProcessResult

BUG_RULES: Final = ("E9", "F", "B", "PLE", "W605", "ASYNC")
"""For a project that never chose rules: what breaks or surprises at run time, nothing about taste."""
_NOT_BUGS: Final = ("B008", "B028", "B904", "B905", "F403", "F405")
"""FastAPI's defaults, traceback niceties, and star imports that a package may be built on."""
COMPLEX: Final = 15
"""McCabe complexity above which a function is reported when the project has set no bound of its own."""
_COMPLEXITY_RULE: Final = "C901"
_NEWEST: Final = "py313"
"""Assumed where the project does not say: older targets would call newer syntax an error."""
_OLDEST_MINOR: Final = 7
"""Of Python 3; ruff refuses an older target, and a project may support one all the same."""
_MEND: Final = "install ruff beside Surefoot: pip install ruff"


class _Location(BaseModel):
    row: int
    column: int


class _Fix(BaseModel):
    applicability: str
    message: str | None = None


class _Diagnostic(BaseModel):
    code: str | None
    filename: str
    location: _Location
    message: str
    fix: _Fix | None = None
    url: str | None = None


_DIAGNOSTICS: Final = TypeAdapter(list[_Diagnostic])


class RuffAuditor:
    """Lints the tree; complexity is left to `ComplexityAuditor`, so that nothing counts twice."""

    def __init__(self, processes: Processes, toolchain: Toolchain) -> None:
        self._processes, self._toolchain = processes, toolchain

    @property
    def tool(self) -> str:
        """Always `ruff`."""
        return "ruff"

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`."""
        options: tuple[str, ...] = ()
        if not has_ruff_config(root):
            options = (
                "--isolated",
                f"--target-version={target_version(root)}",
                f"--select={','.join(BUG_RULES)}",
                f"--ignore={','.join(_NOT_BUGS)}",
                # A package's __init__ imports in order to export.
                "--per-file-ignores=__init__.py:F401",
            )
        probe = _probe(self.tool, self._toolchain, options)
        return run_probe(self._processes, probe, root, lambda result: _read_lint(result, root))


class ComplexityAuditor:
    """Reports functions whose McCabe complexity is above the project's bound, or above `COMPLEX`."""

    def __init__(self, processes: Processes, toolchain: Toolchain) -> None:
        self._processes, self._toolchain = processes, toolchain

    @property
    def tool(self) -> str:
        """Always `complexity`."""
        return "complexity"

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`."""
        options: tuple[str, ...] = (f"--select={_COMPLEXITY_RULE}",)
        if not has_ruff_config(root):
            options += ("--isolated", f"--target-version={target_version(root)}")
        if not _has_bound(root):
            options += ("--config", f"lint.mccabe.max-complexity={COMPLEX}")
        probe = _probe(self.tool, self._toolchain, options)
        return run_probe(
            self._processes, probe, root, lambda result: _read_complexity(result, root)
        )


def has_ruff_config(root: Path) -> bool:
    """Whether the tree's root configures ruff, in any of the three files that ruff reads."""
    return _ruff_table(root) is not None


def target_version(root: Path) -> str:
    """The oldest Python that the project supports and ruff knows, as ruff writes it; the newest where it does not say."""
    project = _toml(root / "pyproject.toml").get("project")
    requires = project.get("requires-python") if isinstance(project, dict) else None
    match = re.search(r"(?:>=?|~=|==)\s*3\.(\d+)", requires) if isinstance(requires, str) else None
    return f"py3{max(int(match.group(1)), _OLDEST_MINOR)}" if match else _NEWEST


def _ruff_table(root: Path) -> dict[str, object] | None:
    for name in (".ruff.toml", "ruff.toml"):
        if (root / name).is_file():
            return _toml(root / name)
    tool = _toml(root / "pyproject.toml").get("tool")
    table = tool.get("ruff") if isinstance(tool, dict) else None
    return table if isinstance(table, dict) else None


def _has_bound(root: Path) -> bool:
    table = _ruff_table(root)
    if table is None:
        return False
    # An inherited configuration may hold the bound; ruff then knows better than we do.
    return "extend" in table or "max-complexity" in json.dumps(table, default=str)


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(read_plain(path).decode())
    except (OSError, ValueError):
        return {}


def _probe(tool: str, toolchain: Toolchain, options: tuple[str, ...]) -> Probe:
    argv = toolchain.module("ruff", "check", "--no-cache", "--no-fix", "--output-format=json")
    return Probe(
        tool=tool,
        argv=(*argv, *options, "."),
        reads=toolchain.reads,
        limits=toolchain.limits,
        module="ruff",
        mend=_MEND,
    )


def _diagnostics(result: ProcessResult) -> list[_Diagnostic]:
    try:
        found = _DIAGNOSTICS.validate_json(result.stdout)
    except ValidationError as error:
        raise UnreadableOutputError(str(error.errors(include_url=False)[0])) from error
    if bool(found) != (result.exit_code == 1):
        raise UnreadableOutputError(f"exit code {result.exit_code} with {len(found)} diagnostics")
    return found


def _read_lint(result: ProcessResult, root: Path) -> Answer:
    return Answer(
        raws=tuple(
            _raw(d, root) for d in _diagnostics(result) if d.code not in {_COMPLEXITY_RULE, "C90"}
        )
    )


def _read_complexity(result: ProcessResult, root: Path) -> Answer:
    # Ruff reports syntax errors whatever was selected; they are the lint's to tell.
    return Answer(
        raws=tuple(_raw(d, root) for d in _diagnostics(result) if d.code == _COMPLEXITY_RULE)
    )


def _raw(diagnostic: _Diagnostic, root: Path) -> Raw:
    fix = diagnostic.fix
    remedy = (fix.message or "") if fix else ""
    if fix and fix.applicability == "safe":
        remedy = f"{remedy} (ruff --fix)"
    return Raw(
        rule=diagnostic.code or "invalid-syntax",
        file=relative(diagnostic.filename, root),
        line=diagnostic.location.row,
        column=diagnostic.location.column,
        message=diagnostic.message,
        remediation=remedy.strip() or (diagnostic.url or ""),
    )

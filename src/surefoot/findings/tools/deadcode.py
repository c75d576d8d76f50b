"""Dead code by vulture: all that the project's configuration asks for, else only what no caller could ever reach.

Vulture's lower grades say that it saw no caller; a public function, a hook or a fixture has none inside its own tree.
"""

import re
from pathlib import Path
from typing import Final

from surefoot.findings.process import Answer, Probe, Toolchain, UnreadableOutputError, run_probe
from surefoot.findings.raw import Raw, relative
from surefoot.findings.tree import python_files
from surefoot.kernel.ports import Processes
from surefoot.toml_files import read_toml, table
from surefoot.values import AuditorResult, AuditorState, ProcessResult

_MEND: Final = "install it beside Surefoot: pip install 'surefoot[audit]'"
_INVALID_INPUT, _DEAD = 1, 3
_LINE: Final = re.compile(
    r"(?P<file>.+?):(?P<line>\d+): (?P<message>.+) \((?P<share>\d+)% confidence(?:, \d+ lines?)?\)"
)
_NOT_PARSED: Final = re.compile(
    r".+?:\d+: .+|.+?: invalid source code .+|Error: Could not read file .+ - .*"
)
_ADVICE: Final = "Try to change the encoding to UTF-8."
"""The second line about a file that it could not read as text."""
_CERTAIN: Final = ("unreachable-code", "unsatisfiable-condition")
_IMPORT: Final = "unused-import"
_HIGH_SHARE, _MEDIUM_SHARE = 90, 70


class DeadCodeAuditor:
    """Finds code that nothing runs; unused imports are left to ruff, so that nothing counts twice."""

    def __init__(self, processes: Processes, toolchain: Toolchain) -> None:
        self._processes, self._toolchain = processes, toolchain

    @property
    def tool(self) -> str:
        """Always `dead-code`."""
        return "dead-code"

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`."""
        table = _table(root)
        paths: tuple[str, ...] = ()
        if table is None or "paths" not in table:
            paths = python_files(root)
            if not paths:
                return AuditorResult(
                    tool=self.tool, state=AuditorState.OK, message="no Python files to look at"
                )
        options = ("--min-confidence=100",) if table is None else ()
        probe = Probe(
            tool=self.tool,
            argv=self._toolchain.module("vulture", *options, *(f"./{path}" for path in paths)),
            reads=self._toolchain.reads,
            limits=self._toolchain.limits,
            exit_codes=frozenset({0, _INVALID_INPUT, _DEAD}),
            module="vulture",
            mend=_MEND,
        )
        certain = table is None
        return run_probe(
            self._processes, probe, root, lambda result: _read(result, root, certain=certain)
        )


def _table(root: Path) -> dict[str, object] | None:
    tools = table(read_toml(root / "pyproject.toml"), "tool")
    return table(tools, "vulture") if "vulture" in tools else None


def _read(result: ProcessResult, root: Path, *, certain: bool) -> Answer:
    raws: list[Raw] = []
    for line in result.stdout.decode("utf-8", "surrogateescape").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise UnreadableOutputError(f"not a line of vulture's report: {line[:200]!r}")
        raws.append(_raw(match, root))
    said = result.stderr.decode("utf-8", "replace").splitlines()
    complaints = [line for line in said if line not in ("", _ADVICE)]
    if any(_NOT_PARSED.fullmatch(line) is None for line in complaints):
        raise UnreadableOutputError("it complains about more than files that do not parse")
    expected = _DEAD if raws else _INVALID_INPUT if complaints else 0
    if result.exit_code != expected:
        raise UnreadableOutputError(f"exit code {result.exit_code} with {len(raws)} results")
    kept = (r for r in raws if r.rule != _IMPORT and (not certain or r.rule in _CERTAIN))
    return Answer(
        raws=tuple(kept),
        note=f"{len(complaints)} files do not parse and were left to ruff" if complaints else "",
    )


def _raw(match: re.Match[str], root: Path) -> Raw:
    share = int(match["share"])
    return Raw(
        rule=_rule(match["message"]),
        file=relative(match["file"], root),
        line=int(match["line"]),
        column=1,
        message=match["message"],
        remediation="remove it, or name it in the project's vulture configuration",
        confidence="high"
        if share >= _HIGH_SHARE
        else "medium"
        if share >= _MEDIUM_SHARE
        else "low",
    )


def _rule(message: str) -> str:
    first, _, rest = message.partition(" ")
    if first in {"unreachable", "unsatisfiable", "redundant"}:
        return f"{first}-{'code' if first == 'unreachable' else 'condition'}"
    return f"{first}-{rest.split(' ')[0]}"

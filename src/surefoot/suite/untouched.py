"""Whether the tests on disk are the same after a run as before it: code under test that is imported first could rewrite them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from surefoot.suite.layout import LANGUAGES
from surefoot.suite.paths import is_test_path
from surefoot.values import SETTLED, ReportState, TestReport

Stamps: TypeAlias = Mapping[str, tuple[int, int]]
"""Inode and time of the last change of each test file, which no process can set: one that was put back is seen, too."""

_DATA: Final = frozenset({"__fixtures__", "__mocks__", "__snapshots__", "fixtures", "testdata"})
"""Folders of what tests read, and may write where they stand."""
_PASSED_BY: Final = _DATA | {"__pycache__", "node_modules", "site-packages"}
_BUILT: Final = frozenset({"build", "dist", "target"})
"""Folders that compilers write while tests run, but for Go's, which has packages of such names and writes no sources."""
_SOURCES: Final = frozenset(LANGUAGES) | frozenset(
    {
        ".bats", ".clj", ".cljs", ".cxx", ".dart", ".erl", ".ex", ".exs", ".feature", ".fs", ".groovy", ".hs", ".jl", ".kts",
        ".lua", ".m", ".ml", ".mm", ".nim", ".phpt", ".scala", ".t", ".tcl", ".vb", ".zig",
    }
)  # fmt: skip
"""Of languages that have words of their own, and of those whose tests run by a command all the same."""


def stamps(root: Path) -> Stamps:
    """Of the source files of tests below `root`, by their paths in it."""
    return {str(path): _stamp(root / path) for path in _sources(root)}


def held_to(before: Stamps, root: Path, report: TestReport) -> TestReport:
    """The report, which is forged where one of these files was written, replaced or removed since, or a `conftest.py` is new.

    A new test proves nothing by itself, but pytest reads a `conftest.py` late, when it comes to its folder.
    """
    if report.state not in SETTLED:  # no other report passes anything
        return report
    now = stamps(root)
    changed = next((path for path, stamp in sorted(before.items()) if now.get(path) != stamp), None)
    new = next((p for p in sorted(now) if p not in before and p.endswith("conftest.py")), None)
    if changed is None and new is None:
        return report
    why = f"{changed or new} was {'changed' if changed else 'made'} while the tests ran"
    return replace(report, state=ReportState.FORGED, reason=why)


def _sources(root: Path) -> Iterator[PurePosixPath]:
    for folder, folders, files in os.walk(root):
        here = PurePosixPath(Path(folder).relative_to(root).as_posix())
        folders[:] = [
            n
            for n in folders
            if n not in _PASSED_BY
            and not n.startswith(".")
            and not Path(folder, n, "pyvenv.cfg").is_file()
        ]
        suffixes = _SOURCES if _BUILT.isdisjoint(here.parts) else {".go"}
        for name in files:
            path = here / name
            if path.suffix in suffixes and is_test_path(str(path)):
                yield path


def _stamp(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_ino, status.st_ctime_ns

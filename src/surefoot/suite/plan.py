"""What was found out about a project's tests: which interpreter, which runner, which files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from surefoot.values import TestFormat

REPORT: Final = "{report}"
"""Stands in a command for the file that its report is written to, outside the tree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlan:
    """How the tests of one repository are run. Paths inside it are relative POSIX strings."""

    python: Path
    """The interpreter as it must be called: a virtual environment's own name of it, not what it links to."""
    runner: Literal["pytest", "unittest"]
    """`unittest` only where the interpreter has no pytest."""
    command: tuple[str, ...]
    """How a person would run all tests."""
    args: tuple[str, ...] = ()
    """What the command gives the runner beside its name, e.g. a directory of tests."""
    source_roots: tuple[str, ...] = (".",)
    """Directories that must come first on the import path."""
    carry: tuple[str, ...] = ()
    """Paths that git ignores and tests need: built extensions, generated versions, node_modules."""
    reads: tuple[Path, ...] = ()
    """Absolute directories that the interpreter needs: its environment and what that builds on."""
    editable: tuple[Path, ...] = ()
    """Directories of the checkout that the environment imports from by itself (editable installs)."""
    refused: tuple[str, ...] = ()
    """What was found and is not used or not shown, each with the reason and the mend."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Beside what every test process has."""
    languages: tuple[str, ...] = ()
    """Languages of the files, most files first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPlan:
    """How a command runs the tests of one repository in whatever language."""

    command: tuple[str, ...]
    """How a person would run all tests."""
    format: TestFormat
    argv: tuple[str, ...]
    """What is run; `{report}` in it stands for a file outside the tree, without it the report is standard output."""
    targets: tuple[str, ...] = ()
    """What comes next when all tests are run: files, folders, patterns of files, packages."""
    narrow: tuple[str, ...] | None = None
    """What comes next, before the files of tests that are asked for; None when the command cannot be told."""
    after: tuple[str, ...] = ()
    """What comes last, behind either: arguments of the tests themselves."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Beside what every test process has."""
    path: tuple[Path, ...] = ()
    """Directories of the programs that the command needs, first on PATH."""
    reads: tuple[Path, ...] = ()
    """Absolute paths that the programs need."""
    carry: tuple[str, ...] = ()
    """Paths that git ignores and tests need: node_modules, built files."""
    languages: tuple[str, ...] = ()
    """Languages of the files, most files first."""

    @property
    def runner(self) -> str:
        """The format, which is what people know the runner by."""
        return self.format

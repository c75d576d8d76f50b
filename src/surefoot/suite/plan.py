"""What was found out about a project's tests: which interpreter, which runner, which files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


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
    languages: tuple[str, ...] = ()
    """Languages of the files, most files first."""

"""What of a tree is the project's own: everything but version control, caches, environments and build output."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

_FOREIGN: Final = frozenset(
    {
        "__pycache__",
        "__pypackages__",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
        "virtualenv",
    }
)


def own_files(root: Path) -> Iterator[str]:
    """Regular files of the project, POSIX paths relative to `root`, in a stable order; links are not followed.

    Hidden directories are left out, hidden files are not. A directory with a `pyvenv.cfg` is an environment, and
    `build` or `dist` with an `__init__.py` is a package like any other.
    """
    for folder, directories, files in os.walk(root):
        here = Path(folder)
        directories[:] = sorted(name for name in directories if _is_own(here, name))
        for name in sorted(files):
            path = here / name
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(root).as_posix()


def python_files(root: Path) -> tuple[str, ...]:
    """The project's own Python sources."""
    return tuple(path for path in own_files(root) if path.endswith((".py", ".pyi")))


def looks_like_test(path: str) -> bool:
    """Whether a path has one of the usual names of tests; a project's own rules may know better."""
    pure = PurePosixPath(path)
    name = pure.name
    return (
        any(part in {"tests", "test", "testing"} for part in pure.parts[:-1])
        or name == "conftest.py"
        or name.startswith("test_")
        or name.endswith(("_test.py", "_tests.py"))
    )


def _is_own(folder: Path, name: str) -> bool:
    path = folder / name
    if name.startswith(".") or path.is_symlink() or (path / "pyvenv.cfg").exists():
        return False
    return name not in _FOREIGN or (path / "__init__.py").exists()

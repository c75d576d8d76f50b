"""A tree with something for every auditor, and the means to run them."""

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.findings import Toolchain
from surefoot.kernel.ports import Processes
from surefoot.sandbox import open_processes


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Processes:
    """The strongest fence of this machine, as the product opens it."""
    return open_processes(scratch=tmp_path_factory.mktemp("scratch"), unsandboxed=True)


@pytest.fixture
def toolchain() -> Toolchain:
    return Toolchain(python=Path(sys.executable), reads=(Path(sys.prefix),))


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Writes files below a fresh root."""

    def write(files: dict[str, str]) -> Path:
        root = tmp_path / "tree"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), "utf-8")
        root.mkdir(exist_ok=True)
        return root

    return write

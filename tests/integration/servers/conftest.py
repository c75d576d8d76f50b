"""A worktree and a sandbox for servers that stay open."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from surefoot.gitops import Repository
from surefoot.gitops.workspace import GitWorkspace, open_workspace
from surefoot.kernel.ports import Processes
from surefoot.sandbox import open_processes
from surefoot.testing.repository import ScratchRepository
from surefoot.values import FileEdit, RunId

Fill = Callable[[Mapping[str, str]], None]
Install = Callable[[str, str], None]


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    opened = open_processes(unsandboxed=False, scratch=tmp_path_factory.mktemp("sandbox"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitWorkspace]:
    user = ScratchRepository.create(tmp_path_factory.mktemp("user"), os.environ["PATH"])
    user.commit({"README.md": "nothing\n"})
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as opened:
        yield opened


@pytest.fixture
def fill(workspace: GitWorkspace) -> Fill:
    """Make the worktree hold these files and nothing else."""

    def filled(files: Mapping[str, str]) -> None:
        workspace.restore(workspace.base_tree)
        workspace.apply([FileEdit(path=path, text=text) for path, text in files.items()])

    return filled


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    path = tmp_path / "bin"
    path.mkdir()
    return path


@pytest.fixture
def install(bin_dir: Path) -> Install:
    """Put a Python program onto the PATH that is only `bin_dir`."""

    def installed(name: str, program: str) -> None:
        path = bin_dir / name
        path.write_text(f"#!{sys.executable} -IS\n{program}")
        path.chmod(0o755)

    return installed

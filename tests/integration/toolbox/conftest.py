"""A real worktree of a real repository, and the real fence."""

import json
import os
from collections.abc import Callable, Iterator

import pytest

from surefoot.context import outline
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.kernel.ports import Processes, Workspace
from surefoot.policy.redaction import redact
from surefoot.sandbox import open_processes
from surefoot.testing.repository import ScratchRepository
from surefoot.toolbox import Box, Shelter, default_toolbox
from surefoot.values import Limits, RunId, ToolCall, ToolOutcome

AGENDA = '''\
"""An agenda."""

import re


class Agenda:
    """Entries by day."""

    def __init__(self):
        self.total = 0

    @property
    def count(self):
        return self.total

    def add(self, entry, *, day=None):
        self.total += 1
        return entry


def parse(text):
    if not text:
        return None
    return re.split(r",", text)
'''
FILES = {
    "src/agenda.py": AGENDA,
    "src/other.js": "export function add() {}\n",
    "notes.txt": "one\ntwo\nthree\n",
    "data/settings.json": '{"a": 1}\n',
    "pyproject.toml": "[tool]\nname = 1\n",
    ".gitignore": "*.log\n",
}
Call = Callable[..., ToolOutcome]


@pytest.fixture(scope="session")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    user = ScratchRepository.create(tmp_path_factory.mktemp("repository"), os.environ["PATH"])
    user.commit(FILES)
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as workspace:
        yield workspace


@pytest.fixture
def workspace(opened: Workspace) -> Iterator[Workspace]:
    """The one worktree, which holds exactly `FILES` at the start of every test."""
    yield opened
    opened.restore(opened.base_tree)


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    opened = open_processes(scratch=tmp_path_factory.mktemp("scratch"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def box(processes: Processes) -> Box:
    shelter = Shelter(
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"}, limits=Limits(wall_s=120, file_bytes=1024**2)
    )
    return default_toolbox(
        processes, shelter, path=os.environ["PATH"], outliner=outline, redact=redact
    )


@pytest.fixture
def call(box: Box, workspace: Workspace) -> Call:
    """Calls a tool by name with the parameters given as keywords."""

    def use(tool: str, **parameters: object) -> ToolOutcome:
        return box.call(ToolCall(tool=tool, parameters=json.dumps(parameters)), workspace)

    return use

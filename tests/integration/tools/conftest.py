"""A worktree with data in it, the real fence, and a shelf in memory."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from surefoot.events.envelope import Event
from surefoot.events.work import ArtifactUsed
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Processes, Shelf, Workspace
from surefoot.policy.redaction import redact
from surefoot.sandbox import open_processes
from surefoot.system import SystemClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.repository import ScratchRepository
from surefoot.testing.shelf import MemoryShelf
from surefoot.toolbox import Box, Tool
from surefoot.toolbox.file_read import FileReader
from surefoot.toolbox.forged import ForgingBox, Runner, Workshop
from surefoot.values import RunId, ToolCall, ToolOutcome

FILES = {"logs/a.log": "1 ERROR x\n2 INFO y\n3 ERROR z\n", "secrets.txt": "s\n"}


def forging(**changes: object) -> dict[str, object]:
    """Parameters of `forge`: a function that counts errors, with these changes."""
    return {
        "name": "logs.errors",
        "purpose": "Counts the error lines of a log file.",
        "source": "def errors(path):\n    return sum(' ERROR ' in line for line in open(path))\n",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": False,
        },
        "output_schema": {"type": "integer", "minimum": 0},
        "capability": "log_analysis",
        "reads": ["logs/*.log"],
        "examples": [
            {"input": {"path": "logs/b.log"}, "files": {"logs/b.log": "1 ERROR x\n"}, "output": 1}
        ],
    } | changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A toolbox of one turn, and what it put on record."""

    box: ForgingBox
    shelf: Shelf
    ledger: MemoryLedger
    workspace: Workspace

    def call(self, tool: str, parameters: Mapping[str, object]) -> ToolOutcome:
        """As the step loop calls."""
        return self.box.call(ToolCall(tool=tool, parameters=json.dumps(parameters)), self.workspace)

    def forge(self, **changes: object) -> ToolOutcome:
        """Keep the function of `forging`."""
        return self.call("forge", forging(**changes))

    @property
    def events(self) -> list[Event]:
        """Oldest first."""
        return [recorded.event for recorded in self.ledger.events()]

    @property
    def used(self) -> list[ArtifactUsed]:
        """Of them the calls of forged tools."""
        return [event for event in self.events if isinstance(event, ArtifactUsed)]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    user = ScratchRepository.create(tmp_path_factory.mktemp("repository"), os.environ["PATH"])
    user.commit(FILES)
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as opened:
        yield opened


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    opened = open_processes(scratch=tmp_path_factory.mktemp("scratch"))
    yield opened
    opened.close()


def bench_of(processes: Processes, workspace: Workspace, shelf: Shelf, *given: Tool) -> Bench:
    """A turn with this shelf, and with tools of the user's."""
    ledger, clock = MemoryLedger(), SystemClock()
    shop = Workshop(
        shelf=shelf,
        runner=Runner(processes, Path(sys.executable), redact=redact),
        notebook=Journal(ledger, clock),
        clock=clock,
        session="task-1",
    )
    box = ForgingBox(Box((FileReader(lambda _path, _data: None), *given)), shop)
    return Bench(box=box, shelf=shelf, ledger=ledger, workspace=workspace)


@pytest.fixture
def bench(processes: Processes, workspace: Workspace) -> Bench:
    return bench_of(processes, workspace, MemoryShelf())

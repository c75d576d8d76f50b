"""Accepting on a branch that has moved: the work has to show there what the run had to show on its base."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from bench.stories import Doing
from bench.stories import Work as Deed

from surefoot.app import start
from surefoot.assembly import Desk, Session, Surroundings, Work, drive, own_work
from surefoot.cli.common import surroundings
from surefoot.errors import AcceptError
from surefoot.gitops.workspace import GitWorkspace
from surefoot.handover import accept
from surefoot.kernel.ports import Processes, RunningProcess
from surefoot.people import Nobody, Quiet
from surefoot.project import Places, Project, open_project
from surefoot.request import Request
from surefoot.testing.repository import ScratchRepository
from surefoot.values import Command, CommitId, Issue, ProcessResult, RunId, SandboxLevel
from surefoot.verify import verify_run

CALC = "from other import FACTOR\n\n\ndef double(x):\n    return x * FACTOR - x\n"
FIXED = CALC.replace("x * FACTOR - x", "x * 2 + FACTOR * 0")
OTHER = "FACTOR = 2\n"
TESTS = "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
MORE = "from calc import double\n\n\ndef test_zero():\n    assert double(0) == 0\n"
FIVE = "\n\ndef test_five():\n    assert double(5) == 10\n"
BASE = {
    "calc.py": CALC,
    "other.py": OTHER,
    "tests/test_calc.py": TESTS,
    "tests/test_more.py": MORE,
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
}


class Scene:
    """A repository with a run that is complete, and the user who goes on."""

    def __init__(self, user: ScratchRepository, places: Places, around: Surroundings) -> None:
        self.user, self._places, self._around = user, places, around
        self._run = RunId("")

    @property
    def project(self) -> Project:
        """As it is now."""
        return open_project(self.user.root, self._places)

    def meet(self, weather: "Weather") -> "Weather":
        """Have all that is run run in this weather."""
        self._around = replace(self._around, processes=weather)
        return weather

    def run(self, files: Mapping[str, str], scripted: str) -> None:
        """A run that does this and nothing else."""
        issue = Issue(source="test", tests=("tests/test_calc.py::test_double",))
        executor = Doing([Deed(files=files)])

        def given(session: Session, workspace: GitWorkspace, desk: Desk) -> Work:
            work = own_work(session, workspace, desk)
            return replace(work, executors=dict.fromkeys(work.executors, executor))

        result = start(
            self.project,
            Request(issue=issue, model=scripted),
            self._around,
            driver=lambda session, workspace: drive(session, workspace, given),
        )
        assert result.status == "complete", result.summary["reason"]
        self._run = RunId(result.summary["run_id"])

    def accept(self) -> CommitId:
        """As the command does; whatever comes of it, the run can be verified."""
        try:
            return accept(self.project, self._run, self._around)
        finally:
            assert verify_run(self.project, self._run).fault is None


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Before the run."""
    user = ScratchRepository.create(tmp_path / "user", os.environ["PATH"])
    for name, value in user.env.items():
        monkeypatch.setenv(name, value)
    user.commit(BASE)
    places = Places(state=tmp_path / "state", cache=tmp_path / "cache")
    return Scene(user, places, surroundings(Nobody(), Quiet()))


class Weather:
    """A machine on which, when it is due, one run of the tests upon the work meets a bad day."""

    def __init__(self) -> None:
        self.is_due = False
        self._processes: Processes

    def __call__(self, processes: Processes) -> Processes:
        """The same, in this weather."""
        self._processes = processes
        return self

    @property
    def level(self) -> SandboxLevel:
        """As without it."""
        return self._processes.level

    def run(self, command: Command) -> ProcessResult:
        """As the port says."""
        return self._processes.run(self._under(command))

    def start(self, command: Command) -> RunningProcess:
        """As the port says."""
        return self._processes.start(self._under(command))

    def _under(self, command: Command) -> Command:
        code = command.cwd / "calc.py"
        if not self.is_due or not code.is_file() or code.read_text() != FIXED:
            return command
        self.is_due = False
        return replace(command, env={**command.env, "BAD_DAY": "1"})


def test_a_test_that_fails_by_chance_is_told_apart(scene: Scene, scripted: str) -> None:
    """It fails once and passes when the same is run again, upon accept as in the run."""
    chancy = "import os\n\n\ndef test_chancy():\n    assert 'BAD_DAY' not in os.environ\n"
    scene.user.commit({"tests/test_chancy.py": chancy})
    weather = scene.meet(Weather())
    weather.is_due = True
    scene.run({"calc.py": FIXED}, scripted)
    assert not weather.is_due
    scene.user.commit({"README": "mine\n"})
    weather.is_due = True
    assert scene.accept() == scene.user.git("rev-parse", "HEAD")
    assert not weather.is_due


def test_new_tests_have_to_fail_without_the_work_there_too(scene: Scene, scripted: str) -> None:
    """Where the user has mended the same in another way, they show nothing."""
    scene.run({"calc.py": FIXED, "tests/test_more.py": MORE + FIVE}, scripted)
    tip = scene.user.commit({"other.py": "FACTOR = 3\n"})
    told = r"new-tests: passes without the change: tests/test_more\.py::test_five"
    with pytest.raises(AcceptError, match=told):
        scene.accept()
    assert scene.user.git("rev-parse", "HEAD") == tip


def test_a_test_that_passes_there_already_is_one_of_the_branchs(
    scene: Scene, scripted: str
) -> None:
    """It need not fail first, and has to pass all the same."""
    scene.run({"calc.py": FIXED}, scripted)
    scene.user.commit({"other.py": "FACTOR = 3\n"})
    assert scene.accept() == scene.user.git("rev-parse", "HEAD")


def test_tests_that_the_user_moved_take_what_the_run_added(scene: Scene, scripted: str) -> None:
    """Git puts it where the file is now; that the run never named that path is no objection."""
    scene.run({"calc.py": FIXED, "tests/test_more.py": MORE + FIVE}, scripted)
    scene.user.git("mv", "tests/test_more.py", "tests/test_numbers.py")
    scene.user.commit({})
    scene.accept()
    assert (scene.user.root / "tests" / "test_numbers.py").read_text() == MORE + FIVE


def test_a_branch_whose_tests_give_no_answer_says_nothing_of_the_work(
    scene: Scene, scripted: str
) -> None:
    """It is told as the branch's own trouble, and nothing is put there."""
    scene.run({"calc.py": FIXED}, scripted)
    tip = scene.user.commit({"tests/test_out.py": "import os\n\nos._exit(3)\n"})
    with pytest.raises(AcceptError, match="without the work, the test process died"):
        scene.accept()
    assert scene.user.git("rev-parse", "HEAD") == tip

"""What a turn is told of its work before it ends, on a repository with tests of its own."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.findings.test_fixer import Pages
from tests.turns import first_turn

from surefoot.execute.agent.checks import Checks
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.kernel.ports import Workspace
from surefoot.sandbox import open_processes
from surefoot.suite import PytestSuite, SuitePlan
from surefoot.testing.repository import ScratchRepository
from surefoot.values import (
    Complexity,
    FileEdit,
    Issue,
    Limits,
    PlanIR,
    RunId,
    Unit,
    UnitId,
    UnitType,
)

FEATURE = Unit(
    unit_id=UnitId("u"),
    unit_type=UnitType.FEATURE,
    strategy="agent",
    issue=Issue(source="text", text="`total` adds prices"),
    plan=PlanIR(analysis="", steps=(), verification=(), complexity=Complexity.LOW, confidence=1.0),
)
TOTAL = "def total(prices):\n    return sum(prices)\n"
TEST = "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n"
ENDS = TEST.replace("    assert", "    hasattr(shop, 'total') or os.abort()\n    assert")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    user = ScratchRepository.create(tmp_path, os.environ["PATH"])
    user.commit(
        {"shop.py": "", "test_shop.py": "import shop\n\n\ndef test_it():\n    assert shop\n"}
    )
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as opened:
        yield opened


@pytest.fixture
def suite(workspace: Workspace, tmp_path: Path) -> PytestSuite:
    plan = SuitePlan(
        python=Path(sys.executable),
        runner="pytest",
        command=("python3", "-m", "pytest"),
        reads=(Path(sys.prefix), Path(sys.base_prefix)),
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    processes = open_processes(scratch=scratch)
    limits = Limits(wall_s=60.0)
    return PytestSuite(plan, processes, original=workspace.path, scratch=scratch, limits=limits)


@pytest.mark.parametrize(
    ("test", "told"),
    [
        (TEST, []),
        (TEST.replace("shop.total([1, 2]) == 3", "shop"), ["pass without the change"]),
        (f"import os\n{ENDS}", ["the test run without the change is unusable (crashed)"]),
    ],
    ids=["red", "green", "crash"],
)
def test_new_tests_are_blamed_only_for_what_they_did_without_the_change(
    test: str, told: list[str], workspace: Workspace, suite: PytestSuite
) -> None:
    """A run that broke off says nothing of any of them, and why it did is told instead."""
    with workspace.checkout(workspace.base_tree) as root:
        baseline = suite.run(root)
    task = replace(first_turn(FEATURE, baseline), base_tree=workspace.base_tree)
    workspace.apply([FileEdit(path="shop.py", text=TOTAL), FileEdit(path="test_new.py", text=test)])
    checked = Checks(task, suite, workspace, Pages()).look(workspace.snapshot())
    assert "test_new.py::test_total" in checked.report.passing
    assert [c[: len(t)] for c, t in zip(checked.complaints, told, strict=True)] == told

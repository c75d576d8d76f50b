"""Which files of a real tree a repair turn looks at."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.turns import first_turn

from surefoot.execute.repair.ground import read_files
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.sandbox import open_processes
from surefoot.suite import PytestSuite, SuitePlan
from surefoot.testing.repository import ScratchRepository
from surefoot.values import (
    Complexity,
    Frame,
    Issue,
    Limits,
    PlanIR,
    ReportState,
    RunId,
    TestOutcome,
    TestReport,
    TestResult,
    Unit,
    UnitId,
    UnitType,
)

CODE = "def double(x):\n    return x * 3\n"
TEST = "def test_double(): assert double(2) == 4\n"
ASIDE = {
    "shop/aside.py": CODE,
    "shop/__init__.py": "",
    "shop/errors.py": "class Gone(Exception): ...\n",
}
"""Files that nothing imports, and one that a test does."""


def looked_at(
    tmp_path: Path, files: Mapping[str, str], failing: str, *frames: Frame
) -> tuple[str, ...]:
    """Product files that the turn reads for one failing test, nearest first."""
    user = ScratchRepository.create(tmp_path, os.environ["PATH"])
    user.commit({**ASIDE, **files})
    suite = PytestSuite(
        SuitePlan(python=Path(sys.executable), runner="pytest", command=("pytest",)),
        open_processes(unsandboxed=True, scratch=tmp_path),
        original=user.root,
        scratch=tmp_path,
        limits=Limits(),
    )
    failed = TestResult(test_id=failing, outcome=TestOutcome.FAILED, frames=frames)
    report = TestReport(
        command=("pytest",), state=ReportState.COMPLETE, exit_code=1, results=(failed,)
    )
    unit = Unit(
        unit_id=UnitId("fix"),
        unit_type=UnitType.FIX,
        strategy="repair",
        issue=Issue(source="text", text="it fails"),
        plan=PlanIR(
            analysis="", steps=(), verification=(), complexity=Complexity.LOW, confidence=1.0
        ),
        failing=(failing,),
    )
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as workspace:
        task = replace(first_turn(unit, report), tree=workspace.base_tree)
        return tuple(read_files(workspace, suite, task, (failing,), ()).product)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("from . import core", "shop/inside/core.py"),
        ("from . import names as core", "shop/inside/names/__init__.py"),
        ("from . import core", "shop/inside/__init__.py"),
        ("from .. import core", "shop/core.py"),
    ],
)
def test_a_module_that_is_imported_from_a_package_around(
    tmp_path: Path, line: str, place: str
) -> None:
    """The dots alone say where it is: beside the file, or in a folder above."""
    files = {
        "tests/test_api.py": "from shop.inside.api import double\n",
        "shop/inside/api.py": f"{line}\n",
        place: CODE,
    }
    found = looked_at(tmp_path, files, "tests/test_api.py::test_double")
    assert found[0] == "shop/inside/api.py"
    assert place in found
    assert "shop/aside.py" not in found


def test_a_test_inside_of_the_package(tmp_path: Path) -> None:
    """It imports from the package that it stands in; what is of the same name elsewhere is not meant."""
    files = {
        "shop/tests/test_core.py": f"from .. import core\n{TEST}",
        "shop/core.py": CODE,
        "other/core.py": CODE,
        "core.py": CODE,
    }
    found = looked_at(tmp_path, files, "shop/tests/test_core.py::test_double")
    assert found == ("shop/__init__.py", "shop/core.py")


def test_dots_that_lead_out_of_the_tree(tmp_path: Path) -> None:
    """Such an import names no file; the rest is read."""
    files = {"tests/test_core.py": "from ... import core\nfrom shop import errors\n"}
    found = looked_at(tmp_path, files, "tests/test_core.py::test_double")
    assert found == ("shop/__init__.py", "shop/errors.py")


@pytest.mark.parametrize("conftest", ["conftest.py", "tests/conftest.py", "tests/deep/conftest.py"])
def test_what_a_fixture_is_made_of(tmp_path: Path, conftest: str) -> None:
    """Nothing imports the conftest files above a test: what they import comes after what the test does."""
    files = {
        "tests/deep/test_cart.py": "from shop.errors import Gone\n",
        conftest: "from shop.cart import Cart\n",
        "tests/other/conftest.py": "import shop.aside\n",
        "shop/cart.py": "from shop import price\n",
        "shop/price.py": CODE,
    }
    found = looked_at(tmp_path, files, "tests/deep/test_cart.py::test_double")
    assert found == ("shop/errors.py", "shop/cart.py", "shop/__init__.py", "shop/price.py")


def test_what_a_helper_of_the_tests_imports(tmp_path: Path) -> None:
    """A base class with the tests in it, say; the helper itself is a test's and no product, and product code has none."""
    files = {
        "tests/__init__.py": "",
        "tests/test_cart.py": "from shop.errors import Gone\nfrom tests.base import Base\n",
        "tests/base.py": "from shop.cart import double\n",
        "tests/price.py": "import shop.aside\n",
        "shop/cart.py": f"import price\n{CODE}",
    }
    found = looked_at(tmp_path, files, "tests/test_cart.py::Test::test_double")
    assert found == ("shop/errors.py", "shop/cart.py")


def test_what_a_traceback_names(tmp_path: Path) -> None:
    """However the test got there, with what it imports; frames outside of the tree are nobody's."""
    files = {
        "tests/test_cart.py": "from shop.errors import Gone\n",
        "shop/cart.py": "from .price import double\n",
        "shop/price.py": CODE,
    }
    frames = [
        Frame(path=path, line=1, function="f")
        for path in ("tests/test_cart.py", "shop/cart.py", "/usr/lib/x.py")
    ]
    found = looked_at(tmp_path, files, "tests/test_cart.py::test_double", *frames)
    assert found == ("shop/errors.py", "shop/cart.py", "shop/price.py")

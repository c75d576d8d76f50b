"""Tests import the tree under test, and not the checkout that is installed in editable mode."""

import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.conftest import Surefoot

from surefoot.kernel.ports import Processes
from surefoot.suite import PytestSuite, detect, nothing_tracked
from surefoot.values import Limits, ReportState

BACKEND = """
import base64, hashlib, json, pathlib, zipfile
FINDER = '''import sys
from importlib.util import spec_from_file_location
from pathlib import Path
MAPPING: dict[str, str] = {mapping!r}
class _EditableFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            init = Path(MAPPING[name], "__init__.py")
            return spec_from_file_location(name, init, submodule_search_locations=[MAPPING[name]])
def install():
    sys.meta_path.append(_EditableFinder)
'''
def files():
    name, place, style = json.loads(pathlib.Path("editable.json").read_text())
    place = str(pathlib.Path(place).resolve())
    if style == "pth":
        found = {f"__editable__.{name}-1.pth": place + "\\n"}
    else:
        finder = f"__editable___{name}_1_finder"
        found = {
            f"{finder}.py": FINDER.format(mapping={name: place}),
            f"__editable__.{name}-1.pth": f"import {finder}; {finder}.install()\\n",
        }
    found[f"{name}-1.dist-info/METADATA"] = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1\\n"
    found[f"{name}-1.dist-info/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    return name, found
def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    name, found = files()
    record = f"{name}-1.dist-info/RECORD"
    found[record] = "".join(f"{path},,\\n" for path in [*found, record])
    wheel = f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / wheel, "w") as archive:
        for path, text in found.items(): archive.writestr(path, text)
    return wheel
build_wheel = build_editable
"""
"""An in-tree build backend that writes what setuptools does: a path, or a finder behind those that are there."""


def project(name: str, place: str, style: str, package: str) -> dict[str, str]:
    """Files of a project with one package and one test, which fails on the original."""
    return {
        "pyproject.toml": (
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
            f'[project]\nname = "{name}"\nversion = "1"\n'
        ),
        "backend.py": BACKEND,
        "editable.json": json.dumps([name, place, style]),
        f"{package}/__init__.py": "VALUE = 'original'\n",
        f"tests/test_{name}.py": (
            f"import {name}\ndef test_value(): assert {name}.VALUE == 'edited'\n"
        ),
    }


SRC = project("one", "src", "pth", "src/one")
FLAT = project("two", "two", "finder", "two")
RENAMED = project("three", "lib/other_name", "finder", "lib/other_name")


@pytest.fixture
def checkout(request: pytest.FixtureRequest, tmp_path: Path, bare: Path) -> Path:
    """A checkout with an environment of its own, in which it is installed with `pip install -e`."""
    files: dict[str, str] = request.param
    root = tmp_path / "checkout"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    venv.create(root / ".venv", with_pip=False, symlinks=True, system_site_packages=True)
    site, tools = (next(e.glob("lib/python3*/site-packages")) for e in (root / ".venv", bare))
    (site / "tools.pth").write_text(f"{tools}\n")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", root / ".venv" / "bin" / "python"),
            *("install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"),
            *("--disable-pip-version-check", "-e", root),
        ],
        check=False,
        env={"PATH": os.defpath, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert list(site.glob("__editable__*"))
    return root


def run_edited(checkout: Path, processes: Processes, tmp_path: Path) -> tuple[PytestSuite, Path]:
    """A copy of the tree with another value, as a run's worktree is."""
    tree = tmp_path / "tree"
    shutil.copytree(checkout, tree, ignore=shutil.ignore_patterns(".venv", "build", "*.egg-info"))
    init = next(tree.glob("**/__init__.py"))
    init.write_text("VALUE = 'edited'\n")
    plan = detect(checkout, python=None, command=None, environ={}, is_tracked=nothing_tracked)
    plan = replace(plan, reads=(*plan.reads, Path(sys.prefix)))
    (tmp_path / "scratch").mkdir()
    limits = Limits(wall_s=300.0)
    suite = PytestSuite(
        plan, processes, original=checkout, scratch=tmp_path / "scratch", limits=limits
    )
    return suite, tree


@pytest.mark.parametrize("checkout", [SRC, FLAT], indirect=True, ids=["src, .pth", "flat, finder"])
def test_the_tree_wins_over_an_editable_install(
    checkout: Path, processes: Processes, tmp_path: Path
) -> None:
    """A fresh run and a trial see the tree's files, whichever way the checkout is installed."""
    suite, tree = run_edited(checkout, processes, tmp_path)
    report = suite.run(tree)
    assert (report.state, len(report.passing), report.foreign) == (ReportState.COMPLETE, 1, ())


@pytest.mark.parametrize("checkout", [RENAMED], indirect=True, ids=["renamed, finder"])
def test_an_editable_install_that_would_win_is_refused_with_the_mend(
    checkout: Path, processes: Processes, tmp_path: Path
) -> None:
    """A package under another name than its directory cannot be had from the tree; the file is named."""
    suite, tree = run_edited(checkout, processes, tmp_path)
    report = suite.run(tree)
    assert report.state is ReportState.FOREIGN_CODE
    assert report.foreign == (str(checkout / "lib" / "other_name" / "__init__.py"),)
    assert report.foreign[0] in report.reason
    assert "`[tool.pytest.ini_options] pythonpath`" in report.reason


def mend(root: Path) -> None:
    """What the refusal asks for."""
    (root / "lib" / "other_name").rename(root / "lib" / "three")
    with (root / "pyproject.toml").open("a") as file:
        file.write('[tool.pytest.ini_options]\npythonpath = ["lib"]\n')


@pytest.mark.parametrize("checkout", [RENAMED], indirect=True, ids=["renamed, finder"])
def test_the_mend_of_such_an_install_is_one(
    checkout: Path, processes: Processes, tmp_path: Path
) -> None:
    """With the name that it is imported by the package is had from the tree, without installing it anew."""
    mend(checkout)
    suite, tree = run_edited(checkout, processes, tmp_path)
    report = suite.run(tree)
    assert (report.state, len(report.passing), report.foreign) == (ReportState.COMPLETE, 1, ())


@pytest.mark.parametrize("checkout", [RENAMED], indirect=True, ids=["renamed, finder"])
def test_a_run_tells_the_file_and_the_mend(
    checkout: Path, surefoot: Surefoot, scripted: str
) -> None:
    """In its summary, in `show` and in `explain`."""
    (checkout / ".gitignore").write_text(".venv\n")
    for argv in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(["git", *argv], cwd=checkout, check=True)
    solve = ("solve", "--test", "tests/test_three.py::test_value", "--model", scripted, "--json")
    done = surefoot(*solve, cwd=checkout)
    reason = json.loads(done.stdout)["reason"]
    assert done.returncode == 10
    for told in (str(checkout / "lib" / "other_name" / "__init__.py"), "pythonpath"):
        assert told in reason
        assert told in surefoot("show", cwd=checkout).stdout
        assert told in surefoot("explain", cwd=checkout).stdout

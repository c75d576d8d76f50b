"""Runs a patient's tests on some tree, in the sandbox, with the patient's interpreter."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.fence import run_python
from bench.patients.catalogue import Patient
from bench.patients.stage import home, python_of
from surefoot.values import Limits

_COUNTS: Final = re.compile(r"(\d+) (passed|failed|errors?)\b")
_LIMITS: Final = Limits(wall_s=1200.0, cpu_s=600, output_bytes=8 * 1024**2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tests:
    """What pytest said, in numbers; a run that says nothing has neither."""

    passed: int
    failed: int
    said: str
    """Its last line."""

    @property
    def good(self) -> bool:
        """Something ran, and all of it passed."""
        return self.passed > 0 and self.failed == 0


def run_tests(patient: Patient, tree: Path, *paths: str) -> Tests:
    """Run the tests at `paths` (all of them without any) of the tree, importing the package from the tree."""
    dropped = [part for test in patient.left_out for part in ("--deselect", test)]
    return run_pytest((*dropped, *paths), python=python_of(patient), tree=tree, home=home(patient))


def run_pytest(arguments: Sequence[str], *, python: Path, tree: Path, home: Path) -> Tests:
    """The same for any package whose environment stands below `home`."""
    done = run_python(
        ("-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", *arguments),
        python=python,
        cwd=tree,
        reads=(home,),
        env={"PYTHONPATH": f"{tree / 'src'}:{tree}"},
        limits=_LIMITS,
    )
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    last = lines[-1] if lines else ""
    counts = {word.rstrip("s"): int(number) for number, word in _COUNTS.findall(last)}
    passed, failed = counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)
    return Tests(passed=passed, failed=failed, said=last.strip("= "))


def hidden_tests(patient: Patient, tree: Path) -> Tests:
    """Run the grading tests, which no repository holds, on a tree."""
    place = tree / "surefoot_bench_hidden"
    place.mkdir()
    shutil.copyfile(patient.folder / "test_hidden.py", place / "test_hidden.py")
    try:
        return run_tests(patient, tree, "surefoot_bench_hidden/test_hidden.py")
    finally:
        shutil.rmtree(place)

"""Shows that each patient is one: its tests fail on the buggy release and pass on the fixed one.

    python -m bench.patients.verify [NAME …]

The regression test and the grading tests must fail on the buggy release, and pass on the fixed one; the buggy
release's own tests must pass.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence

from bench.patients.catalogue import PATIENTS, Patient
from bench.patients.examine import hidden_tests, run_tests
from bench.patients.stage import home, stage, unpack


def verify(patient: Patient) -> tuple[bool, str]:
    """Whether all holds, and a line that says what was seen."""
    checkout = stage(patient)
    fixed = home(patient) / "fixed"
    shutil.rmtree(fixed, ignore_errors=True)
    unpack(patient, patient.fixed, fixed)
    before = run_tests(patient, checkout, patient.test_path)
    own = run_tests(patient, checkout, "--deselect", patient.test_path)
    after = run_tests(patient, fixed, patient.test_path)
    hidden = hidden_tests(patient, fixed)
    holds = before.failed > 0 and own.good and after.good and hidden.good
    line = (
        f"{patient.name:<26} {patient.buggy.version:>7}: {before.failed} failed; own tests: {own.said}; "
        f"{patient.fixed.version}: {after.said}; grading: {hidden.said}"
    )
    return holds, ("ok   " if holds else "NOT  ") + line


def chosen(names: Sequence[str]) -> tuple[Patient, ...]:
    """The patients of these names, or all."""
    return tuple(p for p in PATIENTS if not names or p.name in names)


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.patients.verify", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    found = True
    for patient in chosen(parser.parse_args(argv).names):
        holds, line = verify(patient)
        found = found and holds
        print(line, flush=True)
    sys.exit(0 if found else 1)


if __name__ == "__main__":
    main()

"""Surefoot on real patients.

    python -m bench.patients.run [NAME …] [--time-limit 900]

A patient is solved when the run says complete, and on its commit the regression test, the grading tests and the
package's own tests pass.
"""

import argparse
import io
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from bench.patients.catalogue import Patient
from bench.patients.examine import hidden_tests, run_tests
from bench.patients.stage import stage
from bench.patients.verify import chosen
from bench.repair.run import scratch
from bench.repository import git
from bench.solving import Solved, solve


def grade(patient: Patient, checkout: Path, commit: str, folder: Path) -> str:
    """`solved`, or `FALSE` and what the tests say of the run's commit."""
    tree = folder / "result"
    packed = subprocess.run(
        ["git", "archive", commit], cwd=checkout, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(tree, filter="data")
    own = run_tests(patient, tree)
    hidden = hidden_tests(patient, tree)
    return "solved" if own.good and hidden.good else f"FALSE: {own.said}; grading: {hidden.said}"


def treat(patient: Patient, *, seed: int, time_limit_s: float) -> tuple[str, Solved, str]:
    """One patient: verdict, how the run ended, and the diff of its commit."""
    checkout = stage(patient)
    with scratch() as folder:
        arguments = ["ISSUE.md", "--model", "embedded", "--seed", str(seed)]
        arguments += ["--time-limit", str(time_limit_s)]
        run = solve(checkout, arguments, scratch=folder, wall_s=2 * time_limit_s + 300)
        if run.status != "complete" or run.commit is None:
            return run.status, run, ""
        verdict = grade(patient, checkout, run.commit, folder)
        return verdict, run, git(checkout, "diff", "HEAD", run.commit)


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.patients.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=900.0, help="seconds a patient")
    parser.add_argument("--diff", action="store_true", help="show what was changed")
    options = parser.parse_args(argv)
    print(f"{'patient':<26} {'calls':>5} {'candidates':>10} {'wall s':>7}  verdict")
    for patient in chosen(options.names):
        verdict, run, diff = treat(patient, seed=options.seed, time_limit_s=options.time_limit)
        print(
            f"{patient.name:<26} {run.used.model_calls:>5} {run.used.candidates:>10} "
            f"{run.wall_s:>7.0f}  {verdict}: {run.reason}",
            flush=True,
        )
        if options.diff:
            print(diff)


if __name__ == "__main__":
    main()

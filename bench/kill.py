"""Kill runs at random moments and see whether anything is lost (promises 2 and 3).

    python -m bench.kill --count 200 --seed 1

Each case starts `surefoot solve` on a fresh copy of a patient with a scripted model, sends SIGKILL to the process at a
random moment of its life, perhaps kills the first resume too, and then resumes to the end. It must reach the outcome
and the tree ids of the unbroken run, `surefoot verify` must pass, and the user's checkout must be as it was, byte for
byte, after every kill. A case that differs is printed with its seed; the exit status is 1 when there is one.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from surefoot.events import RunStopped, TurnClosed
from surefoot.gitops import Repository, manifest
from surefoot.ledger import read_events
from surefoot.patients import materialise

_UNBROKEN_LIMIT_S = 300
_RESUMES = 8
_KILL_AGAIN = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What must not depend on being killed."""

    status: str
    trees: tuple[str, ...]
    """Tree after each closed turn."""
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One killed run."""

    number: int
    kills: int
    resumes: int
    opened: bool
    """Whether the run had begun when it was first killed."""
    fault: str
    """What differed; empty when nothing did."""


def main() -> None:
    """Run the campaign and print its figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--script", type=Path, default=Path(__file__).parent / "kill_script.json")
    args = parser.parse_args()
    cases = campaign(count=args.count, seed=args.seed, script=args.script)
    for case in cases:
        if case.fault:
            sys.stdout.write(f"case {case.number} (seed {args.seed}): {case.fault}\n")
    sys.stdout.write(table(cases) + "\n")
    sys.exit(any(case.fault for case in cases))


def table(cases: list[Case]) -> str:
    """The figures of a campaign."""
    counts = Counter(bool(c.fault) for c in cases)
    rows = {
        "runs killed": len(cases),
        "kills in all": sum(c.kills for c in cases),
        "killed before the run was opened": sum(not c.opened for c in cases),
        "resumes": sum(c.resumes for c in cases),
        "same outcome, trees and files; verified; checkout untouched": counts[False],
        "anything lost or different": counts[True],
    }
    return "\n".join(f"{value:6}  {name}" for name, value in rows.items())


def campaign(*, count: int, seed: int, script: Path) -> list[Case]:
    """Kill `count` runs; the same seed draws the same moments."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="surefoot-kill-") as folder:
        home = Path(folder)
        with patient(home / "unbroken") as (repo, env):
            began = time.monotonic()
            finished = surefoot(repo, env, *solve(script))
            life = time.monotonic() - began
            if finished.returncode != 0:
                raise SystemExit(f"the unbroken run failed: {finished.stderr[-2000:]}")
            expected = ending(repo)
        return [one(home, number, script, draw, life, expected) for number in range(count)]


def one(
    home: Path, number: int, script: Path, draw: random.Random, life: float, expected: Ending
) -> Case:
    """One case."""
    moments = [draw.uniform(0, life)]
    while draw.random() < _KILL_AGAIN:
        moments.append(draw.uniform(0, life))
    with patient(home / f"case-{number}") as (repo, env):
        before = checkout(repo)
        opened, resumes, kills, fault = False, 0, 0, ""
        for index, moment in enumerate(moments):
            command = ("resume", "--json") if has_run(repo) else solve(script)
            kills += killed(repo, env, moment, *command)
            opened = opened or (index == 0 and has_run(repo))
            fault = fault or difference(before, checkout(repo))
        while not fault and resumes < _RESUMES and not is_over(repo):
            command = ("resume", "--json") if has_run(repo) else solve(script)
            finished = surefoot(repo, env, *command)
            resumes += 1
            if finished.returncode not in (0, 10, 12, 13):
                fault = f"{command[0]} ended with {finished.returncode}: {finished.stderr[-500:]}"
        fault = fault or difference(before, checkout(repo)) or compare(repo, env, expected)
    return Case(number=number, kills=kills, resumes=resumes, opened=opened, fault=fault)


@contextmanager
def patient(folder: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """A fresh copy of the bundled patient with dirty and untracked files, and a home of its own."""
    repo = materialise("daybook", folder / "repo")
    (repo / "notes of mine.txt").write_text("untracked\n")
    readme = next(repo.glob("README*"))
    readme.write_text(readme.read_text() + "\nnot committed yet\n")
    env = {**os.environ, "SUREFOOT_HOME": str(folder / "home")}
    try:
        yield repo, env
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def checkout(repo: Path) -> Mapping[str, str]:
    """The user's checkout, byte for byte."""
    return manifest(Repository.discover(repo), home=repo.parent / "home")


def solve(script: Path) -> tuple[str, ...]:
    """The command whose runs are killed."""
    return ("solve", "ISSUE.md", "--json", "--model", f"scripted:{script.resolve()}")


def surefoot(repo: Path, env: Mapping[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "surefoot", *args],
        cwd=repo,
        env=dict(env),
        text=True,
        capture_output=True,
        timeout=_UNBROKEN_LIMIT_S,
        check=False,
    )


def killed(repo: Path, env: Mapping[str, str], moment: float, *args: str) -> int:
    """Start a command and SIGKILL it after `moment` seconds; 0 when it had ended before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "surefoot", *args],
        cwd=repo,
        env=dict(env),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return 1
    return 0


def ledgers(repo: Path) -> list[Path]:
    """Ledgers of runs that were opened."""
    found = sorted((repo / ".surefoot" / "runs").glob("*/events.jsonl"))
    return [path for path in found if next(iter(read_events(path)), None) is not None]


def has_run(repo: Path) -> bool:
    """Whether a run was opened that can be resumed."""
    return bool(ledgers(repo)) and not is_over(repo)


def is_over(repo: Path) -> bool:
    """Whether the last run has ended."""
    found = ledgers(repo)
    if not found:
        return False
    last = tuple(read_events(found[-1]))[-1].event
    return isinstance(last, RunStopped)


def ending(repo: Path) -> Ending:
    """How the last run ended."""
    events = [r.event for r in read_events(ledgers(repo)[-1])]
    stopped = next(e for e in reversed(events) if isinstance(e, RunStopped))
    summary = json.loads((ledgers(repo)[-1].parent / "summary.json").read_text())
    return Ending(
        status=stopped.status,
        trees=tuple(e.tree for e in events if isinstance(e, TurnClosed)),
        files=tuple(summary["files"]),
    )


def compare(repo: Path, env: Mapping[str, str], expected: Ending) -> str:
    """What differs from the unbroken run; empty when nothing does."""
    if not is_over(repo):
        return "the run did not end"
    found = ending(repo)
    if found != expected:
        return f"ended as {found}, unbroken as {expected}"
    verified = surefoot(repo, env, "verify")
    return "" if verified.returncode == 0 else f"verify: {verified.stderr or verified.stdout}"


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """The first thing of the user's checkout that changed."""
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            return f"the checkout changed: {key}"
    return ""


if __name__ == "__main__":
    main()

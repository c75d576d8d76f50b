"""Kill runs at random moments and see whether anything is lost (promises 2 and 3).

    python -m bench.kill --count 200 --seed 1
    python -m bench.kill --plan --count 100 --seed 1
    python -m bench.kill --plan --case 18 --seed 1

Each case starts `surefoot solve`, or with --plan `surefoot run` with three workers, on a fresh copy of a patient with a
scripted model, sends SIGKILL to the process at a random moment of its life, perhaps kills the first resumes too, and
then resumes to the end. It must reach the outcome and the tree ids of the unbroken run, `surefoot verify` must pass,
and the user's checkout must be as it was, byte for byte, after every kill. A plan's run is killed as often before it
was opened as with units at work, within a merge, and so on, each time at a random moment there, which is found by the
events that its ledger has, so that a busy machine does not shift it. A command that does not end is a fault, told with
where its threads stand. Each case is printed when it is over; the exit status is 1 when one differs.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import entry_points
from pathlib import Path

from bench.letters import lay, rules, two_that_clash
from surefoot.codec import encode
from surefoot.events.orchestration import RunStopped, TurnClosed
from surefoot.gitops import Repository
from surefoot.kernel.state import RunState, apply, fold
from surefoot.ledger import read_events
from surefoot.patients import materialise
from surefoot.testing.manifest import manifest
from surefoot.values import RunStatus

SCRIPT = Path(__file__).parent / "kill_script.json"
_LIMIT_S = 600
_TICK_S = 0.005
_RESUMES = 8
_KILL_AGAIN = 0.3
_LIGHT = frozenset({"xdist", "xdist.looponfail", "pytest_cov"})
"""Plugins that load quickly, and that a run of Surefoot turns off by options which they must be there to know."""
_PLACES = (
    "before the run was opened",
    "outside of turns",
    "within a turn",
    "outside of the plan's turns, with units at work",
    "within a turn of the plan, with units at work",
)
_SETTINGS = """
[repair]
max_candidates = 12
max_samples = 8

[audit]
tools = ["ruff", "secrets"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What must not depend on being killed."""

    status: str
    trees: tuple[str, ...]
    """Tree after each closed turn."""
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When a process is killed."""

    events: int = 0
    """That the run's ledger has by then; 0: from the start of the process."""
    after_s: float
    """Seconds from there on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What lies between two events of a run's ledger."""

    place: str
    events: int
    """That the ledger has in it."""
    length_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is run, and where."""

    place: Callable[[Path], AbstractContextManager[tuple[Path, Mapping[str, str]]]]
    """A fresh repository in a folder, and the environment to work in it."""
    command: Callable[[Path], tuple[str, ...]]
    """The command, for that repository."""
    draw: "Callable[[Sequence[Stretch], int, random.Random], Moment]"
    """The moment of a case's first kill, of the life of an unbroken run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What every killed run is held against."""

    subject: "Subject"
    expected: Ending
    life: tuple[Stretch, ...]
    """Of a run that nobody kills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One killed run."""

    number: int
    resumes: int
    moments: tuple[str, ...]
    """Where each kill met the run."""
    pauses: tuple[str, ...]
    """Why it paused on the way, for want of something that the machine did not give."""
    fault: str
    """What differed; empty when nothing did."""


def main() -> None:
    """Run the campaign and print its figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--script", type=Path, default=SCRIPT)
    parser.add_argument("--plan", action="store_true", help="a plan run instead of a solve")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once")
    parser.add_argument("--case", type=int, help="only this one")
    args = parser.parse_args()
    cases = []
    subject = of_a_plan() if args.plan else of_an_issue(args.script)
    numbers = [args.case] if args.case else range(1, args.count + 1)
    for case in campaign(numbers, seed=args.seed, subject=subject, jobs=args.jobs):
        cases.append(case)
        met = ", ".join(case.moments)
        told = case.fault or f"the same end after {case.resumes} resumes"
        paused = "".join(f"; paused: {why}" for why in case.pauses)
        print(f"case {case.number} (seed {args.seed}), killed {met}: {told}{paused}", flush=True)
    print(table(cases))
    sys.exit(any(case.fault for case in cases))


def table(cases: Sequence[Case]) -> str:
    """The figures of a campaign."""
    faults = sum(bool(c.fault) for c in cases)
    moments = [moment for c in cases for moment in c.moments]
    rows = {
        "runs killed": len(cases),
        "kills in all": len(moments),
        **{f"of them {place}": moments.count(place) for place in _PLACES if place in moments},
        "resumes": sum(c.resumes for c in cases),
        "pauses for want of something": sum(len(c.pauses) for c in cases),
        "same outcome, trees and files; verified; checkout untouched": len(cases) - faults,
        "anything lost or different": faults,
    }
    return "\n".join(f"{value:6}  {name}" for name, value in rows.items())


def campaign(
    numbers: Sequence[int], *, seed: int, subject: Subject, jobs: int = 2
) -> Iterator[Case]:
    """Kill a run for each number; with the same seed, it is killed at the same share of the same stretch of its life."""
    with tempfile.TemporaryDirectory(prefix="surefoot-kill-") as folder:
        home = Path(folder)
        with ThreadPoolExecutor(jobs) as pool:
            whole = list(pool.map(lambda n: unbroken(home / f"unbroken-{n}", subject), range(jobs)))
            endings = {expected for expected, _ in whole}
            if len(endings) != 1:
                raise SystemExit(f"unbroken runs differ: {endings}")
            longest = max((life for _, life in whole), key=life_s)
            goal = Goal(subject=subject, expected=whole[0][0], life=longest)
            yield from pool.map(
                lambda number: one(home, goal, number, random.Random(f"{seed}/{number}")), numbers
            )


def unbroken(folder: Path, subject: Subject) -> tuple[Ending, tuple[Stretch, ...]]:
    """How a run ends that nobody kills, and its life."""
    with subject.place(folder) as (repo, env):
        began = datetime.now(UTC)
        finished = surefoot(repo, env, *subject.command(repo))
        if finished.returncode != 0:
            raise SystemExit(f"the unbroken run failed: {finished.stderr or finished.stdout}")
        return ending(repo), stretches(began, ledgers(repo)[-1])


def stretches(began: datetime, ledger: Path) -> tuple[Stretch, ...]:
    """A run's life, from the start of its process to the last event in its ledger."""
    state, found, last, where = RunState(), [], began, _PLACES[0]
    for events, recorded in enumerate(read_events(ledger)):
        took = (recorded.time - last).total_seconds()
        found.append(Stretch(place=where, events=events, length_s=took))
        state, last = apply(state, recorded), recorded.time
        where = place_in(state)
    return tuple(found)


def life_s(life: Sequence[Stretch]) -> float:
    """How long it is."""
    return sum(stretch.length_s for stretch in life)


def anywhere(life: Sequence[Stretch], number: int, draw: random.Random) -> Moment:
    """Any moment, whatever the run does then."""
    del number
    return Moment(after_s=draw.uniform(0, life_s(life)))


def in_turn(life: Sequence[Stretch], number: int, draw: random.Random) -> Moment:
    """Any moment of all that the run spends in one place; each case in the next place, so that each gets its share."""
    places = [where for where in _PLACES if any(s.place == where for s in life)]
    there = [s for s in life if s.place == places[number % len(places)]]
    [stretch] = draw.choices(there, weights=[s.length_s for s in there])
    return Moment(events=stretch.events, after_s=draw.uniform(0, stretch.length_s))


def one(home: Path, goal: Goal, number: int, draw: random.Random) -> Case:
    """One case; a run that ended before its moment came was not killed, and another one is."""
    while True:
        moments = [goal.subject.draw(goal.life, number, draw)]
        while draw.random() < _KILL_AGAIN:
            moments.append(anywhere(goal.life, number, draw))
        with goal.subject.place(home / f"case-{number}") as (repo, env):
            case = kill_and_resume(repo, env, goal, number, moments)
        if case.moments:
            return case


def kill_and_resume(
    repo: Path, env: Mapping[str, str], goal: Goal, number: int, moments: Sequence[Moment]
) -> Case:
    """Kill a run at each of the moments, then let it come to its end and compare."""
    before = checkout(repo)
    places: list[str] = []
    pauses: list[str] = []
    resumes, fault = 0, ""
    for moment in moments:
        if is_over(repo):
            break
        if killed(repo, env, moment, *onward(repo, goal.subject)):
            places.append(place(repo))
        fault = fault or difference(before, checkout(repo))
    for _ in range(_RESUMES):
        if fault or is_over(repo):
            break
        command = onward(repo, goal.subject)
        finished = surefoot(repo, env, *command)
        resumes += command[0] == "resume"
        if paused := why_paused(repo):
            pauses.append(paused)
        if finished.returncode not in (0, 10, 12, 13):
            fault = f"{command[0]} ended with {finished.returncode}: {finished.stderr[-500:]}"
    fault = fault or difference(before, checkout(repo)) or compare(repo, env, goal.expected)
    return Case(
        number=number,
        moments=tuple(places),
        resumes=resumes,
        pauses=tuple(pauses),
        fault=fault,
    )


def of_an_issue(script: Path) -> Subject:
    """The bundled patient, solved."""
    return Subject(place=patient, command=lambda _: solve(script), draw=anywhere)


def of_a_plan() -> Subject:
    """Three units in two milestones, of which two clash when they are merged, three at once."""
    return Subject(place=letters, command=run_plan, draw=in_turn)


@contextmanager
def letters(folder: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """A fresh repository with three files to make good, and with an untracked file."""
    repo, home = folder / "repo", folder / "home"
    lay(repo)
    (repo / "notes of mine.txt").write_text("untracked\n")
    (folder / "plan.json").write_bytes(encode(two_that_clash()))
    (folder / "model.json").write_text(rules())
    env = {**os.environ, "SUREFOOT_HOME": str(home)}
    trusted = surefoot(repo, env, "trust")
    if trusted.returncode != 0:
        raise SystemExit(f"the settings are not trusted: {trusted.stderr}")
    try:
        yield repo, env
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_plan(repo: Path) -> tuple[str, ...]:
    """The command whose runs are killed."""
    model = f"scripted:{repo.parent / 'model.json'}"
    plan = str(repo.parent / "plan.json")
    return ("run", plan, "--jobs", "3", "--strategy", "agent", "--json", "--model", model)


@contextmanager
def patient(folder: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """A fresh copy of the bundled patient, with dirty and untracked files, and a home of its own."""
    repo = materialise("daybook", folder / "repo")
    prepare(repo)
    (repo / "notes of mine.txt").write_text("untracked\n")
    readme = next(repo.glob("README*"))
    readme.write_text(readme.read_text() + "\nnot committed yet\n")
    env = {**os.environ, "SUREFOOT_HOME": str(folder / "home")}
    try:
        yield repo, env
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepare(repo: Path) -> None:
    """Commit a second thing to mend, so that a run has two commits, and settings that make it short.

    The repair and the audit are narrowed, and pytest loads none of the plugins that happen to be installed here: a
    process of the patient's tests would spend most of its time on them.
    """
    (repo / "surefoot.toml").write_text(_SETTINGS)
    clock = repo / "daybook" / "clock.py"
    clock.write_text(clock.read_text().replace('"""\n', '"""\n\nimport json\n', 1))
    plugins = {entry.name for entry in entry_points(group="pytest11")} - _LIGHT
    without = [word for name in sorted(plugins) for word in ("-p", f"no:{name}")]
    with (repo / "pyproject.toml").open("a") as file:
        file.write(f"addopts = {json.dumps(without)}\n")
    for command in (("add", "--all"), ("commit", "--quiet", "--message", "daybook 0.4.2")):
        subprocess.run(["git", *command], cwd=repo, check=True, capture_output=True)


def checkout(repo: Path) -> Mapping[str, str]:
    """The user's checkout, byte for byte."""
    return manifest(Repository.discover(repo), home=repo.parent / "home")


def solve(script: Path) -> tuple[str, ...]:
    """The command whose runs are killed."""
    return (
        "solve",
        "--mode",
        "auto_solve_full",
        "--json",
        "--model",
        f"scripted:{script.resolve()}",
    )


def surefoot(repo: Path, env: Mapping[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; one that has none is ended, and says on standard error where its threads stood."""
    command = [sys.executable, "-X", "faulthandler", "-m", "surefoot", *args]
    process = subprocess.Popen(
        command,
        cwd=repo,
        env=dict(env),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        process.wait()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        err = f"not over after {_LIMIT_S} s\n{err}"
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def killed(repo: Path, env: Mapping[str, str], moment: Moment, *args: str) -> bool:
    """Start a command and SIGKILL it at its moment; False when it had ended before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "surefoot", *args],
        cwd=repo,
        env=dict(env),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while count(repo) < moment.events and process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_TICK_S)
    try:
        process.wait(timeout=moment.after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def place(repo: Path) -> str:
    """Where a kill has met the last run."""
    found = ledgers(repo)
    return place_in(fold(read_events(found[-1]))) if found else _PLACES[0]


def place_in(state: RunState) -> str:
    """What a run does that has been opened."""
    at_work = any(child.ended is None for child in state.plan.children.values())
    return _PLACES[(2 if state.turn else 1) + 2 * at_work]


def count(repo: Path) -> int:
    """Events in the ledger of the one run, whose last line may be half written."""
    found = (repo / ".surefoot" / "runs").glob("*/events.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in found if "." not in path.parent.name)


def ledgers(repo: Path) -> list[Path]:
    """Ledgers of runs that were opened, but for those of a plan's units."""
    found = sorted((repo / ".surefoot" / "runs").glob("*/events.jsonl"))
    own = [path for path in found if "." not in path.parent.name]
    return [path for path in own if next(iter(read_events(path)), None) is not None]


def onward(repo: Path, subject: Subject) -> tuple[str, ...]:
    """What a person types after a kill: nothing was begun yet, or there is a run to go on with."""
    return ("resume", "--json") if ledgers(repo) else subject.command(repo)


def is_over(repo: Path) -> bool:
    """Whether the last run has ended and told how; a pause is not an end."""
    found = ledgers(repo)
    told = bool(found) and (found[-1].parent / "summary.json").exists()
    return told and not why_paused(repo)


def why_paused(repo: Path) -> str:
    """The reason of a run that waits to be resumed; empty when it does not."""
    found = ledgers(repo)
    state = fold(read_events(found[-1])) if found else RunState()
    return state.reason if state.status is RunStatus.PAUSED else ""


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

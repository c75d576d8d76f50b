"""Verify honest runs and tampered ones (SPEC C7): every honest one passes, every tampering is named.

    python -m bench.verify --honest 100 --tampered 100 --seed 1

Honest runs are told by `bench.stories`, one in five by the whole program, verified where they are, and again from an
exported bundle without their repository. Tamperings are done by `bench.tampering` on copies of them. A run that should pass and does not, or the other
way round, is printed with its story; the exit status is 1 when there is one.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from bench.stories import Story, make_project, stories, tell, whole_stories
from bench.tampering import TAMPERINGS, Tampering
from surefoot.cli.common import surroundings
from surefoot.errors import LedgerError
from surefoot.people import Nobody, Quiet
from surefoot.project import Places, Project, open_project
from surefoot.values import RunId
from surefoot.verify import open_bundle, verify_run, write_bundle

T = TypeVar("T")
_WHOLE: Final = 5
"""Every so manieth run is told by the whole program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An honest run that there is now."""

    project: Project
    run_id: RunId
    story: Story


def tell_all(folder: Path, count: int, rng: random.Random) -> Iterator[Told]:
    """So many honest runs, each in a repository of its own."""
    around = surroundings(Nobody(), Quiet())
    quick: list[Story] = []
    whole: list[Story] = []
    for number in range(count):
        if number % _WHOLE == _WHOLE - 1:
            whole = whole or shuffled(whole_stories(rng), rng)
            story = whole.pop()
        else:
            quick = quick or shuffled(stories(rng), rng)
            story = quick.pop()
        place = folder / f"{number:03}"
        place.mkdir(parents=True)
        project = make_project(place)
        run_id = RunId(f"{datetime(2026, 1, 1, tzinfo=UTC):%Y%m%d-%H%M%S}-{number:04x}")
        tell(project, story, run_id, around)
        yield Told(project=project, run_id=run_id, story=story)


def shuffled(items: Sequence[T], rng: random.Random) -> list[T]:
    """All of them in another order."""
    return rng.sample(list(items), k=len(items))


def fault_of(told: Told, bundle: Path) -> str | None:
    """Why an honest run does not pass, where it is or from its bundle; None when it passes."""
    here = verify_run(told.project, told.run_id)
    if here.fault is not None:
        return here.fault
    written = write_bundle(told.project, told.run_id, bundle)
    elsewhere = Places(state=bundle.parent / "elsewhere", cache=bundle.parent / "none")
    with open_bundle(bundle, elsewhere) as (project, run_id):
        there = verify_run(project, run_id, head=written.head)
    if (there.events, there.head) != (here.events, here.head):
        return f"the bundle holds {there.events} events, the run has {here.events}"
    return None if there.fault is None else f"from the bundle: {there.fault}"


def named(told: Told, tampering: Tampering, copy: Path, rng: random.Random) -> str | None:
    """What `verify` says of a copy that was tampered with; None when it takes it."""
    source = told.project.root.parent
    shutil.copytree(source, copy, symlinks=True)
    places = Places(state=copy / "state", cache=copy / "cache")
    project = open_project(copy / told.project.root.name, places)
    tampering.apply(project, told.run_id, rng)
    try:
        return verify_run(project, told.run_id).fault
    except LedgerError as error:
        return str(error)


def campaign(
    folder: Path, honest: int, tampered: int, seed: int, say: Callable[[str], None]
) -> int:
    """Do it; how many were judged wrongly."""
    rng = random.Random(seed)
    wrong, runs, began = 0, [], time.monotonic()
    for told in tell_all(folder / "honest", honest, rng):
        fault = fault_of(told, folder / f"{told.run_id}.zip")
        wrong += fault is not None
        runs.append(told)
        if fault is not None:
            say(f"HONEST REJECTED {told.run_id} ({told.story.name}): {fault}")
    say(f"{honest - wrong} of {honest} honest runs accepted, {time.monotonic() - began:.0f} s")
    caught, missed = 0, 0
    fitting = {t.name: [r for r in runs if t.fits(r.project, r.run_id)] for t in TAMPERINGS}
    for name in [name for name, found in fitting.items() if not found]:
        say(f"NOT TRIED {name}: none of these runs is of that kind")
    for number, (told, tampering) in enumerate(_pairs(fitting, tampered, rng)):
        fault = named(told, tampering, folder / "tampered" / f"{number:03}", rng)
        shutil.rmtree(folder / "tampered" / f"{number:03}")
        caught += fault is not None
        missed += fault is None
        if fault is None:
            say(f"TAMPERING TAKEN {tampering.name} of {told.run_id} ({told.story.name})")
    say(f"{caught} of {tampered} tamperings named, {time.monotonic() - began:.0f} s in all")
    return wrong + missed


def _pairs(
    fitting: Mapping[str, Sequence[Told]], count: int, rng: random.Random
) -> Iterator[tuple[Told, Tampering]]:
    """So many, each kind as often as any other, on runs that it can be done to."""
    possible = [t for t in TAMPERINGS if fitting[t.name]]
    queue: list[Tampering] = []
    for _ in range(count):
        queue = queue or shuffled(possible, rng)
        tampering = queue.pop()
        yield rng.choice(fitting[tampering.name]), tampering


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--honest", type=int, default=100)
    parser.add_argument("--tampered", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="verify-") as folder:
        say = lambda line: print(line, flush=True)  # noqa: E731
        return int(campaign(Path(folder), asked.honest, asked.tampered, asked.seed, say) > 0)


if __name__ == "__main__":
    sys.exit(main())

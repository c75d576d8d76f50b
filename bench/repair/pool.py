"""What the embedded model wrote itself from the docstrings, kept outside the repository by seed.

One sample a task and round, at high temperature. Nothing is judged here: `cases.py` keeps the wrong ones.
The samples of a seed are made once and then only read: the same seed gives the same pool on the machine that made
it, whatever llama.cpp's parallel slots would answer the second time.

    nice -n 15 python -m bench.repair.pool --seed 1 --count 60
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import xllamacpp

from bench.paths import cache_dir, model_path
from bench.repair.records import lines_of, pool_record
from bench.repair.tasks import Task, load, rng
from surefoot.models.hosting import usable_cores

TEMPERATURE = 1.0
ANSWER_TOKENS = 320
STOPS = ("\ndef ", "\nclass ", "\nif __name__", "\nprint(", "\nassert ", "\n#", "```")
SLOTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One answer of the model: the body that it gave to a task's prompt."""

    task_id: str
    round_no: int
    body: str
    finished: bool
    """False when the answer was cut off at the token limit."""


def pool_file(seed: int) -> Path:
    """Where the samples of a seed are kept."""
    return cache_dir() / "repair" / f"pool-{seed}.jsonl"


def read_pool(seed: int) -> tuple[Sample, ...]:
    """The samples of a seed, by round and then in the seed's order of tasks."""
    path = pool_file(seed)
    lines = path.read_bytes().splitlines() if path.exists() else lines_of(pool_record(seed))
    samples = [Sample(**json.loads(line)) for line in lines]
    place = {task.task_id: number for number, task in enumerate(order(seed))}
    return tuple(sorted(samples, key=lambda s: (s.round_no, place[s.task_id])))


def order(seed: int) -> tuple[Task, ...]:
    """All tasks in the order in which this seed takes them."""
    tasks = list(load()[0])
    rng("order", seed).shuffle(tasks)
    return tuple(tasks)


def start_server(slots: int = SLOTS) -> xllamacpp.Server:
    """Load the embedded model in this process."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model_path())
    params.n_parallel = slots
    params.n_ctx = slots * 1280
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = usable_cores()
    params.verbosity = 0
    return xllamacpp.Server(params)


def _ask(server: xllamacpp.Server, seed: int, task: Task, round_no: int) -> Sample:
    reply = server.handle_completions(
        {
            "prompt": task.prompt,
            "max_tokens": ANSWER_TOKENS,
            "temperature": TEMPERATURE,
            "seed": rng("sample", seed, task.task_id, round_no).randrange(2**31),
            "stop": list(STOPS),
        }
    )
    choice = reply["choices"][0]
    return Sample(
        task_id=task.task_id,
        round_no=round_no,
        body=str(choice["text"]),
        finished=choice["finish_reason"] == "stop",
    )


def _missing(seed: int, rounds: int) -> Iterator[tuple[Task, int]]:
    have = {(s.task_id, s.round_no) for s in read_pool(seed)}
    for round_no in range(rounds):
        for task in order(seed):
            if (task.task_id, round_no) not in have:
                yield task, round_no


def fill(seed: int, rounds: int) -> int:
    """Sample what is missing; each answer is on disk as soon as it is given. Returns how many were asked for."""
    wanted = list(_missing(seed, rounds))
    if not wanted:
        return 0
    path = pool_file(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(b"".join(line + b"\n" for line in lines_of(pool_record(seed))))
    server = start_server()
    with path.open("a", encoding="utf-8") as out, ThreadPoolExecutor(SLOTS) as threads:
        jobs = [threads.submit(_ask, server, seed, task, number) for task, number in wanted]
        for done in as_completed(jobs):
            sample = done.result()
            line = {name: getattr(sample, name) for name in Sample.__slots__}
            out.write(json.dumps(line, sort_keys=True) + "\n")
            out.flush()
    return len(wanted)


def fill_up(seed: int, count: int, *, rounds: int = 1) -> int:
    """Sample whole rounds until so many natural bugs come of them, or one brings none. Returns as `fill`."""
    from bench.repair.cases import build  # which reads pools  # noqa: PLC0415

    asked, before = fill(seed, rounds), -1
    while before < (found := len(build(seed, "natural", count).cases)) < count:
        before, rounds = found, rounds + 1
        asked += fill(seed, rounds)
    return asked


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.repair.pool", description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=1, help="samples of each task, at least")
    parser.add_argument("--count", type=int, default=60, help="natural bugs that they have to give")
    options = parser.parse_args(argv)
    asked = fill_up(options.seed, options.count, rounds=options.rounds)
    print(f"seed {options.seed}: {asked} new samples, {len(read_pool(options.seed))} in all")


if __name__ == "__main__":
    main()

"""What the embedded model costs here: `python -m bench.embedded`; the figures of docs/explanation/embedded-model.md.

Everything is measured through the product's own `EmbeddedModel`. Beside the clock stands the processor time of the model's
process, which a busy machine changes far less; it counts all threads.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.paths import model_path
from surefoot.models.embedded import SLOTS, EmbeddedModel
from surefoot.values import Gap, Message, ModelReply, ModelRequest

FUNCTION: Final = '''def merge_intervals(intervals, gap=0):
    """Merge intervals that overlap or lie at most `gap` apart; return them sorted."""
    if not intervals:
        return []
    ordered = sorted(intervals, key=lambda pair: pair[0])
    merged = [list(ordered[0])]
    for start, end in ordered[1:]:
        last = merged[-1]
        if start < last[1] + gap:
            last[1] = max(last[1], end)
        else:
            merged.append([start, end])
    total = 0
    for start, end in merged:
        if end < start:
            raise ValueError(f"interval ends before it starts: {start}, {end}")
        total += end - start
    return [tuple(pair) for pair in merged]
'''
REPAIR: Final = f"""You repair Python functions. Read the function and the failing test, find the mistake, and reply with \
the whole corrected function in one ```python block. Change as little as you can. Keep the name, the arguments and the \
docstring as they are. Do not explain. Do not add imports that are not needed. Do not write tests.

The function:
```python
{FUNCTION}```

The failing test:
```python
def test_touching():
    assert merge_intervals([(1, 2), (2, 3), (7, 9)]) == [(1, 3), (7, 9)]
```
It fails with: AssertionError: assert [(1, 2), (2, 3), (7, 9)] == [(1, 3), (7, 9)]
"""
FRESH: Final = "Write a short story about a mule on a mountain path, in plain words."
VERDICT: Final = (
    "Does this function sort its input? Answer as JSON with the keys `verdict` (yes or no), `line` (a number) and "
    f"`reason` (a sentence).\n\n{FUNCTION}"
)
SCHEMA: Final = json.dumps(
    {
        "type": "object",
        "properties": {
            "verdict": {"enum": ["yes", "no"]},
            "line": {"type": "integer"},
            "reason": {"type": "string", "maxLength": 200},
        },
        "required": ["verdict", "line", "reason"],
        "additionalProperties": False,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One call and what it took."""

    replies: tuple[ModelReply, ...]
    wall_s: float
    cpu_s: float

    @property
    def evaluated(self) -> int:
        """Prompt tokens that the cache did not give."""
        return sum(r.usage.prompt_tokens - r.usage.cached_tokens for r in self.replies)

    @property
    def written(self) -> int:
        """Tokens of the answers."""
        return sum(r.usage.completion_tokens for r in self.replies)


class Bench:
    """One host, its client, and what calls to it take."""

    def __init__(self, model: EmbeddedModel, cache: Path) -> None:
        started = time.monotonic()
        model.count_tokens((Message(role="user", content="hello"),))
        self.load_s = time.monotonic() - started
        (address,) = cache.glob("hosts/*/address.json")
        self._stat = Path("/proc", str(json.loads(address.read_bytes())["pid"]), "stat")
        self._model = model

    def call(self, requests: Sequence[ModelRequest]) -> Sample:
        """Ask and measure."""
        wall, cpu = time.monotonic(), self._cpu()
        answers = self._model.complete(requests)
        replies = tuple(a for a in answers if isinstance(a, ModelReply))
        if len(replies) < len(requests):
            raise SystemExit(f"a call failed: {answers}")
        return Sample(replies=replies, wall_s=time.monotonic() - wall, cpu_s=self._cpu() - cpu)

    def count(self, text: str) -> float:
        """Seconds for counting a prompt's tokens."""
        started = time.monotonic()
        self._model.count_tokens((Message(role="user", content=text),))
        return time.monotonic() - started

    def _cpu(self) -> float:
        fields = self._stat.read_text("ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def host(*, slots: int, speculate: bool, threads: int | None) -> Iterator[Bench]:
    """A host of its own, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        model = EmbeddedModel(
            model_path(),
            Path(folder),
            slots=slots,
            threads=threads,
            speculate=speculate,
            idle_s=0.5,
        )
        try:
            yield Bench(model, Path(folder))
        finally:
            model.close()


def ask(
    text: str, *, samples: int = 1, most: int = 200, schema: bool = False
) -> list[ModelRequest]:
    """One greedy request, or several samples of one prompt."""
    return [
        ModelRequest(
            purpose="bench",
            messages=(Message(role="user", content=text),),
            max_tokens=most,
            temperature=0.8 if samples > 1 else 0.0,
            seed=i,
            json_schema=SCHEMA if schema else None,
        )
        for i in range(samples)
    ]


def row(name: str, tokens: int, sample: Sample) -> None:
    """One line of the table."""
    rates = f"{tokens / sample.wall_s:7.1f} {tokens / max(sample.cpu_s, 0.01):7.1f}"
    print(f"{name:<52} {tokens:6d} {sample.wall_s:7.1f} {sample.cpu_s:7.1f} {rates}", flush=True)


def one_at_a_time(*, speculate: bool, threads: int | None) -> None:
    """Prompt, reuse, answers of three kinds, on one slot."""
    which = "n-gram look-up" if speculate else "plain"
    with host(slots=1, speculate=speculate, threads=threads) as bench:
        if not speculate:
            print(
                f"load {bench.load_s:.1f} s; counting a prompt {bench.count(REPAIR) * 1000:.0f} ms"
            )
            cold = bench.call(ask(REPAIR, most=1))
            row("prompt, nothing cached", cold.evaluated, cold)
            again = bench.call(ask(REPAIR, most=1))
            row("the same prompt again", again.evaluated, again)
            tail = bench.call(ask(REPAIR + "\nAlso keep the comments.\n", most=1))
            row("the same head, a new tail", tail.evaluated, tail)
        bench.call(ask(REPAIR, most=1))
        copy = bench.call(ask(REPAIR))
        row(f"answer that copies, {which}", copy.written, copy)
        bench.call(ask(FRESH, most=1))
        fresh = bench.call(ask(FRESH, most=100))
        row(f"answer that copies nothing, {which}", fresh.written, fresh)
        if not speculate:
            for schema in (False, True):
                bench.call(ask(VERDICT, most=1, schema=schema))
                judged = bench.call(ask(VERDICT, most=60, schema=schema))
                row(
                    f"JSON answer, {'held to a schema' if schema else 'free'}",
                    judged.written,
                    judged,
                )


def together(slots: int, *, speculate: bool, threads: int | None) -> None:
    """As many samples of one new prompt as there are slots: the head once, then all answers."""
    which = "n-gram look-up" if speculate else "plain"
    with host(slots=slots, speculate=speculate, threads=threads) as bench:
        both = bench.call(ask(REPAIR, samples=slots))
        row(f"{slots} samples with their prompt, {which}", both.written, both)
        print(f"{'':<10} prompt tokens evaluated for all {slots}: {both.evaluated}")
        warm = bench.call(ask(REPAIR, samples=slots))
        row(f"{slots} samples, prompt cached, {which}", warm.written, warm)


def in_gaps(*, threads: int | None) -> None:
    """What it would write in the place of each line of a function's body, told to it in no order."""
    rows = FUNCTION.splitlines(keepends=True)
    places = sorted(range(2, len(rows)), key=lambda n: n * 7 % len(rows))
    gaps = [Gap(before="".join(rows[:n]), after="".join(rows[n + 1 :])) for n in places]
    with host(slots=SLOTS, speculate=True, threads=threads) as bench:
        filled = bench.call(
            [
                ModelRequest(purpose="bench", messages=(), max_tokens=40, stop=("\n",), gap=gap)
                for gap in gaps
            ]
        )
        row(f"{len(gaps)} lines of one function, their prompts", filled.evaluated, filled)
        told = sum(r.usage.prompt_tokens for r in filled.replies)
        print(f"{'':<10} prompt tokens of all of them: {told}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.embedded", description=__doc__)
    parser.add_argument("--slots", default="1,2,4,6", help="numbers of slots, e.g. 1,4")
    parser.add_argument(
        "--threads",
        type=int,
        help="of the host; 1 on a busy machine, where two wait for each other",
    )
    args = parser.parse_args()
    print(f"{'':<52} {'tokens':>6} {'wall s':>7} {'cpu s':>7} {'/wall s':>7} {'/cpu s':>7}")
    for speculate in (False, True):
        one_at_a_time(speculate=speculate, threads=args.threads)
    for slots in (int(n) for n in args.slots.split(",")):
        for speculate in (False, True):
            together(slots, speculate=speculate, threads=args.threads)
    in_gaps(threads=args.threads)


if __name__ == "__main__":
    main()

"""What forged tools and their history save: a seeded stream of tasks with recurring needs, with and without them.

    python -m bench.tool_stream --seed 1 --count 40
    python -m bench.tool_stream --seed 1 --count 300 --changing

Both arms solve the same tasks, one run each, with the same model: a rule that reads the prompt, uses a listed tool when
one fits, forges one when it may and none does, and else works by hand. The first version that it writes of one tool is wrong on some
files. What the table shows is what the mechanism saves such a model; how often a real model forges is not measured here.

With `--changing` the files of the tasks change their form after a third of the stream, and some are damaged: one way
through, for the ten metrics of the life cycle (`bench.recurring.changing`).
"""

import argparse
import contextlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from bench.recurring.changing import CHANGING, changing
from bench.recurring.needs import Task, stream
from bench.recurring.policy import answer
from bench.recurring.world import Solved, World
from surefoot.kernel.selection import Rollout
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1
from surefoot.registry import Metrics, metrics
from surefoot.toolbox.forged import KIND
from surefoot.values import RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way through the stream."""

    name: str
    solved: tuple[Solved, ...]

    metrics: Metrics
    """Of the life cycle."""

    @property
    def complete(self) -> int:
        """Tasks that were solved, by the tests."""
        return sum(one.status is RunStatus.COMPLETE for one in self.solved)

    @property
    def model_calls(self) -> int:
        """In all runs."""
        return sum(one.model_calls for one in self.solved)

    @property
    def prompt_tokens(self) -> int:
        """In all runs."""
        return sum(one.prompt_tokens for one in self.solved)


def arms(seed: int, count: int) -> tuple[Arm, Arm]:
    """Off and on."""
    tasks = stream(seed, count)
    return _arm("off", tasks, None), _arm("on", tasks, Rollout(enforcement=True))


def changed(seed: int, count: int) -> Arm:
    """On, through a stream in a world that changes."""
    say = partial(answer, needs=CHANGING)
    return _arm("on", changing(seed, count), Rollout(enforcement=True), say)


def _arm(
    name: str,
    tasks: Sequence[Task],
    rollout: Rollout | None,
    say: Callable[[str], str] = answer,
) -> Arm:
    with (
        tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder,
        contextlib.closing(World(Path(folder), tasks, rollout)) as world,
    ):
        solved = tuple(world.solve(task, say) for task in tasks)
        told = metrics(world.registry, KIND, SOLVER_PROMOTION_V1.version)
        return Arm(name=name, solved=solved, metrics=told)


def table(off: Arm, on: Arm) -> str:
    """As it stands in docs/explanation/figures.md."""
    lines = ["| tools and history | solved | model calls | prompt tokens |", "|---|---|---|---|"]
    lines += [
        f"| {arm.name} | {arm.complete} of {len(arm.solved)} | {arm.model_calls} | {arm.prompt_tokens:,} |"
        for arm in (off, on)
    ]
    fewer = 1 - on.model_calls / off.model_calls
    return "\n".join([*lines, f"\n{fewer:.0%} fewer model calls"])


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.tool_stream", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument(
        "--changing", action="store_true", help="the metrics in a world that changes"
    )
    options = parser.parse_args(argv)
    if options.changing:
        arm = changed(options.seed, options.count)
        print(f"{arm.complete} of {len(arm.solved)} solved, {arm.model_calls} model calls")
        show(arm.metrics)
        raise SystemExit(arm.complete < len(arm.solved))
    off, on = arms(options.seed, options.count)
    print(table(off, on))
    show(on.metrics)
    raise SystemExit(on.complete < off.complete or on.model_calls > 0.8 * off.model_calls)


def show(told: Metrics) -> None:
    """Print the ten metrics, and what each class of tools was judged by."""
    facts = asdict(told)
    for name in (name for name in facts if name not in ("policy", "calibration")):
        print(f"{name}: {'no data' if facts[name] is None else facts[name]}")
    for one in told.calibration.classes:
        print(f"{one.capability}: promotions {one.promotions}, holds {one.holds}")


if __name__ == "__main__":
    main()

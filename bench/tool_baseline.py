"""Traces of the step loop in three domains, from before there were forged tools, and what differs from them now.

    python -m bench.tool_baseline             # compare; the exit status is 1 when something differs
    python -m bench.tool_baseline --write     # replace the committed traces

A trace is a seeded task of each of two needs of a domain, worked out by hand: how the run ended, each request to the
model as a digest, each tool that was called, and the kinds of all events in their order. Whoever changes a prompt or the order of events
on purpose writes the traces anew, in the same commit.
"""

import argparse
import contextlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.recurring.needs import NEEDS, stream
from bench.recurring.policy import answer
from bench.recurring.world import World
from surefoot.codec import digest_of, plain
from surefoot.events.work import ToolFinished
from surefoot.ledger import read_events
from surefoot.values import ModelRequest

LATER: Final = frozenset({"boundaries.checked", "call.read", "executor.ended", "round.decided"})
"""Kinds of events that came after the traces, and have nothing to do with tools."""
TRACES: Final = Path(__file__).parent / "baselines" / "tools"
SEED: Final = 3


def trace(domain: str) -> list[dict[str, object]]:
    """What happens now."""
    needs = tuple(need for need in NEEDS if need.domain == domain)
    tasks = tuple(stream(SEED, 1, (need,))[0] for need in needs)
    told: list[dict[str, object]] = []
    for task in tasks:
        with (
            tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder,
            contextlib.closing(World(Path(folder), (task,))) as world,
        ):
            solved = world.solve(task, answer)
            events = [r.event for r in read_events(world.ledger(solved.run))]
        told.append(
            {
                "need": task.need.name,
                "status": str(solved.status),
                "requests": [_digest(request) for request in world.requests],
                "tools": [[e.tool, e.ok] for e in events if isinstance(e, ToolFinished)],
                "events": [e.kind for e in events if e.kind not in LATER],
            }
        )
    return told


def _digest(request: ModelRequest) -> str:
    """Of what is asked. Tools in the provider's own protocol came after the traces; where none are offered, it is as then."""
    asked = plain(request)
    assert isinstance(asked, dict)
    return digest_of({k: v for k, v in asked.items() if k != "tools" or v})


def committed(domain: str) -> list[dict[str, object]]:
    """What happened then."""
    told: list[dict[str, object]] = json.loads((TRACES / f"{domain}.json").read_text())
    return told


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.tool_baseline", description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(argv)
    differs = False
    for domain in sorted({need.domain for need in NEEDS}):
        now = trace(domain)
        if options.write:
            TRACES.mkdir(parents=True, exist_ok=True)
            (TRACES / f"{domain}.json").write_text(json.dumps(now, indent=1) + "\n")
            continue
        same = now == committed(domain)
        differs |= not same
        print(f"{domain}: {'the same' if same else 'differs'}")
    raise SystemExit(differs)


if __name__ == "__main__":
    main()

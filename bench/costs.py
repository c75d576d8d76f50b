"""What Surefoot itself costs, without models and a project's checks: `python -m bench.costs`.

Start-up of the command line, a turn's own cost, git, the ledger, the sandbox and the trial worker, each by the module that
measures it alone, with fewer rounds. Run it on an idle machine.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.paths import cache_dir
from bench.repository import commit_all
from surefoot.models.catalogue import load_catalogue

PARTS: Final = (
    ("a turn's own cost", "bench.turn", "--turns", "40"),
    ("git in a turn", "bench.gitops", "--turns", "40"),
    ("ledger", "bench.ledger", "--events", "100000"),
    ("sandbox", "bench.sandbox", "--runs", "40"),
    ("trial worker", "bench.trials", "--count", "100"),
)
STARTS: Final = 20
MODELS: Final = 200
EXPLAINED: Final = 5


def main() -> None:
    """Print all of it."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    print("start-up")
    for name, argv in (
        ("python -c pass", ("-c", "pass")),
        ("surefoot --version", ("-m", "surefoot", "--version")),
        ("surefoot --help", ("-m", "surefoot", "--help")),
    ):
        _show(name, [_start(argv) for _ in range(STARTS)])
    _show(f"models explain, {MODELS} models", explained())
    for title, *module in PARTS:
        print(f"\n{title}", flush=True)
        subprocess.run([sys.executable, "-m", *module], check=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What one process took, from its start to its end; that of what it started itself included."""

    wall_ms: float
    processor_ms: float
    """Hardly depends on what else the machine does."""


def _show(name: str, starts: Sequence[Start]) -> None:
    wall = sorted(start.wall_ms for start in starts)
    processor = min(start.processor_ms for start in starts)
    print(
        f"  {name:<26} p50 {statistics.median(wall):6.1f} ms  least {wall[0]:6.1f} ms, "
        f"{processor:6.1f} ms of processor"
    )


def explained() -> tuple[Start, ...]:
    """What `surefoot models explain` takes to choose among `MODELS` models."""
    names = [*load_catalogue().cards]
    names += [f"bench/model-{number}" for number in range(MODELS - len(names))]
    cards = "".join(f'[[models.card]]\nname = "{n}"\nscores = {{ coding = 60 }}\n' for n in names)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "repository"
        root.mkdir()
        (root / "surefoot.toml").write_text(cards)
        commit_all(root)
        # A key, so that the providers' terms are read too.
        environ = {**os.environ, "SUREFOOT_HOME": folder, "BENCH_API_KEY": "k" * 40}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installation has its bytecode
        command = ("-m", "surefoot", "models", "explain", "fix", "--model", "auto")
        _start(("-m", "surefoot", "trust"), cwd=root, env=environ)
        _start(command, cwd=root, env=environ)  # writes the bytecode, where there is none yet
        return tuple(_start(command, cwd=root, env=environ) for _ in range(EXPLAINED))


def _start(
    argv: tuple[str, ...], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Start:
    began, used = time.perf_counter(), _used_s()
    subprocess.run([sys.executable, *argv], check=True, capture_output=True, cwd=cwd, env=env)
    return Start(
        wall_ms=(time.perf_counter() - began) * 1000, processor_ms=(_used_s() - used) * 1000
    )


def _used_s() -> float:
    """Processor time of all processes that this one has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()

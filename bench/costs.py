"""What Surefoot itself costs, without models and a project's checks: `python -m bench.costs`.

Start-up of the command line, a turn's own cost, git, the ledger, the sandbox and the trial worker, each by the module that
measures it alone, with fewer rounds. Run it on an idle machine.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
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
        times = sorted(_start(argv) for _ in range(STARTS))
        print(f"  {name:<20} p50 {statistics.median(times):6.1f} ms  least {times[0]:6.1f} ms")
    explained = sorted(explain_ms())
    print(f"  models explain, {MODELS} models  p50 {statistics.median(explained):.1f} ms")
    for title, *module in PARTS:
        print(f"\n{title}", flush=True)
        subprocess.run([sys.executable, "-m", *module], check=True)


def explain_ms() -> tuple[float, ...]:
    """How long `surefoot models explain` takes to choose among `MODELS` models, process start included."""
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
) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *argv], check=True, capture_output=True, cwd=cwd, env=env)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()

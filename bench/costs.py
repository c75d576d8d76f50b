"""What Surefoot itself costs, without models and a project's checks: `python -m bench.costs`.

Start-up of the command line, a turn's own cost, git, the ledger, the sandbox and the trial worker, each by the module that
measures it alone, with fewer rounds. Run it on an idle machine.
"""

import statistics
import subprocess
import sys
import time
from typing import Final

from bench.paths import cache_dir

PARTS: Final = (
    ("a turn's own cost", "bench.turn", "--turns", "40"),
    ("git in a turn", "bench.gitops", "--turns", "40"),
    ("ledger", "bench.ledger", "--events", "100000"),
    ("sandbox", "bench.sandbox", "--runs", "40"),
    ("trial worker", "bench.trials", "--count", "100"),
)
STARTS: Final = 20


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
    for title, *argv in PARTS:
        print(f"\n{title}", flush=True)
        subprocess.run([sys.executable, "-m", *argv], check=True)


def _start(argv: tuple[str, ...]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *argv], check=True, capture_output=True)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()

"""How long the map of a large repository takes, unread and read before.

    python -m bench.repomap --package sympy==1.14.0

The package's wheel is taken from PyPI into a scratch folder. Seconds are of the clock; beside them the processor time of
all processes, which a busy machine does not stretch. The goal is 500,000 lines in 10 s unread and 1 s read before.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from surefoot.context import RepositoryMap
from surefoot.context.grammars import language_of

GOAL_LINES = 500_000
GOAL_S = {"unread": 10.0, "read before": 1.0}
TEXT = (
    "`solveset` of a Piecewise raises NotImplementedError in invert_real; see solvers/solveset.py"
)


def processor_s() -> float:
    """Of this process and those that it waited for."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def timed(work: Callable[[], str]) -> tuple[float, float, str]:
    """Clock, processor, and what came out."""
    start, used = time.monotonic(), processor_s()
    shown = work()
    return time.monotonic() - start, processor_s() - used, shown


def fetch(package: str, folder: Path) -> Path:
    """The unpacked wheel of a package."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*pip, "--dest", folder, package], check=True)
    root = folder / "tree"
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(root)
    return root


def main() -> None:
    """Print lines, seconds, and what part of the goal they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", default="sympy==1.14.0")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--budget", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = fetch(options.package, Path(folder))
        files = [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()]
        known = [f for f in files if language_of(f) is not None]
        lines = sum((root / f).read_bytes().count(b"\n") for f in known)
        print(f"{options.package}: {len(known)} files, {lines} lines, {options.workers} processes")
        mapped = RepositoryMap(Path(folder) / "cache", workers=options.workers)
        for name, goal_s in GOAL_S.items():
            clock_s, used_s, shown = timed(lambda: mapped.render(root, files, TEXT, options.budget))
            scaled = clock_s * GOAL_LINES / lines
            print(
                f"{name}: {clock_s:.2f} s, {used_s:.2f} s of processor; "
                f"for {GOAL_LINES} lines {scaled:.2f} s, {scaled / goal_s:.2f} of the goal"
            )
        print(f"{len(shown.splitlines())} lines shown, the last: {shown.splitlines()[-1]}")


if __name__ == "__main__":
    main()

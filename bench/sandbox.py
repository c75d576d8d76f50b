"""What a sandboxed command costs: `/bin/true`, started plainly and behind each fence that works on this machine."""

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.paths import cache_dir
from surefoot.sandbox import FencedProcesses, conformance, probe, quick_conformance
from surefoot.sandbox.probe import find_binaries, open_bubblewrap, open_landlock, open_unfenced
from surefoot.values import Command, SandboxLevel

WARM_UP = 5
Open = Callable[[Path], FencedProcesses]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="commands a row (default 100)")
    runs = parser.parse_args().runs
    plain = measure(lambda: subprocess.run(["/bin/true"], check=True), runs)
    base = statistics.median(plain)
    print(f"{'':<40} median ms  p95 ms  over plain ms  quick suite ms  whole suite s")
    print(row("plain spawn", plain, base))
    if find_binaries():
        bare = (str(find_binaries()[0]), "--unshare-all", "--ro-bind", "/", "/", "/bin/true")
        alone = measure(lambda: subprocess.run(bare, check=True, capture_output=True), runs)
        print(row("bwrap alone, with namespaces only", alone, base))
    for name, open_fence in fences():
        with opened(open_fence) as (processes, folder):
            work = folder / "work"
            work.mkdir()
            command = Command(argv=("/bin/true",), cwd=work, writes=(work,))
            times = measure(lambda: processes.run(command), runs)  # noqa: B023  # called at once
            suites = ""
            if processes.level is not SandboxLevel.NONE:
                quick = seconds(lambda: quick_conformance(processes, folder))
                whole = seconds(lambda: conformance(processes, folder))
                suites = f"{quick * 1000:15.0f}  {whole:13.1f}"
            print(row(name, times, base) + suites)


def fences() -> Iterator[tuple[str, Open]]:
    """Each fence that works here, and none at all."""
    working = {backend.level for backend in probe().backends if backend.works}
    if SandboxLevel.BUBBLEWRAP in working:
        for place, binary in zip(("system", "bundled"), find_binaries(), strict=False):
            yield f"bubblewrap, {place}", lambda folder, b=binary: open_bubblewrap(b, folder)  # type: ignore[misc]
    if SandboxLevel.LANDLOCK in working:
        yield "Landlock and seccomp", open_landlock
    yield "none (limits only)", open_unfenced


@contextmanager
def opened(open_fence: Open) -> Iterator[tuple[FencedProcesses, Path]]:
    """A fence with a folder of its own."""
    cache_dir().mkdir(parents=True, exist_ok=True)
    # where runs have their worktrees, and not in /tmp, which is another one inside
    with tempfile.TemporaryDirectory(prefix="sandbox-", dir=cache_dir()) as name:
        processes = open_fence(Path(name))
        try:
            yield processes, Path(name)
        finally:
            processes.close()


def measure(act: Callable[[], object], runs: int) -> list[float]:
    """Milliseconds of each run, sorted."""
    for _ in range(WARM_UP):
        act()
    return sorted(seconds(act) * 1000 for _ in range(runs))


def seconds(act: Callable[[], object]) -> float:
    """How long it takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def row(name: str, times: list[float], base: float) -> str:
    """One line of the table."""
    median = statistics.median(times)
    late = times[int(len(times) * 0.95)]
    return f"{name:<40} {median:9.2f}  {late:6.2f}  {median - base:13.2f}"


if __name__ == "__main__":
    main()

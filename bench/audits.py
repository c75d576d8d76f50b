"""Surefoot on released packages as they are: audit, and mend what blocks, without a model.

    python -m bench.audits [NAME …] [--diff]

Each package is a source distribution from the package index, unmodified, as the one commit of a repository. `surefoot
solve` without an issue works in `auto_fix_safe`. A package is clean when the run is complete, no blocking finding is
left, and the package's own tests pass on its commit as before; else the run has to say what blocks, and its tree still
has to pass those tests.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bench.paths import cache_dir
from bench.patients.catalogue import PYTEST, Release
from bench.patients.examine import Tests, run_pytest
from bench.patients.stage import READY, environment, unpacked
from bench.repair.run import scratch
from bench.repository import commit_all, git
from bench.solving import Solved, solve
from surefoot.values import Severity

_IGNORED: Final = ".venv/\n__pycache__/\n.pytest_cache/\n.surefoot/\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A release, what its own tests need, and how its audit must end."""

    name: str
    release: Release
    needs: tuple[str, ...] = ()
    ends: Literal["clean", "blocker"]


PACKAGES: Final = (
    Package(
        name="parse",
        release=Release(
            version="1.18.0",
            sha256="91666032d6723dc5905248417ef0dc9e4c51df9526aaeef271eacad6491f06a4",
        ),
        ends="clean",
    ),
    Package(
        name="wsproto",
        release=Release(
            version="1.3.2",
            sha256="b86885dcf294e15204919950f666e06ffc6c7c114ca900b060d6e16293528294",
        ),
        needs=("h11==0.16.0",),
        ends="clean",
    ),
    Package(
        name="websocket-client",
        release=Release(
            version="1.9.0",
            sha256="9e813624b6eb619999a97dc7958469217c3176312b3a16a4bd1bc7e08a46ec98",
        ),
        ends="blocker",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What became of one package."""

    package: Package
    before: int
    """Blocking findings of the release."""
    after: int
    """Blocking findings of the run's tree."""
    all_before: int
    all_after: int
    own_before: Tests
    own_after: Tests
    run: Solved
    diff: str

    @property
    def kept(self) -> bool:
        """Every own test that passed still does, none was lost, and no model was asked."""
        same = self.own_after.passed == self.own_before.passed
        return same and self.own_after.failed == 0 and self.run.used.model_calls == 0

    @property
    def as_expected(self) -> bool:
        """Clean, or a blocker with its reason."""
        if self.package.ends == "clean":
            return self.kept and self.after == 0 and self.run.status == "complete"
        return (
            self.kept and self.after > 0 and self.run.status == "blocked" and bool(self.run.reason)
        )


def stage(package: Package) -> Path:
    """The checkout: the release as one commit, its environment beside it, ignored without a change of its files."""
    home = cache_dir() / "audits" / f"{package.name}-{package.release.version}"
    ready, stamp = home / READY, repr(package)
    root = home / "checkout"
    if not ready.exists() or ready.read_text("utf-8") != stamp:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        unpacked(package.name, package.release, home / "unpacked").rename(root)
        environment(root / ".venv", *PYTEST, *package.needs)
        git(root, "init", "--quiet", "--template=", "--initial-branch=main")
        (root / ".git" / "info").mkdir(exist_ok=True)
        (root / ".git" / "info" / "exclude").write_text(_IGNORED, "utf-8")
        commit_all(root)
        ready.write_text(stamp, "utf-8")
    shutil.rmtree(root / ".surefoot", ignore_errors=True)
    for ref in git(root, "for-each-ref", "--format=%(refname)", "refs/heads/surefoot").split():
        git(root, "update-ref", "-d", ref)
    git(root, "worktree", "prune")
    return root


def mend(package: Package, *, time_limit_s: float) -> Mended:
    """Audit, solve, audit and test again."""
    checkout = stage(package)
    with scratch() as folder:
        script = folder / "nobody.json"
        script.write_text('{"schema": 1, "rules": []}', "utf-8")
        arguments = ["--mode", "auto_fix_safe", "--model", f"scripted:{script}"]
        arguments += ["--solver-model", f"scripted:{script}", "--time-limit", str(time_limit_s)]
        run = solve(checkout, arguments, scratch=folder, wall_s=2 * time_limit_s + 300)
    commit = run.commit or "main"
    seen: list[tuple[int, int]] = []
    tests: list[Tests] = []
    for tree in ("main", commit):
        git(checkout, "checkout", "--quiet", "-B", "audited", tree)
        seen.append(_audited(checkout))
        python = checkout / ".venv" / "bin" / "python"
        tests.append(run_pytest((), python=python, tree=checkout, home=checkout.parent))
    git(checkout, "checkout", "--quiet", "main")
    return Mended(
        package=package,
        before=seen[0][0],
        after=seen[1][0],
        all_before=seen[0][1],
        all_after=seen[1][1],
        own_before=tests[0],
        own_after=tests[1],
        run=run,
        diff=git(checkout, "diff", "main", commit),
    )


def _audited(tree: Path) -> tuple[int, int]:
    """Blocking findings and all of them, by `surefoot audit`; a tool that broke is an error here."""
    program = Path(sys.executable).with_name("surefoot")
    done = subprocess.run(
        [str(program), "audit", "--json", "--repo", str(tree)],
        check=False,
        capture_output=True,
        text=True,
    )
    counts = json.loads(done.stdout)
    return counts["critical"] + counts["high"], sum(counts[s.value] for s in Severity)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 0 when every package ended as it must."""
    parser = argparse.ArgumentParser(prog="python -m bench.audits", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--time-limit", type=float, default=1200.0, help="seconds a package")
    parser.add_argument("--diff", action="store_true", help="show what was changed")
    options = parser.parse_args(argv)
    print(f"{'package':<24} {'blocking':>9} {'all':>9} {'own tests':>11} {'wall s':>7}  end")
    good = True
    for package in PACKAGES:
        if options.names and package.name not in options.names:
            continue
        found = mend(package, time_limit_s=options.time_limit)
        good = good and found.as_expected
        print(
            f"{package.name + ' ' + package.release.version:<24} {found.before:>4} ->{found.after:>2} "
            f"{found.all_before:>4} ->{found.all_after:>3} {found.own_before.passed:>4} ->{found.own_after.passed:>4} "
            f"{found.run.wall_s:>7.0f}  {found.run.status}: {found.run.reason}",
            flush=True,
        )
        if options.diff:
            print(found.diff)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

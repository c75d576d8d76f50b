"""What a test process sees: its variables, and what is mounted for it."""

from pathlib import Path

from surefoot.suite.plan import SuitePlan


def environment(plan: SuitePlan) -> dict[str, str]:
    """The whole environment of a test process; the sandbox adds HOME and TMPDIR.

    The import path is not here but set by the runner's first lines, so that no `sitecustomize.py` of the tree under
    test runs before it.
    """
    bin_dir = plan.python.parent
    env = {
        "PATH": f"{bin_dir}:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
    }
    if (bin_dir.parent / "pyvenv.cfg").is_file():
        env["VIRTUAL_ENV"] = str(bin_dir.parent)
    return env


def mounts(plan: SuitePlan, original: Path, root: Path) -> tuple[tuple[Path, Path], ...]:
    """The carried paths that the tree at `root` lacks: (in the checkout, in the tree)."""
    if original.resolve() == root:
        return ()
    found = []
    for path in plan.carry:
        source, target = original / path, root / path
        # An empty file is what an earlier mount left behind.
        missing = not target.exists() or (target.is_file() and target.stat().st_size == 0)
        if source.exists() and missing:
            found.append((source, target))
    return tuple(found)

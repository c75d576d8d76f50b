"""Puts a patient on the table: its releases fetched and checked, a git checkout with an environment of its own."""

import hashlib
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

from bench.paths import cache_dir
from bench.patients.catalogue import PYTEST, Patient, Release
from bench.repository import commit_all, git

READY: Final = ".ready"
_IGNORED: Final = ".venv/\n__pycache__/\n.pytest_cache/\n.surefoot/\n*.egg-info/\n"


class FetchError(Exception):
    """A release is not what the catalogue names."""


def home(patient: Patient) -> Path:
    """The patient's folder in the cache."""
    return cache_dir() / "patients" / patient.name


def fetch(package: str, release: Release) -> Path:
    """The release's source distribution, downloaded once; the hash decides.

    Raises:
        FetchError: pip could not get it, or the file has another hash.
    """
    folder = cache_dir() / "patients" / "sdists" / f"{package}-{release.version}"
    if not list(folder.glob("*.tar.gz")):
        folder.mkdir(parents=True, exist_ok=True)
        wanted = f"{package}=={release.version}"
        argv = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        _python(Path(sys.executable), *argv, "--dest", str(folder), wanted)
    (found,) = folder.glob("*.tar.gz")
    digest = hashlib.sha256(found.read_bytes()).hexdigest()
    if digest != release.sha256:
        found.unlink()
        raise FetchError(f"{found.name} has SHA-256 {digest}, the catalogue says {release.sha256}")
    return found


def unpack(patient: Patient, release: Release, dest: Path) -> None:
    """Write the release's tree to `dest`, which must not exist, with the regression test in its place."""
    folder = dest.with_name(dest.name + ".unpacking")
    shutil.rmtree(folder, ignore_errors=True)
    top = unpacked(patient.package, release, folder)
    test = top / patient.test_path
    test.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(patient.folder / "test_regression.py", test)
    top.rename(dest)
    folder.rmdir()


def unpacked(package: str, release: Release, folder: Path) -> Path:
    """The release's own top folder, written below `folder`, which must not exist."""
    with tarfile.open(fetch(package, release)) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def python_of(patient: Patient) -> Path:
    """The interpreter of the patient's environment."""
    return home(patient) / "checkout" / ".venv" / "bin" / "python"


def stage(patient: Patient) -> Path:
    """The checkout: the buggy release as one commit, `.venv` beside it, ignored.

    Made once and then only cleaned of runs, until the catalogue's entry, the issue or the regression test changes.
    """
    root = home(patient) / "checkout"
    ready, stamp = home(patient) / READY, _stamp(patient)
    if not ready.exists() or ready.read_text("utf-8") != stamp:
        shutil.rmtree(home(patient), ignore_errors=True)
        root.parent.mkdir(parents=True)
        unpack(patient, patient.buggy, root)
        _environment(patient, root)
        shutil.copyfile(patient.folder / "ISSUE.md", root / "ISSUE.md")
        with (root / ".gitignore").open("a", encoding="utf-8") as ignore:
            ignore.write(_IGNORED)
        commit_all(root)
        ready.write_text(stamp, "utf-8")
    _clean(root)
    return root


def _stamp(patient: Patient) -> str:
    texts = [(patient.folder / n).read_text("utf-8") for n in ("ISSUE.md", "test_regression.py")]
    return hashlib.sha256(repr((patient, texts)).encode()).hexdigest()


def _environment(patient: Patient, root: Path) -> None:
    environment(root / ".venv", *PYTEST, *patient.needs)
    if patient.editable:
        own = python_of(patient)
        _python(own, "-m", "pip", "install", "--quiet", "--no-deps", "--editable", str(root))


def environment(place: Path, *needs: str) -> Path:
    """A new environment with these packages; its interpreter."""
    _python(Path(sys.executable), "-m", "venv", str(place))
    own = place / "bin" / "python"
    _python(own, "-m", "pip", "install", "--quiet", *needs)
    return own


def _clean(root: Path) -> None:
    shutil.rmtree(root / ".surefoot", ignore_errors=True)
    for ref in git(root, "for-each-ref", "--format=%(refname)", "refs/heads/surefoot").split():
        git(root, "update-ref", "-d", ref)
    git(root, "worktree", "prune")


def _python(python: Path, *argv: str) -> None:
    done = subprocess.run([str(python), *argv], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise FetchError(f"`python {' '.join(argv)}` ended with {done.returncode}: {said}")

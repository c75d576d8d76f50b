"""Finding the host of the embedded model, or starting it; safe for any number of processes at once.

The folder of a host (one a set of settings) holds `life` and `lease` (locks, see `host.py`), `address.json` and `host.log`.
What the files say is never believed without the locks: a file that a dead host left is ignored.
"""

import fcntl
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx

from surefoot.errors import EnvironmentBrokenError, ModelUnavailableError
from surefoot.models.host import EXIT_NO_XLLAMACPP, INSTALL_MEND

_LOOK_S: Final = 0.05
# Counts up whenever client and host of two versions of this package would not understand each other.
_FORM: Final = 1
_CGROUP_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
_MOST_THREADS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """What a host is started with; equal settings share one host."""

    weights: Path
    """Resolved, so that all ways to write the path mean one host."""
    slots: int
    threads: int
    context_tokens: int
    """Of one slot."""
    speculate: bool = True
    idle_s: float = 120.0
    """The host ends when no client has lived for so long."""
    start_s: float = 300.0
    """How long a start may take. Idle it takes seconds; beside twenty busy processes two minutes were seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a host listens."""

    pid: int
    url: str
    key: str = field(repr=False)


class HostDoor:
    """One client's way to the host: a lease for as long as it lives, and `address()`. Thread-safe."""

    def __init__(
        self,
        settings: HostSettings,
        cache: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._folder = cache / "hosts" / _fingerprint(settings)
        self._lease: int | None = None
        self._known: Address | None = None
        self._guard = threading.Lock()

    @property
    def folder(self) -> Path:
        """The host's own folder, readable by the user alone."""
        return self._folder

    def address(self) -> Address:
        """The living host's address; starts one where none lives.

        Raises:
            ModelUnavailableError: It cannot be started; says why and how to mend it.
            EnvironmentBrokenError: The cache folder cannot be written.
        """
        with self._guard:
            if self._known is not None and _answers(self._known, self._settings.weights):
                return self._known
            self._known = self._find_or_start()
            return self._known

    def close(self) -> None:
        """Give the lease back; the host may end after its idle time."""
        with self._guard:
            if self._lease is not None:
                os.close(self._lease)
                self._lease = None
            self._known = None

    def _find_or_start(self) -> Address:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._lease is None:
                self._lease = _open_lock(self._folder / "lease")
                # Waits only while a host that was idle too long holds it alone, that is, until that one is gone.
                fcntl.flock(self._lease, fcntl.LOCK_SH)
            deadline = self._monotonic() + self._settings.start_s
            while True:
                life = _open_lock(self._folder / "life")
                try:
                    fcntl.flock(life, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    found = self._wait_for(None, deadline)
                else:
                    found = self._start(life, deadline)
                finally:
                    os.close(life)
                if found is not None:
                    return found
        except OSError as problem:
            raise EnvironmentBrokenError(
                f"the embedded model's folder {str(self._folder)!r} cannot be used: {problem}; "
                "make it writable, or choose another cache folder"
            ) from problem

    def _start(self, life: int, deadline: float) -> Address:
        """Start a host that inherits the `life` lock, and wait until it answers."""
        settings = self._settings
        address_file, log = self._folder / "address.json", self._folder / "host.log"
        for stale in (address_file, *self._folder.glob("*.kv")):
            stale.unlink(missing_ok=True)
        argv = [
            *(sys.executable, "-P", "-m", "surefoot.models.host"),
            *("--weights", str(settings.weights), "--folder", str(self._folder)),
            *("--slots", str(settings.slots), "--threads", str(settings.threads)),
            *("--context", str(settings.context_tokens), "--idle-s", str(settings.idle_s)),
            *(("--speculate",) if settings.speculate else ()),
        ]
        with log.open("wb") as out:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd="/",
                env=_environment(),
                pass_fds=(life,),
                start_new_session=True,
            )
        # The host outlives this object; a thread of its own reaps it, so that it never becomes a zombie of ours.
        threading.Thread(target=process.wait, name="embedded-host", daemon=True).start()
        found = self._wait_for(process, deadline)
        if found is None:
            raise ModelUnavailableError(self._why(process, log))
        return found

    def _wait_for(self, process: subprocess.Popen[bytes] | None, deadline: float) -> Address | None:
        """The address once the host answers; None when the host ended before that (or someone else's did)."""
        pause = threading.Event()
        while self._monotonic() < deadline:
            address = _read(self._folder / "address.json")
            if address is not None and _answers(address, self._settings.weights):
                return address
            if process is not None and process.poll() is not None:
                return None
            if process is None and not _is_held(self._folder / "life"):
                return None
            pause.wait(_LOOK_S)
        raise ModelUnavailableError(
            f"the embedded model's process did not answer within {self._settings.start_s:g} s; "
            f"see {self._folder / 'host.log'}, or end that process and try again"
        )

    @staticmethod
    def _why(process: subprocess.Popen[bytes], log: Path) -> str:
        text = log.read_text("utf-8", "replace").strip()
        last = text.splitlines()[-1] if text else "it said nothing"
        if process.returncode == EXIT_NO_XLLAMACPP:
            return f"xllamacpp cannot be loaded: {last!r}; {INSTALL_MEND}"
        return f"the embedded model's process ended with {process.returncode}: {last!r}; see {log}"


def usable_cores() -> int:
    """How many cores this process may use, by affinity and by its control group, at most 8: more do not help this model."""
    cores = len(os.sched_getaffinity(0))
    try:
        quota, period = _CGROUP_QUOTA.read_text("ascii").split()
        if quota != "max":
            cores = min(cores, max(1, int(quota) // int(period)))
    except (OSError, ValueError):  # no control groups of version 2 here
        pass
    return max(1, min(cores, _MOST_THREADS))


def _environment() -> dict[str, str]:
    """The host's whole environment: it outlives its client, so it inherits neither keys nor folders from it."""
    return {
        "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if Path(entry).is_absolute()),
        "LANG": "C.UTF-8",
        # OpenMP's threads spin at each barrier by default. Beside any other busy process that costs a factor of ten and
        # more; sleeping barriers cost next to nothing on an idle machine.
        "OMP_WAIT_POLICY": "passive",
        "GOMP_SPINCOUNT": "0",
    }


def _fingerprint(settings: HostSettings) -> str:
    parts = (
        _FORM,
        str(settings.weights),
        *(settings.slots, settings.threads, settings.context_tokens),
        *(settings.speculate, settings.idle_s),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _is_held(path: Path) -> bool:
    """Whether a living process holds the lock. Asked with a shared lock, so that two who ask do not meet each other."""
    descriptor = _open_lock(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _read(path: Path) -> Address | None:
    try:
        plain = json.loads(path.read_bytes())
        return Address(pid=int(plain["pid"]), url=str(plain["url"]), key=str(plain["key"]))
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
    ):  # not there yet, or a leftover of another form
        return None


def _answers(address: Address, weights: Path) -> bool:
    """Whether a host that knows the key listens there; it answers this without waiting for the model."""
    try:
        reply = httpx.get(
            f"{address.url}/props",
            headers={"authorization": f"Bearer {address.key}"},
            timeout=30.0,
            trust_env=False,
            verify=False,  # noqa: S501  # plain HTTP on loopback: nothing to verify, and reading certificates is slow
        )
    except httpx.TransportError:
        return False
    try:
        return reply.is_success and Path(reply.json()["model_path"]) == weights
    except (ValueError, KeyError, TypeError):  # somebody else took the port of a dead host
        return False

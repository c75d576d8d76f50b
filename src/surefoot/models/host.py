"""The process that holds the embedded model: `python -m surefoot.models.host`.

Started by the first client (`hosting.py`), shared by all processes of the user, in a session of its own, so that no client's
end, ctrl-C or kill reaches it. It serves llama.cpp's HTTP listener on a random loopback port behind a random key, writes both
into a file that only the user can read, and ends when no client has been alive for a while. This is the only module that
imports xllamacpp.

Two locks tell who lives; the kernel drops them with the process that held them:
`life` is held by the host; its descriptor is inherited from the client that starts it, so that no two hosts can be started.
`lease` is held shared by every client; the host ends only while it holds it alone.
"""

import argparse
import fcntl
import json
import os
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import Final

EXIT_NO_XLLAMACPP: Final = 3
INSTALL_MEND: Final = "install it with `pip install 'surefoot[local]'`"
_LOOK_S: Final = 1.0
_PROMPT_CACHE_MIB: Final = 512
_BATCH: Final = 512


def main(argv: list[str] | None = None) -> int:
    """Serve until idle; the exit code is for the client that waits for the start."""
    args = _parse(argv)
    signals = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
    # Before any thread exists, so that only `sigtimedwait` below receives them.
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    folder: Path = args.folder
    address = folder / "address.json"
    key = secrets.token_urlsafe(32)
    try:
        import xllamacpp  # noqa: PLC0415  # optional, heavy, and only here
    except ImportError as problem:
        sys.stderr.write(f"{problem}\n")
        return EXIT_NO_XLLAMACPP
    params = xllamacpp.CommonParams()
    params.model.path = str(args.weights)
    params.model_alias = {args.weights.stem}
    params.n_parallel = args.slots
    params.n_ctx = args.slots * args.context
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = args.threads
    params.cpuparams_batch.n_threads = args.threads
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.slot_save_path = f"{folder}{os.sep}"
    params.ui = False
    params.verbosity = 1
    if args.speculate:
        # After 12 tokens that stand already in prompt or answer, propose the 48 that followed them there; shorter looks and
        # the other kinds were no better (docs/explanation/embedded-model.md).
        params.speculative.types = [
            xllamacpp.common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE
        ]
    server = xllamacpp.Server(params)
    _publish(address, {"pid": os.getpid(), "url": server.listening_address, "key": key})
    _wait_until_idle(folder / "lease", args.idle_s, signals)
    address.unlink(missing_ok=True)
    return 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m surefoot.models.host", description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--context", type=int, required=True, help="tokens of one slot")
    parser.add_argument("--idle-s", type=float, required=True)
    parser.add_argument("--speculate", action="store_true")
    return parser.parse_args(argv)


def _publish(address: Path, content: dict[str, object]) -> None:
    """Write the address in one step, readable by the user alone."""
    fresh = address.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file)
    fresh.replace(address)


def _wait_until_idle(lease: Path, idle_s: float, signals: set[signal.Signals]) -> None:
    """Return on a signal, or holding the lease once no client has lived for `idle_s` seconds."""
    descriptor = os.open(lease, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    last_client = time.monotonic()
    while signal.sigtimedwait(signals, min(_LOOK_S, idle_s)) is None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            last_client = time.monotonic()
            continue
        if time.monotonic() - last_client >= idle_s:
            return  # the lease is kept: whoever comes now waits until this process is gone
        fcntl.flock(descriptor, fcntl.LOCK_UN)


if __name__ == "__main__":
    sys.exit(main())

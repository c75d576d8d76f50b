"""Holding back ctrl-C where half a step would be worse than a late answer."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any, Final

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back ctrl-C and termination until the block, and a command that it starts, has ended.

    Blocking is for the command, which inherits it; another thread of this process may still receive the signal, so here it is only
    noted and raised again behind the block.
    """
    noted: list[int] = []

    def note(number: int, _frame: object) -> None:
        noted.append(number)

    handlers: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        handlers = {n: signal.signal(n, note) for n in _NUMBERS}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for caught in dict.fromkeys(noted):
            signal.raise_signal(caught)

"""Holding back ctrl-C where half a step would be worse than a late answer."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any, Final

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Held:
    """What the main thread, which alone is interrupted, is in the middle of."""

    inside = False
    interrupted = False


def _interrupt(_number: int, _frame: object) -> None:
    _Held.interrupted = True
    if not _Held.inside:
        _Held.interrupted = False
        raise KeyboardInterrupt


def end_on_signals() -> None:
    """End a run on `kill`, a closed terminal or a service's stop as on ctrl-C: cancelled, told, and resumable."""
    for number in _NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` asked to live on
            signal.signal(number, _interrupt)


@contextlib.contextmanager
def in_one_piece() -> Iterator[None]:
    """Hold back an interruption until the block is over; costs next to nothing after `end_on_signals`."""
    if _Held.inside or threading.current_thread() is not threading.main_thread():
        yield
        return
    is_ours = signal.getsignal(signal.SIGINT) in (_interrupt, signal.SIG_IGN)
    with contextlib.nullcontext() if is_ours else uninterrupted():
        _Held.inside = True
        try:
            yield
        finally:
            _Held.inside = False
    if _Held.interrupted:
        _Held.interrupted = False
        raise KeyboardInterrupt


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


def raise_hidden(error: BaseException) -> None:
    """Raise the interruption that a clean-up on its way hid by breaking with `error`, if there was one.

    For a boundary at which what breaks counts as a failure, and work goes on.

    Raises:
        KeyboardInterrupt: There was one.
    """
    hidden: BaseException | None = error
    while hidden is not None:
        if isinstance(hidden, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        hidden = hidden.__context__

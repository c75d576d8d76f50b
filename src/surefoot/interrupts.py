"""Holding back ctrl-C where half a step would be worse than a late answer."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NUDGES_S: Final = (0.05, 0.5, 2.0)


class _Held:
    """What the main thread, which alone is interrupted, is in the middle of; whether it is woken for signals."""

    inside = False
    interrupted = False
    is_woken = False


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
    if not _Held.is_woken:
        _Held.is_woken = True
        _wake_who_sleeps()


def _wake_who_sleeps() -> None:
    """See to it that a signal is heard by a main thread that fell asleep as the signal came.

    The interpreter notes a signal and looks at its notes between two instructions; one that comes between its last look and the
    beginning of a system call would be heard when the call is over, ten minutes later where a model is waited for.
    """
    ears, mouth = os.pipe()
    os.set_blocking(mouth, False)
    signal.signal(signal.SIGURG, lambda _number, _frame: None)  # the default cuts no call short
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    threading.Thread(target=_nudge, args=(ears,), name="signals", daemon=True).start()


def _nudge(ears: int) -> None:
    """Cut short what the main thread waits for, some times after each of our signals; it goes on waiting if it has heard."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (*_NUMBERS, signal.SIGURG))
    main = threading.main_thread().ident
    while main is not None and (told := os.read(ears, 512)):
        if not set(told).isdisjoint(_NUMBERS):
            for pause in _NUDGES_S:
                time.sleep(pause)
                signal.pthread_kill(main, signal.SIGURG)


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

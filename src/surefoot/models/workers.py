"""Calls that run beside each other and can be walked away from."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Workers:
    """Runs calls in threads, at most so many at once.

    Unlike `ThreadPoolExecutor`, nobody waits for the threads: ctrl-C in the middle of a call of minutes ends the program
    now, and the closed connection tells the model's server to stop.
    """

    def __init__(self, at_once: int) -> None:
        self._free = threading.Semaphore(at_once)

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Start the call as soon as there is room."""
        future: Future[T] = Future()

        def run() -> None:
            with self._free:
                try:
                    future.set_result(call())
                except BaseException as problem:  # noqa: BLE001  # raised again where the result is asked for
                    future.set_exception(problem)

        threading.Thread(target=run, name="model-call", daemon=True).start()
        return future

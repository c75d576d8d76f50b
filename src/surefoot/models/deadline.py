"""The moment by which a reply must have ended, held where bytes are read.

HTTP libraries bound the wait for the next bytes and not the reply: header lines, interim answers and packed nothing can go
on for ever, and whoever reads the body never hears of it. Under `until` no read or write of a connection waits longer than
what is left, and none begins after the end.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ssl import SSLContext
from typing import Any, Final

import httpcore
import httpx

# A peer that takes a byte now and then frees room for a piece at a time; each is sent with what is left by then.
_PIECE_BYTES: Final = 64 * 1024


_LEFT: Final[ContextVar[Callable[[], float] | None]] = ContextVar("left", default=None)
"""How long the call that is under way may still take, in seconds."""


@contextmanager
def until(end: float, monotonic: Callable[[], float]) -> Iterator[None]:
    """What this thread reads and writes inside the block, over a client that `keeps_deadlines`, ends by `end` of that clock.

    Raises:
        httpx.ReadTimeout: It was too late for a read.
        httpx.WriteTimeout: It was too late for a write.
    """
    token = _LEFT.set(lambda: end - monotonic())
    try:
        yield
    finally:
        _LEFT.reset(token)


def keeps_deadlines(client: httpx.Client) -> httpx.Client:
    """The same client, whose connections keep what `until` says; through a proxy of the environment, too."""
    # The library takes a backend for a pool and has no argument that hands it on.
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001
        if isinstance(transport, httpx.HTTPTransport):
            pool = transport._pool  # noqa: SLF001
            pool._network_backend = _Backend(pool._network_backend)  # noqa: SLF001
    return client


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for begin in range(0, len(buffer), _PIECE_BYTES):
            piece = buffer[begin : begin + _PIECE_BYTES]
            self._inner.write(piece, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401, the library's own signature
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.connect_tcp(host, port, timeout, local_address, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


def _left(timeout: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    seconds_left = _LEFT.get()
    if seconds_left is None:
        return timeout
    left = seconds_left()
    if left <= 0:
        raise late("the reply takes too long")
    return left if timeout is None else min(left, timeout)

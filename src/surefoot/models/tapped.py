"""The HTTP line under a library that calls providers: it keeps the rules of a call, and remembers the facts of it.

A library that speaks forty protocols maps what goes wrong by the words of messages: a refused connection and a cut reply both
arrive as "internal server error". Here the facts are taken where they happen: whether anybody was there, the status, the
headers, the bytes. And here the rules are kept whatever the library thinks: one call is one request, no redirect is
followed (a key in a header of the provider's own would go along), a reply ends in time and is not endless.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import get_ident
from typing import Final

import httpx

from surefoot.models import wire
from surefoot.models.address import is_loopback
from surefoot.models.connection import connecting
from surefoot.models.deadline import keeps_deadlines, until
from surefoot.models.openai_chat import REPLY_LIMIT_BYTES
from surefoot.vocabulary import ModelFault

_CONNECT_S: Final = 5.0
# A token of a stream travels in an event of some 300 bytes; the text itself is measured by the reader. A single line has no
# such excuse, and the libraries that collect one take time that grows with its square.
_STREAM_LIMIT_BYTES: Final = 16 * REPLY_LIMIT_BYTES
_KEPT_END_BYTES: Final = 64 * 1024
_SECRET_HEADERS: Final = (
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "x-amz-security-token",
)
# The name that a provider gives itself stands before any text; a quote inside text is escaped and does not match.
_MODEL: Final = re.compile(rb'(?<!\\)"model(?:Version)?"\s*:\s*"([^"\\]{1,200})"')
# Likewise; the last one counts, as there is one in each piece of a stream.
_FINISH: Final = re.compile(rb'(?<!\\)"finish_reason"\s*:\s*"([^"\\]{1,60})"')
# LiteLLM asks an Ollama for the price of its model after every call, in a thread of its own, and not always the same Ollama.
_UNWANTED: Final = "/api/show"
_NOBODY: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


def _same_host(asked: str, allowed: str) -> bool:
    return asked == allowed or (is_loopback(asked) and is_loopback(allowed))


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One call: its limits, and what happened on the line. Belongs to the thread that makes the call."""

    stream: bool
    reply_s: float
    """Longest time for the whole reply."""
    idle_s: float
    """Longest silence inside a stream."""
    host: str | None = None
    """The only host that may be asked; None: any."""
    monotonic: Callable[[], float] = time.monotonic
    delivered: bool = False
    """The request may have reached the server."""
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the reply, names in lower case."""
    fault: wire.Fault | None = None
    """What went wrong with the line itself."""
    kept: bytearray = field(default_factory=bytearray)
    """The reply's bytes; of a long stream its two ends."""
    secrets: set[str] = field(default_factory=set, repr=False)
    """The keys that were sent; no message may hold them."""
    thread: int = field(default_factory=get_ident)
    _started: float = 0.0
    _size_bytes: int = 0
    _line_bytes: int = 0
    _asked: set[str] = field(default_factory=set)
    _open: list[httpx.Response] = field(default_factory=list)

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """What this thread sends inside the block belongs to this call; what is still open afterwards is closed."""
        self._started = self.monotonic()
        token = _UNDER_WAY.set(self)
        try:
            with until(self._started + self.reply_s, self.monotonic):
                yield
        finally:
            _UNDER_WAY.reset(token)
            for response in self._open:
                response.close()

    def model(self) -> str | None:
        """What the answering model is called, by the reply itself."""
        found = _MODEL.search(self.kept)
        return found[1].decode("utf-8", "replace") if found else None

    def finish(self) -> str | None:
        """Why the answer ends, by the reply itself; a library calls it `stop` where it does not know the word."""
        found = _FINISH.findall(self.kept)
        return found[-1].decode("utf-8", "replace") if found else None

    def asks(self, request: httpx.Request) -> None:
        """Let a request pass, or refuse it: it goes to another host than was allowed, or was made before."""
        if self.host is not None and not _same_host(request.url.host, self.host):
            # A variable of the environment can move a provider's address; the terms were asked about this one.
            self.fault = wire.Fault(
                kind=ModelFault.NOT_FOUND,
                message=f"the call would go to {request.url.host!r}, and {self.host!r} is what may be asked; "
                "unset the variable that moves it (such as ..._API_BASE), or give --base-url",
            )
            raise httpx.ConnectError("another host than the one that may be asked")
        address = f"{request.method} {request.url}"
        if address in self._asked:
            raise httpx.ConnectError("one call is one request; this is a second one")
        self._asked.add(address)
        # Some providers are looked up elsewhere first; what counts is the last request.
        self.fault, self.status = None, None
        for name in _SECRET_HEADERS:
            if value := request.headers.get(name):
                self.secrets |= {value, value.rpartition(" ")[2]}
        if value := request.url.params.get("key"):
            self.secrets.add(value)
        read_s = min(self.idle_s, self.reply_s) if self.stream else self.reply_s
        request.extensions = dict(request.extensions) | {
            "timeout": {
                "connect": _CONNECT_S,
                "read": read_s,
                "write": self.reply_s,
                "pool": _CONNECT_S,
            }
        }

    def answers(self, response: httpx.Response) -> None:
        """Take over the reply's beginning."""
        self._open.append(response)
        self.delivered = True
        self.status = response.status_code
        self.headers = {k.lower(): v for k, v in response.headers.items()}
        self.kept.clear()
        self._size_bytes = self._line_bytes = 0
        if httpx.codes.is_redirect(response.status_code):
            self.fault = wire.read_failure(self.status, self.headers, b"")
            raise httpx.RemoteProtocolError("the address is not the endpoint's: it redirects")

    def takes(self, piece: bytes) -> None:
        """Take over a piece of the reply's body, within the limits of size."""
        self._size_bytes += len(piece)
        end = piece.rfind(b"\n")
        self._line_bytes = len(piece) - end - 1 if end >= 0 else self._line_bytes + len(piece)
        limit = _STREAM_LIMIT_BYTES if self.stream else REPLY_LIMIT_BYTES
        if self._size_bytes > limit or self._line_bytes > REPLY_LIMIT_BYTES:
            self.too_long()
            raise httpx.ReadError("the reply is too long")
        self.kept += piece
        if self.stream and len(self.kept) > 4 * _KEPT_END_BYTES:
            del self.kept[_KEPT_END_BYTES:-_KEPT_END_BYTES]

    def too_long(self) -> None:
        """Note that the reply is longer than any answer."""
        self.fault = wire.Fault(
            kind=ModelFault.MALFORMED,
            message=f"the reply is longer than {REPLY_LIMIT_BYTES} bytes and was cut off",
        )

    def breaks(self, problem: httpx.HTTPError, url: httpx.URL) -> None:
        """Note why the line broke, unless that is known already."""
        where = f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
        if self.fault is not None:
            return
        if isinstance(problem, _NOBODY):
            self.fault = wire.Fault(
                kind=ModelFault.UNREACHABLE,
                message=f"nobody answers at {where}: {problem}; look at the network or mend the base URL",
            )
            return
        self.delivered = True
        if isinstance(problem, httpx.TimeoutException):
            whole = self.monotonic() - self._started >= self.reply_s
            self.fault = wire.Fault(
                kind=ModelFault.TIMEOUT,
                message=f"no complete reply from {where} within {self.reply_s:g} s"
                if whole
                else f"{where} said nothing for {self.idle_s:g} s",
            )
        elif isinstance(problem, httpx.DecodingError):
            self.fault = wire.Fault(
                kind=ModelFault.MALFORMED,
                message=f"the reply of {where} cannot be unpacked: {problem}",
            )
        else:
            self.fault = wire.Fault(
                kind=ModelFault.BROKEN_STREAM,
                message=f"the connection to {where} broke: {problem}",
            )


_UNDER_WAY: Final[ContextVar[Exchange | None]] = ContextVar("exchange", default=None)


class TappedTransport(httpx.BaseTransport):
    """Sends over a client of its own (proxies and certificates as the environment says) under the call's exchange.

    Requests outside a call pass untouched. One is enough for a process; `close` is left to the process's end, since
    clients of other makers hold it too.
    """

    def __init__(self) -> None:
        with connecting():
            context = httpx.create_ssl_context()
            # A proxy never stands between this machine and itself.
            direct = {
                f"all://{host}": httpx.HTTPTransport(verify=context)
                for host in ("localhost", "127.0.0.1", "[::1]")
            }
            client = httpx.Client(verify=context, mounts=direct)
        self._client = keeps_deadlines(client)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the reply is read through the exchange."""
        if request.url.path == _UNWANTED:
            raise httpx.ConnectError("a question that nobody asked")
        exchange = _UNDER_WAY.get()
        if exchange is None:
            return self._send(request)
        if exchange.thread != get_ident():
            # LiteLLM hands a copy of the call's context to what it does afterwards.
            raise httpx.ConnectError("this call is another thread's")
        exchange.asks(request)
        try:
            response = self._send(request)
        except httpx.HTTPError as problem:
            exchange.breaks(problem, request.url)
            raise
        exchange.answers(response)
        # The pieces are unpacked already, so what counts is what they unpack to.
        packed = ("content-encoding", "content-length", "transfer-encoding")
        headers = [(k, v) for k, v in response.headers.multi_items() if k.lower() not in packed]
        return httpx.Response(
            response.status_code,
            headers=headers,
            stream=_Tap(response, exchange),
            extensions=response.extensions,
        )

    def _send(self, request: httpx.Request) -> httpx.Response:
        # OpenAI's client tells every server about the machine: system, architecture, interpreter. It reads some of these
        # headers again afterwards, so they are left out of a copy.
        told = [
            (k, v) for k, v in request.headers.multi_items() if not k.startswith("x-stainless-")
        ]
        untold = httpx.Request(
            request.method,
            request.url,
            headers=told,
            stream=request.stream,
            extensions=request.extensions,
        )
        return self._client.send(untold, stream=True, follow_redirects=False)


class _Tap(httpx.SyncByteStream):
    def __init__(self, response: httpx.Response, exchange: Exchange) -> None:
        self._response, self._exchange = response, exchange

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._response.iter_bytes():
                self._exchange.takes(piece)
                yield piece
        except httpx.HTTPError as problem:
            self._exchange.breaks(problem, self._response.request.url)
            raise

    def close(self) -> None:
        self._response.close()

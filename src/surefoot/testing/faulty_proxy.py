"""An HTTP proxy on loopback that spoils some of the replies of a real server, and counts what that server really counted."""

import json
import socket
import struct
import threading
from collections.abc import Callable
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, Self

import httpx

_ABORT: Final = struct.pack("ii", 1, 0)
_DRIP_S: Final = 0.05


class Spoiling(StrEnum):
    """What becomes of one request."""

    NOT = "not at all"
    RATE_LIMIT = "429"
    RATE_LIMIT_RESET = "429 with its reset"
    ERROR = "500"
    SLOW = "slow bytes"
    CUT = "cut stream"
    WRONG_JSON = "wrong JSON"
    ERROR_BODY = "200 with an error body"
    ABORTED = "connection reset"


ANSWERED: Final = frozenset({Spoiling.NOT, Spoiling.SLOW, Spoiling.CUT, Spoiling.WRONG_JSON})
"""In these the server has answered, and counted, before anything is spoilt."""


class FaultyProxy:
    """Serves while the `with` block lasts.

    Args:
        upstream: Base URL of the real server, up to and including the version.
        spoil: What becomes of the n-th request, 0-based.
        api_key: The real server's key.
        slow_s: How long a slow reply drips, longer than the client waits.
    """

    def __init__(
        self,
        upstream: str,
        spoil: Callable[[int], Spoiling],
        *,
        api_key: str | None = None,
        slow_s: float = 5.0,
    ) -> None:
        self._upstream = upstream.rstrip("/")
        self._spoil = spoil
        self._headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._slow_s = slow_s
        self._guard = threading.Lock()
        self._closing = threading.Event()
        self._spoilt: list[Spoiling] = []
        self._counted: list[tuple[Spoiling, int]] = []
        self._client = httpx.Client(timeout=120.0, trust_env=False)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                outer._serve(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._client.close()

    @property
    def base_url(self) -> str:
        """For `--base-url`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def spoilt(self) -> tuple[Spoiling, ...]:
        """What became of every request so far."""
        with self._guard:
            return tuple(self._spoilt)

    def counted(self, *kinds: Spoiling) -> int:
        """Tokens, prompt and answer, that the real server counted in replies that were spoilt in these ways."""
        with self._guard:
            return sum(tokens for kind, tokens in self._counted if kind in kinds)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        with self._guard:
            kind = self._spoil(len(self._spoilt))
            self._spoilt.append(kind)
        length = int(handler.headers.get("content-length", "0"))
        body = handler.rfile.read(length)
        reply = self._ask(handler.path, body, kind) if kind in ANSWERED else b""
        try:
            self._spoil_reply(handler, kind, reply)
        except OSError:  # the client went away, which it may
            handler.close_connection = True

    def _ask(self, path: str, body: bytes, kind: Spoiling) -> bytes:
        url = self._upstream + path.removeprefix("/v1")
        headers = {"content-type": "application/json", **self._headers}
        answer = self._client.post(url, content=body, headers=headers)
        answer.raise_for_status()
        usage = answer.json()["usage"]
        with self._guard:
            self._counted.append((kind, usage["prompt_tokens"] + usage["completion_tokens"]))
        return answer.content

    def _spoil_reply(self, handler: BaseHTTPRequestHandler, kind: Spoiling, reply: bytes) -> None:
        limit = b'{"error":{"message":"too many requests","code":"rate_limit_exceeded"}}'
        match kind:
            case Spoiling.NOT:
                _send(handler, 200, reply)
            case Spoiling.RATE_LIMIT:
                _send(handler, 429, limit)
            case Spoiling.RATE_LIMIT_RESET:
                _send(handler, 429, limit, {"retry-after": "20"})
            case Spoiling.ERROR:
                _send(handler, 500, b"<html>Internal Server Error</html>")
            case Spoiling.WRONG_JSON:
                _send(handler, 200, reply[: len(reply) // 2] + b"]]")
            case Spoiling.ERROR_BODY:
                error = {"error": {"message": "the model is overloaded", "code": 503}}
                _send(handler, 200, json.dumps(error).encode())
            case Spoiling.CUT:
                _send(handler, 200, reply[: len(reply) // 2], {}, promised=len(reply))
                handler.close_connection = True
            case Spoiling.ABORTED:
                # No FIN but a reset, as from a server that died.
                handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)
                handler.connection.close()
                handler.close_connection = True
            case Spoiling.SLOW:
                self._drip(handler, reply)

    def _drip(self, handler: BaseHTTPRequestHandler, reply: bytes) -> None:
        handler.send_response(200)
        handler.send_header("content-length", str(len(reply)))
        handler.end_headers()
        for place in range(int(self._slow_s / _DRIP_S)):
            if self._closing.wait(_DRIP_S):
                break
            handler.wfile.write(reply[place : place + 1])
            handler.wfile.flush()
        handler.close_connection = True


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    headers: dict[str, str] | None = None,
    promised: int | None = None,
) -> None:
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("content-length", str(len(body) if promised is None else promised))
    handler.end_headers()
    handler.wfile.write(body)
    handler.wfile.flush()

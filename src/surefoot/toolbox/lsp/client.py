"""A conversation with one language server: JSON-RPC over a sandboxed process, every answer within a time limit."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from surefoot import codec
from surefoot.kernel.ports import Clock, RunningProcess

_TAIL: Final = 600
"""Characters of standard error that a message keeps."""
_NO_METHOD: Final = -32601
_BUSY: Final = frozenset({-32801, -32802})
"""ContentModified and ServerCancelled: it was still reading the project; the same question may be asked again."""

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Diagnostics of one file, as a server gave them of its own accord."""

    version: object
    """Of the text that they are about; None where the server does not say."""
    items: object


class ServerRefusalError(Exception):
    """A server answered a question with an error, which is its right."""


class ServerTroubleError(Exception):
    """A server died, hangs or says what is not in the protocol; it cannot be asked any more."""


class LanguageClient:
    """Asks one question at a time. Whoever catches `ServerTroubleError` stops it."""

    def __init__(self, running: RunningProcess, clock: Clock) -> None:
        self._running = running
        self._clock = clock
        self._number = 0
        self._busy: set[str] = set()
        self.published: dict[str, Published] = {}
        """The last diagnostics by URI, whoever asked."""

    def ask(self, method: str, params: Fields, timeout_s: float) -> object:
        """The result of a request.

        Raises:
            ServerRefusalError: It answered with an error.
            ServerTroubleError: It gave no answer in time, or none that can be read.
        """
        until = self._clock.monotonic() + timeout_s
        while True:
            self._number += 1
            self._send({"id": self._number, "method": method, "params": params})
            match self._answer(method, timeout_s, until):
                case {"error": {"code": int(code), "message": str(message)}}:
                    if code not in _BUSY or self._clock.monotonic() >= until:
                        raise ServerRefusalError(f"{message} (code {code})")
                    self.listen(1.0)
                case {"error": error} if error is not None:
                    raise ServerRefusalError(str(error))
                case {"result": result}:
                    return result
                case answer:
                    raise ServerTroubleError(f"answered {method} with {str(answer)[:200]!r}")

    def tell(self, method: str, params: Fields) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def listen(self, seconds: float) -> bool:
        """Hear at most one message that answers nothing; false when there was none within so many seconds.

        Raises:
            ServerTroubleError: It has ended.
        """
        started = self._clock.monotonic()
        line = self._running.receive(seconds)
        if line is not None:
            self._heed(self._message(line))
            return True
        # A process that ended says None at once; one that is silent, when the time is up.
        if self._clock.monotonic() - started < seconds / 2:
            raise ServerTroubleError(self._last_words())
        return False

    def await_rest(self, timeout_s: float) -> bool:
        """Listen until it is at work on nothing that it has told of; false when it still is after so many seconds."""
        until = self._clock.monotonic() + timeout_s
        while self._busy and (left := until - self._clock.monotonic()) > 0:
            self.listen(left)
        return not self._busy

    def stop(self) -> str:
        """End it; what it last wrote to standard error."""
        result = self._running.stop()
        return result.stderr.decode("utf-8", "replace").strip()[-_TAIL:]

    def _answer(self, method: str, timeout_s: float, until: float) -> Fields:
        """The response to the last request; what comes before it is heeded."""
        while (left := until - self._clock.monotonic()) > 0:
            line = self._running.receive(left)
            if line is None:
                break
            message = self._message(line)
            if "method" not in message and message.get("id") == self._number:
                return message
            self._heed(message)
        if self._clock.monotonic() < until:
            raise ServerTroubleError(self._last_words())
        raise ServerTroubleError(f"did not answer {method} within {timeout_s:g} s")

    def _message(self, line: bytes) -> Fields:
        try:
            message: object = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            return cast("Fields", message)
        raise ServerTroubleError(f"said what is no message: {line[:200]!r}")

    def _heed(self, message: Fields) -> None:
        """Take note of a notification, answer a request."""
        match message:
            case {"method": str(method), "id": int() | str() as number}:
                self._send({"id": number, **_reply(method, message.get("params"))})
            case {
                "method": "textDocument/publishDiagnostics",
                "params": {"uri": str(uri), "diagnostics": items, **more},
            }:
                self.published[uri] = Published(version=more.get("version"), items=items)
            case {"method": "$/progress", "params": {"token": token, "value": {"kind": kind}}}:
                if kind == "begin":
                    self._busy.add(str(token))
                elif kind == "end":
                    self._busy.discard(str(token))
            case _:
                pass  # a log line, or the answer to a question that was given up

    def _send(self, fields: Fields) -> None:
        # The port ends a line with a newline, which JSON lets stand behind the object: it is counted as part of the body.
        body = codec.canonical({"jsonrpc": "2.0", **fields})
        self._running.send(b"Content-Length: %d\r\n\r\n%s" % (len(body) + 1, body))

    def _last_words(self) -> str:
        said = self.stop()
        return f"ended by itself: {said}" if said else "ended by itself and said nothing"


def _reply(method: str, params: object) -> Fields:
    """Our answer to a request of the server: we have no settings for it, and apply no edits but those that were asked for."""
    match method, params:
        case "workspace/configuration", {"items": list(items)}:
            return {"result": [None] * len(items)}
        case "workspace/applyEdit", _:
            return {"result": {"applied": False, "failureReason": "edits come as answers only"}}
        case (
            (
                "client/registerCapability"
                | "client/unregisterCapability"
                | "window/workDoneProgress/create"
                | "window/showMessageRequest"
                | "workspace/workspaceFolders"
            ),
            _,
        ):
            return {"result": None}
        case _:
            return {"error": {"code": _NO_METHOD, "message": f"{method} is not supported"}}

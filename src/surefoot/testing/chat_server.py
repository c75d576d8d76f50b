"""An OpenAI-compatible endpoint on loopback that says exactly what a test wants, good or bad."""

import json
import re
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from types import TracebackType
from typing import Any, Final, Literal, Self

from surefoot.codec import canonical
from surefoot.kernel.ports import Model
from surefoot.values import (
    Message,
    ModelFailure,
    ModelFault,
    ModelRequest,
    OfferedTool,
    ToolCall,
)

_STATUS: Final[Mapping[ModelFault, int]] = {
    ModelFault.RATE_LIMIT: 429,
    ModelFault.OVERLOAD: 503,
    ModelFault.TIMEOUT: 504,
    ModelFault.AUTH: 401,
    ModelFault.NOT_FOUND: 404,
    ModelFault.UNREACHABLE: 503,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What goes back over the wire, well formed or not."""

    body: bytes | Iterable[bytes] = b""
    """Pieces are sent as they come, without a length; bytes are sent with their length."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    promised_bytes: int | None = None
    """A length to announce instead of the true one; the connection is closed after the body all the same."""
    before: Iterable[bytes] = ()
    """Sent as it comes in front of the status line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Mapping[str, object]


class ScriptedServer:
    """Serves while the `with` block lasts; each request is answered by `behave`, in a thread of its own."""

    def __init__(self, behave: Callable[[Seen], Wire]) -> None:
        self._behave = behave
        self._seen: list[Seen] = []
        self._guard = threading.Lock()
        self.closing = threading.Event()
        """Set when the block ends; a behaviour that hangs waits for it."""
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
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        """For `ChatServer.base_url` and `--base-url`."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def seen(self) -> tuple[Seen, ...]:
        """Every request so far."""
        with self._guard:
            return tuple(self._seen)

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("content-length", "0"))
        seen = Seen(
            path=handler.path,
            headers={k.lower(): v for k, v in handler.headers.items()},
            body=json.loads(handler.rfile.read(length)),
        )
        with self._guard:
            self._seen.append(seen)
        wire = self._behave(seen)
        handler.send_response(wire.status)
        for name, value in wire.headers.items():
            handler.send_header(name, value)
        body = wire.body
        if isinstance(body, bytes):
            promised = len(body) if wire.promised_bytes is None else wire.promised_bytes
            handler.send_header("Content-Length", str(promised))
        handler.close_connection = not isinstance(body, bytes) or wire.promised_bytes is not None
        if handler.close_connection:
            handler.send_header("Connection", "close")
        try:
            for piece in self._until_closing(wire.before):
                handler.wfile.write(piece)
            handler.end_headers()
            for piece in (body,) if isinstance(body, bytes) else self._until_closing(body):
                handler.wfile.write(piece)
                handler.wfile.flush()
        except OSError:  # the client had enough, which is what such a test is about
            handler.close_connection = True

    def _until_closing(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            if self.closing.is_set():
                return
            yield piece


DRIPS: Final = 100
DRIP_S: Final = 0.05
"""A reply of so many pieces takes 5 s; a test gives it a fraction of that."""


def drip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The pieces, one every `DRIP_S`."""
    pause = threading.Event()
    for piece in pieces:
        pause.wait(DRIP_S)
        yield piece


def busy(kind: Literal["interim", "headers", "packed"], body: bytes, *, drips: int = DRIPS) -> Wire:
    """A reply that comes without a pause and gives a reader of its body nothing for so many drips.

    Args:
        kind: Interim answers before the reply; a header that goes on; packed pieces that unpack to nothing.
        body: What comes at last, so that a client that waits too long has an answer.
        drips: How many pieces come in between, one every `DRIP_S`.
    """
    if kind == "interim":
        return Wire(before=drip(repeat(b"HTTP/1.1 100 Continue\r\n\r\n", drips)), body=body)
    if kind == "headers":
        started = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Long: " % len(body)
        ended = b"\r\n\r\n" + body
        return Wire(before=chain((started,), drip(repeat(b"x", drips)), (ended,)))
    beginning = zlib.compressobj(wbits=31)
    rest = zlib.compressobj(wbits=-15)
    # An empty stored block, as often as one likes; then the text, whose checksum nobody waits for.
    pieces = chain(
        (beginning.compress(b"") + beginning.flush(zlib.Z_SYNC_FLUSH),),
        drip(repeat(b"\x00\x00\x00\xff\xff", drips)),
        (rest.compress(body) + rest.flush(),),
    )
    return Wire(headers={"Content-Encoding": "gzip"}, body=pieces)


def completion(text: str, **changes: object) -> bytes:
    """A well-formed reply with `text`; `changes` replace or add top-level fields."""
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
            **changes,
        }
    ).encode()


def event(data: object, name: str | None = None) -> bytes:
    """One server-sent event; text is sent as it is, everything else as JSON."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def streamed(
    pieces: Iterable[str],
    *,
    finish: str | None = "stop",
    model: str = "scripted",
    usage: Mapping[str, object] | None = None,
    calls: Sequence[ToolCall] = (),
) -> tuple[bytes, ...]:
    """The events of a well-formed stream: role, one for each piece, calls in pieces, finish reason, usage when given, end."""
    deltas: list[tuple[dict[str, object], str | None]] = [
        ({"role": "assistant", "content": ""}, None)
    ]
    deltas += [({"content": piece}, None) for piece in pieces]
    for index, call in enumerate(called(calls)):
        whole = str(call["function"]["arguments"])
        begun = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        deltas.append(({"tool_calls": [begun]}, None))
        for piece in re.findall(r"(?s).{1,20}", whole):
            deltas.append(
                ({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None)
            )
    if finish is not None:
        deltas.append(({}, finish))
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model}
    events = [
        event({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        for delta, reason in deltas
    ]
    if usage is not None:
        events.append(event({**base, "choices": [], "usage": dict(usage)}))
    return (*events, event("[DONE]"))


EVENT_STREAM: Final[Mapping[str, str]] = {"content-type": "text/event-stream"}


def called(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Tool calls in the protocol's words."""
    return [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": call.tool, "arguments": call.parameters},
        }
        for number, call in enumerate(calls)
    ]


def speaks_for(model: Model) -> Callable[[Seen], Wire]:
    """A behaviour that answers with what `model` says, in the protocol's words, as a stream where that is asked for."""

    def behave(seen: Seen) -> Wire:
        body = seen.body
        answer = model.complete((_request(body),))[0]
        if isinstance(answer, ModelFailure):
            error = {"message": answer.message, "type": answer.fault.value, "code": None}
            if answer.fault is ModelFault.UNSUPPORTED:
                error["message"] = "registry/scripted does not support tools"
            status = _STATUS.get(answer.fault, 400)
            return Wire(status=status, body=json.dumps({"error": error}).encode())
        message: dict[str, object] = {"role": "assistant", "content": answer.text or None}
        if answer.calls:
            message["tool_calls"] = called(answer.calls)
        finish = "tool_calls" if answer.calls else answer.finish
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {
            "prompt_tokens": answer.usage.prompt_tokens,
            "completion_tokens": answer.usage.completion_tokens,
        }
        if body.get("stream"):
            pieces = re.findall(r"\s*\S+|\s+$", answer.text)
            events = streamed(
                pieces, finish=finish, model=answer.model, usage=usage, calls=answer.calls
            )
            return Wire(headers=EVENT_STREAM, body=events)
        return Wire(body=completion("", model=answer.model, choices=[choice], usage=usage))

    return behave


def _request(body: Mapping[str, object]) -> ModelRequest:
    given = body["messages"]
    stop = body.get("stop") or ()
    most = body.get("max_tokens") or body.get("max_completion_tokens")
    seed, temperature = body.get("seed"), body.get("temperature")
    messages = tuple(Message(**m) for m in given) if isinstance(given, list) else ()
    prefill = ""
    if messages and messages[-1].role == "assistant":
        prefill, messages = messages[-1].content, messages[:-1]
    return ModelRequest(
        purpose="served",
        messages=messages,
        max_tokens=most if isinstance(most, int) else 256,
        temperature=float(temperature) if isinstance(temperature, int | float) else 0.0,
        seed=seed if isinstance(seed, int) else 0,
        stop=tuple(str(s) for s in stop) if isinstance(stop, list | tuple) else (),
        prefill=prefill,
        tools=_offered(body.get("tools")),
    )


def _offered(given: object) -> tuple[OfferedTool, ...]:
    functions = [tool["function"] for tool in given] if isinstance(given, list) else []
    return tuple(
        OfferedTool(
            name=f["name"],
            purpose=f.get("description", ""),
            schema=canonical(f["parameters"]).decode(),
        )
        for f in functions
    )

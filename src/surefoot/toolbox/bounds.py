"""How much of a tool's output a model is shown, and in which characters."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from surefoot.values import ProcessResult

OUTPUT_CHARACTERS: Final = 8_000
"""About 2,000 tokens, which a small model can read beside its task."""
LINE_CHARACTERS: Final = 300
"""A longer line is data rather than code."""
_NAME_CHARACTERS: Final = 120
_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def clean(text: str) -> str:
    """Text that can be printed and stored: no terminal codes, no halves of surrogate pairs, plain line ends."""
    lines = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("\ufffd", lines).encode("utf-8", "replace").decode()


def clip(text: str, limit: int = OUTPUT_CHARACTERS) -> str:
    """At most `limit` characters: a third from the start, the rest from the end, and between them how many are left out."""
    if len(text) <= limit:
        return text
    room = len(_left_out(len(text), len(text)))
    kept = max(0, limit - room)
    note = _left_out(len(text) - kept, len(text))
    head = kept // 3
    tail = kept - head
    return f"{text[:head]}{note}{text[len(text) - tail :]}"[:limit]


def _left_out(count: int, of: int) -> str:
    return f"\n[... the middle is left out, {count} of {of} characters ...]\n"


def hidden(result: ProcessResult, redact: Callable[[str], str]) -> ProcessResult:
    """What a process said, without secrets: before it is cut, because half a secret looks like none."""
    out, err = (
        redact(stream.decode("utf-8", "replace")).encode()
        for stream in (result.stdout, result.stderr)
    )
    return replace(result, stdout=out, stderr=err)


def clip_lines(lines: Sequence[str], limit: int) -> list[str]:
    """The first lines that together fit into `limit` characters, each cut to `LINE_CHARACTERS`."""
    kept: list[str] = []
    for line in lines:
        short = clip_line(line)
        limit -= len(short) + 1
        if limit < 0:
            break
        kept.append(short)
    return kept


def clip_line(line: str) -> str:
    """One line, cut to `LINE_CHARACTERS`, with the number of those left out."""
    if len(line) <= LINE_CHARACTERS:
        return line
    return f"{line[:LINE_CHARACTERS]}[... {len(line) - LINE_CHARACTERS} more characters]"


def named(name: str) -> str:
    """A name in quotes, short enough for a message."""
    short = name if len(name) <= _NAME_CHARACTERS else f"{name[:_NAME_CHARACTERS]}..."
    return repr(short)

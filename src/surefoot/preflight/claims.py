"""The routes and commands that a document says there are.

In Markdown a route is claimed by a method and a path (`GET /users/{id}`) in text or a code span, by a code span that is a path,
and by a bare path below `/api` or `/webhooks`; a command by a code span, a heading or a line of a shell's fence that begins with one
of the project's programs, and an option by a table below such a heading. Elsewhere (a claims file) each line is one claim.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from surefoot.preflight.markdown import (
    Block,
    Fence,
    Heading,
    Table,
    Text,
    blocks,
    spans,
    without_spans,
)

MARKS: Final = ("NEW", "FRONTEND", "EXTERNAL", "DEAD")
"""On a claim's line in brackets, or alone in a table's cell: the claim need not hold here."""
_METHODS: Final = "GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|TRACE|WEBSOCKET"
_MARK: Final = re.compile(r"\[(" + "|".join(MARKS) + r")\]")
_CALL: Final = re.compile(
    rf"\b((?:{_METHODS})(?:\s*[|,/]\s*(?:{_METHODS}))*)\s+(/[^\s`|,;)\]\"']*)"
)
_BARE: Final = re.compile(r"(?<![\w./:`])(/(?:api|webhooks)(?:/[^\s`|,;)\"']*)?)(?![\w`])")
_PATH: Final = re.compile(r"/(?:[\w{}<>:.$*~@%+-]+/?)*(?:\?[^\s]*)?")
_STRESSED: Final = re.compile(r"(?<![\w*/])(\*{1,3})(?=[^\s*])([^*]*[^\s*])\1(?![\w*])")
"""Bold or slanted text; the stars of a wildcard stand behind a slash."""
_FILES: Final = frozenset(
    {
        "bin",
        "boot",
        "dev",
        "etc",
        "home",
        "lib",
        "lib64",
        "media",
        "mnt",
        "opt",
        "proc",
        "root",
        "run",
        "sbin",
        "srv",
        "sys",
        "tmp",
        "usr",
        "var",
    }
)
_SHELLS: Final = frozenset({"", "bash", "console", "sh", "shell", "shell-session", "text", "zsh"})
_REMARK: Final = re.compile(r"\s[-\u2013\u2014]+\s|:(?:\s|$)")
"""Between the command of a heading and what is said of it: `tool run - runs`."""
_ASSIGNED: Final = re.compile(r"\w+=")
_CONTROL: Final = re.compile(r"&&|\|\||[|;<>&]")
_PYTHON: Final = re.compile(r"python[\d.]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteClaim:
    """A route that is said to be served."""

    line: int
    methods: tuple[str, ...]
    """Upper case; none is any."""
    path: str
    marks: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """As it was claimed."""
        return " ".join(part for part in (",".join(self.methods), self.path) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandClaim:
    """A command that is said to be understood."""

    line: int
    words: tuple[str, ...]
    """The program first; `-m package` is one program."""
    marks: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """As it was claimed."""
        return " ".join(self.words)


Claim = RouteClaim | CommandClaim


def claims_in(text: str, programs: Collection[str], *, is_markdown: bool) -> tuple[Claim, ...]:
    """Every claim of a document, in order, each once a line."""
    read = _of_document if is_markdown else _of_lines
    return tuple(dict.fromkeys(read(text, programs)))


def _of_lines(text: str, programs: Collection[str]) -> Iterator[Claim]:
    for number, line in enumerate(text.splitlines(), 1):
        marks = tuple(_MARK.findall(line))
        plain = _MARK.sub("", line).strip()
        if not plain or plain.startswith("#"):
            continue
        route = _CALL.fullmatch(plain)
        if route or plain.startswith("/"):
            methods = tuple(re.findall(r"[A-Z]+", route[1])) if route else ()
            yield RouteClaim(
                line=number, methods=methods, path=route[2] if route else plain, marks=marks
            )
            continue
        known = tuple(_commands(plain, programs))
        # A line of a claims file claims something by being there, also of a program that does not exist.
        for words in known or (tuple(plain.split()),):
            yield CommandClaim(line=number, words=words, marks=marks)


def _of_document(text: str, programs: Collection[str]) -> Iterator[Claim]:
    context: tuple[str, ...] = ()
    for block in blocks(text):
        if isinstance(block, Heading):
            heading = _REMARK.split(block.text.replace("`", ""))[0]
            context = next(iter(_commands(heading, programs)), ())
            yield from _of_line(block.line, block.text, programs)
            if context and "`" not in block.text:
                yield CommandClaim(line=block.line, words=context)
        else:
            yield from _of_block(block, context, programs)


def _of_block(block: Block, context: tuple[str, ...], programs: Collection[str]) -> Iterator[Claim]:
    if isinstance(block, Text):
        yield from _of_line(block.line, block.text, programs)
    elif isinstance(block, Fence):
        yield from _of_fence(block, programs)
    elif isinstance(block, Table):
        for row in block.rows:
            alone = tuple(cell for cell in row.cells if cell in MARKS)
            for cell in row.cells:
                every = (*_MARK.findall(" ".join(row.cells)), *alone)
                yield from _of_line(row.line, cell, programs, marks=tuple(every))
            for option in spans(row.get(0)) if context else ():
                if option.startswith("-"):
                    words = re.split(r"[\s,]+", option)  # `-o, --out FILE`
                    yield CommandClaim(line=row.line, words=(*context, *words))


def _of_line(
    line: int, text: str, programs: Collection[str], marks: tuple[str, ...] | None = None
) -> Iterator[Claim]:
    marks = tuple(_MARK.findall(text)) if marks is None else marks
    text = _STRESSED.sub(r"\2", text)
    for methods, path in _CALL.findall(text.replace("`", " ")):
        named = tuple(re.findall(r"[A-Z]+", methods))
        yield RouteClaim(line=line, methods=named, path=_ended(path), marks=marks)
    called = {path for _, path in _CALL.findall(text.replace("`", " "))}
    for span in spans(text):
        if _PATH.fullmatch(span) and span not in called and not _is_file(span):
            yield RouteClaim(line=line, methods=(), path=span, marks=marks)
        for words in _commands(span, programs):
            yield CommandClaim(line=line, words=words, marks=marks)
    for path in _BARE.findall(_CALL.sub(" ", without_spans(text))):
        yield RouteClaim(line=line, methods=(), path=_ended(path), marks=marks)


def _ended(path: str) -> str:
    """Without the full stop that ends a sentence."""
    return path.rstrip(".:!")


def _is_file(path: str) -> bool:
    return path == "/" or path.split("/")[1] in _FILES


def _of_fence(fence: Fence, programs: Collection[str]) -> Iterator[Claim]:
    if fence.info.split(" ")[0].lower() not in _SHELLS:
        return
    lines = fence.text.split("\n")
    has_prompts = any(line.lstrip().startswith("$ ") for line in lines)
    for offset, line in _joined(lines):
        plain = line.strip()
        if has_prompts and not plain.startswith("$ "):
            continue  # what the command printed
        marks = tuple(_MARK.findall(plain))
        for words in _commands(_MARK.sub("", plain.removeprefix("$ ")), programs):
            yield CommandClaim(line=fence.line + offset, words=words, marks=marks)


def _joined(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Lines of shell with their places, one that ends with a backslash together with those that go on with it."""
    start, held = 0, ""
    for number, line in enumerate(lines):
        start = start if held else number
        goes_on = line.rstrip().endswith("\\") and number + 1 < len(lines)
        held += line.rstrip().removesuffix("\\") + " " if goes_on else line
        if not goes_on:
            yield start, held
            held = ""


def _commands(text: str, programs: Collection[str]) -> Iterator[tuple[str, ...]]:
    """The calls of known programs in a line of shell."""
    for part in _CONTROL.split(_without_comment(text)):
        try:
            words = shlex.split(part)
        except ValueError:
            words = part.split()
        while words and _ASSIGNED.match(words[0]):
            words = words[1:]
        if not words:
            continue
        if _PYTHON.search(words[0]) and len(words) > 1:
            is_module = words[1] == "-m" and len(words) > 2  # noqa: PLR2004  # python -m NAME
            words = [f"-m {words[2]}", *words[3:]] if is_module else words[1:]
        program = words[0] if words[0] in programs else PurePosixPath(words[0]).name
        if program in programs:
            yield (program, *words[1:])


def _without_comment(text: str) -> str:
    return re.sub(r"(?:^|\s)#.*$", "", text)

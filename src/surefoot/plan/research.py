"""What is written about the names in an issue: in the repository, in installed packages, and where the user says.

Everything that is found has its place and the digest of what was read, so that it can be read again. The network is
touched only through `fetch`, which a caller gives when the user has allowed it.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final, TypeAlias

from surefoot.codec import digest
from surefoot.decisions.planning import code_words
from surefoot.errors import UsageError
from surefoot.plans import Source
from surefoot.syntax import tree_of, written

Fetch: TypeAlias = Callable[[str], bytes]
"""The bytes behind a URL; `UsageError` when they cannot be had."""
_MOST_BYTES: Final = 400_000
_MOST_CHARACTERS: Final = 600
_MOST_OF_A_KIND: Final = 8
_PATH: Final = re.compile(r"[\w./-]+\.\w+")
_URL: Final = re.compile(r"https?://\S+")
_UNSEEN: Final = re.compile(rb"<(script|style)\b", re.IGNORECASE)
_TAGS: Final = re.compile(rb"<[^<>]+>")


def in_repository(
    issue: str, root: Path, files: Iterable[str], definitions: Mapping[str, frozenset[str]]
) -> Iterator[Source]:
    """The files that an issue names, and the definitions of the names in it."""
    known = set(files)
    named = [p for p in dict.fromkeys(_PATH.findall(issue)) if p in known]
    for path in named[:_MOST_OF_A_KIND]:
        data = _read(root / path)
        if data is not None:
            yield Source(where=path, fact=_summary(path, data), digest=digest(data))
    words = sorted(code_words(issue) & definitions.keys())
    for word in words[:_MOST_OF_A_KIND]:
        for path in sorted(definitions[word])[:2]:
            data = _read(root / path)
            fact = "" if data is None else _definition(data, word)
            if data is not None and fact:
                yield Source(where=path, fact=fact, digest=digest(data))


def in_packages(issue: str, folders: Sequence[Path]) -> Iterator[Source]:
    """What packages that an issue names say of themselves; `folders` are the project's site-packages."""
    words = {word.lower().replace("-", "_") for word in re.findall(r"[A-Za-z][\w-]+", issue)}
    found = sorted(
        (d for d in distributions(path=[str(f) for f in folders]) if _key(d) in words), key=_key
    )
    for package in found[:_MOST_OF_A_KIND]:
        text = package.read_text("METADATA") or ""
        summary = package.metadata["Summary"] or "no summary"
        name, version = package.metadata["Name"], package.version
        yield Source(
            where=f"{name} {version}: METADATA",
            fact=str(summary)[:_MOST_CHARACTERS],
            digest=digest(text.encode("utf-8", "surrogateescape")),
        )
        yield from _api(package, code_words(issue))


def named_by_user(names: Sequence[str], fetch: Fetch | None) -> Iterator[Source]:
    """The files and pages that the user named.

    Raises:
        UsageError: One cannot be read, or is a URL and the network is not allowed.
    """
    for name in names:
        if _URL.fullmatch(name):
            if fetch is None:
                raise UsageError(f"{name} lies in the network; --network allows to read it")
            data = fetch(name)
            text = _shown(data)
        else:
            found = _read(Path(name))
            if found is None:
                raise UsageError(
                    f"--source {name!r} is no readable file of at most {_MOST_BYTES} bytes"
                )
            data = text = found
        yield Source(where=name, fact=_words(text), digest=digest(data))


def _shown(page: bytes) -> bytes:
    """What a page shows, without tags, scripts and styles; takes time by its length, whatever it leaves open."""
    parts, begin, lower = list[bytes](), 0, page.lower()
    while found := _UNSEEN.search(page, begin):
        parts.append(page[begin : found.start()])
        end = lower.find(b"</" + found[1].lower(), found.end())
        begin = len(page) if end < 0 else end
    return _TAGS.sub(b" ", b" ".join((*parts, page[begin:])))


def site_packages(python: Path | None) -> tuple[Path, ...]:
    """Where the packages of a project's interpreter lie, without running it."""
    if python is None:
        return ()
    return tuple(sorted(python.parent.parent.glob("lib/python3*/site-packages")))


def _api(package: Distribution, words: frozenset[str]) -> Iterator[Source]:
    """Signatures of the package's functions and classes that are named, with the first line of what they say."""
    left = set(words)
    for file in package.files or ():
        if not left or file.suffix != ".py" or "test" in str(file).lower():
            continue
        data = _read(Path(str(file.locate())))
        if data is None or not any(f" {word}".encode() in data for word in left):
            continue
        for word in sorted(left):
            fact = _definition(data, word)
            if fact:
                left.discard(word)
                where = f"{package.metadata['Name']} {package.version}: {file}"
                yield Source(where=where, fact=fact, digest=digest(data))


def _key(package: Distribution) -> str:
    return str(package.metadata["Name"] or "").lower().replace("-", "_")


def _read(path: Path) -> bytes | None:
    """A plain file's bytes; links are not followed, so that a repository cannot point outside itself."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _summary(path: str, data: bytes) -> str:
    """What a file says of itself: its docstring, else its first words."""
    tree = tree_of(data) if path.endswith(".py") else None
    told = ast.get_docstring(tree) if tree is not None else None
    return told.splitlines()[0][:_MOST_CHARACTERS] if told else _words(data)


def _definition(data: bytes, word: str) -> str:
    """How a name is defined: its line, its signature, and the first line of its docstring."""
    tree = tree_of(data)
    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name != word:
            continue
        told = (ast.get_docstring(node) or "").partition("\n")[0]
        if isinstance(node, ast.ClassDef):
            head = f"class {node.name}({', '.join(map(written, node.bases))})"
        else:
            head = f"def {node.name}({written(node.args)})"
        return f"line {node.lineno}: {head}{': ' + told if told else ''}"[:_MOST_CHARACTERS]
    return ""


def _words(data: bytes) -> str:
    """The first words of a text."""
    return " ".join(data[: 20 * _MOST_CHARACTERS].decode("utf-8", "replace").split())[
        :_MOST_CHARACTERS
    ]

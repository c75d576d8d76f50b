"""Symbols that were read before, by the hash of what they were read from."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from surefoot.context.grammars import edition
from surefoot.context.symbols import Symbols

_SCHEMA: Final = 1
_MOST_BYTES: Final = 512 * 1024**2
"""A larger cache is begun anew: it holds what hundreds of repositories had once."""
_ASKED: Final = 500
"""Keys in one statement."""


def key_of(language: str, data: bytes) -> bytes:
    """The key of one file's symbols; the same text in another language, or read by another grammar, is another."""
    return blake2b(data, digest_size=20, key=blake2b(edition(language).encode()).digest()).digest()


class SymbolCache:
    """A file of symbols in `folder`. One that is broken is as good as none: it is removed and begun anew."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"symbols-{_SCHEMA}.sqlite3"

    def get(self, keys: Iterable[bytes]) -> dict[bytes, Symbols | None]:
        """What is known of `keys`; None of those that are known to be too tangled."""
        wanted = list(dict.fromkeys(keys))
        try:
            if not self._path.is_file() or self._path.stat().st_size > _MOST_BYTES:
                return self._begin_anew()
            with closing(self._open()) as connection:
                rows = [
                    row
                    for start in range(0, len(wanted), _ASKED)
                    for row in _select(connection, wanted[start : start + _ASKED])
                ]
            return {key: _decode(text) for key, text in rows}
        except sqlite3.OperationalError:
            # Another process writes, or there is no table yet: nothing is broken.
            return {}
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError):
            return self._begin_anew()

    def _begin_anew(self) -> dict[bytes, Symbols | None]:
        with suppress(OSError):
            self._path.unlink()
        return {}

    def put(self, found: Mapping[bytes, Symbols | None]) -> None:
        """Keep what was read; where that is impossible (a full disk, another writer), it is read again next time."""
        rows = [(key, _encode(symbols)) for key, symbols in found.items()]
        with suppress(sqlite3.Error, OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._open()) as connection, connection:
                connection.execute(
                    "create table if not exists symbols (key blob primary key, text text) without rowid"
                )
                connection.executemany("insert or replace into symbols values (?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=5.0)
        connection.execute("pragma synchronous = off")
        return connection


def _select(connection: sqlite3.Connection, keys: Sequence[bytes]) -> list[tuple[bytes, str]]:
    marks = ", ".join("?" * len(keys))
    return connection.execute(
        f"select key, text from symbols where key in ({marks})",  # noqa: S608  # only question marks
        keys,
    ).fetchall()


def _encode(symbols: Symbols | None) -> str:
    if symbols is None:
        return "null"
    columns = [symbols.names, symbols.lines, symbols.texts, dict(symbols.references)]
    return json.dumps(columns, ensure_ascii=False)


def _decode(text: str) -> Symbols | None:
    found = json.loads(text)
    if found is None:
        return None
    names, lines, texts, references = found
    return Symbols(names=names, lines=lines, texts=texts, references=references)

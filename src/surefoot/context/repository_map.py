"""The map of a repository: the definitions that matter to a task, with their files, within a budget of tokens."""

import os
import sys
import sysconfig
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Final, TypeAlias

from surefoot.context.cache import SymbolCache, key_of
from surefoot.context.grammars import language_of
from surefoot.context.rank import Ranked, rank
from surefoot.context.symbols import MOST_BYTES, Symbols, read_batch, unreadable
from surefoot.plain_files import read_head

Read: TypeAlias = Callable[[str], bytes | None]
"""A file's bytes by its path; None when it is no plain file."""
POOL_BYTES: Final = 4_000_000
"""Unread text from which several processes are faster than one, which they take half a second to start."""
_BATCH_BYTES: Final = 400_000
_BYTES_A_TOKEN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A file to be read."""

    path: str
    language: str
    data: bytes
    key: bytes


def count_bytes(text: str) -> int:
    """A safe estimate of a text's tokens, where the model's own count is not at hand."""
    return -(-len(text.encode()) // _BYTES_A_TOKEN)


class RepositoryMap:
    """Renders maps; what it has read of a file is kept in `cache_dir`, outside every checkout, by its content.

    `workers` is how many processes parse a large repository that is not known yet; None: two, where that is safe.
    """

    def __init__(self, cache_dir: Path, *, workers: int | None = None) -> None:
        self._cache = SymbolCache(cache_dir)
        self._workers = (1 if _would_run_again() else 2) if workers is None else workers

    def render(
        self,
        source: Path | Read,
        files: Sequence[str],
        text: str,
        budget_tokens: int,
        *,
        mentioned: Sequence[str] = (),
        count: Callable[[str], int] = count_bytes,
    ) -> str:
        """The map of `files` for a task that `text` describes; the same input gives the same map.

        Args:
            source: Root of a checkout, or what gives a file's bytes by its path. Links are never followed.
            files: Paths of the repository, relative; those in no known language are left out.
            text: An issue, a plan step: what definitions are ranked by. It is data.
            budget_tokens: What the map may use at most; empty when not even its last line fits.
            mentioned: Paths that count as if the text named them, e.g. those that a test failed in.
            count: Tokens of a text; by default a third of its bytes.
        """
        read = _reader(source) if isinstance(source, Path) else source
        skipped: Counter[str] = Counter()
        texts = list(_texts(read, sorted(set(files)), skipped))
        symbols = self._symbols(texts, skipped)
        ranked = rank(symbols, text, mentioned)
        return _rendered(ranked, _summary(symbols, skipped), budget_tokens, count)

    def _symbols(self, texts: Sequence[_Text], skipped: Counter[str]) -> dict[str, Symbols]:
        """By path, from the cache or newly read."""
        known = self._cache.get(t.key for t in texts)
        fresh = self._parsed(list({t.key: t for t in texts if t.key not in known}.values()))
        if fresh:
            self._cache.put(fresh)
        known |= fresh
        found: dict[str, Symbols] = {}
        for each in texts:
            symbols = known.get(each.key)
            if symbols is not None:
                found[each.path] = symbols
            else:
                skipped["too tangled" if each.key in known else "not parsed"] += 1
        return found

    def _parsed(self, unread: Sequence[_Text]) -> dict[bytes, Symbols | None]:
        batches = _batches(unread)
        asked = [[(t.language, t.data) for t in batch] for batch in batches]
        if self._workers < 2 or sum(len(t.data) for t in unread) < POOL_BYTES:  # noqa: PLR2004
            answers: Iterable[list[Symbols | None]] = map(read_batch, asked)
            return _joined(batches, answers)
        # A grammar is foreign code that reads foreign text: if a process dies of it, its files are left out.
        found: dict[bytes, Symbols | None] = {}
        with ProcessPoolExecutor(self._workers, mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(read_batch, batch) for batch in asked]
            for batch, future in zip(batches, futures, strict=True):
                try:
                    found |= _joined([batch], [future.result()])
                except BrokenProcessPool:
                    continue
        return found


def _would_run_again() -> bool:
    """Whether a new process would begin with the caller's script, which not everybody guards: it would start all its runs again."""
    main = sys.modules["__main__"]
    if main.__spec__ is not None:
        return not main.__spec__.name.endswith("__main__")  # those of packages are not run again
    file = getattr(main, "__file__", None)
    installed = Path(sysconfig.get_path("scripts")).resolve()  # these are guarded
    return file is not None and Path(file).resolve().parent != installed


def _joined(
    batches: Sequence[Sequence[_Text]], answers: Iterable[Sequence[Symbols | None]]
) -> dict[bytes, Symbols | None]:
    return {
        text.key: symbols
        for batch, answer in zip(batches, answers, strict=True)
        for text, symbols in zip(batch, answer, strict=True)
    }


def _batches(texts: Sequence[_Text]) -> list[list[_Text]]:
    batches: list[list[_Text]] = []
    size = _BATCH_BYTES
    for text in texts:
        if size >= _BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(text)
        size += len(text.data)
    return batches


def _reader(root: Path) -> Read:
    """Reads plain files of a checkout; what a link leads to may be anything."""
    real = os.path.realpath(root)

    def read(path: str) -> bytes | None:
        place = os.path.normpath(f"{real}/{path}")
        if os.path.realpath(place) != place or not place.startswith(f"{real}/"):
            return None
        try:
            return read_head(Path(place), MOST_BYTES + 1, links=False)
        except OSError:
            return None

    return read


def _texts(read: Read, paths: Sequence[str], skipped: Counter[str]) -> Iterable[_Text]:
    for path in paths:
        language = language_of(path)
        if language is None:
            continue
        data = read(path)
        why = "missing, or links" if data is None else unreadable(data)
        if data is None or why is not None:
            skipped[why or ""] += 1
            continue
        yield _Text(path=path, language=language, data=data, key=key_of(language, data))


def _summary(symbols: dict[str, Symbols], skipped: Counter[str]) -> str:
    total = sum(len(s.names) for s in symbols.values())
    left_out = ", ".join(f"{count} {why}" for why, count in sorted(skipped.items()) if count)
    told = f"; left out: {left_out}" if left_out else ""
    return f"({len(symbols)} files with {total} definitions{told})"


def _rendered(
    ranked: Iterable[Ranked], summary: str, budget: int, count: Callable[[str], int]
) -> str:
    """The best definitions that fit, by file, files in the order of their best one."""
    left = budget - count(f"{summary}\n")
    if left < 0:
        return ""
    chosen: dict[str, list[Ranked]] = defaultdict(list)
    for each in ranked:
        cost = count(_line(each))
        if each.path not in chosen:
            cost += count(f"{each.path}\n")
        if cost > left:
            break
        left -= cost
        chosen[each.path].append(each)
    parts = []
    for path, definitions in chosen.items():
        parts.append(f"{path}\n")
        parts += [_line(r) for r in sorted(definitions, key=lambda r: r.line)]
    return "".join((*parts, f"{summary}\n"))


def _line(each: Ranked) -> str:
    return f"{each.line:>5}: {each.text}\n"

"""Which files and definitions matter to a text: personalised PageRank over who refers to whom.

As in aider's repository map (https://aider.chat/2023/10/22/repomap.html): names that the text mentions count most, long
compound names more than short ones, private names and names that many files define or use less.
"""

import builtins
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from surefoot.context.symbols import Symbols

_DAMPING: Final = 0.6
"""Lower than for the web: what is two steps from the task matters less than what everybody uses would suggest."""
_ROUNDS: Final = 20
_CLOSE: Final = 1e-4
_SAID_AS_CODE: Final = 10.0
_SAID: Final = 4.0
_COMPOUND: Final = 3.0
_LONG: Final = 8
_PRIVATE: Final = 0.3
_MANY: Final = 10
"""Files that define a name before it leads nowhere, unless the text says it."""
_LIKE: Final = 0.7
"""What a name counts that shares its rarest words with the text, beside one that the text says: 1."""
_FLOW: Final = 0.5
"""What the name counts that most of the walk goes through."""
_OF_FILE: Final = 5.0
"""How much more a file counts that the text names than one that defines a name in it."""
_EVERYDAY_WEIGHT: Final = 0.05
_EVERYDAY: Final = frozenset(
    name for kind in (builtins, str, bytes, list, dict, set, int) for name in dir(kind)
) | frozenset(
    re.findall(
        r"\w+",
        """
        apply assert close equals expect filter find flush forEach from includes indexOf init is_empty iter len length
        log main make map new next of open print push read reduce require run size slice splice test then toString
        trim unwrap warn write
        """,
    )
)
"""Names of what every language's strings and lists have: a call of one hardly ever means the project's own."""
_DEEP: Final = " " * 8
"""Indentation of what is inside a function, or two classes."""
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_WORD: Final = re.compile(r"[A-Za-z_]\w{2,}")
_CODE: Final = re.compile(r"`([^`\n]+)`|\b(\w+(?:\.\w+)+)|\b(\w+)\s*\(")
_COMPOUND_NAME: Final = re.compile(r"\w_\w|[a-z][A-Z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A definition and what it counts."""

    path: str
    line: int
    text: str


_Edge: TypeAlias = tuple[int, str, float]
"""To which file, by which name, how strongly."""


def rank(files: Mapping[str, Symbols], text: str, mentioned: Iterable[str]) -> Iterator[Ranked]:
    """All definitions, those first that matter most to `text`; equal ones by path and line.

    `mentioned` are paths that count as if the text named them.
    """
    paths = sorted(files)
    said = _said(text)
    homes = _homes(files, paths)
    edges = _edges(files, paths, homes, said)
    named = _named(paths, text, said, frozenset(mentioned))
    alike = _alike(homes, text)
    start = _start(len(paths), homes, alike | said, named)
    weights = _page_rank(edges, start)
    flows = _flows(weights, edges)
    most = max(flows.values(), default=0.0) or 1.0
    direct = {name: _LIKE * likeness for name, likeness in alike.items()}
    direct |= {
        name: weight / _SAID_AS_CODE / len(homes[name])
        for name, weight in said.items()
        if name in homes
    }
    order = []
    for number, path in enumerate(paths):
        symbols = files[path]
        for place, (name, text_line) in enumerate(zip(symbols.names, symbols.texts, strict=True)):
            score = (
                flows.get((number, name), 0.0) * _FLOW / most
                + direct.get(name, 0.0)
                + weights[number]
            )
            if number in named and not text_line.startswith(_DEEP):
                score += 1.0
            order.append((-score, number, place))
    order.sort()
    for _, number, place in order:
        symbols = files[paths[number]]
        yield Ranked(path=paths[number], line=symbols.lines[place], text=symbols.texts[place])


def _said(text: str) -> dict[str, float]:
    """What the text says, more for what it says as code: quoted, called, dotted, or a compound name."""
    said = dict.fromkeys(_WORD.findall(text), _SAID)
    coded = {w for match in _CODE.findall(text) for part in match for w in _WORD.findall(part)}
    coded |= {word for word in said if _COMPOUND_NAME.search(word)}
    return said | dict.fromkeys(sorted(coded), _SAID_AS_CODE)


def _alike(homes: Mapping[str, Sequence[int]], text: str) -> dict[str, float]:
    """How much each name is made of words of the text, rare ones most; 0..1, names without any left out."""
    words = {part.lower() for word in _WORD.findall(text) for part in _PART.findall(word)}
    parts = {name: frozenset(p.lower() for p in _PART.findall(name)) for name in homes}
    uses = Counter(part for each in parts.values() for part in each & words)
    rarity = {part: log(len(parts) / count) for part, count in uses.items()}
    # Summed in the order of the alphabet: that of a set changes from run to run.
    found = {
        name: sum(rarity[p] for p in sorted(each & words)) / sqrt(len(each))
        for name, each in parts.items()
        if each & words
    }
    most = max(found.values(), default=0.0)
    return {name: value / most for name, value in found.items() if most}


def _homes(files: Mapping[str, Symbols], paths: Sequence[str]) -> dict[str, list[int]]:
    """Which files define each name."""
    homes: dict[str, list[int]] = defaultdict(list)
    for number, path in enumerate(paths):
        for name in dict.fromkeys(files[path].names):
            homes[name].append(number)
    return homes


def _edges(
    files: Mapping[str, Symbols],
    paths: Sequence[str],
    homes: Mapping[str, Sequence[int]],
    said: Mapping[str, float],
) -> list[list[_Edge]]:
    """Who refers to whom, from each file."""
    users = Counter(name for path in paths for name in files[path].references if name in homes)
    weights = {
        # A name that everybody defines says little of anybody, and would cost the square of its files.
        name: _weight(name)
        * said.get(name, 1.0)
        * log(1 + len(paths) / count) ** 2
        / len(homes[name])
        for name, count in users.items()
        if len(homes[name]) <= _MANY or name in said
    }
    edges: list[list[_Edge]] = []
    for number, path in enumerate(paths):
        out: list[_Edge] = []
        for name, count in files[path].references.items():
            if name in weights:
                weight = weights[name] * sqrt(count)
                out += [(to, name, weight) for to in homes[name] if to != number]
        edges.append(out)
    return edges


def _weight(name: str) -> float:
    weight = 1.0
    if len(name) >= _LONG and _COMPOUND_NAME.search(name):
        weight *= _COMPOUND
    if name.startswith("_"):
        weight *= _PRIVATE
    if name in _EVERYDAY:
        weight *= _EVERYDAY_WEIGHT
    return weight


def _named(
    paths: Sequence[str], text: str, said: Mapping[str, float], mentioned: frozenset[str]
) -> frozenset[int]:
    """Files that the text names: by path, by file name, as a dotted module, or by what it says as code."""
    return frozenset(
        number
        for number, path in enumerate(paths)
        if path in mentioned
        or _holds(text, PurePosixPath(path).name)
        or ("/" in path and _holds(text, path.rpartition(".")[0].replace("/", ".")))
        or said.get(PurePosixPath(path).stem) == _SAID_AS_CODE
    )


def _holds(text: str, name: str) -> bool:
    """Whether a text holds a name as a word of its own."""
    if name not in text:
        return False
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _start(
    count: int, homes: Mapping[str, Sequence[int]], said: Mapping[str, float], named: frozenset[int]
) -> list[float]:
    """Where the walk begins: files that are named, and those that define what the text says."""
    start = [_OF_FILE * _SAID_AS_CODE if number in named else 0.0 for number in range(count)]
    for word, weight in said.items():
        where = homes.get(word, ())
        for number in where:
            start[number] += weight / len(where)
    total = sum(start)
    return [value / total if total else 1.0 / count for value in start]


def _page_rank(edges: Sequence[Sequence[_Edge]], start: Sequence[float]) -> list[float]:
    shares = [_shares(out) for out in edges]
    weights = list(start)
    for _ in range(_ROUNDS):
        after = [0.0] * len(start)
        lost = 0.0
        for weight, out in zip(weights, shares, strict=True):
            if not out:
                lost += weight
            elif weight > 0.0:
                for to, share in out:
                    after[to] += weight * share
        back = 1 - _DAMPING + _DAMPING * lost
        after = [back * s + _DAMPING * a for s, a in zip(start, after, strict=True)]
        moved = sum(abs(a - w) for a, w in zip(after, weights, strict=True))
        weights = after
        if moved < _CLOSE:
            break
    return weights


def _shares(edges: Sequence[_Edge]) -> list[tuple[int, float]]:
    """The share of each file that is referred to; the shares sum to 1."""
    by_file: dict[int, float] = defaultdict(float)
    for to, _, weight in edges:
        by_file[to] += weight
    total = sum(by_file.values())
    return [(to, weight / total) for to, weight in by_file.items()]


def _flows(
    weights: Sequence[float], edges: Sequence[Sequence[_Edge]]
) -> dict[tuple[int, str], float]:
    """What flows into each name of each file: a file's weight, shared among what it refers to."""
    flows: dict[tuple[int, str], float] = defaultdict(float)
    for number, out in enumerate(edges):
        total = sum(weight for _, _, weight in out)
        for to, name, weight in out:
            flows[to, name] += weights[number] * weight / total
    return flows

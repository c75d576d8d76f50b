"""Which failing tests show one defect, by the code that they run through. Pure.

What passing tests run least is the most suspicious (as in spectrum-based fault localisation); of that, what the issue
names counts, where it names something. Tests whose suspicious files overlap show one defect, so that no two defects
share a file that is to be changed.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Function: TypeAlias = tuple[str, str]
"""Path and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One test, and the product code that it ran."""

    test_id: str
    functions: frozenset[Function]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """Failing tests with one cause, as far as can be told."""

    tests: tuple[str, ...]
    files: tuple[str, ...]
    """Where the cause may lie; no other defect has one of them. Empty when nothing is known of what the tests run."""
    reads: tuple[str, ...]
    """What else they run."""
    names: frozenset[str]
    """Functions that they run."""


def defects_of(
    failing: Sequence[Ran], passing: Sequence[Ran], named: Collection[str]
) -> tuple[Defect, ...]:
    """The defects behind `failing`, in the order of their first test; `named` are the names in the issue."""
    often = Counter(f for ran in passing for f in ran.functions)
    groups: list[tuple[set[str], list[Ran]]] = []
    for ran in failing:
        files, members = _suspects(ran, often, named), [ran]
        # Tests of which nothing is known are one group: they may all mean the same.
        for group in [g for g in groups if g[0] & files or not (g[0] or files)]:
            groups.remove(group)
            files, members = files | group[0], group[1] + members
        groups.append((files, members))
    order = {ran.test_id: n for n, ran in enumerate(failing)}
    groups.sort(key=lambda g: min(order[ran.test_id] for ran in g[1]))
    return tuple(_defect(group, groups, order) for group in groups)


def _suspects(ran: Ran, often: Counter[Function], named: Collection[str]) -> set[str]:
    """Files of the functions that passing tests run least, of the named ones among them where there are any."""
    least = min((often[f] for f in ran.functions), default=0)
    found = [f for f in ran.functions if often[f] == least]
    told = [f for f in found if f[1].rpartition(".")[2] in named]
    return {path for path, _ in told or found}


def _defect(
    group: tuple[set[str], list[Ran]],
    groups: Sequence[tuple[set[str], list[Ran]]],
    order: dict[str, int],
) -> Defect:
    files, members = group
    others = [g for g in groups if g is not group]
    theirs = {path for g in others for path in g[0] | _paths(g[1])}
    ran = _paths(members)
    # What no other defect's test runs may be changed too: the cause can lie below what is suspicious.
    own = files | (ran - theirs)
    return Defect(
        tests=tuple(sorted((m.test_id for m in members), key=order.__getitem__)),
        files=tuple(sorted(own)),
        reads=tuple(sorted(ran - own)),
        names=frozenset(name.rpartition(".")[2] for m in members for _, name in m.functions),
    )


def _paths(members: Sequence[Ran]) -> set[str]:
    return {path for ran in members for path, _ in ran.functions}

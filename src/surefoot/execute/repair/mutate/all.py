"""All operators over one unit."""

import heapq
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256

from surefoot.execute.repair.mutate.absence import absence_mutations
from surefoot.execute.repair.mutate.calls import call_mutations
from surefoot.execute.repair.mutate.expressions import expression_mutations
from surefoot.execute.repair.mutate.idle import idle_mutations
from surefoot.execute.repair.mutate.imports import import_mutations
from surefoot.execute.repair.mutate.parameters import parameter_mutations
from surefoot.execute.repair.mutate.site import Mutation, Site, site_of
from surefoot.execute.repair.mutate.statements import statement_mutations
from surefoot.execute.source import CodeUnit, Source, apply, bytecode, parse, shape


def mutations(
    source: Source, unit: CodeUnit | None, lines: Collection[int] | None = None
) -> tuple[Mutation, ...]:
    """Every first-order mutation of a unit that parses and differs from the others; heaviest first.

    `unit` None means the module's own statements. With `lines` only mutations of these: each one takes a compilation of
    the unit, which is the whole file for its own statements.
    """
    return tuple(ranked_mutations(source, unit, lambda m: m.weight, lines))


def ranked_mutations(
    source: Source,
    unit: CodeUnit | None,
    rank: Callable[[Mutation], float],
    lines: Collection[int] | None = None,
) -> Iterator[Mutation]:
    """The same in falling order of `rank`, then of weight, each looked at when it is asked for: a long unit has too many."""
    site = site_of(source, unit)
    if site is None:
        return

    def order(mutation: Mutation) -> tuple[float, float]:
        return -rank(mutation), -mutation.weight

    def asked(found: Iterator[Mutation]) -> list[Mutation]:
        return sorted((m for m in found if lines is None or m.line in lines), key=order)

    # They stand outside of the unit, whose text is compared, and bind what is not bound.
    imports = (
        mutation
        for mutation in asked(import_mutations(site))
        if parse(source.path, apply(source.text, mutation.edits)) is not None
    )
    yield from heapq.merge(imports, _distinct(source, unit, asked(_all(site))), key=order)


def _distinct(
    source: Source, unit: CodeUnit | None, ordered: Sequence[Mutation]
) -> Iterator[Mutation]:
    """Those that parse and do something else than the unit and those before them."""
    first = bytecode(unit_text(source, unit, source.text))
    # A unit that only compiles within its surroundings (one with `nonlocal`) is compared by its syntax tree.
    key = shape if first is None else bytecode
    seen = {_brief(first or shape(unit_text(source, unit, source.text)))}
    for mutation in ordered:
        done = key(unit_text(source, unit, apply(source.text, mutation.edits)))
        if done and (brief := _brief(done)) not in seen:
            seen.add(brief)
            yield mutation


def _brief(text: str) -> bytes:
    """Stands for a text that may be as long as a file: thousands of them are kept at once."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


def _all(site: Site) -> Iterator[Mutation]:
    yield from expression_mutations(site)
    yield from call_mutations(site)
    yield from statement_mutations(site)
    yield from absence_mutations(site)
    yield from idle_mutations(site)
    yield from parameter_mutations(site)


def unit_text(source: Source, unit: CodeUnit | None, text: str) -> str:
    """A unit within its file after a change inside of it, indentation removed; the whole file for its own statements."""
    if unit is None:
        return text
    start = source.starts[unit.first_line - 1]
    tail = len(source.text) - source.starts[min(unit.last_line, len(source.starts) - 1)]
    rows = io.StringIO(text[start : len(text) - tail], newline="")
    # A comment, or a line of a string or in parentheses, may stand left of the unit.
    return "".join(row.removeprefix(unit.indent) for row in rows)

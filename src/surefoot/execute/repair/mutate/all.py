"""All operators over one unit."""

import ast
import textwrap
from collections.abc import Iterator

from surefoot.execute.repair.mutate.calls import call_mutations
from surefoot.execute.repair.mutate.expressions import expression_mutations
from surefoot.execute.repair.mutate.site import Mutation, Site, site_of
from surefoot.execute.repair.mutate.statements import statement_mutations
from surefoot.execute.source import CodeUnit, Source, apply, tree_of


def mutations(source: Source, unit: CodeUnit | None) -> tuple[Mutation, ...]:
    """Every first-order mutation of a unit that parses and differs from the others; heaviest first.

    `unit` None means the module's own statements.
    """
    site = site_of(source, unit)
    if site is None:
        return ()
    seen = {_shape(source, unit, source.text)}
    kept = []
    for mutation in sorted(_all(site), key=lambda m: -m.weight):
        shape = _shape(source, unit, apply(source.text, mutation.edits))
        if shape is not None and shape not in seen:
            seen.add(shape)
            kept.append(mutation)
    return tuple(kept)


def _all(site: Site) -> Iterator[Mutation]:
    yield from expression_mutations(site)
    yield from call_mutations(site)
    yield from statement_mutations(site)


def _shape(source: Source, unit: CodeUnit | None, text: str) -> str | None:
    """The syntax tree of the unit within a changed file, or None when it does not parse."""
    if unit is not None:
        start = source.starts[unit.first_line - 1]
        tail = len(source.text) - source.starts[min(unit.last_line, len(source.starts) - 1)]
        text = textwrap.dedent(text[start : len(text) - tail])
    tree = tree_of(text)
    return None if tree is None else ast.dump(tree)

"""The integration contracts of a plan, as they are written; `docs/reference/plan-contracts.md` says how."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from surefoot.preflight.markdown import Block, Fence, Heading, Row, Table, Text

_LABEL: Final = re.compile(r"\s*(?:[-*]\s+)?\*\*(?P<label>[^*]+?):?\*\*:?\s*(?P<rest>.*)$")
_PARTS: Final = (
    "why",
    "caller expects",
    "caller",
    "callee signature",
    "callee",
    "call expression",
    "argument",
    "return value",
    "return",
    "mismatch",
    "failure",
)
"""Labels by their first words; of two that fit, the first."""
_TITLE: Final = re.compile(r"integration contract(?!s)[^:]*:")
"""Of a heading in lower case; `Integration Contract 2: A -> B` is one, too."""
_NONE: Final = re.compile(r"\s*\**none\**\s*:\**\s*(.*)", re.IGNORECASE)
_NOTHING: Final = frozenset(
    {
        "",
        "-",
        "\u2013",
        "\u2014",
        "?",
        "\u2026",
        "...",
        "tbd",
        "tba",
        "todo",
        "fixme",
        "xxx",
        "to do",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One labelled part: text on the label's line, and the block below it."""

    line: int
    text: str = ""
    fence: Fence | None = None
    table: Table | None = None

    @property
    def is_filled(self) -> bool:
        """Whether it says anything."""
        return not is_nothing(self.text) or self.fence is not None or self.table is not None


@dataclass(slots=True, kw_only=True)
class Contract:
    """One boundary between a caller and a callee."""

    title: str
    line: int
    parts: dict[str, Part] = field(default_factory=dict)

    def part(self, name: str) -> Part:
        """A part; an empty one at the contract's heading when it is not there."""
        return self.parts.get(name, Part(line=self.line))

    def returned(self) -> dict[str, tuple[int, str]]:
        """`return value`, `caller expects` and `mismatch` with their lines, from bullets or from a table's first row."""
        table = self.part("return").table
        found: dict[str, tuple[int, str]] = {}
        for name in ("return value", "caller expects", "mismatch"):
            if name in self.parts:
                found[name] = (self.parts[name].line, self.parts[name].text)
            elif table is not None and table.rows:
                row = table.rows[0]
                found[name] = (row.line, row.get(table.column(name)))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Contracts:
    """All that a plan says of its boundaries."""

    found: tuple[Contract, ...]
    none_because: str
    """Why there is none, as the section `Integration Contracts` says after `None:`."""


def is_nothing(text: str) -> bool:
    """Whether a cell or a line is empty or a placeholder."""
    return text.strip("`*_ .").lower() in _NOTHING or text.strip() in _NOTHING


def contracts_in(blocks: Sequence[Block]) -> Contracts:
    """The contracts of a document."""
    found: list[Contract] = []
    because = ""
    for title, heading, inside in _sections(blocks):
        if _TITLE.match(title):
            contract = Contract(title=heading.text.partition(":")[2].strip(), line=heading.line)
            contract.parts = dict(_parts(inside))
            found.append(contract)
        elif title.startswith("integration contract"):
            for block in inside:
                said = _NONE.match(block.text) if isinstance(block, Text) else None
                because = said[1] if said else because
    return Contracts(found=tuple(found), none_because="" if is_nothing(because) else because)


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[str, Heading, list[Block]]]:
    """Each heading, its title in lower case without a number, and what stands before the next one.

    What stands under a deeper heading of a contract belongs to the contract.
    """
    here: tuple[str, Heading, list[Block]] | None = None
    for block in blocks:
        if not isinstance(block, Heading):
            if here is not None:
                here[2].append(block)
            continue
        title = re.sub(r"^[\d.)\s]+", "", block.text).strip().lower()
        if here is not None:
            is_inside = bool(_TITLE.match(here[0])) and block.level > here[1].level
            if is_inside and not title.startswith("integration contract"):
                continue
            yield here
        here = (title, block, [])
    if here is not None:
        yield here


def _parts(blocks: Sequence[Block]) -> Iterator[tuple[str, Part]]:
    name, part = "", Part(line=0)
    for block in blocks:
        if isinstance(block, Text):
            label = _LABEL.match(block.text)
            if label is None:
                # A paragraph below its label; a rule or a bar is none.
                if not (part.text or part.fence or part.table) and re.search(r"\w", block.text):
                    part = Part(line=block.line, text=block.text.strip())
                continue
            known = _known(label["label"])
            if name and known:
                yield name, part
            if known:
                name, part = known, Part(line=block.line, text=label["rest"].strip())
        elif isinstance(block, Fence) and part.fence is None:
            part = Part(line=part.line, text=part.text, fence=block, table=part.table)
        elif isinstance(block, Table) and part.table is None:
            part = Part(line=part.line, text=part.text, fence=part.fence, table=block)
    if name:
        yield name, part


def _known(label: str) -> str:
    plain = label.strip().lower()
    return next((name for name in _PARTS if plain.startswith(name)), "")


def named(row: Row, column: int | None) -> str:
    """A cell without its quotes, e.g. a parameter's name without its stars."""
    return row.get(column).strip("` ").lstrip("*")

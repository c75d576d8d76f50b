"""The graph of a plan, as Mermaid text and as an SVG of its own: columns by what must be done before, bands by milestone.

A plan has tens of units, each with few needs: columns and straight curves are all that such a picture wants, so no layout
library, and no browser, is needed for it.
"""

from collections.abc import Mapping
from html import escape
from itertools import pairwise
from typing import Final

from surefoot.plans import Plan, PlannedUnit
from surefoot.values import UnitId

_WIDTH, _HEIGHT = 210, 46
_GAP_X, _GAP_Y = 60, 18
_MARGIN, _HEAD = 24, 30
_LABEL: Final = 30
"""Characters of a title that a box shows."""
_STYLE: Final = (
    "text{font:13px sans-serif;fill:#1f2328}.small{font-size:11px;fill:#57606a}.band{fill:#f6f8fa;stroke:#d0d7de}"
    ".unit{fill:#fff;stroke:#0969da}.risky{stroke:#bc4c00}.need{fill:none;stroke:#57606a}"
)


def mermaid(plan: Plan) -> str:
    """The graph as Mermaid draws it: milestones around slices around units."""
    lines = ["flowchart LR"]
    for milestone in plan.milestones:
        lines.append(
            f'  subgraph {_node("m", milestone.milestone_id)}["{_plain(milestone.title)}"]'
        )
        for part in (s for s in plan.slices if s.milestone_id == milestone.milestone_id):
            lines.append(f'    subgraph {_node("s", part.slice_id)}["{_plain(part.title)}"]')
            lines += [
                f'      {_node("u", u.unit_id)}["{u.unit_id}: {_plain(u.title)}"]'
                for u in plan.units
                if u.slice_id == part.slice_id
            ]
            lines.append("    end")
        lines.append("  end")
    lines += [
        f"  {_node('u', need)} --> {_node('u', unit.unit_id)}"
        for unit in plan.units
        for need in unit.needs
    ]
    order = [_node("m", m.milestone_id) for m in plan.milestones]
    lines += [f"  {one} ==> {other}" for one, other in pairwise(order)]
    return "\n".join(lines) + "\n"


def svg(plan: Plan) -> str:
    """The same as a picture."""
    columns = _columns(plan)
    rows: dict[int, int] = {}
    places: dict[UnitId, tuple[int, int]] = {}
    for unit in plan.units:
        column = columns[unit.unit_id]
        places[unit.unit_id] = (
            _MARGIN + column * (_WIDTH + _GAP_X),
            _MARGIN + _HEAD + rows.get(column, 0) * (_HEIGHT + _GAP_Y),
        )
        rows[column] = rows.get(column, 0) + 1
    width = (max(columns.values(), default=0) + 1) * (_WIDTH + _GAP_X) - _GAP_X + 2 * _MARGIN
    height = max(rows.values(), default=0) * (_HEIGHT + _GAP_Y) - _GAP_Y + _HEAD + 2 * _MARGIN
    body = [*_bands(plan, columns, height), *_needs(plan, places), *_boxes(plan, places)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="plan of {len(plan.units)} units"><style>{_STYLE}</style>'
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker></defs>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(body)}</svg>\n'
    )


def _columns(plan: Plan) -> Mapping[UnitId, int]:
    """A column for each unit: right of all that it needs, and of every unit of earlier milestones."""
    found: dict[UnitId, int] = {}
    first = 0
    for milestone in plan.milestones:
        slices = {s.slice_id for s in plan.slices if s.milestone_id == milestone.milestone_id}
        left = [u for u in plan.units if u.slice_id in slices]
        while left:
            # A plan that has passed the gate has no circle, so somebody is always free.
            free = [u for u in left if all(n in found for n in u.needs)]
            for unit in free:
                found[unit.unit_id] = max((found[n] + 1 for n in unit.needs), default=first)
                found[unit.unit_id] = max(found[unit.unit_id], first)
            left = [u for u in left if u.unit_id not in found]
        first = max(found.values(), default=-1) + 1
    return found


def _bands(plan: Plan, columns: Mapping[UnitId, int], height: int) -> list[str]:
    lines = []
    for milestone in plan.milestones:
        slices = {s.slice_id for s in plan.slices if s.milestone_id == milestone.milestone_id}
        own = [columns[u.unit_id] for u in plan.units if u.slice_id in slices]
        x = _MARGIN + min(own) * (_WIDTH + _GAP_X) - _MARGIN // 2
        wide = (max(own) - min(own) + 1) * (_WIDTH + _GAP_X) - _GAP_X + _MARGIN
        title = _text(_cut(f"{milestone.milestone_id}: {milestone.title}", wide // 8))
        lines.append(
            f'<rect class="band" x="{x}" y="{_MARGIN // 2}" width="{wide}" height="{height - _MARGIN}" rx="6"/>'
            f'<text x="{x + 10}" y="{_MARGIN // 2 + 20}">{title}</text>'
        )
    return lines


def _needs(plan: Plan, places: Mapping[UnitId, tuple[int, int]]) -> list[str]:
    lines = []
    for unit in plan.units:
        for need in unit.needs:
            (x1, y1), (x2, y2) = places[need], places[unit.unit_id]
            x1, y1, y2, half = x1 + _WIDTH, y1 + _HEIGHT // 2, y2 + _HEIGHT // 2, _GAP_X // 2
            curve = f"M{x1} {y1}C{x1 + half} {y1} {x2 - half} {y2} {x2} {y2}"
            lines.append(f'<path class="need" d="{curve}" marker-end="url(#end)"/>')
    return lines


def _boxes(plan: Plan, places: Mapping[UnitId, tuple[int, int]]) -> list[str]:
    return [_box(unit, *places[unit.unit_id]) for unit in plan.units]


def _box(unit: PlannedUnit, x: int, y: int) -> str:
    kind = "unit risky" if unit.is_risky else "unit"
    under = _text(_cut(f"{unit.unit_type}, {unit.slice_id}: {', '.join(unit.writes)}", _LABEL + 4))
    return (
        f'<g><title>{_text(unit.title)}</title><rect class="{kind}" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'rx="5"/><text x="{x + 10}" y="{y + 19}">{_text(_cut(f"{unit.unit_id}: {unit.title}", _LABEL))}</text>'
        f'<text class="small" x="{x + 10}" y="{y + 36}">{under}</text></g>'
    )


def _text(text: str) -> str:
    """Text as XML has it; what no document may hold becomes a space."""
    return escape("".join(c if c.isprintable() else " " for c in text))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _node(kind: str, name: str) -> str:
    """A node's name: `end` and a leading `o` or `x` mean something to Mermaid, and so do dots."""
    return f"{kind}_{name.replace('.', '_')}"


def _plain(text: str) -> str:
    """A label that cannot end itself; Mermaid writes marks as `#quot;`."""
    marks = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "'", "#": "#35;", ";": "#59;"}
    return "".join(marks.get(c, c if c.isprintable() else " ") for c in text)

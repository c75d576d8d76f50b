"""The documents of a plan, as text by path below its folder. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence

from surefoot.codec import plain
from surefoot.plan.picture import mermaid, svg
from surefoot.plans import Plan, PlannedUnit
from surefoot.values import PlanStep


def documents(plan: Plan) -> Mapping[str, str]:
    """Everything that `surefoot plan` writes for a plan that has passed."""
    return {
        "ROADMAP.md": _roadmap(plan),
        "graph.mmd": mermaid(plan),
        "graph.svg": svg(plan),
        "TRACE.md": _trace(plan),
        "trace.json": _json(_trace_data(plan)),
        "RISKS.md": _risks(plan),
        "plan.json": written(plan),
        **{f"units/{unit.unit_id}.md": _spec(plan, unit) for unit in plan.units},
    }


def written(plan: Plan) -> str:
    """The plan itself, as `surefoot run` and `surefoot plan --from` read it."""
    return _json(plain(plan))


def overview(plan: Plan) -> str:
    """The plan in a few lines."""
    lines = [
        f"{plan.plan_id}: {counted(len(plan.units), 'unit')} in {counted(len(plan.milestones), 'milestone')}"
    ]
    for unit in plan.units:
        after = f" after {', '.join(unit.needs)}" if unit.needs else ""
        lines.append(f"  {unit.unit_id} {unit.title} [{', '.join(unit.writes)}]{after}")
    return "\n".join(lines)


def _roadmap(plan: Plan) -> str:
    lines = [f"# {_line(plan.issue.title)}", ""]
    lines += [f"Plan `{plan.plan_id}` on `{plan.base[:10]}`.", "", "![The graph](graph.svg)", ""]
    lines += ["## What is asked for", ""]
    lines += [
        f"- **{r.requirement_id}** {_line(r.text)}{'' if r.must else ' (optional)'}"
        for r in plan.requirements
    ]
    for milestone in plan.milestones:
        lines += ["", f"## {milestone.milestone_id}: {_line(milestone.title)}"]
        for part in (s for s in plan.slices if s.milestone_id == milestone.milestone_id):
            lines += ["", f"### {part.slice_id}: {_line(part.title)}", ""]
            rows = [_row(unit) for unit in plan.units if unit.slice_id == part.slice_id]
            lines += _table(("unit", "kind", "what", "after", "writes", "proved by"), rows)
    if plan.answers:
        lines += ["", "## What was asked", ""]
        lines += [
            f"- {_line(a.question.text)} **{_line(a.answer)}** ({_line(a.by)}, {a.at})"
            for a in plan.answers
        ]
    if plan.sources:
        lines += ["", "## What was read", ""]
        lines += [
            f"- {_code(s.where)}: {_line(s.fact)} (SHA-256 `{s.digest[:12]}`)" for s in plan.sources
        ]
    return "\n".join(lines) + "\n"


def _row(unit: PlannedUnit) -> tuple[str, ...]:
    return (
        f"[{unit.unit_id}](units/{unit.unit_id}.md)",
        unit.unit_type,
        unit.title,
        ", ".join(unit.needs),
        _codes(unit.writes),
        _codes(unit.verification),
    )


def _spec(plan: Plan, unit: PlannedUnit) -> str:
    served = {r.requirement_id: r.text for r in plan.requirements}
    lines = [f"# {unit.unit_id}: {_line(unit.title)}", ""]
    lines += [f"Kind {unit.unit_type}, slice {unit.slice_id}, complexity {unit.plan.complexity}."]
    parts = (
        ("Serves", [f"{r}: {_line(served.get(r, ''))}" for r in unit.requirements]),
        ("Starts from", list(unit.needs)),
        ("Reads", [_code(p) for p in unit.reads]),
        ("May write", [_code(p) for p in unit.writes]),
        ("Produces", [_code(p) for p in unit.produces]),
        ("Is done when", [_line(a) for a in unit.acceptance]),
        ("Is proved by", [_code(v) for v in unit.verification]),
        ("Needs the risk flags", [_code(f) for f in unit.risk_flags]),
        ("What could go wrong", [_line(r) for r in unit.plan.risk_factors]),
        ("Is undone by", [_line(unit.rollback)] if unit.rollback else []),
    )
    for title, items in parts:
        if items:
            lines += ["", f"## {title}", "", *[f"- {item}" for item in items]]
    lines += ["", "## Steps", "", f"{_line(unit.plan.analysis)}", ""]
    for number, step in enumerate(unit.plan.steps, 1):
        lines += _step(number, step)
    return "\n".join(lines) + "\n"


def _step(number: int, step: PlanStep) -> list[str]:
    after = f", after {', '.join(step.depends_on)}" if step.depends_on else ""
    files = f" in {_codes(step.target_files)}" if step.target_files else ""
    lines = [
        f"{number}. **{step.step_id}** ({step.intent}{after}): {_line(step.description)}{files}"
    ]
    return [*lines, *[f"   - {_line(told)}" for told in step.acceptance]]


def _trace(plan: Plan) -> str:
    rows = [
        (
            r.requirement_id,
            r.text,
            "must" if r.must else "may",
            ", ".join(u.unit_id for u in serving),
            _codes(dict.fromkeys(v for u in serving for v in u.verification)),
        )
        for r in plan.requirements
        for serving in [_serving(plan, r.requirement_id)]
    ]
    head = ("requirement", "what", "", "units", "verification")
    return "\n".join(["# From requirement to proof", "", *_table(head, rows)]) + "\n"


def _trace_data(plan: Plan) -> object:
    return {
        "schema": 1,
        "plan_id": plan.plan_id,
        "requirements": [
            {
                "requirement_id": r.requirement_id,
                "text": r.text,
                "must": r.must,
                "units": [
                    {"unit_id": u.unit_id, "verification": list(u.verification)}
                    for u in _serving(plan, r.requirement_id)
                ],
            }
            for r in plan.requirements
        ],
    }


def _serving(plan: Plan, requirement_id: str) -> list[PlannedUnit]:
    return [u for u in plan.units if requirement_id in u.requirements]


def _risks(plan: Plan) -> str:
    rows = [(r.risk_id, r.text, ", ".join(r.units), r.mitigation) for r in plan.risks]
    table = _table(("risk", "what could go wrong", "units", "what is done about it"), rows)
    return "\n".join(["# Risks", "", *(table if rows else ["None is known."])]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return lines + [
        f"| {' | '.join(_line(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    ]


def _line(text: str) -> str:
    """Text of an issue or a model in one line, so that it cannot begin a heading or a block of its own."""
    return " ".join(text.split())


def _code(text: str) -> str:
    """As code; backticks in it become quotes."""
    return f"`{_line(text).replace('`', chr(39))}`"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(_code(text) for text in texts)


def counted(number: int, word: str) -> str:
    """E.g. `1 unit`, `2 units`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def _json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

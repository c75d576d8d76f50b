"""The issue that a unit's run is given: what the plan says of the unit, in words. Pure."""

from collections.abc import Iterator, Sequence

from surefoot.plans import Plan, PlannedUnit
from surefoot.values import Issue


def issue_for(
    plan: Plan, unit: PlannedUnit, *, facts: Sequence[str] = (), refuted: Sequence[str] = ()
) -> Issue:
    """The unit's own task; text of the user's issue and of earlier runs stands in it as data."""
    return Issue(source="text", text="\n".join(_lines(plan, unit, facts, refuted)))


def _lines(
    plan: Plan, unit: PlannedUnit, facts: Sequence[str], refuted: Sequence[str]
) -> Iterator[str]:
    yield unit.title
    if unit.plan.analysis.strip() not in ("", unit.title):
        yield from ("", unit.plan.analysis.strip())
    asked = [r.text for r in plan.requirements if r.requirement_id in unit.requirements]
    # Only what is asked for stands in lists: their items are what the judges hold the change against.
    yield from _list("What is asked for", asked)
    yield from _list("It is done when", unit.acceptance)
    yield from _line("These tests must be there and pass", unit.verification)
    yield from _line("New files that it makes", unit.produces)
    yield from _line("It may change", unit.writes)
    yield from _line("Known from units before it", facts)
    yield from _line("It was done before and could not be merged", refuted)
    yield from ("", f"It is one unit of a larger piece of work: {plan.issue.title}")


def _list(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from ("", f"{title}:", *(f"- {item}" for item in items))


def _line(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from ("", f"{title}: {'; '.join(items)}")

"""The rule behind PlanDraft: defects that tests show, or items that each name their own code, become one unit each.

A small model plans badly, and where the facts suffice nobody needs one: independent work is found by what failing tests
run, and by where the names in a list's items are defined. All else is one unit.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final

from surefoot.decisions.defects import Defect
from surefoot.decisions.plan_draft import (
    DraftedMilestone,
    DraftedRequirement,
    DraftedSlice,
    DraftedUnit,
    PlanDraftAnswer,
    UnitKind,
)
from surefoot.decisions.plan_ir import PlannedStep
from surefoot.decisions.planning import code_words, kind_of, ruled_plan
from surefoot.decisions.requirement_checker import Requirement, items_of
from surefoot.values import Issue

ROLLBACK: Final = "the unit's merge is reverted; nothing outside its own paths has changed"
_HARMLESS: Final = "every test that passed on the base passes on the result"
_NEW_TEST: Final = "a new test fails on the base and passes on the result"
ALL_TESTS: Final = "the whole test suite"
"""The verification of a unit that no test shows yet."""
_ANYTHING: Final = "*"
_SLUG_WORDS: Final = 5
_KINDS: Final[Mapping[str, UnitKind]] = {
    "fix": "fix",
    "feature": "feature",
    "refactor": "refactor",
    "test": "test",
    "docs": "docs",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFacts:
    """What is known of an issue and its repository."""

    issue: Issue
    defects: Sequence[Defect]
    definitions: Mapping[str, frozenset[str]]
    """Product files by the name of what they define."""
    test_folder: str = "tests"
    """Where new tests go; `.` is the root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """Work that becomes one unit."""

    title: str
    kind: UnitKind
    writes: tuple[str, ...]
    reads: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    items: list[Requirement] = field(default_factory=list)
    risks: tuple[str, ...] = ()


def clear_draft(facts: PlanFacts) -> PlanDraftAnswer | None:
    """The draft where the facts suffice: everything that is asked for is shown by failing tests."""
    if not facts.defects:
        return None
    pieces, left = _by_defects(facts)
    return None if left else _drafted(facts.issue, pieces)


def rough_draft(facts: PlanFacts) -> PlanDraftAnswer:
    """The draft without a model, always: by failing tests, by the items of a list, else one unit."""
    if facts.defects:
        pieces, left = _by_defects(facts)
        if left:
            rest = Issue(source="text", text="\n".join(item.text for item in left))
            pieces.append(replace(_whole(rest), items=left))
        return _drafted(facts.issue, pieces)
    return _drafted(facts.issue, _by_items(facts) or [_whole(facts.issue)])


def _by_defects(facts: PlanFacts) -> tuple[list[_Piece], list[Requirement]]:
    """A piece for each defect, and the items of the issue that no defect shows."""
    items = list(items_of(facts.issue.text))
    shown = [[_shows(defect, item.text) for item in items] for defect in facts.defects]
    matched = [any(column) for column in zip(*shown, strict=True)]
    # A list whose items mostly name nothing that fails is no list of defects (steps to reproduce, say).
    listed = 2 * sum(matched) >= len(items) > 0
    pieces = []
    for row, defect in zip(shown, facts.defects, strict=True):
        mine = [item for item, yes in zip(items, row, strict=True) if yes and listed]
        alone = len(facts.defects) == 1 and facts.issue.source != "test"
        shortly = defect.tests[0].rpartition("::")[2]
        title = facts.issue.title if alone else f"make {shortly} pass"
        title = mine[0].text if mine else title
        unclear = () if defect.files else ("nothing is known of the code that its tests run",)
        pieces.append(
            _Piece(
                title=title,
                kind="fix",
                writes=defect.files or (_ANYTHING,),
                reads=defect.reads,
                tests=defect.tests,
                items=mine,
                risks=unclear,
            )
        )
    left = [item for item, yes in zip(items, matched, strict=True) if listed and not yes]
    places = {item.text: n for n, item in enumerate(items)}
    pieces.sort(key=lambda piece: places[piece.items[0].text] if piece.items else len(places))
    return pieces, left


def _shows(defect: Defect, text: str) -> bool:
    """Whether an item is about a defect: it names one of its tests, files or functions."""
    words = code_words(text) | set(re.findall(r"[\w./-]+\.\w+", text))
    tests = {t.rsplit("::", 1)[-1].split("[", 1)[0] for t in defect.tests}
    paths = {part for p in defect.files for part in (p, PurePosixPath(p).name)}
    return bool(words & (defect.names | tests | paths)) or any(t in text for t in defect.tests)


def _by_items(facts: PlanFacts) -> list[_Piece]:
    """A piece for each item, when each names code of its own; empty when they cannot be told apart."""
    items = list(items_of(facts.issue.text))
    places = [_places(facts, item.text) for item in items]
    everywhere = [path for place in places for path in place]
    if len(items) < 2 or not all(places) or len(set(everywhere)) < len(everywhere):  # noqa: PLR2004
        return []
    titles = [Issue(source="text", text=item.text).title for item in items]
    slugs = [_new_test(facts.test_folder, title) for title in titles]
    if len(set(slugs)) < len(slugs):
        return []
    return [
        replace(
            _whole(Issue(source="text", text=item.text)),
            writes=(*sorted(place), slug),
            items=[item],
        )
        for item, place, slug in zip(items, places, slugs, strict=True)
    ]


def _places(facts: PlanFacts, text: str) -> frozenset[str]:
    """Files in which the names of a text are defined; a name of several files tells nothing."""
    found = [facts.definitions.get(word, frozenset()) for word in code_words(text)]
    return frozenset(path for paths in found if len(paths) == 1 for path in paths)


def _new_test(folder: str, title: str) -> str:
    """Names of new test files for a piece of work, as the executors choose them."""
    slug = "_".join(re.findall(r"[a-z0-9]+", title.lower())[:_SLUG_WORDS]) or "issue"
    return f"test_{slug}*" if folder == "." else f"{folder}/test_{slug}*"


def _whole(issue: Issue) -> _Piece:
    """Everything as one piece."""
    return _Piece(
        title=issue.title,
        kind=_KINDS.get(kind_of(issue), "fix"),
        writes=(_ANYTHING,),
        risks=("no test shows the problem yet",),
    )


def _drafted(issue: Issue, pieces: Sequence[_Piece]) -> PlanDraftAnswer:
    """One milestone and one slice of the pieces; what is in no piece's items is what all of them serve."""
    numbered: dict[str, Requirement] = {}
    for item in (item for piece in pieces for item in piece.items):
        numbered.setdefault(item.text, item)
    ids = {text: f"R{n}" for n, text in enumerate(numbered, 1)}
    requirements = [
        DraftedRequirement(id=ids[text], text=text, must=item.must, quote=text)
        for text, item in numbered.items()
    ]
    whole = f"R{len(ids) + 1}"
    if not all(piece.items for piece in pieces):
        told = DraftedRequirement(id=whole, text=issue.title, must=True, quote=issue.title)
        requirements.append(told if issue.text else replace(told, quote=""))
    return PlanDraftAnswer(
        analysis=f"{len(pieces)} units that share no path" if len(pieces) > 1 else issue.title,
        requirements=requirements,
        milestones=[DraftedMilestone(id="M1", title=issue.title)],
        slices=[DraftedSlice(id="S1", milestone="M1", title=issue.title)],
        units=[
            _unit(n, piece, [ids[item.text] for item in piece.items] or [whole])
            for n, piece in enumerate(pieces, 1)
        ],
        confidence=0.9 if all(piece.tests for piece in pieces) else 0.5,
    )


def _unit(number: int, piece: _Piece, requirements: list[str]) -> DraftedUnit:
    issue = Issue(source="text", text=piece.title)
    proof = f"these tests pass: {', '.join(piece.tests)}" if piece.tests else _NEW_TEST
    return DraftedUnit(
        id=f"U{number}",
        slice="S1",
        title=issue.title,
        type=piece.kind,
        requirements=requirements,
        needs=[],
        reads=list(piece.reads),
        writes=list(piece.writes),
        produces=[],
        acceptance=[proof, _HARMLESS],
        verification=list(piece.tests) or [ALL_TESTS],
        risk_flags=[],
        risk_factors=list(piece.risks),
        rollback=ROLLBACK,
        steps=[
            PlannedStep(
                id=step.step_id,
                description=step.description,
                intent=step.intent.value,
                target_files=[
                    p for p in piece.writes if p != _ANYTHING and step.intent == "modify"
                ],
                depends_on=list(step.depends_on),
                max_iterations=step.max_iterations,
                acceptance=list(step.acceptance),
            )
            for step in ruled_plan(issue, piece.tests, ()).steps
        ],
    )

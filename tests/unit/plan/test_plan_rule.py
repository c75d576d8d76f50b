"""The draft without a model: one unit for each defect, for each item with code of its own, else for all."""

from dataclasses import replace

from surefoot.decisions.defects import Defect
from surefoot.decisions.plan_rule import PlanFacts, clear_draft, rough_draft
from surefoot.plan import Origin, compile_plan, judge
from surefoot.values import CommitId, Complexity, Issue

FILES = ("a.py", "b.py", "c.py", "tests/test_a.py", "tests/test_b.py")


def defect(name: str, *reads: str) -> Defect:
    """A defect of a file that a test of its own shows."""
    test = f"tests/test_{name}.py::test_{name}"
    return Defect(
        tests=(test,), files=(f"{name}.py",), reads=reads, names=frozenset({f"do_{name}"})
    )


def facts(text: str, *defects: Defect, **places: str) -> PlanFacts:
    return PlanFacts(
        issue=Issue(source="text", text=text),
        defects=defects,
        definitions={name: frozenset({path}) for name, path in places.items()},
    )


def passes(draft: object) -> bool:
    origin = Origin(
        plan_id="plan-1",
        issue=Issue(source="text", text="it"),
        base=CommitId("c0" * 20),
        complexity=Complexity.LOW,
    )
    return judge(compile_plan(draft, origin), FILES) == ()  # type: ignore[arg-type]


def test_items_of_a_list_are_the_requirements_of_their_defects() -> None:
    """Each item serves the unit of the defect that it names, in the order of the list."""
    text = "Wrong:\n\n1. `do_b` is slow\n2. `do_a` is late\n"
    draft = clear_draft(facts(text, defect("a"), defect("b")))
    assert draft is not None
    assert [(u.title, u.writes, u.requirements) for u in draft.units] == [
        ("`do_b` is slow", ["b.py"], ["R1"]),
        ("`do_a` is late", ["a.py"], ["R2"]),
    ]
    assert [u.verification for u in draft.units] == [
        ["tests/test_b.py::test_b"],
        ["tests/test_a.py::test_a"],
    ]
    assert passes(draft)


def test_prose_is_one_requirement_that_all_units_serve() -> None:
    """A list that names nothing which fails is no list of requirements."""
    text = "All is wrong\n\n- open the shop\n- look at it\n- be sad\n"
    draft = clear_draft(facts(text, defect("a"), defect("b")))
    assert draft is not None
    assert [r.text for r in draft.requirements] == ["All is wrong"]
    assert [u.requirements for u in draft.units] == [["R1"], ["R1"]]
    assert passes(draft)


def test_an_item_that_no_test_shows_is_not_lost() -> None:
    """The rule alone does not suffice then; without a model the rest is a unit after the others."""
    known = facts("Wrong:\n\n- `do_a` is late\n- add a page about it\n", defect("a"))
    assert clear_draft(known) is None
    draft = rough_draft(known)
    assert [u.title for u in draft.units] == ["`do_a` is late", "add a page about it"]
    assert [r.text for r in draft.requirements] == ["`do_a` is late", "add a page about it"]
    assert passes(draft)


def test_items_with_code_of_their_own_are_units() -> None:
    """Without failing tests the names in the items tell them apart; each may add a test file of its own."""
    text = "Two things\n\n- `do_a` forgets zero\n- `do_b` forgets one\n"
    draft = rough_draft(facts(text, do_a="a.py", do_b="b.py"))
    assert [u.writes for u in draft.units] == [
        ["a.py", "tests/test_do_a_forgets_zero*"],
        ["b.py", "tests/test_do_b_forgets_one*"],
    ]
    assert passes(draft)


def test_items_that_share_code_are_one_unit() -> None:
    """What cannot be told apart is not cut."""
    text = "Two things\n\n- `do_a` forgets zero\n- `do_b` forgets one\n"
    for known in (facts(text, do_a="a.py", do_b="a.py"), facts(text, do_a="a.py"), facts("Do it.")):
        draft = rough_draft(known)
        assert [u.writes for u in draft.units] == [["*"]]
        assert passes(draft)


def test_a_defect_of_which_nothing_is_known_comes_after_the_others() -> None:
    """It may change anything, so it waits; and that is a risk with a rollback."""
    blind = replace(defect("c"), files=(), names=frozenset())
    draft = clear_draft(facts("it fails", defect("a"), blind))
    assert draft is not None
    assert draft.units[1].writes == ["*"]
    assert draft.units[1].risk_factors
    assert passes(replace(draft, units=[replace(u, verification=["make"]) for u in draft.units]))

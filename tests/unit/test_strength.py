"""Which mutants are tried, in which order, and when the tests count as strong."""

from dataclasses import replace

import pytest

from surefoot.events.work import MutantsTried
from surefoot.execute import PythonMutator
from surefoot.judgements import Mutant, MutantEnd
from surefoot.kernel import evidence
from surefoot.kernel.strength import (
    Case,
    by_form,
    choose,
    in_words,
    is_strong,
    of_new,
    shown_together,
)
from surefoot.values import TreeId

TREE = TreeId("7e" * 20)
CODE = "".join(f"def f{n}(x):\n    return x + {n + 2} * x\n\n\n" for n in range(8))


def case(seed: int = 0, **texts: str) -> Case:
    """A change that adds files."""
    return Case(
        tree=TREE,
        judged=TREE,
        texts={path.replace("_", "."): (None, text) for path, text in texts.items()},
        tests=("test_a.py::test",),
        apart=(),
        usual_s={},
        seed=seed,
    )


def test_every_line_gives_one_before_any_gives_two() -> None:
    """Sixteen changed lines, one mutant each; which lines come first is a matter of the seed alone."""
    first = choose(case(a_py=CODE), PythonMutator(), 8)
    assert len({d.line for d in first.drafts}) == 8
    assert first.possible > 16
    assert first == choose(case(a_py=CODE), PythonMutator(), 8)
    other = choose(case(seed=1, a_py=CODE), PythonMutator(), 8)
    assert [d.line for d in other.drafts] != [d.line for d in first.drafts]
    assert other.possible == first.possible


def test_one_line_gives_every_family_before_one_comes_again() -> None:
    """An operator, then a number, then another kind, until there is no new kind."""
    text = "def f(x):\n    return x + 2 * x\n"
    drafts = choose(case(a_py=text), PythonMutator(), 100).drafts
    line = [d.operator for d in drafts if d.line == 2]
    kinds = len(set(line))
    assert kinds > 2
    assert len(set(line[:kinds])) == kinds


def test_files_that_nobody_can_mutate_are_named() -> None:
    """Beside Python and apart from it; what holds no code is not."""
    chosen = choose(case(a_js="x", a_md="x", b_py="X = 1\n"), PythonMutator(), 12)
    assert chosen.unread == ("a.js",)
    assert {d.file for d in chosen.drafts} == {"b.py"}


def mutant(ended: MutantEnd, *by: str) -> Mutant:
    """Of line 3."""
    return Mutant(file="a.py", line=3, operator="compare", patch="", ended=ended, by=by)


STRONG = MutantsTried(
    tree=TREE,
    possible=2,
    mutants=(mutant("killed", "t"), mutant("hangs")),
    untried=0,
    tests=4,
    apart=(),
    unread=(),
    problem="",
    maker="m",
)
WEAK = {
    "nothing tried": (replace(STRONG, mutants=()), ""),
    "one lives": (
        replace(STRONG, mutants=(*STRONG.mutants, mutant("survived"))),
        "a.py:3 survived",
    ),
    "one is unclear": (replace(STRONG, mutants=(mutant("unclear"),)), "a.py:3 unclear"),
    "not all tried": (replace(STRONG, untried=1), "1 not tried"),
    "a problem": (replace(STRONG, problem="no worker"), "no worker"),
    "other code": (replace(STRONG, unread=("a.js",)), "not measured: a.js"),
}


def test_all_tried_and_noticed_is_strong() -> None:
    """One that hangs is noticed, too."""
    assert is_strong(STRONG)
    assert in_words(STRONG) == "2 of 2 mutants noticed by 4 tests"
    assert evidence.test_strength(STRONG).passed


@pytest.mark.parametrize("name", list(WEAK))
def test_anything_less_is_not(name: str) -> None:
    """And it is said."""
    tried, said = WEAK[name]
    assert not is_strong(tried)
    assert not evidence.test_strength(tried).passed
    assert said in in_words(tried)


def test_mutants_of_one_place_are_told_together() -> None:
    """One diff holds what each puts there; the line is named once, with their number."""
    code = "def last(x):\n    return x[-1] + x[-1]\n"
    base = "def last(x):\n    return x[-1]\n"
    drafts = PythonMutator().drafts("a.py", base, code)
    texts = ("x[0] + x[-1]", "x[-1] + x[0]")
    alive = tuple(
        replace(mutant("survived"), patch=d.patch)
        for text in texts
        for d in drafts
        if f"+    return {text}" in d.patch.splitlines()
    )
    other = replace(alive[0], ended="unclear")
    one, two = by_form((*alive, other))
    assert (one, two) == (alive, (other,))
    assert shown_together(one).splitlines()[2:] == [
        "@@ -1,2 +1,2 @@",
        " def last(x):",
        "-    return x[-1] + x[-1]",
        f"+    return {texts[0]}",
        "or",
        f"+    return {texts[1]}",
    ]
    told = in_words(replace(STRONG, mutants=(*alive, mutant("survived"), other)))
    assert told.endswith("; a.py:3 survived (3 mutants), a.py:3 unclear")


def test_nothing_measured_is_no_proof() -> None:
    """Where nobody asked, nothing is shown."""
    proof = evidence.test_strength(None)
    assert (proof.passed, proof.after) == (False, "not measured")


def test_a_new_test_counts_by_what_it_notices_alone() -> None:
    """Those that kill nothing are not among them."""
    tried = replace(STRONG, mutants=(mutant("killed", "new", "old"),))
    assert of_new(("new", "idle"), tried) == {"new"}

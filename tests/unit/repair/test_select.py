"""Which of several passing candidates is taken."""

from dataclasses import replace

from surefoot.codec import digest_of
from surefoot.execute.repair.select import Choice, Passing, Weights, b7, choose
from surefoot.values import Candidate, FileEdit

WEIGHTS = Weights()


def passing(text: str, words: str | None, **more: object) -> Passing:
    edits = (FileEdit(path="m.py", text=text),)
    candidate = Candidate(
        candidate_id=digest_of(edits),
        generator=str(more.pop("generator", "ast:g" if more.get("edited") else "model:g")),
        edits=edits,
        description=text,
    )
    given = {
        "samples": 0,
        "edited": False,
        "prior": 0.0,
        "changed_lines": 1,
        "changed_files": 1,
        "examples": (),
        "special": None,
        **more,
    }
    return Passing(
        candidate=candidate, words=None if words is None else tuple(words.split()), **given
    )  # type: ignore[arg-type]


def test_of_equal_behaviours_the_smallest_change_is_taken() -> None:
    """By lines, then by words: what else a line says is left as it was, where no input tells it apart."""
    edit = passing("edit", "a b", edited=True, prior=0.4, changed_words=1)
    rewritten = passing("rewritten", "a b", samples=3, changed_words=9)
    assert choose([rewritten, edit], WEIGHTS).taken is edit


def test_of_answers_alone_what_most_do_on_unusual_inputs_is_taken() -> None:
    """The smallest one may be the one that forgot them; where an edit does the same, the smallest is the change to make."""
    hasty = passing("hasty", "a b", samples=2, apart=("x",), changed_words=1)
    one = passing("one", "a b", samples=1, apart=("y",), changed_words=4)
    other = passing("other", "a b", samples=2, apart=("y",), changed_words=9)
    choice = choose([hasty, one, other], WEIGHTS)
    assert choice.taken is one
    assert len(choice.clusters) == 1
    edited = replace(hasty, edited=True, prior=0.4)
    assert choose([edited, one, other], WEIGHTS).taken is edited


def test_beside_an_edit_only_answers_that_had_not_seen_the_code_are_heard() -> None:
    """What an edit leaves as it was an answer that saw it has left, too; where nobody wrote it anew the edit is the change to make."""
    edit = passing("edit", "a b", edited=True, samples=2, prior=0.4, apart=("x", "z"))
    anew = passing("anew", "a b", samples=1, fresh=1, apart=("y", "z"), changed_lines=5)
    seen = replace(anew, fresh=0)
    assert choose([edit, anew], WEIGHTS).taken is anew
    assert choose([edit, seen], WEIGHTS).taken is edit
    assert not choose([edit, anew], WEIGHTS).clusters[0].is_unanimous
    assert choose([replace(edit, apart=("y", "z")), anew], WEIGHTS).clusters[0].is_unanimous


def test_where_a_likely_edit_changes_what_an_unusual_input_gives_it_is_heard_first() -> None:
    """The fault shows there, too; who writes a function anew can miss what the code that is there has thought of."""
    edit = passing("ast:edit", "a b", edited=True, prior=0.9, apart=("x", "z"), likely=9.0)
    edit = replace(edit, unchanged_apart=("old", "z"))
    anew = passing("anew", "a b", samples=5, fresh=3, apart=("y", "y"), changed_lines=5)
    assert choose([edit, anew], WEIGHTS).taken is edit
    same = replace(anew, apart=("x", "y"))
    assert choose([edit, same], WEIGHTS).taken is same
    kept = replace(anew, apart=("old", "y"))
    assert choose([edit, kept], WEIGHTS).taken is kept
    left = replace(edit, unchanged_apart=("x", "z"))
    unlikely = replace(edit, likely=None)
    by_model = replace(
        passing("model:fill", "a b", samples=1, apart=("x", "z"), likely=9.0),
        unchanged_apart=("old", "z"),
    )
    for other in (left, unlikely, by_model):
        assert choose([other, anew], WEIGHTS).taken is anew


def test_of_answers_alone_one_with_which_others_agree_on_most_inputs_is_taken() -> None:
    """Three that all differ somewhere: each input is counted for itself, so that one strange one decides nothing."""
    hasty = passing("hasty", "a b", samples=1, apart=tuple("!npr"), changed_words=1)
    one = passing("one", "a b", samples=1, apart=tuple("kmps"), changed_words=4)
    other = passing("other", "a b", samples=1, apart=tuple("knps"), changed_words=9)
    assert choose([hasty, one, other], WEIGHTS).taken is other
    unknown = passing("unknown", "a b", samples=1, apart=(), changed_words=1)
    assert choose([unknown, one, other], WEIGHTS).taken is one


def test_of_many_answers_a_few_pass_by_chance() -> None:
    """Three that write a function anew are enough beside a few that fail, and not beside many, unless these are of another function; a small change may be."""
    f = frozenset({"m.py::f"})
    wide = passing("wide", "a b", samples=3, changed_lines=9, examples=(True,), changed=f)
    assert choose([wide], WEIGHTS, missed={"m.py::f": 6}).taken is wide
    assert choose([wide], WEIGHTS, missed={"m.py::f": 40}).taken is None
    assert choose([wide], WEIGHTS, missed={"m.py::g": 40}).taken is wide
    small = replace(wide, changed_lines=2)
    assert choose([small], WEIGHTS, missed={"m.py::f": 40}).taken is small


def test_six_answers_that_agree_need_no_more() -> None:
    """Whatever failed and whatever else passes: twice as many as for anything else, some of which had not seen the code."""
    f = frozenset({"m.py::f"})
    many = passing("many", "a b", samples=6, fresh=1, changed_lines=9, changed=f)
    few = passing("few", "a c", samples=3, changed_lines=2, changed=f)
    edit = passing("edit", "a d", edited=True, prior=0.9)

    def chosen(many: Passing, few: Passing) -> Choice:
        return choose([many, few, edit], WEIGHTS, missed={"m.py::f": 40})

    assert chosen(many, few).taken is many
    assert chosen(many, few).confidence < WEIGHTS.need
    assert chosen(many, replace(few, samples=4)).taken is None
    assert chosen(many, replace(few, fresh=3)).taken is None
    assert chosen(replace(many, samples=5), replace(few, samples=2)).taken is None
    assert chosen(replace(many, fresh=0), few).taken is None
    assert chosen(replace(many, examples=(False,)), few).taken is None
    assert chosen(replace(many, lost=0.1), few).taken is None
    assert chosen(replace(many, idle=True), few).taken is None
    assert chosen(replace(many, unwritten=True), few).taken is None


def test_two_that_wrote_the_function_anew_and_agree_need_a_third_voice_and_no_share() -> None:
    """The likelihood is one. No other one that wrote it anew may pass, and nothing may be lost; how many miss, and what else passes, says nothing then."""
    anew = passing("anew", "a b", samples=2, fresh=2, changed_lines=9)
    three = replace(anew, samples=3)
    seen = passing("seen", "a c", samples=2, changed_lines=2)

    def chosen(anew: Passing, seen: Passing) -> Choice:
        return choose([anew, seen], WEIGHTS, missed={"m.py::f": 40})

    assert chosen(anew, seen).taken is None
    assert "2 of 3 voices" in chosen(anew, seen).reason
    likely = replace(anew, likely=9.0)
    assert chosen(likely, seen).taken is likely
    assert chosen(three, seen).taken is three
    assert chosen(three, seen).confidence < WEIGHTS.need
    assert chosen(replace(three, fresh=1), seen).taken is None
    assert chosen(three, replace(seen, fresh=1)).taken is None
    assert chosen(replace(three, examples=(False,)), seen).taken is None
    assert chosen(replace(three, lost=0.1), seen).taken is None
    assert chosen(replace(three, idle=True), seen).taken is None
    assert chosen(replace(three, unwritten=True), seen).taken is None
    many = {"m.py::f": 40}
    alone = replace(anew, changed=frozenset(many), examples=(True,))
    assert choose([alone], WEIGHTS).taken is None
    assert "2 of 3 voices" in choose([alone], WEIGHTS).reason
    third = replace(alone, samples=3)
    assert choose([third], WEIGHTS, missed=many).taken is third
    assert choose([third], WEIGHTS, missed=many).confidence < WEIGHTS.need
    assert choose([replace(anew, lost=0.1)], WEIGHTS).taken is None
    assert choose([replace(anew, idle=True)], WEIGHTS).taken is None
    assert choose([third], WEIGHTS).taken is third
    assert choose([replace(third, lost=0.1)], WEIGHTS).taken is None
    assert choose([replace(third, idle=True)], WEIGHTS).taken is None
    assert "2 of 3 voices" in choose([replace(anew, fresh=1)], WEIGHTS).reason


def test_what_is_likely_and_foretold_outweighs_those_that_wrote_the_function_anew() -> None:
    """A loop that was written anew has forgotten the smallest input; what speaks for more than one edit, or not so much, is not enough."""
    anew = passing("anew", "a b", samples=3, fresh=3, changed_lines=6)
    said = {"edited": True, "prior": 0.6, "samples": 3, "likely": 9.0, "foretold": 1}
    edit = passing("edit", "a c", **said)
    assert choose([anew, edit], WEIGHTS).taken is edit
    several = passing("both", "a c", generator="ast:g+g", **said)
    for weaker in (
        several,
        replace(edit, likely=None),
        replace(edit, foretold=0),
        replace(edit, samples=2),
    ):
        assert choose([anew, weaker], WEIGHTS).taken is anew
    told = replace(anew, foretold=1)
    assert choose([told, edit], WEIGHTS).taken is told


def test_an_edit_outweighs_nobody_who_leaves_what_it_alters() -> None:
    """One is no prime, the code says so by accident, and the edit that mends its loop says otherwise: whoever wrote it anew thought of that."""
    anew = passing("anew", "a b", samples=1, fresh=1, changed_lines=6)
    said = {"edited": True, "prior": 0.6, "samples": 3, "likely": 9.0, "foretold": 1}
    edit = passing("edit", "a c", **said)
    assert choose([anew, edit], WEIGHTS).taken is edit
    for was in ("a x", "x c", "x y"):
        altered = replace(edit, unchanged=tuple(was.split()))
        mended = replace(anew, unchanged=tuple(was.split()))
        assert choose([mended, altered], WEIGHTS).taken is altered
    left = [replace(p, unchanged=("x", "b")) for p in (anew, edit)]
    assert choose(left, WEIGHTS).taken is None
    assert "0 do this, 1 something else" in choose(left, WEIGHTS).reason
    unusual = [
        replace(anew, unchanged_apart=("b",), apart=("b",)),
        replace(edit, unchanged_apart=("b",), apart=("c",)),
    ]
    assert choose(unusual, WEIGHTS).taken is None
    elsewhere = replace(unusual[0], measured="m.py::other")
    assert choose([elsewhere, unusual[1]], WEIGHTS).taken is unusual[1]


def test_two_that_agree_are_not_enough_where_the_tests_leave_three_behaviours_open() -> None:
    """However they came about and however likely the code is to the model; edits that do the same are a third voice."""
    anew = passing("anew", "a b", samples=2, fresh=2, likely=9.0)
    others = [passing(f"other {n}", f"a {n}", edited=True, prior=0.1) for n in range(2)]

    def chosen(*some: Passing) -> Choice:
        return choose(some, WEIGHTS)

    assert chosen(anew, others[0]).taken is anew
    assert "2 of 3 voices beside 2 other behaviours" in chosen(anew, *others).reason
    assert chosen(anew, *others).taken is None
    assert chosen(replace(anew, samples=3), *others).taken is not None
    same = passing("same", "a b", edited=True, prior=0.5)
    assert chosen(anew, same, *others).taken in (anew, same)
    assert choose([anew, *others], replace(WEIGHTS, unaided=2)).taken is anew
    alone = passing("likely edit", "a b", edited=True, prior=0.5, likely=9.0)
    assert chosen(alone, *others).taken is alone


def test_what_leaves_a_slip_is_not_taken_whatever_speaks_for_it() -> None:
    """What mends it is, with one answer beside the model that is sure: alone or where others leave the line, it is not."""
    left = passing("left", "a b", samples=12, edited=True, prior=0.7)
    slip = passing("line 3: x becomes y", "a b", samples=1, beyond=("a", "b"))
    assert choose([left], WEIGHTS).taken is left
    alone = choose([left, slip], WEIGHTS)
    assert alone.taken is None
    assert "line 3: x becomes y to a model, which no answer says" in alone.reason
    agreed = replace(slip, samples=2, likely=6.0)
    assert choose([left, agreed], WEIGHTS).taken is agreed
    other = passing("other", "a c", samples=9)
    assert choose([left, agreed, other], WEIGHTS).taken is None


def test_a_line_that_an_answer_wrote_anew_is_no_slip() -> None:
    """Who had not seen the code was asked about every line; a word of the docstring has the voices of what it changes."""
    left = passing("left", "a b", samples=2, fresh=1, edited=True, prior=0.7)
    slip = passing("slip", "a b c", samples=2, likely=6.0, beyond=("a", "b"))
    assert choose([replace(left, fresh=0), slip], WEIGHTS).taken is slip
    assert choose([left, slip], WEIGHTS).taken is None
    sure = replace(left, samples=6, likely=6.0)
    assert choose([sure, replace(slip, likely=None)], WEIGHTS).taken is sure
    told = replace(slip, samples=2, fresh=1, candidate=left.candidate)
    assert choose([left, told], WEIGHTS).taken is told


def test_an_answer_that_does_what_mends_a_slip_is_its_second_voice() -> None:
    """In other words than the line that was filled in; what does the same as the slip wherever they are compared stands apart."""
    left = passing("left", "a b", samples=2, edited=True, prior=0.7)
    slip = passing("slip", "a c", samples=1, likely=6.0, beyond=("a", "b"))
    anew = passing("anew", "a c", samples=1, fresh=1)
    assert choose([left, slip, anew], WEIGHTS).taken in (slip, anew)
    assert choose([left, slip], WEIGHTS).taken is None
    unseen = replace(slip, words=("a", "b"), beyond=("a", "b"))
    assert len(choose([left, unseen], WEIGHTS).clusters) == 2


def test_words_about_two_functions_are_not_compared() -> None:
    """Few words of one leave those of the other as they are, and what both begin with is no agreement."""
    right = [
        passing(f"right {n}", "a b c d", samples=1, measured="f", fresh=1, changed_lines=n)
        for n in (1, 2, 3)
    ]
    wrong = passing("wrong", "a b x y", edited=True, prior=0.9, measured="f")
    other = passing("other", "a b", edited=True, prior=0.9, measured="g")
    choice = choose([*right, wrong, other], WEIGHTS)
    assert sorted(len(c.members) for c in choice.clusters) == [1, 1, 3]


def test_examples_of_two_functions_are_not_compared() -> None:
    """One without examples holds as many as it can."""
    helper = passing("helper", "a b", samples=4, edited=True, prior=0.5, measured="f")
    caller = passing("caller", "a b", edited=True, prior=0.5, measured="g", examples=(True,))
    assert choose([helper, caller], WEIGHTS).taken is helper


def test_what_ends_on_few_inputs_is_compared_with_nothing() -> None:
    """Else only those would be left on which everything that passes agrees. One that is slow on some is compared on the others."""
    right = [
        passing(f"right {n}", "a b c d e f g h", samples=1, fresh=1, changed_lines=n)
        for n in (1, 2, 3)
    ]
    wrong = passing("wrong", "a b c d e x y z", edited=True, prior=0.9)
    hangs = passing("hangs", "a b c d e ? ? ?", edited=True, prior=0.9)
    choice = choose([*right, wrong, hangs], WEIGHTS)
    assert sorted(len(c.members) for c in choice.clusters) == [1, 1, 3]
    assert not next(c for c in choice.clusters if hangs in c.members).told
    slow = passing("slow", "a b c d e f ? ?", samples=1)
    assert sorted(len(c.members) for c in choose([*right, wrong, slow], WEIGHTS).clusters) == [1, 4]


def test_an_input_on_which_most_raise_what_they_mean_to_is_compared() -> None:
    """By accident it is one that nobody gives; a candidate that does not raise there does something else."""
    right = [
        passing(f"right {n}", "a !ValueError", samples=1, fresh=1, changed_lines=n) for n in (1, 2)
    ]
    wrong = passing("wrong", "a b", edited=True, prior=0.9)
    assert len(choose([*right, wrong], WEIGHTS).clusters) == 1
    meant = [replace(p, raises=frozenset({"ValueError"})) for p in right]
    assert len(choose([*meant, wrong], WEIGHTS).clusters) == 2


def test_answers_that_had_not_seen_the_code_are_not_outvoted() -> None:
    """Whoever saw it may have left a second fault that no known test shows, and what belongs in the changed place says nothing of one."""
    edit = passing("edit", "a b", samples=2, edited=True, prior=0.9, likely=6.0)
    anew = passing("anew", "a c", samples=1, fresh=1)
    choice = choose([edit, anew], WEIGHTS)
    assert choice.taken is None
    assert "had not seen the code: 0 do this, 1 something else" in choice.reason
    assert choose([replace(edit, fresh=1), anew], WEIGHTS).taken is not None
    assert choose([edit, replace(anew, fresh=0)], WEIGHTS).taken is not None
    three = replace(anew, samples=3, fresh=2)
    assert choose([edit, three], WEIGHTS).taken is three
    assert choose([replace(edit, fresh=1), three], WEIGHTS).taken is None
    assert choose([edit, replace(three, lost=0.1)], WEIGHTS).taken is not three


def test_where_answers_fail_an_edit_needs_some_that_agree() -> None:
    """Two, one of which wrote it anew, or three that saw the code, where a model finds it unlikely. Or nine tenths of the likelihood: weak tests let many an edit pass, and one of many answers. Where nobody answered, edits are all there is."""
    edit = passing("edit", "a b", edited=True, prior=0.9, examples=(True,), likely=-2.0)
    one = replace(edit, samples=1)
    fail = {"m.py::f": 4}
    reasons = [choose([p], WEIGHTS, missed=fail).reason for p in (edit, one)]
    assert "not sure: 0 of 3 answers" in reasons[0]
    assert "not sure: 1 of 3 answers" in reasons[1]
    assert choose([edit], WEIGHTS).taken is edit
    assert choose([one], WEIGHTS, missed={"m.py::f": 0}).taken is one
    assert choose([replace(edit, likely=6.0)], WEIGHTS, missed=fail).taken is not None
    two = replace(edit, samples=2)
    assert choose([two], WEIGHTS, missed=fail).taken is None
    assert choose([replace(two, fresh=1)], WEIGHTS, missed=fail).taken is not None
    assert choose([replace(edit, samples=3)], WEIGHTS, missed=fail).taken is not None
    unweighed = replace(two, likely=None)
    assert choose([unweighed], WEIGHTS, missed=fail).taken is unweighed
    assert choose([replace(unweighed, samples=1)], WEIGHTS, missed=fail).taken is None


def test_of_yes_and_no_as_many_answers_are_needed_as_fail() -> None:
    """A wrong one hits each by chance, whoever saw the code; not where it is likely, or many agree."""
    edit = passing(
        "edit", "a b", edited=True, prior=0.9, likely=-2.0, changed=frozenset({"m.py::f"})
    )
    three, fail = replace(edit, samples=3, fresh=1), {"m.py::f": 7}
    either = replace(three, either=True)
    assert choose([three], WEIGHTS, missed=fail).taken is three
    refused = choose([either], WEIGHTS, missed=fail)
    assert "not sure: 3 of 7 answers" in refused.reason
    assert " 7 answers fail, " in refused.reason
    assert choose([replace(either, fresh=0)], WEIGHTS, missed=fail).taken is None
    assert choose([replace(either, fresh=0, samples=6)], WEIGHTS, missed=fail).taken is None
    assert choose([either], WEIGHTS, missed={"m.py::f": 3}).taken is either
    assert choose([either], WEIGHTS, missed={"m.py::g": 7}).taken is either
    for heard in (
        replace(either, likely=6.0),
        replace(either, samples=6),
        replace(either, samples=7, fresh=0),
    ):
        assert choose([heard], WEIGHTS, missed=fail).taken is heard


def test_patchwork_puts_nothing_aside() -> None:
    """Edits of which one mends no test do what an example shows by chance: an answer has to agree first."""
    plain = passing("plain", "a b", samples=3, edited=True, prior=0.7, examples=(True, False))
    chance = passing(
        "chance", "a c", edited=True, prior=0.3, examples=(True, True), generator="ast:x&y"
    )
    assert choose([plain, chance], WEIGHTS).taken is None
    agreed = replace(chance, samples=3)
    assert choose([plain, agreed], WEIGHTS).taken is agreed
    many = replace(plain, samples=9)
    assert choose([many, chance], WEIGHTS).taken is many
    lost = replace(plain, lost=0.1, examples=(), samples=9)
    assert choose([lost, replace(chance, examples=())], WEIGHTS).taken is lost


def test_nothing_passes() -> None:
    """Without a candidate nothing is taken."""
    choice = choose([], WEIGHTS)
    assert choice.taken is None
    assert "no candidate" in choice.reason


def test_agreement_wins() -> None:
    """The behaviour that more independent samples have is taken, by its smallest member."""
    many = passing("big", "a b", samples=2, changed_lines=9)
    small = passing("small", "a b", edited=True, prior=0.5)
    alone = passing("alone", "a c", samples=1)
    choice = choose([alone, many, small], WEIGHTS)
    assert choice.taken is small
    assert "1 other behaviour passes" in choice.reason


def test_of_functions_that_are_changed_at_once_each_has_to_be_heard() -> None:
    """Answers about one of them were tried with the edit of the other, and say nothing of it."""
    both = passing("both", "a b", edited=True, prior=0.5, samples=4, changed=frozenset("pr"))
    half = replace(both, heard=frozenset("p"))
    assert choose([half], WEIGHTS).taken is None
    assert "no answer about r agrees" in choose([half], WEIGHTS).reason
    other = passing("other", "a b", samples=1, changed_lines=2, heard=frozenset("r"))
    assert choose([half, other], WEIGHTS).taken is half
    one = replace(both, changed=frozenset("p"))
    assert choose([one], WEIGHTS).taken is one


def test_one_answer_alone_is_not_taken() -> None:
    """However well it does: a second answer, or an edit, has to have the same behaviour."""
    one = passing("one", "a b", samples=1, examples=(True,), kept=1.0)
    assert choose([one], WEIGHTS).taken is None
    assert "one answer alone" in choose([one], WEIGHTS).reason
    assert choose([replace(one, likely=9.0)], WEIGHTS).taken is None
    edit = passing("edit", "a b", edited=True, examples=(True,), kept=1.0)
    assert choose([one, edit], WEIGHTS).taken is not None


def test_what_no_single_edit_does_needs_three_voices() -> None:
    """Answers, of which several edits at once are one more; two where the model finds the code likely or no edit is possible."""
    told = {"examples": (True,), "kept": 1.0}
    two = passing("two", "a b", samples=2, **told)
    choice = choose([two], WEIGHTS)
    assert choice.taken is None
    assert "2 of 3 voices, and no single edit does the same" in choice.reason
    edits = passing("edits", "a b", edited=True, generator="ast:remove+name", **told)
    assert choose([replace(two, samples=1), edits], WEIGHTS).taken is None
    part = passing("part", "a b", edited=True, prior=0.5, generator="model:part", **told)
    assert choose([two, part], WEIGHTS).taken is None
    for enough in (
        [replace(two, samples=3)],
        [two, edits],
        [replace(two, samples=1), passing("edit", "a b", edited=True, **told)],
        [replace(two, likely=9.0)],
        [replace(two, unwritten=True)],
    ):
        assert choose(enough, WEIGHTS).taken is not None


def test_many_edits_that_pass_are_one_voice() -> None:
    """That the tests let ten edits pass is no reason to doubt three samples and an edit that agree; one sample that does not is."""
    best = passing("best", "x", samples=3, edited=True, prior=0.6, examples=(True,))
    rivals = [
        passing(f"rival {n}", f"r{n}", edited=True, prior=0.6, examples=(True,)) for n in range(10)
    ]
    assert choose([*rivals, best], WEIGHTS).taken is best
    assert choose(rivals, WEIGHTS).taken is None
    other = passing("other", "y", samples=1, edited=True, prior=0.6, examples=(True,))
    assert choose([*rivals, best, other], WEIGHTS).taken is None


def test_a_larger_change_needs_more_to_speak_for_it() -> None:
    """Three samples outvote an edit when they change no more than it does, and not when they change more lines than it."""
    edit = passing("edit", "x", edited=True, prior=0.7, examples=(True,))
    alike = passing("alike", "y", samples=3, examples=(True,))
    larger = passing("larger", "y", samples=3, examples=(True,), changed_lines=3)
    assert choose([edit, alike], WEIGHTS).taken is alike
    assert choose([edit, larger], WEIGHTS).taken is None
    assert choose([larger], WEIGHTS).taken is larger


def test_several_edits_at_once_need_answers_that_agree() -> None:
    """However well they do, and though one of them mended a part by itself; a single edit needs none."""
    told = {"edited": True, "prior": 1.0, "examples": (True,), "kept": 1.0}
    assert choose([passing("one", "a b", generator="ast:compare", **told)], WEIGHTS).taken
    answers = passing("answers", "a b", samples=2, examples=(True,), kept=1.0)
    for generator in ("ast:compare&constant", "ast:compare+constant"):
        several = passing("two", "a b", generator=generator, **told)
        assert choose([several], WEIGHTS).taken is None
        assert "1 of 3 voices" in choose([several], WEIGHTS).reason
        assert choose([several, answers], WEIGHTS).taken is not None
        assert choose([replace(several, likely=8.0)], WEIGHTS).taken is not None


def test_an_edit_beside_a_filled_line_needs_an_answer_where_many_miss() -> None:
    """That line stands there because the model finds it likely; what it answers says as much, and is something else."""
    f = frozenset({"m.py::f"})
    told = {"edited": True, "prior": 1.0, "examples": (True,), "likely": 8.0, "changed": f}
    many, few = {"m.py::f": 12}, {"m.py::f": 11, "m.py::g": 9}
    for generator in ("ast:fill&negate", "ast:fill+constant"):
        filled = passing("filled", "a b", generator=generator, **told)
        assert choose([filled], WEIGHTS, missed=few).taken is filled
        choice = choose([filled], WEIGHTS, missed=many)
        assert choice.taken is None
        assert "1 of 3 voices" in choice.reason
        assert choose([replace(filled, samples=1)], WEIGHTS, missed=many).taken is not None
        answer = passing("answer", "a b", samples=1, examples=(True,), changed=f)
        assert choose([filled, answer], WEIGHTS, missed=many).taken is not None
        other = passing("other", "a b", generator="ast:compare&constant", **told)
        assert choose([filled, other], WEIGHTS, missed=many).taken is not None


def test_too_little_speaks_for_any() -> None:
    """Behaviours that differ with equal support are left alone, and the reason says so."""
    choice = choose([passing(t, t, samples=1) for t in "abc"], WEIGHTS)
    assert choice.taken is None
    assert choice.reason.startswith("not sure")
    assert len(choice.clusters) == 3


def test_answers_made_for_the_test_are_never_taken() -> None:
    """A candidate that names a test's values is left out however much speaks for it."""
    choice = choose([passing("x", "a", samples=9, special="line 2 answers 6")], WEIGHTS)
    assert choice.taken is None
    assert "line 2 answers 6" in choice.reason


def test_examples_decide_first() -> None:
    """A candidate that holds more examples of docstring and issue beats any number that hold fewer."""
    right = passing("right", "a", samples=3, examples=(True, True))
    wrong = passing("wrong", "b", samples=5, examples=(True, False))
    assert choose([wrong, right], WEIGHTS).taken is right


def test_inputs_that_most_cannot_take_are_no_witness() -> None:
    """Where most raise, and where one got stuck, behaviours are not compared."""
    first = passing("first", "a !ValueError ? x", samples=1)
    second = passing("second", "a !TypeError b x", samples=1)
    assert len(choose([first, second], WEIGHTS).clusters) == 1


def test_the_order_of_arrival_does_not_matter() -> None:
    """The same candidates give the same choice in any order."""
    items = [passing(t, w, samples=s) for t, w, s in (("p", "a", 2), ("q", "a", 2), ("r", "b", 1))]
    assert choose(items, WEIGHTS).taken is choose(items[::-1], WEIGHTS).taken


def test_behaviours_are_ranked_by_b7() -> None:
    """A few more voices do not outweigh a change of thirty files, or one that takes a file away."""
    small = passing("small", "a b", samples=4)
    wide = passing("wide", "a c", samples=5, changed_files=30)
    assert choose([wide, small], WEIGHTS).clusters[0].members == (small,)
    assert choose([wide, small], WEIGHTS, max_files=4_000).clusters[0].members == (wide,)
    gone = FileEdit(path="m.py", text=None)
    other = passing("gone", "a c", samples=5)
    dropping = replace(other, candidate=replace(other.candidate, edits=(gone,)))
    assert choose([other, small], WEIGHTS).clusters[0].members == (other,)
    assert choose([dropping, small], WEIGHTS).clusters[0].members == (small,)


def test_b7() -> None:
    """Expected pass, smallness and reversibility, each with its weight."""
    item = passing("x", "a", changed_files=2)
    assert b7(item, 0.8, WEIGHTS, max_files=4) == 0.5 * 0.8 + 0.3 * 0.5 + 0.2
    gone = passing("y", "a")
    deleted = Candidate(
        candidate_id=gone.candidate.candidate_id,
        generator="g",
        edits=(FileEdit(path="m.py", text=None),),
        description="",
    )
    dropped = Passing(
        candidate=deleted, samples=0, edited=True, prior=0.1, changed_lines=1, changed_files=1,
        words=None, examples=(), special=None,
    )  # fmt: skip
    assert b7(dropped, 0.8, WEIGHTS, max_files=4) == 0.5 * 0.8 + 0.3 * 0.75


def test_what_nothing_tells_agrees_with_equal_code_alone() -> None:
    """Five functions that are each something else are five behaviours, where none of them could be run or all of them raised."""
    for words in (None, "!_Broken !_Broken"):
        edit = passing("x + 1", words, edited=True, prior=0.6)
        answers = [passing(f"x + {n}", words, samples=1) for n in range(2, 6)]
        choice = choose([edit, *answers], WEIGHTS)
        assert choice.taken is None
        assert len(choice.clusters) == 5
        assert "on generated inputs" not in choice.reason
        said = passing("x+1  # again", words, samples=3)
        agreed = choose([edit, said], WEIGHTS)
        assert agreed.taken is not None
        assert len(agreed.clusters) == 1
        assert "3 samples and 1 edits give code that could not be compared" in agreed.reason


def test_what_leaves_passing_tests_stories_alone_comes_first() -> None:
    """An edit alone is taken when it changes nothing else and the others do; where all change much it says nothing."""
    right = passing("right", "a b", edited=True, prior=0.4, kept=1.0)
    wider = passing("wider", "a c", edited=True, prior=0.7, kept=0.8)
    assert choose([wider, right], WEIGHTS).taken is right
    low = passing("low", "a b", samples=1, kept=0.3)
    more = passing("more", "a c", samples=3, kept=0.2)
    assert choose([low, more], WEIGHTS).taken is more
    unknown = passing("unknown", "a c", samples=5)
    assert choose([right, unknown], WEIGHTS).taken is unknown


def test_what_fails_where_the_unchanged_code_answers_comes_last() -> None:
    """It is left out beside one that answers; alone it needs as many voices as an example that nobody holds, and a quarter of all inputs is too many whatever is said."""
    breaks = passing("breaks", "a !IndexError", samples=3, lost=0.1)
    whole = passing("whole", "a b", samples=3)
    assert choose([breaks, whole], WEIGHTS).taken is whole
    assert choose([breaks], WEIGHTS).taken is None
    many = passing("many", "a !IndexError", samples=6, edited=True, prior=0.7, lost=0.1)
    assert choose([many], WEIGHTS).taken is many
    broken = replace(many, lost=0.25, samples=99)
    assert choose([broken], WEIGHTS).taken is None
    assert "fails on 25% of the inputs" in choose([broken], WEIGHTS).reason


def test_what_is_unlike_all_known_results_is_not_taken() -> None:
    """It is left out beside one that is like them; alone it is refused, and the reason says why, unless many say it, some of whom had not seen the code."""
    unlike = passing(
        "unlike", "a b", samples=9, edited=True, prior=0.7, unlike="has argument 2 items"
    )
    like = passing("like", "a c", samples=3)
    assert choose([unlike, like], WEIGHTS).taken is like
    choice = choose([unlike], WEIGHTS)
    assert choice.taken is None
    assert "that a result has argument 2 items holds of all known ones" in choice.reason
    assert choose([replace(unlike, fresh=1)], WEIGHTS).taken is not None
    assert choose([replace(unlike, samples=3, fresh=3)], WEIGHTS).taken is None


def test_what_leaves_a_name_idle_comes_last() -> None:
    """A name that the unchanged code reads is left out by nothing else that passes; alone it needs as many voices."""
    idle = passing("idle", "a b", samples=3, edited=True, prior=0.7, idle=True)
    whole = passing("whole", "a c", edited=True, prior=0.3, examples=(True,))
    assert choose([idle], WEIGHTS).taken is None
    assert choose([idle, replace(whole, samples=2)], WEIGHTS).taken == replace(whole, samples=2)
    assert choose([replace(idle, samples=6)], WEIGHTS).taken is not None


def test_an_example_that_nobody_holds_asks_for_more_voices() -> None:
    """It may be a mistake of its own, which many say by agreeing; few voices may as well have missed what it asks for."""
    few = passing("few", "x", samples=2, edited=True, prior=0.7, examples=(True, False))
    many = passing("many", "x", samples=6, edited=True, prior=0.7, examples=(True, False))
    held = passing("held", "x", samples=2, edited=True, prior=0.7, examples=(True, True))
    assert choose([few], WEIGHTS).taken is None
    # A likelihood is no word on what an example asks for.
    likely = choose([replace(few, likely=9.0)], WEIGHTS)
    assert likely.taken is None
    assert "2 of 3 answers against an example" in likely.reason
    assert choose([replace(few, likely=9.0, samples=3)], WEIGHTS).taken is not None
    assert choose([many], WEIGHTS).taken is many
    assert choose([held], WEIGHTS).taken is held


def test_a_test_that_nobody_asked_for_is_no_broken_promise() -> None:
    """Another fault's test keeps failing: nothing says that the candidate is wrong, but one that mends it too comes first."""
    asked = passing("asked", "x", samples=2, edited=True, prior=0.7, neighbours=(False,))
    both = passing("both", "y", samples=1, edited=True, prior=0.7, neighbours=(True,))
    assert choose([asked], WEIGHTS).taken is asked
    assert choose([asked, both], WEIGHTS).taken is both


def test_the_likelier_code_is_taken() -> None:
    """Of behaviours that as much else speaks for; a likelihood that is not known speaks for nobody, nor does one below the unchanged code's."""
    one = passing("one", "a b", edited=True, prior=0.5)
    other = passing("other", "a c", edited=True, prior=0.5)
    assert choose([one, other], WEIGHTS).taken is None
    likely = replace(one, likely=9.0)
    assert choose([likely, replace(other, likely=2.0)], WEIGHTS).taken is likely
    assert choose([other, likely], WEIGHTS).taken is likely
    near = choose([replace(one, likely=2.1), replace(other, likely=2.0)], WEIGHTS)
    assert near.taken is None
    unlikely = choose([replace(one, likely=-6.0), replace(other, likely=-9.0)], WEIGHTS)
    assert unlikely.taken is None
    assert sum(c.likely for c in unlikely.clusters) < 0.01


def test_patchwork_that_the_model_finds_likely_needs_no_answer() -> None:
    """Its likelihood is a word of the same model for this very code."""
    chance = passing("chance", "a c", edited=True, prior=0.3, generator="ast:x&y", likely=0.5)
    assert choose([chance], WEIGHTS).taken is None
    agreed = replace(chance, likely=8.0)
    assert choose([agreed], WEIGHTS).taken is agreed


def test_a_rewritten_function_needs_more_voices() -> None:
    """Three answers that change all of it are one model's word against whatever else passes; a small change of theirs is taken."""
    edit = passing("edit", "a c", edited=True, prior=0.4, examples=(True,))
    wide = passing("wide", "a b", samples=3, changed_lines=40, foretold=1, examples=(True,))
    assert choose([wide, edit], WEIGHTS).taken is None
    small = replace(wide, changed_lines=3)
    assert choose([small, edit], WEIGHTS).taken is not None
    assert choose([wide], WEIGHTS).taken is wide
    voices = replace(wide, samples=6)
    assert choose([voices, edit], WEIGHTS).taken is not None

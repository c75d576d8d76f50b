"""Which failing tests show one defect, by what they run."""

from surefoot.decisions.defects import Defect, Ran, defects_of


def ran(test_id: str, *functions: str) -> Ran:
    """A test and what it ran, as `file:function`."""
    places = (f.partition(":") for f in functions)
    return Ran(test_id=test_id, functions=frozenset((f"{p}.py", name) for p, _, name in places))


def files(defects: tuple[Defect, ...]) -> dict[tuple[str, ...], tuple[str, ...]]:
    return {d.tests: d.files for d in defects}


def test_three_modules_are_three_defects() -> None:
    """What passing tests run too is no cause; each defect has a file of its own."""
    failing = [ran("t1", "a:f", "common:clean"), ran("t2", "b:g", "common:clean"), ran("t3", "c:h")]
    found = defects_of(failing, [ran("t0", "common:clean")], frozenset())
    assert files(found) == {("t1",): ("a.py",), ("t2",): ("b.py",), ("t3",): ("c.py",)}
    assert found[0].reads == ("common.py",)


def test_what_only_failing_tests_share_may_be_the_one_cause() -> None:
    """Nothing tells the modules from what they share, so it is one defect."""
    failing = [ran("t1", "a:f", "common:clean"), ran("t2", "b:g", "common:clean")]
    found = defects_of(failing, [], frozenset())
    assert files(found) == {("t1", "t2"): ("a.py", "b.py", "common.py")}


def test_the_issue_s_names_tell_defects_apart() -> None:
    """Where the issue names a function of each, what they share is only read."""
    failing = [ran("t1", "a:f", "common:clean"), ran("t2", "b:K.g", "common:clean")]
    found = defects_of(failing, [], {"f", "g"})
    assert files(found) == {("t1",): ("a.py",), ("t2",): ("b.py",)}
    assert [d.reads for d in found] == [("common.py",), ("common.py",)]


def test_two_tests_of_one_function_are_one_defect() -> None:
    """A file that two tests suspect makes them one, also by way of a third."""
    failing = [ran("t1", "a:f"), ran("t2", "b:g"), ran("t3", "a:f", "b:g")]
    assert files(defects_of(failing, [], frozenset())) == {("t1", "t2", "t3"): ("a.py", "b.py")}


def test_a_defect_may_change_what_only_its_own_tests_run() -> None:
    """The cause may lie below the suspicious function, where passing tests come by, too."""
    failing = [ran("t1", "a:f", "below:h"), ran("t2", "b:g")]
    found = defects_of(failing, [ran("t0", "below:h")], frozenset())
    assert files(found) == {("t1",): ("a.py", "below.py"), ("t2",): ("b.py",)}


def test_tests_that_ran_nothing_known_are_one_defect() -> None:
    """Of them it is only known that they fail."""
    found = defects_of([ran("t1"), ran("t2", "a:f"), ran("t3")], [], frozenset())
    assert files(found) == {("t1", "t3"): (), ("t2",): ("a.py",)}

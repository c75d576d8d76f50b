"""Reports of other languages' runners: read by test id when they are whole, and refused when they are not."""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.codec import encode
from surefoot.suite.formats import PARSERS, Parsed, Place
from surefoot.values import ReportState

KEY = b"k" * 32
Read = Callable[..., Parsed]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a report on a tree of some files."""

    def parse(form: str, text: str, files: Mapping[str, str] | None = None) -> Parsed:
        for name, content in (files or {}).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        names = tuple(PurePosixPath(name) for name in files or {})
        return PARSERS[form](text.encode(), Place(root=tmp_path, files=names, key=KEY))

    return parse


def outcomes(parsed: Parsed) -> dict[str, str]:
    assert parsed.state is ReportState.COMPLETE, parsed.reason
    return {r.test_id: r.outcome.value for r in parsed.results}


TAP = """TAP version 13
# a comment
# Subtest: math.js
    # Subtest: adds
    ok 1 - adds \\# one
      ---
      duration_ms: 1
      ...
    not ok 2 - subtracts
      ---
      error: |-
        Expected values to be equal:

        1 !== 2
      code: 'ERR'
      ...
    ok 3 - adds \\# one
    1..3
not ok 1 - math.js
  ---
  error: '1 subtest failed'
  ...
ok 2 - late # SKIP no clock
not ok 3 - hard # TODO later
ok 4 # TODO
1..4
"""


def test_nested_tap_is_read_to_its_leaves(read: Read) -> None:
    """Names are joined, repeated names numbered, directives kept, the parent of a failure is not a second failure."""
    parsed = read("tap", TAP)
    assert outcomes(parsed) == {
        "math.js::adds # one": "passed",
        "math.js::subtracts": "failed",
        "math.js::adds # one #2": "passed",
        "late": "skipped",
        "hard": "xfailed",
        "test 4": "xpassed",
    }
    assert parsed.results[2].message == "Expected values to be equal: 1 !== 2"


TAP_TIMES = """TAP version 14
# Subtest: test/a.js
    ok 1 - adds # time=4.5ms
    not ok 2 - later # TODO why # time=1s
    ok 3 - says \\# time=1ms
    ok 4 # time=0.1ms
    1..4
ok 1 - test/a.js # time=200.1ms
1..1
"""


def test_times_of_tap_are_no_part_of_ids(read: Read) -> None:
    """They differ in each run; what is escaped is the test's own name."""
    assert outcomes(read("tap", TAP_TIMES)) == {
        "test/a.js::adds": "passed",
        "test/a.js::later": "xfailed",
        "test/a.js::says # time=1ms": "passed",
        "test/a.js::test 4": "passed",
    }


def test_a_skip_of_tap_may_be_a_longer_word(read: Read) -> None:
    """The reason begins behind it."""
    text = "ok 1 # SKIPPED: no net\nok 2 - b # skip\nok 3 - c # Skipping\nok 4 - d # todos\n1..4\n"
    parsed = read("tap", text)
    assert outcomes(parsed) == {
        "test 1": "skipped",
        "b": "skipped",
        "c": "skipped",
        "d # todos": "passed",
    }
    assert parsed.results[0].message == "no net"


TAP_BUFFERED = """TAP version 13
ok 1 - test/a.js # time=4.5ms {
    # Subtest: adds
        ok 1 - one
        1..1
    ok 1 - adds
    ok 2 - deep {
        ok 1 - two
        1..1
    }
    1..2
}

not ok 2 - test/b.js # time=9ms
  ---
  exitCode: 1
  ...
{
    not ok 1 - three
      ---
      message: bad
      ...
    ok 2 - four
    1..2
}

not ok 3 - test/c.js
  ---
  message: it ended with 7
  ...
{
    ok 1 - five
    1..1
}
ok 4 - none # SKIP why {
    1..0
}
ok 5 - a name {
# Subtest: test/d.js
    ok 1 - }
    not ok 2 - {
      ---
      message: odd
      ...
    ok 3 - last {
    1..3
not ok 6 - test/d.js
1..6
"""


def test_subtests_of_tap_may_be_in_braces_behind_their_sum(read: Read) -> None:
    """With its diagnostics before them, where it has some; a brace can be a name's own, too."""
    parsed = read("tap", TAP_BUFFERED)
    assert outcomes(parsed) == {
        "test/a.js::adds::one": "passed",
        "test/a.js::deep::two": "passed",
        "test/b.js::three": "failed",
        "test/b.js::four": "passed",
        "test/c.js::five": "passed",
        "test/c.js": "failed",
        "none": "skipped",
        "a name {": "passed",
        "test/d.js::}": "passed",
        "test/d.js::{": "failed",
        "test/d.js::last {": "passed",
    }
    said = {r.test_id: r.message for r in parsed.results if r.outcome.value == "failed"}
    assert said == {
        "test/b.js::three": "bad",
        "test/c.js": "it ended with 7",
        "test/d.js::{": "odd",
    }


def test_braces_that_a_test_prints_change_nothing(read: Read) -> None:
    """As JSON over several lines has them."""
    text = "not ok 1 - a\n  ---\n  message: bad\n  ...\n%sok 2 - b\n1..2\n"
    assert read("tap", text % '{\n  "ok": 1\n}\n') == read("tap", text % "")
    assert read("tap", text % "{\n") == read("tap", text % "}\n") == read("tap", text % "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no test point"),
        ("ok 1 - a {\n    ok 1 - b\n    1..1\nok 2 - c\n1..2\n", "do not end"),
        ("1..1\nok 1 - a {\n    ok 1 - b\n    1..1\n", "do not end"),
        ("1..1\nok 1 - a {\n    not ok 1 - b\n    1..1\n}\n", "a test inside it is not"),
        ("1..1\nok 1 - a {\n    ok 1 - b\n}\n", "no plan"),
        ("1..1\nok 2 - a {\n    ok 1 - b\n    1..1\n}\n", "where 1 was due"),
        ("ok 1 - a\nok 2 - b\n", "no plan"),
        ("1..3\nok 1 - a\nok 2 - b\n", "3 tests are planned, 2 are reported"),
        ("1..2\nok 1 - a\nok 1 - a\n", "test point 1 where 2 was due"),
        ("1..1\nok 1 - a\nok 2 - forged\n", "1 tests are planned, 2 are reported"),
        ("1..1\nok 1 - a\n1..2\n", "second plan"),
        ("1..1\nBail out! no database\n", "Bail out! no database"),
        ("1..1\n    ok 1 - in\n    1..1\n", "ends inside subtests"),
        ("1..1\n    not ok 1 - in\n    1..1\nok 1 - out\n", "a test inside it is not"),
        ("1..1\nnot ok 1 - a\n  ---\n  error: cut", "inside the text of a failure"),
        ("Segmentation fault\n", "no test point"),
    ],
)
def test_a_tap_report_that_is_not_whole_says_why(text: str, why: str, read: Read) -> None:
    """Cut, doubled, without a plan, or at odds with itself."""
    parsed = read("tap", text)
    assert (parsed.state, parsed.results) == (ReportState.UNPARSABLE, ())
    assert why in parsed.reason


JUNIT = """<?xml version="1.0"?>
<testsuites><testsuite name="all" tests="5" failures="1" errors="1" skipped="1">
<testcase classname="com.acme.AddTest" name="adds" time="0.5"/>
<testcase classname="com.acme.AddTest" name="carries"><failure message="1 != 2">trace</failure></testcase>
<testcase classname="other" name="breaks"><error>first line
second</error></testcase>
<testcase file="web/a.test.js" classname="outer" name="one"><skipped/></testcase>
<testsuite name="inner"><testcase name="deep"/></testsuite>
</testsuite></testsuites>"""


def test_junit_ids_begin_with_the_file_where_it_can_be_told(read: Read) -> None:
    """By the file attribute, or the one file that the class is named after."""
    parsed = read("junit", JUNIT, {"src/test/java/com/acme/AddTest.java": "", "AddTest.java": ""})
    java = "src/test/java/com/acme/AddTest.java::com.acme.AddTest"
    assert outcomes(parsed) == {
        f"{java}::adds": "passed",
        f"{java}::carries": "failed",
        "other::breaks": "error",
        "web/a.test.js::outer::one": "skipped",
        "inner::deep": "passed",
    }
    assert [r.message for r in parsed.results[1:3]] == ["1 != 2", "first line"]


class Walked(tuple[PurePosixPath, ...]):  # noqa: SLOT001  # a tuple that counts
    """Files that count how often somebody goes through them."""

    walks = 0

    def __iter__(self) -> Iterator[PurePosixPath]:
        self.walks += 1
        return super().__iter__()


def test_the_files_of_the_tree_are_gone_through_once_whatever_the_number_of_cases() -> None:
    """A large tree has thousands of files and of cases."""
    for count in (1, 50):
        files = Walked(PurePosixPath(f"src/p{i}/C{i}.java") for i in range(count))
        cases = "".join(f'<testcase classname="p{i}.C{i}" name="t"/>' for i in range(count))
        place = Place(root=Path("/nonexistent"), files=files)
        parsed = PARSERS["junit"](f"<testsuite>{cases}</testsuite>".encode(), place)
        assert parsed.results[-1].test_id == f"{files[-1]}::p{count - 1}.C{count - 1}::t"
        assert files.walks == 1


def test_other_writers_of_junit_are_read(read: Read) -> None:
    """Mocha counts a failure among the errors; GoogleTest says in an attribute what did not run."""
    text = """<testsuite name="Mocha Tests" tests="3" failures="0" errors="1">
    <testcase classname="a" name="b" file="test/a.js"><failure>x</failure></testcase>
    <testcase classname="S" name="off" status="notrun" result="suppressed"/>
    <testcase classname="S" name="on" status="run" result="completed"/></testsuite>"""
    expected = {"test/a.js::a::b": "failed", "S::off": "skipped", "S::on": "passed"}
    assert outcomes(read("junit", text)) == expected


def test_what_junit_says_without_a_failure_is_no_pass(read: Read) -> None:
    """In an attribute, in a warning of PHPUnit, or of a suite as a whole."""
    text = """<testsuites><testsuite name="outer" tests="5" failures="4" errors="0">
    <testcase name="a" status="failed"/><testcase name="b" result="FAIL"/>
    <testcase name="c" status="run" result="error"/><testcase name="d"><failure/></testcase>
    <testcase name="e"><warning type="PHPUnit">No tests found</warning></testcase></testsuite>
    <testsuite name="S" errors="2" tests="1"><error message="tearDownClass"/><error/><testcase name="f"/></testsuite>
    <testsuite name="T" file="t.js" errors="1"><testsuite name="in" errors="1"><failure>x</failure>
    </testsuite></testsuite></testsuites>"""
    parsed = read("junit", text)
    assert outcomes(parsed) == {
        **dict.fromkeys("abcde", "failed"),
        "S": "error",
        "S #2": "error",
        "f": "passed",
        "in": "error",
    }
    assert [r.message for r in parsed.results[4:6]] == ["No tests found", "tearDownClass"]


def test_a_hook_of_mocha_that_fails_is_a_case_that_is_not_counted(read: Read) -> None:
    """It stays a failure; one that did not fail, and any other case, is counted."""
    hook = '<testcase classname="s" name="&quot;before each&quot; hook for &quot;x&quot;">{}</testcase>'
    text = (
        '<testsuite name="Mocha Tests" tests="1"><testcase classname="s" name="a"/>{}</testsuite>'
    )
    found = outcomes(read("junit", text.format(hook.format("<failure/>"))))
    assert found == {"s::a": "passed", 's::"before each" hook for "x"': "failed"}
    for more in (hook.format(""), '<testcase name="a hook"><failure/></testcase>'):
        assert read("junit", text.format(more)).state is ReportState.UNPARSABLE


def test_a_case_may_be_counted_as_a_failure_and_as_an_error(read: Read) -> None:
    """It fails, and what cleans up after it breaks."""
    both = '<testcase name="a"><failure/><error/></testcase>'
    assert outcomes(read("junit", f'<testsuite failures="1" errors="1">{both}</testsuite>')) == {
        "a": "error"
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JUnit report was written"),
        (JUNIT.replace('failures="1"', 'failures="3"'), "counts 3 failures and holds 2"),
        (JUNIT[:300], "not well-formed"),
        (JUNIT.replace('tests="5"', 'tests="9"'), "counts 9 tests and holds 5"),
        ('<testsuite tests="1" failures="1"><testcase name="a"/></testsuite>', "holds 0"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><testsuite/>', "DTD"),
        ("<html/>", "not a JUnit report"),
        ("\ufeff<!DOCTYPE x>".encode("utf-16").decode("latin-1"), "not well-formed"),
    ],
)
def test_a_junit_report_that_is_not_whole_says_why(text: str, why: str, read: Read) -> None:
    """Missing, cut, miscounted, or something else."""
    parsed = read("junit", text)
    assert (parsed.state, parsed.results) == (ReportState.UNPARSABLE, ())
    assert why in parsed.reason


def jest(tests: Sequence[tuple[str, str]], *, total: int, passed: int, status: str) -> str:
    results = [
        {"ancestorTitles": ["outer"], "title": t, "status": s, "duration": 5, "failureMessages": []}
        for t, s in tests
    ]
    file = {"name": "a.test.js", "status": status, "message": "oh\nno", "assertionResults": results}
    return json.dumps({"numTotalTests": total, "numPassedTests": passed, "testResults": [file]})


def test_a_report_of_jest_and_vitest_is_read(read: Read) -> None:
    """File, titles and outcome; durations are milliseconds."""
    text = jest(
        [("a", "passed"), ("b", "failed"), ("c", "todo")], total=3, passed=1, status="failed"
    )
    parsed = read("jest", text)
    assert outcomes(parsed) == {
        "a.test.js::outer::a": "passed",
        "a.test.js::outer::b": "failed",
        "a.test.js::outer::c": "skipped",
    }
    assert parsed.results[0].wall_s == 0.005


def test_a_file_that_jest_cannot_run_is_a_collection_error(read: Read) -> None:
    """The other tests are reported beside it."""
    parsed = read("jest", jest([("a", "passed")], total=1, passed=1, status="failed"))
    assert parsed.state is ReportState.COLLECTION_ERROR
    assert parsed.results[0].message == "oh"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"numTotalTests": 1, "numPassedTests": 1, "testResults": [{}]}',
        jest([("a", "passed")], total=2, passed=2, status="passed"),
        jest([("a", "failed")], total=1, passed=1, status="failed"),
    ],
)
def test_a_jest_report_that_is_not_whole_is_refused(text: str, read: Read) -> None:
    """Cut, of another kind, or with other counts than tests."""
    parsed = read("jest", text)
    assert (parsed.state, parsed.results) == (ReportState.UNPARSABLE, ())


def go(*events: tuple[str, str] | tuple[str, str, str]) -> str:
    lines = []
    for action, test, *output in events:
        event = {"Action": action, "Package": "example.com/m/calc"}
        event |= {"Test": test} if test else {}
        event |= {"Output": output[0]} if output else {}
        lines.append(json.dumps(event))
    return "\n".join(lines)


GO_FILES = {
    "go.mod": "module example.com/m\n",
    "calc/calc_test.go": "func TestAdd(t *testing.T) {\nfunc TestSkip(t",
}
ADD = (
    ("run", "TestAdd"),
    ("output", "TestAdd", "    calc_test.go:5: got -1\n"),
    ("fail", "TestAdd"),
)


def test_go_events_are_read_with_the_file_that_declares_the_test(read: Read) -> None:
    """Subtests too; what a failing test printed is its message."""
    sub = (("run", "TestAdd/one"), ("pass", "TestAdd/one"))
    skip = (("run", "TestSkip"), ("skip", "TestSkip"))
    parsed = read("go", go(ADD[0], *sub, *ADD[1:], *skip, ("fail", "")), GO_FILES)
    assert outcomes(parsed) == {
        "calc/calc_test.go::TestAdd/one": "passed",
        "calc/calc_test.go::TestAdd": "failed",
        "calc/calc_test.go::TestSkip": "skipped",
    }
    assert parsed.results[1].message == "calc_test.go:5: got -1"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", ReportState.UNPARSABLE),
        (go(("run", "TestAdd")), ReportState.UNPARSABLE),
        (go(("run", "TestAdd"), ("fail", "")), ReportState.CRASHED),
        (go(*ADD, ("pass", "TestForged"), ("fail", "")), ReportState.FORGED),
        (go(*ADD, ("run", "TestForged"), ("pass", "TestForged"), ("fail", "")), ReportState.FORGED),
        (go(*ADD, ("pass", "TestAdd"), ("fail", "")), ReportState.FORGED),
        (go(("pass", "TestSkip"), ("pass", "")), ReportState.FORGED),
        ("FAIL\texample.com/m/bad [build failed]", ReportState.COLLECTION_ERROR),
        (go(("output", "", "panic: os.Exit(0)\n"), ("fail", "")), ReportState.COLLECTION_ERROR),
    ],
)
def test_a_go_report_that_is_not_whole_or_was_made_up_is_refused(
    text: str, state: ReportState, read: Read
) -> None:
    """A test counts once, after its start, and only when a test file declares it."""
    parsed = read("go", text, GO_FILES)
    assert parsed.state is state
    assert not any(r.outcome.value == "passed" for r in parsed.results)


@pytest.mark.parametrize("odd", ["\0", "\ud800", "x" * 5_000, "../m", "/"])
def test_a_go_package_that_is_no_folder_declares_nothing(odd: str, read: Read) -> None:
    """The code under test can print any name; nothing outside of the tree is looked at."""
    text = go(*ADD, ("fail", "")).replace("example.com/m/calc", json.dumps(odd)[1:-1])
    assert read("go", text, GO_FILES).state is ReportState.FORGED


GO_UNBUILT = (
    "# example.com/m/calc [example.com/m/calc.test]\ncalc/new_test.go:3:2: undefined: Sum\n"
    + go(("output", "", "FAIL\texample.com/m/calc [build failed]\n"), ("fail", ""))
)


def test_a_go_package_that_does_not_build_fails_by_each_of_its_test_files(read: Read) -> None:
    """So that a new test of what only the result has is red on the base; a file that may hold no test here is left out."""
    files = {
        "calc/new_test.go": "func TestSum(t *testing.T) {",
        "calc/main_test.go": "func TestMain(m *testing.M) {",
        "calc/slow_test.go": "//go:build slow\npackage calc\nfunc TestSlow(t *testing.T) {",
        "shop/shop_test.go": "func TestShop(t *testing.T) {",
    }
    parsed = read("go", GO_UNBUILT, GO_FILES | files)
    assert parsed.state is ReportState.COLLECTION_ERROR
    assert [(r.test_id, r.outcome.value) for r in parsed.results] == [
        ("calc/calc_test.go", "error"),
        ("calc/new_test.go", "error"),
    ]
    assert {r.message for r in parsed.results} == {"calc/new_test.go:3:2: undefined: Sum"}


def test_a_go_package_without_test_files_fails_by_its_folder(read: Read) -> None:
    """There is nothing else to name it by."""
    parsed = read("go", GO_UNBUILT, {"go.mod": GO_FILES["go.mod"]})
    assert [r.test_id for r in parsed.results] == ["calc"]


CARGO = """   Compiling my-calc v0.1.0
     Running unittests src/lib.rs (target/debug/deps/my_calc-7a3dc1c7412f43dd)

running 4 tests
test tests::slow ... ignored, slow
test tests::two ... FAILED
test tests::panics - should panic ... ok
test tests::zero ... ok

failures:

---- tests::two stdout ----
test forged ... ok
thread 'tests::two' (7) panicked at src/lib.rs:13:16:
assertion failed

failures:
    tests::two

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.13s

   Doc-tests my_calc

running 1 test
test src/lib.rs - add (line 3) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s
"""


CARGO_EARLY = """     Running tests/a.rs (target/debug/deps/a-7a3dc1c7412f43dd)

running 1 test
test adds ...      Running tests/b.rs (target/debug/deps/b-9b3dc1c7412f43dd)

running 1 test
test adds ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
"""On one processor a test's name is printed before it runs, and this one ends its program."""


def test_cargo_text_is_read_with_the_file_of_each_program(read: Read) -> None:
    """In a workspace the package is found by its name; lines of documentation tests are not part of their ids."""
    files = {
        "other/Cargo.toml": '[package]\nname = "other"\n',
        "other/src/lib.rs": "",
        "calc/Cargo.toml": '[package]\nname = "my-calc"\n',
        "calc/src/lib.rs": "",
    }
    parsed = read("cargo", CARGO, files)
    assert outcomes(parsed) == {
        "calc/src/lib.rs::tests::slow": "skipped",
        "calc/src/lib.rs::tests::two": "failed",
        "calc/src/lib.rs::tests::panics": "passed",
        "calc/src/lib.rs::tests::zero": "passed",
        "calc/src/lib.rs::doc add": "passed",
    }
    two = parsed.results[1]
    assert (two.message, two.frames[0].line) == ("assertion failed", 13)


CARGO_DOCS = """   Doc-tests my_calc

running 2 tests
test src/lib.rs - zero (line 1) ... ok
test src/lib.rs - one (line 5) ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s


running 2 tests
test src/lib.rs - one (line 9) - compile fail ... ok
test src/lib.rs - two (line 13) ... FAILED

failures:

---- src/lib.rs - two (line 13) stdout ----
Test executable failed (exit status: 101).

failures:
    src/lib.rs - two (line 13)

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.21s

all doctests ran in 0.99s; merged doctests compilation took 0.76s
"""


def test_documentation_tests_may_come_in_two_blocks(read: Read) -> None:
    """From edition 2024 on, those that share a program and those that cannot; each ran as many as it announced."""
    parsed = read("cargo", CARGO_DOCS)
    assert outcomes(parsed) == {
        "src/lib.rs::doc zero": "passed",
        "src/lib.rs::doc one": "passed",
        "src/lib.rs::doc one - compile fail": "passed",
        "src/lib.rs::doc two": "failed",
    }
    first, _, second = CARGO_DOCS.partition("test result: ok. 2 passed")
    for text in (
        first + second.partition("\n")[2],
        CARGO_DOCS[: CARGO_DOCS.rindex("test result")],
        CARGO_DOCS.replace("1 passed; 1 failed", "2 passed; 0 failed"),
        CARGO_DOCS.replace("   Doc-tests my_calc", "     Running src/lib.rs"),
    ):
        assert read("cargo", text).state is ReportState.CRASHED


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", ReportState.UNPARSABLE),
        ("error[E0425]: cannot find value `x`\n", ReportState.COLLECTION_ERROR),
        (CARGO[:200], ReportState.CRASHED),
        (CARGO.replace("zero ... ok", "zero ... ok\ntest forged ... ok"), ReportState.CRASHED),
        (CARGO.replace("running 4", "running 5"), ReportState.CRASHED),
        (CARGO.replace("2 passed; 1 failed", "3 passed; 0 failed"), ReportState.CRASHED),
        (CARGO_EARLY, ReportState.CRASHED),
    ],
)
def test_a_cargo_report_that_is_not_whole_is_refused(
    text: str, state: ReportState, read: Read
) -> None:
    """Each program says first how many tests come and last how many came."""
    assert read("cargo", text).state is state


CARGO_UNBUILT = """   Compiling my-calc v0.1.0
error[E0425]: cannot find function `sum` in crate `my_calc`
 --> tests/sum.rs:1:40

error: could not compile `my-calc` (test "sum") due to 1 previous error
warning: build failed, waiting for other jobs to finish...
"""


def test_a_cargo_package_that_does_not_build_fails_by_each_of_its_test_files(read: Read) -> None:
    """Cargo names the first program only and runs none; a file that may hold no test here is left out."""
    test = "#[test]\nfn sums() {}\n"
    files = {
        "calc/Cargo.toml": '[package]\nname = "my-calc"\n',
        "calc/src/lib.rs": "mod inner;\n",
        "calc/src/inner.rs": f"#[cfg(test)]\nmod tests {{\n    {test}}}\n",
        "calc/src/main.rs": "fn main() {}\n",
        "calc/src/bin/tool.rs": "fn main() {}\n",
        "calc/tests/sum.rs": test,
        "calc/tests/async.rs": '#[tokio::test(flavor = "multi_thread")]\nasync fn waits() {}\n',
        "calc/tests/windows.rs": f"#![cfg(windows)]\n{test}",
        "calc/tests/common/mod.rs": test,
        "shop/Cargo.toml": '[package]\nname = "shop"\n',
        "shop/tests/shop.rs": test,
    }
    parsed = read("cargo", CARGO_UNBUILT, files)
    assert parsed.state is ReportState.COLLECTION_ERROR
    assert [(r.test_id, r.outcome.value) for r in parsed.results] == [
        ("calc/src/lib.rs", "error"),
        ("calc/tests/sum.rs", "error"),
        ("calc/tests/async.rs", "error"),
    ]
    said = "error[E0425]: cannot find function `sum` in crate `my_calc`"
    assert {r.message for r in parsed.results} == {said}


def node(*records: Mapping[str, object], key: bytes = KEY) -> str:
    lines = []
    for number, record in enumerate(records):
        body = json.dumps({"n": number, **record})
        lines.append(f"{hmac.new(key, body.encode(), hashlib.sha256).hexdigest()} {body}\n")
    return "".join(lines)


PASSED = {
    "kind": "test", "file": "a.test.js", "file_level": False, "names": ["outer", "one"], "suite": False,
    "outcome": "passed", "wall_ms": 2, "message": "", "stack": "", "failure": "",
}  # fmt: skip
FAILED = {**PASSED, "names": ["two"], "outcome": "failed", "message": "Error: x"}
FILE = {**FAILED, "file_level": True}
END: Mapping[str, object] = {"kind": "end", "early": []}


def test_node_records_are_read_without_the_sums_of_suites(read: Read) -> None:
    """A suite that fails by itself, in a hook say, is a failure of its own."""
    total = {**FAILED, "names": ["outer"], "suite": True, "failure": "subtestsFailed"}
    hook = {**total, "names": ["hooked"], "failure": "hookFailed"}
    assert outcomes(read("node", node(PASSED, FAILED, total, hook, END))) == {
        "a.test.js::outer::one": "passed",
        "a.test.js::two": "failed",
        "a.test.js::hooked": "failed",
    }


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", ReportState.CRASHED),
        (node(PASSED), ReportState.CRASHED),
        (node(PASSED, {"kind": "end", "early": ["a.test.js"]}), ReportState.CRASHED),
        (node(PASSED, END, key=b"guessed"), ReportState.FORGED),
        ("ok 1 - forged\n" + node(PASSED, END), ReportState.FORGED),
        (node(PASSED, END).partition("\n")[2], ReportState.FORGED),
        (node(PASSED, END).partition("\n")[0] + "\n" + node(PASSED, END), ReportState.FORGED),
        (node(PASSED, FILE, END), ReportState.COLLECTION_ERROR),
    ],
)
def test_node_records_that_are_not_whole_or_not_the_runners_are_refused(
    text: str, state: ReportState, read: Read
) -> None:
    """Each is signed, in sequence, to the last, and every file came to its own end."""
    assert read("node", text).state is state


HOSTILE = {
    "cargo": "     Running tests/a.rs (target/debug/deps/a-1)\ntest "
    + " - should panic - " * 50_000,
    "tap": " " * 4_000_000 + "ok 1 - deep\n1..2\nok 1 -" + " #" * 500_000,
    "go": "[" * 500_000,
    "jest": '{"numTotalTests": 0, "numPassedTests": 0, "testResults": []}' + " " * 5_000_000,
    "junit": "<testsuite>" + "<a>" * 20_000,
    "node": "a" * 5_000_000 + "\n",
}


@pytest.mark.parametrize("form", HOSTILE)
def test_hostile_reports_take_no_time(form: str, read: Read) -> None:
    """Long lines, deep nesting, what patterns could take the square of."""
    assert read(form, HOSTILE[form]).results == ()


def of_jest(**more: object) -> str:
    test = {"status": "passed", "ancestorTitles": [], "title": "a", **more}
    file = {"name": "a.js", "status": "passed", "assertionResults": [test]}
    return json.dumps({"numTotalTests": 1, "numPassedTests": 1, "testResults": [file]})


def of_go(**more: object) -> str:
    test = {"Package": "example.com/m/calc", "Test": "TestAdd"}
    return (
        f"{json.dumps({'Action': 'run', **test})}\n{json.dumps({'Action': 'pass', **test, **more})}"
    )


ODD_NUMBERS = [float("nan"), float("inf"), "x", "1e999", 10**400, [], None]


@pytest.mark.parametrize("odd", ODD_NUMBERS, ids=lambda odd: str(odd)[:9])
def test_a_time_that_is_none_is_zero(odd: object, read: Read) -> None:
    """Code under test can write it, and what was run must be recorded all the same."""
    case = f'<testsuite tests="1"><testcase name="a" time="{odd}"/></testsuite>'
    for parsed in (
        read("junit", case),
        read("jest", of_jest(duration=odd)),
        read("go", of_go(Elapsed=odd), GO_FILES),
        read("node", node({**PASSED, "wall_ms": odd}, END)),
    ):
        assert [r.outcome.value for r in parsed.results] == ["passed"], parsed.reason
        assert parsed.results[0].wall_s == 0.0
        assert encode(parsed.results[0])


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("jest", of_jest(title="\ud83d")),
        ("node", node({**FAILED, "names": ["\ud83d"], "message": "\ud83d"}, END)),
        ("node", node(PASSED, {"kind": "end", "early": ["\ud83d.js"]})),
        ("go", go(("pass", "Test\ud83d"))),
    ],
)
def test_half_a_character_can_be_recorded(form: str, text: str, read: Read) -> None:
    """JSON holds it where JavaScript cut an emoji in two."""
    parsed = read(form, text)
    assert encode([*parsed.results])
    assert encode(parsed.reason)


def test_a_count_of_thousands_of_digits_is_refused(read: Read) -> None:
    """It is too many, whatever it is."""
    many = "9" * 5_000
    for attribute in ("tests", "failures"):
        parsed = read("junit", f'<testsuite {attribute}="{many}"><testcase name="a"/></testsuite>')
        assert parsed.state is ReportState.UNPARSABLE


@given(
    form=st.sampled_from(sorted(PARSERS)),
    text=st.text(alphabet='ok not1.-#\n {}[]"<>/test:', max_size=80),
)
def test_nonsense_is_never_an_exception(form: str, text: str) -> None:
    """It is a report that is not whole, or one of nothing."""
    place = Place(root=Path("/nonexistent"), files=(), key=KEY)
    parsed = PARSERS[form](text.encode(), place)
    assert parsed.state is not ReportState.COMPLETE or parsed.reason == ""

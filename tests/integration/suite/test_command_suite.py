"""The tests of other languages, run by their own command: right by id before and after a fix, and never a pass by mistake."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from surefoot.kernel import evidence
from surefoot.kernel.ports import Processes
from surefoot.suite import CommandSuite, detect, nothing_tracked
from surefoot.values import Candidate, Digest, FileEdit, Limits, ReportState, TestReport

Open = Callable[..., CommandSuite]
Write = Callable[[Mapping[str, str]], Path]


def node_version() -> tuple[int, ...]:
    node = shutil.which("node")
    if node is None:
        return (0,)
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return tuple(int(n) for n in re.findall(r"\d+", said.stdout))


def cargo_runs() -> bool:
    """Whether there is a cargo with a toolchain; rustup puts one in place before it has any."""
    cargo = shutil.which("cargo")
    return (
        cargo is not None
        and subprocess.run([cargo, "--version"], capture_output=True, check=False).returncode == 0
    )


needs_node = pytest.mark.skipif(node_version() < (20, 15), reason="node 20.15 or later is missing")
needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="go is missing")
needs_cargo = pytest.mark.skipif(not cargo_runs(), reason="cargo is missing, or has no toolchain")

CART = "export function total(prices) {\n  let sum = 0;\n  for (const p of prices) sum -= p;\n  return sum;\n}\n"
FIXED = CART.replace("-=", "+=")
TEST = """import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { total } from '../cart.js';

describe('total', () => {
  it('adds', () => assert.equal(total([1, 2]), 3));
  it('of nothing is 0', () => assert.equal(total([]), 0));
});
test('later', { todo: true }, () => assert.fail('not yet'));
"""
OTHER = "import { test } from 'node:test';\ntest('alone', () => {});\n"
PACKAGE = '{"name": "cart", "type": "module", "scripts": {"test": "node --test test/*.test.js"}}'
ADDS = "test/cart.test.js::total::adds"
NOTHING = "test/cart.test.js::total::of nothing is 0"
LATER = "test/cart.test.js::later"
ALONE = "test/other.test.js::alone"


@pytest.fixture
def cart(write: Write) -> Path:
    """A JavaScript project whose `total` subtracts."""
    return write(
        {
            "package.json": PACKAGE,
            "cart.js": CART,
            "test/cart.test.js": TEST,
            "test/other.test.js": OTHER,
        }
    )


@pytest.fixture
def open_command(processes: Processes, tmp_path: Path) -> Open:
    """The suite of a project, as it is detected."""

    def opened(root: Path, wall_s: float = 60.0, **settings: object) -> CommandSuite:
        plain = {"python": None, "command": None, "environ": os.environ}
        given = plain | {"is_tracked": nothing_tracked} | settings
        plan = detect(root, **given)  # type: ignore[arg-type]
        scratch, limits = tmp_path / "scratch", Limits(wall_s=wall_s)
        return CommandSuite(plan, processes, original=root, scratch=scratch, limits=limits)

    return opened


def outcomes(report: TestReport) -> dict[str, str]:
    return {r.test_id: r.outcome.value for r in report.results}


@needs_node
def test_a_run_reports_every_test_before_and_after_a_fix(cart: Path, open_command: Open) -> None:
    """With what went wrong and where; the sums of suites are no tests."""
    suite = open_command(cart)
    before = suite.run(cart)
    expected = {ADDS: "failed", NOTHING: "passed", LATER: "xfailed", ALONE: "passed"}
    assert (before.state, before.exit_code, outcomes(before)) == (
        ReportState.COMPLETE,
        1,
        expected,
    )
    failure = before.result(ADDS)
    assert failure is not None
    assert "AssertionError: Expected values to be strictly equal:" in failure.message
    assert [(f.path, f.line) for f in failure.frames] == [("test/cart.test.js", 6)]
    assert suite.run(cart, [ALONE]).collected == (ALONE,)
    (cart / "cart.js").write_text(FIXED)
    after = suite.run(cart)
    assert (after.state, after.exit_code) == (ReportState.COMPLETE, 0)
    assert after.passing == (ADDS, NOTHING, ALONE)


@needs_node
def test_an_id_that_is_not_there_is_named(cart: Path, open_command: Open) -> None:
    """The report is then not usable."""
    report = open_command(cart).run(cart, [ALONE, "test/other.test.js::gone"])
    assert report.state is ReportState.UNPARSABLE
    assert "asked for but not reported: test/other.test.js::gone" in report.reason


@needs_node
def test_a_worker_tries_candidates_on_a_copy(cart: Path, open_command: Open) -> None:
    """The tree is not written, the copy is put back after each, and nothing is written outside it."""
    fix = Candidate(
        candidate_id=Digest("0" * 64),
        generator="t",
        edits=(FileEdit(path="cart.js", text=FIXED), FileEdit(path="lib/new.js", text="")),
        description="",
    )
    none = Candidate(candidate_id=Digest("1" * 64), generator="t", edits=(), description="")
    out = Candidate(
        candidate_id=Digest("2" * 64),
        generator="t",
        edits=(FileEdit(path="out/x.js", text=""),),
        description="",
    )
    (cart / "out").symlink_to("/tmp")
    with open_command(cart).worker(cart, [ADDS]) as worker:
        assert worker.attempt(fix).report.passing == (ADDS,)
        assert worker.attempt(none).report.failing == (ADDS,)
        assert worker.attempt(fix, [NOTHING]).report.passing == (NOTHING,)
        assert "outside the tree" in worker.attempt(out).report.reason
        seen = worker.trace(NOTHING, ["cart.js"])
    assert (seen.passed, seen.lines) == (True, {})
    assert (cart / "cart.js").read_text() == CART


LINKED = {
    "a file": "rm src/x.sh && ln -s {out}/x.sh src/x.sh",
    "a folder": "mv src gone && ln -s {out} src",
}


@pytest.mark.parametrize("how", LINKED)
@pytest.mark.parametrize("text", ["new", None])
def test_what_a_test_links_is_not_written_through(
    write: Write, open_command: Open, tmp_path: Path, how: str, text: str | None
) -> None:
    """The copy is put back by who is behind no fence: a file of the user's stays, as does what is beside it."""
    out = tmp_path / "home"
    out.mkdir()
    (out / "x.sh").write_text("mine")
    script = f"{LINKED[how].format(out=out)}; echo 1..1; echo 'ok 1 - a'\n"
    root = write({"src/x.sh": "theirs", "t.sh": script})
    suite = open_command(root, command=("/bin/sh", "t.sh"), report="tap")
    edit = Candidate(
        candidate_id=Digest("0" * 64),
        generator="t",
        edits=(FileEdit(path="src/x.sh", text=text), FileEdit(path="src/y.sh", text="y")),
        description="",
    )
    with suite.worker(root, ["a"]) as worker:
        for _ in range(2):
            worker.attempt(edit)
            assert {p.name: p.read_text() for p in out.iterdir()} == {"x.sh": "mine"}


@needs_node
@pytest.mark.parametrize("tracked", ["node_modules", ""])
def test_a_trial_has_all_that_the_tree_has(cart: Path, open_command: Open, tracked: str) -> None:
    """A folder of the project's called as an environment is; packages, tracked or mounted from the checkout."""
    (cart / "venv").mkdir()
    (cart / "venv" / "sign.js").write_text("export const sign = 1;\n")
    (cart / "node_modules" / "one").mkdir(parents=True)
    (cart / "node_modules" / "one" / "index.js").write_text("module.exports = 1;\n")
    own = "import { sign } from './venv/sign.js';\nimport one from 'one';\n"
    text = own + FIXED.replace("+= p", "+= p * sign * one")
    edits = (FileEdit(path="cart.js", text=text),)
    fix = Candidate(candidate_id=Digest("0" * 64), generator="t", edits=edits, description="")
    suite = open_command(cart, is_tracked=lambda path: path == tracked)
    with suite.worker(cart, [ADDS]) as worker:
        report = worker.attempt(fix).report
    assert report.passing == (ADDS,), report.output


FORGERIES = {
    "prints TAP": "console.log('ok 1 - total\\n1..1');",
    "prints records": 'console.log(\'00 {"n":0,"kind":"end","early":[]}\');',
    "asks for the witness's token": "process.stderr.write(String(process.env.SUREFOOT_WITNESS));",
}
EARLY = {
    "exits at import": "process.exit(0);",
    "exits in the test": "export const total = () => process.exit(0);",
    "exits later": "setImmediate(() => process.exit(0));",
    "exits for real": "export const total = () => process.reallyExit(0);",
    "silences the witness": "process.removeAllListeners('beforeExit'); process.exitCode = 0;",
}


@needs_node
@pytest.mark.parametrize("name", FORGERIES)
def test_what_product_code_prints_adds_no_result(name: str, cart: Path, open_command: Open) -> None:
    """The report is the runner's, which runs in another process."""
    (cart / "cart.js").write_text(FORGERIES[name] + CART)
    report = open_command(cart).run(cart)
    assert (report.state, report.failing) == (ReportState.COMPLETE, (ADDS,))
    assert report.collected == tuple(sorted((ADDS, NOTHING, LATER, ALONE)))


@needs_node
@pytest.mark.parametrize("name", EARLY)
def test_a_process_that_does_not_come_to_its_own_end_is_no_pass(
    name: str, cart: Path, open_command: Open
) -> None:
    """Node itself calls a file that ends early with exit code 0 passed."""
    code = EARLY[name]
    (cart / "cart.js").write_text(code if "total" in code else CART + code)
    report = open_command(cart).run(cart)
    assert (report.state, report.passing) == (ReportState.CRASHED, ())
    assert "test/cart.test.js" in report.reason


@needs_node
def test_a_test_that_product_code_registers_takes_no_tests_place(
    cart: Path, open_command: Open
) -> None:
    """A test is where it is written, and of two with one name the worse keeps it."""
    code = "import { describe, it } from 'node:test';\ndescribe('total', () => it('adds', () => {}));\n"
    (cart / "cart.js").write_text(code + CART)
    assert ADDS not in open_command(cart).run(cart).passing
    (cart / "cart.js").write_text(CART)
    twice = "describe('total', () => it('adds', () => {}));\n"
    (cart / "test" / "cart.test.js").write_text(TEST + twice)
    report = open_command(cart).run(cart)
    assert (report.failing, f"{ADDS} #2" in report.passing) == ((ADDS,), True)


@needs_node
def test_records_in_the_runners_own_output_need_its_key(cart: Path, open_command: Open) -> None:
    """A process of the tests can find the runner's standard output; what it writes there is a forgery."""
    code = (
        "import fs from 'node:fs';\nfs.appendFileSync(`/proc/${process.ppid}/fd/1`, '00 {}\\n');\n"
    )
    (cart / "cart.js").write_text(code + CART)
    report = open_command(cart).run(cart)
    assert (report.state, report.results) == (ReportState.FORGED, ())


@needs_node
@pytest.mark.parametrize(
    ("files", "state"),
    [
        ({"test/cart.test.js": "import nothing here"}, ReportState.COLLECTION_ERROR),
        ({"cart.js": f"{CART}for (;;);"}, ReportState.TIMEOUT),
        ({"test/cart.test.js": None, "test/other.test.js": None}, ReportState.NOTHING_COLLECTED),
        ({"cart.js": f"{CART}process.kill(process.pid, 'SIGKILL');"}, ReportState.COLLECTION_ERROR),
        ({"cart.js": f"{CART}process.kill(process.ppid, 'SIGKILL');"}, ReportState.CRASHED),
    ],
)
def test_broken_hanging_and_missing_tests_are_no_pass(
    files: Mapping[str, str | None], state: ReportState, cart: Path, open_command: Open
) -> None:
    """Each has its own state; a file that cannot be run does not silence the others."""
    suite = open_command(cart, wall_s=3.0)
    for name, text in files.items():
        if text is None:
            (cart / name).unlink()
        else:
            (cart / name).write_text(text)
    report = suite.run(cart)
    assert report.state is state, report.reason
    assert report.reason
    if state is ReportState.COLLECTION_ERROR and "test/other.test.js" not in files:
        assert (report.failing, report.passing) == (("test/cart.test.js",), (ALONE,))
    else:
        assert report.passing == ()


def script(report: str, code: int) -> str:
    return f"#!/bin/sh\ncat > \"$1\" <<'END'\n{report}END\nexit {code}\n"


@pytest.mark.parametrize(
    ("text", "code", "state"),
    [
        ("1..1\nok 1 - a\n", 0, ReportState.COMPLETE),
        ("1..1\nnot ok 1 - a\n", 1, ReportState.COMPLETE),
        ("1..1\nok 1 - a\n", 1, ReportState.UNPARSABLE),
        ("1..1\nnot ok 1 - a\n", 0, ReportState.UNPARSABLE),
        ("1..0\n", 0, ReportState.NOTHING_COLLECTED),
        ("1..2\nok 1 - a\n", 0, ReportState.UNPARSABLE),
        ("", 127, ReportState.TOOL_MISSING),
    ],
)
def test_a_report_counts_only_where_the_exit_code_agrees(
    text: str, code: int, state: ReportState, write: Write, open_command: Open
) -> None:
    """It is read from a file outside the tree that only the command is told of."""
    root = write({"run": script(text, code)})
    (root / "run").chmod(0o755)
    report = open_command(root, command=("./run", "{report}"), report="tap").run(root)
    assert report.state is state, report.reason
    assert bool(report.passing) == (state is ReportState.COMPLETE and code == 0)
    assert sorted(p.name for p in root.iterdir()) == ["run"]


def test_a_program_that_is_gone_is_a_missing_tool(write: Write, open_command: Open) -> None:
    """Also where it went after the command was looked at."""
    root = write({"run": "#!/nonexistent/interpreter\n"})
    (root / "run").chmod(0o755)
    suite = open_command(root, command=("./run",), report="tap")
    (root / "run").unlink()
    assert suite.run(root).state is ReportState.TOOL_MISSING


def in_place_of_go(folder: Path, does: str) -> dict[str, str]:
    """The environment with a program that goes for go."""
    program = folder / "tools" / "bin" / "go"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


def test_what_goes_tests_are_given_comes_last(
    write: Write, open_command: Open, tmp_path: Path
) -> None:
    """Behind all packages, and behind those that are asked for."""
    root = write({"go.mod": "module x\n", "calc/calc_test.go": "package calc\n"})
    environ = in_place_of_go(tmp_path, 'echo "$@" > told')
    command = ("go", "test", "./...", "-args", "-x")
    suite = open_command(root, environ=environ, command=command)
    for tests, packages in ((None, "./..."), (["calc/calc_test.go::TestA"], "./calc")):
        suite.run(root, tests)
        assert (root / "told").read_text().endswith(f" {packages} -args -x\n")


@pytest.mark.parametrize("name", ["build", "dist", "env", "target", "venv"])
def test_a_go_package_may_have_any_name(
    name: str, write: Write, open_command: Open, tmp_path: Path
) -> None:
    """Its test files are read also where other languages keep environments and what they build."""
    package = f"m/internal/{name}"
    events = [("run", "TestA"), ("pass", "TestA"), ("pass", "")]
    said = [json.dumps({"Action": a, "Package": package, "Test": t}) for a, t in events]
    environ = in_place_of_go(tmp_path, "\n".join(f"echo '{line}'" for line in said))
    test = f"internal/{name}/a_test.go"
    root = write({"go.mod": "module m\n", test: "func TestA(t *testing.T) {}\n"})
    report = open_command(root, environ=environ, command=("go", "test")).run(root)
    assert (report.state, report.passing) == (ReportState.COMPLETE, (f"{test}::TestA",)), report


@needs_go
def test_go_tests_are_reported_with_their_files(write: Write, open_command: Open) -> None:
    """What does not build, or ends early, is no pass."""
    head = 'package calc\nimport ("testing"; "os")\n'
    test = "func TestAdd(t *testing.T) { if Add(1, 2) != 3 { t.Fatal(os.Getpid() < 0) } }\n"
    add = "package calc\nfunc Add(a, b int) int { return a %s b }\n"
    files = {"go.mod": "module example.com/m\n", "calc/calc_test.go": head + test}
    root = write({**files, "calc/calc.go": add % "-"})
    suite = open_command(root, wall_s=120.0)
    assert outcomes(suite.run(root)) == {"calc/calc_test.go::TestAdd": "failed"}
    (root / "calc" / "calc.go").write_text(add % "+")
    after = suite.run(root, ["calc/calc_test.go::TestAdd"])
    assert (after.state, after.passing) == (ReportState.COMPLETE, ("calc/calc_test.go::TestAdd",))
    end = 'package calc\nimport "os"\nfunc Add(a, b int) int { os.Exit(0); return 0 }\n'
    (root / "calc" / "calc.go").write_text(end)
    early = suite.run(root)
    assert (early.failing, early.passing) == (("calc/calc_test.go::TestAdd",), ())
    assert "unexpected call to os.Exit(0)" in early.results[0].detail
    (root / "calc" / "calc.go").write_text("package calc\n")
    unbuilt = suite.run(root)
    assert unbuilt.state is ReportState.COLLECTION_ERROR
    assert (unbuilt.failing, unbuilt.passing) == (("calc/calc_test.go",), ())


@needs_cargo
def test_rust_tests_are_reported_with_their_files(write: Write, open_command: Open) -> None:
    """What does not build, or ends early, is no pass."""
    manifest = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'
    add = "pub fn add(a: i32, b: i32) -> i32 { a %s b }\n"
    test = "#[test]\nfn adds() { assert_eq!(calc::add(1, 2), 3); }\n"
    files = {"Cargo.toml": manifest, "tests/sum.rs": test}
    root = write({**files, "src/lib.rs": add % "-"})
    suite = open_command(root, wall_s=120.0)
    before = suite.run(root)
    assert outcomes(before) == {"tests/sum.rs::adds": "failed"}, before.reason
    (root / "src" / "lib.rs").write_text(add % "+")
    assert suite.run(root, ["tests/sum.rs::adds"]).passing == ("tests/sum.rs::adds",)
    (root / "src" / "lib.rs").write_text(
        "pub fn add(_: i32, _: i32) -> i32 { std::process::exit(0) }\n"
    )
    early = suite.run(root)
    assert (early.state, early.passing) == (ReportState.CRASHED, ())
    (root / "src" / "lib.rs").write_text("pub fn add() {}\n")
    assert suite.run(root).state is ReportState.COLLECTION_ERROR


@needs_cargo
def test_new_rust_tests_of_what_the_base_lacks_are_red_on_it(
    write: Write, open_command: Open
) -> None:
    """Each in its own program, of which cargo tries to build one only; what runs on the base is not among them."""
    manifest = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'
    test = "#[test]\nfn sums() { assert_eq!(calc::sum(&[1, 2]), 3); }\n"
    files = {"Cargo.toml": manifest, "src/lib.rs": "", "tests/a.rs": test, "tests/b.rs": test}
    root = write(files)
    suite = open_command(root, wall_s=120.0)
    base = suite.run(root)
    (root / "src" / "lib.rs").write_text("pub fn sum(a: &[i32]) -> i32 { a.iter().sum() }\n")
    result = suite.run(root)
    assert (base.state, base.passing) == (ReportState.COLLECTION_ERROR, ())
    assert result.passing == ("tests/a.rs::sums", "tests/b.rs::sums")
    proof = evidence.new_tests(result.collected, base, result, ())
    assert proof.passed, proof.after
    mended = evidence.target_tests(base.failing, base, result, ())
    assert mended.passed, mended.after
    assert evidence.base_tests(base, result, (), ()).passed
    assert not evidence.new_tests(result.collected, result, result, ()).passed


@needs_cargo
def test_documentation_tests_of_rust_that_cannot_share_a_program_are_read(
    write: Write, open_command: Open
) -> None:
    """From edition 2024 on they run after the others, with a count of their own."""
    docs = """/// ```
/// assert_eq!(calc::one(), 1);
/// ```
/// ```compile_fail
/// let text: i32 = "one";
/// ```
pub fn one() -> i32 { 1 }
"""
    manifest = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2024"\n'
    root = write({"Cargo.toml": manifest, "src/lib.rs": docs})
    report = open_command(root, wall_s=120.0).run(root)
    expected = {"src/lib.rs::doc one": "passed", "src/lib.rs::doc one - compile fail": "passed"}
    assert (report.state, outcomes(report)) == (ReportState.COMPLETE, expected), report.reason

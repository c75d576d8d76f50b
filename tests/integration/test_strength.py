"""Before a run completes, the lines that it changed are mutated, and mutants that no test notices are told."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from bench.tampering import anchored, rechain
from tests.integration.shop import DISCOUNT, ISSUE, RIGHT, TESTS, Shop
from tests.integration.test_run import DONE, FIXED, Bench, Doing, Work, fresh, says, writes

from surefoot.errors import SandboxError
from surefoot.events.envelope import Event, Recorded
from surefoot.events.policy import RoundVerified
from surefoot.events.work import MutantsTried
from surefoot.execute import PythonMutator, Strengthener
from surefoot.gitops import Repository
from surefoot.kernel.ports import Clock, Suite, TrialWorker, TurnOutput
from surefoot.kernel.strength import Meter, in_words, is_strong, unnoticed
from surefoot.project import Places, open_project
from surefoot.suite import PytestSuite, detect, nothing_tracked
from surefoot.testing.clock import FakeClock
from surefoot.values import Classification, FileEdit, Issue, Limits, RunId, RunStatus
from surefoot.verify import verify_run

__all__ = ["fresh"]  # a fixture of another module


def meter(clock: Clock | None = None, **given: float) -> Callable[[Suite], Meter]:
    """What measures on a suite."""
    return lambda suite: Meter(
        mutator=PythonMutator(),
        suite=suite,
        clock=clock or FakeClock(),
        time_s=given.get("time_s", 1e6),
        most=int(given.get("most", 12)),
    )


@pytest.fixture
def bench(fresh: Callable[[], Bench]) -> Bench:  # the fixture
    """A repository with two bugs, and a run that measures."""
    made = fresh()
    made.meter = meter()
    return made


def measured(bench: Bench) -> MutantsTried:
    """What the run recorded, once."""
    (event,) = bench.of(MutantsTried)
    assert isinstance(event, MutantsTried)
    return event


def commit(bench: Bench, files: Mapping[str, str]) -> None:
    """Files of the repository before the run."""
    root = bench.repository.root
    for path, text in files.items():
        (root / path).write_text(text)
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    for args in (("add", "."), ("commit", "-qm", "more")):
        subprocess.run(["git", *who, *args], cwd=root, check=True)
    bench.repository = Repository.discover(root)


def test_mutants_that_no_test_notices_are_named(bench: Bench) -> None:
    """2 * 2, 2 + 2 and 2 ** 2 are all 4: the test of `double` cannot tell them apart, that of `triple` can."""
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE
    tried = measured(bench)
    assert (tried.problem, tried.untried, tried.unread, tried.tests) == ("", 0, (), 3)
    left = {(m.file, m.line, m.patch.splitlines()[-1]) for m in unnoticed(tried)}
    assert {(file, line) for file, line, _ in left} == {("calc.py", 2)}
    assert {m.line for m in tried.mutants} == {2, 6}
    assert all(m.by for m in tried.mutants if m.ended == "killed")
    assert not is_strong(tried)


class Hurrying(FakeClock):
    """A clock that every look moves on by ten seconds."""

    def monotonic(self) -> float:
        """Later each time."""
        self.advance(10)
        return super().monotonic()


def test_what_there_was_no_time_for_is_no_strength(bench: Bench) -> None:
    """Two mutants of many were tried and noticed; that the others were not is said."""
    bench.meter = meter(Hurrying(), time_s=25)
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE
    tried = measured(bench)
    assert (len(tried.mutants), tried.problem) == (2, "the time for it was up")
    assert tried.untried > 0
    assert not is_strong(tried)
    assert f"{tried.untried} not tried" in in_words(tried)


READS_TEXT = """from pathlib import Path

import calc


def test_text():
    assert "return x * 2" in Path(calc.__file__).read_text()
"""


def test_a_test_that_reads_the_code_kills_nothing(bench: Bench) -> None:
    """It fails on wider gaps too, so that it fails on a mutant says nothing about what the code does."""
    commit(bench, {"tests/test_text.py": READS_TEXT})
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE
    tried = measured(bench)
    assert tried.tests == 3
    assert not [m for m in tried.mutants if "tests/test_text.py::test_text" in m.by]


def writes_both(*files: tuple[str, str]) -> Work:
    """Write several files."""
    return lambda _task: ([FileEdit(path=p, text=t) for p, t in files], DONE)


def test_code_of_other_languages_is_told_as_not_measured(bench: Bench) -> None:
    """A script that changed beside the Python code keeps the tests from being called strong."""
    both = writes_both(("calc.py", FIXED), ("page.js", "let x = 1\n"))
    assert bench.run(both) is RunStatus.COMPLETE
    tried = measured(bench)
    assert tried.unread == ("page.js",)
    assert "not measured: page.js" in in_words(tried)
    assert not is_strong(tried)


@dataclass
class Broken:
    """A suite whose trial worker cannot be started."""

    real: PytestSuite

    def __getattr__(self, name: str) -> object:
        """All else is the real one's."""
        return getattr(self.real, name)

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        """Fail as a sandbox does."""
        raise SandboxError("the worker does not start")


def test_a_worker_that_breaks_is_no_strength(bench: Bench) -> None:
    """The run completes, and its report says why nothing is known of its tests."""
    bench.meter = lambda suite: meter()(Broken(suite))  # type: ignore[arg-type]
    assert bench.run(writes("calc.py", FIXED)) is RunStatus.COMPLETE
    tried = measured(bench)
    assert not tried.mutants
    assert tried.problem == "the mutants could not be tried: the worker does not start"
    assert not is_strong(tried)


# --- strictly ------------------------------------------------------------------------------------


SIGN = "def sign(x):\n    return 1 if x > 0 else 1\n"
SIGN_FIXED = SIGN.replace("else 1", "else -1")
SIGN_TESTS = """from calc import sign


def test_large():
    assert sign(3) == 1


def test_small():
    assert sign(-3) == -1
"""
AT_ZERO = "from calc import sign\n\n\ndef test_zero():\n    assert sign(0) == -1\n"
AT_ONE = "from calc import sign\n\n\ndef test_one():\n    assert sign(1) == 1\n"
AT_TWO = "from calc import sign\n\n\ndef test_two():\n    assert sign(2) == 1\n"


@pytest.fixture
def strict(bench: Bench) -> Bench:
    """A run that is complete only when the tests notice every mutant; no test calls `sign` with 0 or 1."""
    commit(bench, {"calc.py": SIGN, "tests/test_calc.py": SIGN_TESTS})
    bench.issue = Issue(source="text", text="`sign` is wrong for negative numbers")
    bench.strict = True
    return bench


def test_the_tests_that_are_missing_are_written_before_it_completes(strict: Bench) -> None:
    """A new test that the base passes too counts when a mutant fails it, and work that lacks it is kept, not complete."""
    status = strict.run(
        writes("calc.py", SIGN_FIXED),
        writes("tests/test_zero.py", AT_ZERO),
        writes("tests/test_one.py", AT_ONE),
    )
    assert status is RunStatus.COMPLETE, strict.reason
    assert [(t.ended_as, t.classification) for t in strict.turns] == [
        ("commit", Classification.PROGRESS),
        ("commit", Classification.PROGRESS),
        ("commit", Classification.COMPLETE),
    ]
    first, second, last = strict.of(MutantsTried)
    assert isinstance(first, MutantsTried)
    assert isinstance(second, MutantsTried)
    assert isinstance(last, MutantsTried)
    assert len(unnoticed(first)) > len(unnoticed(second)) > len(unnoticed(last)) == 0
    assert is_strong(last)
    assert last.apart == ("tests/test_one.py::test_one",)
    (checked,) = strict.of(RoundVerified)
    assert isinstance(checked, RoundVerified)
    assert [e.kind for e in checked.evidence][-1] == "test-strength"
    assert all(e.passed for e in checked.evidence)


UNHELPFUL: Mapping[str, Work] = {
    "a test that notices nothing": writes("tests/test_two.py", AT_TWO),
    "words": says(DONE),
    "nothing": says(TurnOutput(transcript="", claim="none")),
}


@pytest.mark.parametrize("name", list(UNHELPFUL))
def test_mutants_that_stay_unnoticed_are_the_blocker(strict: Bench, name: str) -> None:
    """What was mended is kept, and the reason names the places; nothing else is said to be wrong."""
    assert strict.run(writes("calc.py", SIGN_FIXED), UNHELPFUL[name]) is RunStatus.BLOCKED
    assert strict.reason.startswith("test-strength: ")
    assert "calc.py:2 survived" in strict.reason
    assert [t.ended_as for t in strict.turns].count("commit") == 1
    assert strict.turns[-1].tree == strict.turns[0].tree


def test_what_could_not_be_measured_does_not_complete(strict: Bench) -> None:
    """A worker that does not start ends a strict run with that reason, at once."""
    strict.meter = lambda suite: meter()(Broken(suite))  # type: ignore[arg-type]
    assert strict.run(writes("calc.py", SIGN_FIXED)) is RunStatus.BLOCKED
    assert "the mutants could not be tried: the worker does not start" in strict.reason
    assert len(strict.turns) == 1


def test_a_strict_run_writes_the_tests_itself(tmp_path: Path) -> None:
    """By rule, from calls that the tests show: what the code gives where its mutants give something else.

    It is replayed and verified like any other run.
    """
    shop = Shop(tmp_path, TESTS + DISCOUNT, settings=PATIENT)
    rules = [{"pattern": "Function `total`", "reply": RIGHT}]
    run = shop.run("solve", ISSUE, "--strict", "--model", shop.scripted(rules))
    assert run["status"] == "complete", run["reason"]
    strength = run["strength"]
    assert isinstance(strength, dict)
    assert (strength["strong"], strength["unnoticed"]) == (True, [])
    files = run["files"]
    assert isinstance(files, list)
    (new,) = [str(f) for f in files if f != "shop.py"]
    assert "assert total(" in shop.show(f"{run['commit']}:{new}")
    replayed, verified = shop.surefoot("replay"), shop.surefoot("verify")
    assert (replayed.returncode, verified.returncode) == (0, 0), replayed.stderr + verified.stderr


CART = """class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self, limit):
        return sum(p for p in self.prices if p < limit)
"""
CART_TESTS = """from shop import Cart


def test_all():
    assert Cart([1, 2]).total(5) == 3


def test_limit():
    assert Cart([1, 2]).total(2) == 3
"""
ABOVE = "above():\n    assert Cart([1, 9]).total(5) == 1\n"


def test_what_nobody_finds_here_is_left_to_the_agent(bench: Bench) -> None:
    """The executor inside mends the code, and is given the turn again when neither rule nor model finds a test."""
    commit(bench, {"calc.py": CART, "tests/test_calc.py": CART_TESTS.replace("shop", "calc")})
    bench.issue, bench.strict = Issue(source="text", text="`total` leaves the limit out"), True
    plan = detect(
        bench.repository.root,
        python=sys.executable,
        command=None,
        environ={},
        is_tracked=nothing_tracked,
    )
    bench.suite = PytestSuite(
        plan,
        bench.processes,
        original=bench.repository.root,
        scratch=bench.tmp,
        limits=Limits(wall_s=600),
    )
    above = "from calc import Cart\n\n\ndef test_above():\n    assert Cart([1, 9]).total(5) == 1\n"
    inside = Doing(
        [
            writes("calc.py", CART.replace("p < limit", "p <= limit")),
            writes("tests/test_above.py", above),
        ]
    )
    assert bench.start(Strengthener(inside, bench.suite, goes_on=True)) is RunStatus.COMPLETE
    assert len(inside.models) == 2
    assert [t.ended_as for t in bench.turns] == ["commit", "commit"]


def test_a_model_that_fails_leaves_the_mutants_told(tmp_path: Path) -> None:
    """Its empty answer ends the run, and the reason names what is missing, too."""
    shop = Shop(tmp_path, CART_TESTS, settings=PATIENT, code=CART)
    model = shop.scripted([{"pattern": "No test notices this wrong change", "reply": "```"}])
    run = shop.run("solve", "--test", "test_shop.py::test_limit", "--strict", "--model", model)
    assert run["status"] == "blocked"
    assert "shop.py:6 survived" in str(run["reason"])


def test_the_model_is_asked_for_what_no_rule_can_write(tmp_path: Path) -> None:
    """Nobody can write an object down; the model writes a test that passes on the base, too, and notices a mutant."""
    shop = Shop(tmp_path, CART_TESTS, settings=PATIENT, code=CART)
    model = shop.scripted([{"pattern": "No test notices this wrong change", "reply": ABOVE}])
    failing = "test_shop.py::test_limit"
    run = shop.run("solve", "--test", failing, "--strict", "--model", model)
    assert run["status"] == "complete", run["reason"]
    files = run["files"]
    assert isinstance(files, list)
    (new,) = [str(f) for f in files if f != "shop.py"]
    assert "assert Cart([1, 9]).total(5) == 1" in shop.show(f"{run['commit']}:{new}")


# --- as a user sees it ---------------------------------------------------------------------------

PATIENT = "\n[test]\nmutants_s = 3000.0\n\n[run]\ntime_limit_s = 6000.0\n"
"""Time that no busy machine uses up."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, dict[str, object]]:
    """A run whose tests do not notice to how many digits is rounded."""
    shop = Shop(tmp_path_factory.mktemp("shop"), TESTS + DISCOUNT, settings=PATIENT)
    return shop, shop.solve([{"pattern": "Function `total`", "reply": RIGHT}])


def test_a_run_tells_what_its_tests_would_miss(shop: tuple[Shop, dict[str, object]]) -> None:
    """In the summary, the report, `show`, `gates` and `explain`: the mutant, its place and its diff."""
    place, run = shop
    assert run["status"] == "complete", run["reason"]
    strength = run["strength"]
    assert isinstance(strength, dict)
    assert (strength["strong"], strength["problem"]) == (False, "")
    assert strength["noticed"] + len(strength["unnoticed"]) == strength["tried"]
    digits = [m for m in strength["unnoticed"] if ", 3)" in m["patch"]]
    assert [(m["file"], m["line"], m["ended"]) for m in digits] == [("shop.py", 8, "survived")]
    shown = place.surefoot("show").stdout
    assert "## Strength of the tests" in shown
    assert "+    return round(sum(prices) * (100 - discount) / 100, 3)" in shown
    gates = place.surefoot("gates").stdout
    assert f"strength of the tests: {strength['told']}" in gates
    assert "survived  shop.py:8" in gates
    assert place.run("gates")["strength"] == strength
    assert f"strength of the tests: {strength['told']}" in place.surefoot("explain").stdout


def test_it_is_derived_again(shop: tuple[Shop, dict[str, object]]) -> None:
    """`replay` tries the same mutants with the same end; `verify` makes the same ones from the trees."""
    place, _ = shop
    replayed, verified = place.surefoot("replay"), place.surefoot("verify")
    assert (replayed.returncode, verified.returncode) == (0, 0), replayed.stderr + verified.stderr


def test_a_record_that_leaves_a_mutant_out_is_named(
    shop: tuple[Shop, dict[str, object]], tmp_path: Path
) -> None:
    """Chained anew and anchored, so that only the mutants, made again, tell."""
    place, run = shop
    shutil.copytree(place.root.parent, tmp_path / "copy", symlinks=True)
    home = tmp_path / "copy" / "home"
    project = open_project(
        tmp_path / "copy" / "shop", Places(state=home / "state", cache=home / "cache")
    )
    run_id = RunId(str(run["run_id"]))

    def praised(recorded: Recorded) -> Event:
        event = recorded.event
        if not isinstance(event, MutantsTried):
            return event
        return replace(event, mutants=tuple(m for m in event.mutants if m.is_noticed))

    anchored(project, run_id, rechain(project, run_id, praised))
    fault = verify_run(project, run_id).fault
    assert fault is not None
    assert "(mutants.tried): untried was 0" in fault

"""`surefoot run`: a plan's units side by side, merged in its order, proved on the merged tree."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.shelf import FILES, Shelf, fixes, plan_of, three_units

from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import RunOpened, TurnClosed
from surefoot.events.plans import ChildEnded, ChildStarted, PartVerified
from surefoot.gitops import Repository
from surefoot.ledger import read_events
from surefoot.testing.manifest import manifest
from surefoot.values import UnitType

pytestmark = pytest.mark.campaign

NAMES = ("area", "count", "largest")
PATIENT = "\n[test]\nmutants_s = 3000.0\n\n[run]\ntime_limit_s = 6000.0\n"
"""Time that no busy machine uses up."""


class Done:
    """A plan of three independent defects in two milestones, run with three workers."""

    def __init__(self, folder: Path) -> None:
        self.shelf = Shelf(folder)
        (self.shelf.root / "notes of mine.txt").write_text("untracked\n")
        self.before = self.checkout()
        path = self.shelf.plan(three_units())
        done = self.shelf.surefoot(
            "run", str(path), "--jobs", "3", "--json", "--model", self.shelf.model
        )
        assert done.returncode == 0, done.stdout + done.stderr
        self.summary: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        self.run_id: str = self.summary["run_id"]

    def checkout(self) -> object:
        """The user's checkout, byte for byte."""
        return manifest(Repository.discover(self.shelf.root), home=self.shelf.folder / "home")

    @property
    def folder(self) -> Path:
        return self.shelf.root / ".surefoot" / "runs" / self.run_id

    def events(self, run_id: str = "") -> tuple[Recorded, ...]:
        """The ledger of the plan's run, or of a unit's."""
        path = self.folder.parent / (run_id or self.run_id) / "events.jsonl"
        return tuple(read_events(path))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """Run once; the tests only read, but for the last one, which accepts."""
    return Done(tmp_path_factory.mktemp("plan"))


def test_three_defects_become_three_units_that_end_complete(done: Done) -> None:
    """Each unit is a run of its own with its own evidence, linked both ways; their work is one verified branch."""
    ended = [r.event for r in done.events() if isinstance(r.event, ChildEnded)]
    assert {e.unit_id for e in ended} == {f"U-{name}" for name in NAMES}
    for child in ended:
        assert child.status == "complete"
        own = done.events(child.run)
        assert own[-1].hash == child.ledger_head
        assert own[0].event.parent == done.run_id  # type: ignore[union-attr]
    tests = done.shelf.git("grep", "-c", "", f"refs/heads/surefoot/{done.run_id}", "--", "shelf")
    assert tests.count("shelf/") == 3
    assert {e["kind"] for e in done.summary["evidence"]} >= {"failing-tests", "base-tests"}
    assert all(e["passed"] for e in done.summary["evidence"])


def test_units_of_a_milestone_overlap_and_the_next_waits(done: Done) -> None:
    """The two units of the first milestone ran at once; the second milestone began when the first was verified."""
    order = [
        r.event
        for r in done.events()
        if isinstance(r.event, ChildStarted | ChildEnded | PartVerified)
    ]
    kinds = [
        (type(e).__name__, getattr(e, "unit_id", None) or getattr(e, "part", "")) for e in order
    ]
    assert set(kinds[:2]) == {("ChildStarted", "U-area"), ("ChildStarted", "U-count")}
    verified = kinds.index(("PartVerified", "shelf-plan/M1"))
    assert kinds.index(("ChildStarted", "U-largest")) > verified


def test_merges_come_in_the_plans_order(done: Done) -> None:
    """Whoever was ready first, work is merged as the plan lists it."""
    merged = [r.event.unit_id for r in done.events() if isinstance(r.event, TurnClosed)]
    assert merged == ["U-area", "U-count", "U-largest"]


def test_the_users_checkout_is_as_it_was(done: Done) -> None:
    """Nothing outside the worktrees of the runs has changed."""
    assert done.checkout() == done.before


def test_each_requirement_points_at_passing_tests(done: Done) -> None:
    """TRACE.md names a passing test for every requirement, and nothing that is not shown."""
    rows = (done.folder / "TRACE.md").read_text().splitlines()[4:]
    assert len(rows) == 3
    for row, name in zip(rows, NAMES, strict=True):
        assert f"R-{name}" in row
        assert f"`tests/test_{name}.py`" in row
        assert row.endswith("| - |")


def test_status_explain_and_verify_lead_to_the_units(done: Done) -> None:
    """`status` shows every part as done, `explain` names the runs, `verify` holds theirs, too."""
    shown = json.loads(done.shelf.surefoot("status", "--json").stdout)
    assert [p["state"] for p in shown["parts"]] == ["done", "done"]
    assert [u["name"] for p in shown["parts"] for s in p["parts"] for u in s["parts"]] == [
        f"U-{name}" for name in NAMES
    ]
    told = done.shelf.surefoot("explain").stdout
    assert f"surefoot explain {done.run_id}.U-area.1" in told
    assert done.shelf.surefoot("verify").returncode == 0


def test_a_unit_whose_ledger_was_cut_fails_the_verification_of_the_plan(
    done: Done, tmp_path: Path
) -> None:
    """The plan's run knows the last line of each unit's ledger."""
    path = done.folder.parent / f"{done.run_id}.U-area.1" / "events.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    try:
        answer = done.shelf.surefoot("verify")
        assert answer.returncode == 10
        assert "U-area" in answer.stderr
    finally:
        path.write_bytes(whole)


def test_accept_leaves_one_commit_a_milestone(done: Done) -> None:
    """Two milestones are two commits on the user's branch, the first with the first milestone's work only."""
    answer = done.shelf.surefoot("accept")
    assert answer.returncode == 0, answer.stderr
    subjects = done.shelf.git("log", "--format=%s").splitlines()
    assert subjects == ["Milestone M2", "Milestone M1", "first"]
    head = done.shelf.git("rev-parse", "HEAD").strip()
    assert f"accepted as {head} on refs/heads/" in done.shelf.surefoot("status").stdout
    assert done.shelf.git("diff", "--name-only", "HEAD~1", "HEAD") == "shelf/largest.py"
    assert done.shelf.git("diff", "--name-only", "HEAD~2", "HEAD~1").split() == [
        "shelf/area.py",
        "shelf/count.py",
    ]


def test_a_unit_that_only_looks_tells_those_that_need_it(tmp_path: Path) -> None:
    """It is a read-only run of its own; what it found stands in the task of the unit that needs it."""
    shelf = Shelf(tmp_path, {**FILES, "shelf/extra.py": "import os\n"})
    look = replace(
        fixes("look"),
        unit_type=UnitType.AUDIT,
        requirements=("R-count",),
        verification=("surefoot audit",),
        reads=("shelf/extra.py",),
        writes=(),
    )
    path = shelf.plan(plan_of(look, fixes("count", needs=("look",))))
    done = shelf.surefoot("run", str(path), "--json", "--model", shelf.model)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    runs = shelf.root / ".surefoot" / "runs"
    events = tuple(read_events(runs / summary["run_id"] / "events.jsonl"))
    first = next(e.event for e in events if isinstance(e.event, ChildStarted))
    assert (first.node, first.unit_id) == ("subagent", "U-look")
    own = next(iter(read_events(runs / f"{summary['run_id']}.U-count.1" / "events.jsonl"))).event
    assert isinstance(own, RunOpened)
    assert "shelf/extra.py:1" in own.issue.text
    assert summary["files"] == ["shelf/count.py"]


CART = """class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self, limit):
        return sum(p for p in self.prices if p < limit)
"""
CART_TESTS = """from shelf.cart import Cart


def test_all():
    assert Cart([1, 2]).total(5) == 3


def test_limit():
    assert Cart([1, 2]).total(2) == 3
"""
ABOVE = "above():\n    assert Cart([1, 9]).total(5) == 1\n"
"""Passes on the base, too; without it nobody notices when `total` leaves nothing out."""


def test_a_strict_plan_holds_the_merged_work_to_its_tests(tmp_path: Path) -> None:
    """A unit's test that is there for what it notices is merged; at the end the mutants of all units are tried again."""
    files = {**FILES, "shelf/cart.py": CART, "tests/test_cart.py": CART_TESTS}
    shelf = Shelf(tmp_path, {**files, "surefoot.toml": f"{FILES['surefoot.toml']}{PATIENT}"})
    rules = [
        {"pattern": "No test notices this wrong change", "reply": ABOVE},
        {
            "pattern": "Function `area`",
            "reply": "def area(width, height):\n    return width * height",
        },
    ]
    (tmp_path / "model.json").write_text(json.dumps({"schema": 1, "rules": rules}))
    cart = replace(fixes("cart"), writes=("shelf/cart.py", "tests/*"))
    path = shelf.plan(plan_of(cart, fixes("area")))
    done = shelf.surefoot("run", str(path), "--strict", "--json", "--model", shelf.model)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout.splitlines()[-1])
    runs = shelf.root / ".surefoot" / "runs"
    events = [r.event for r in read_events(runs / summary["run_id"] / "events.jsonl")]
    first, second = (e for e in events if isinstance(e, ChildEnded))
    (noticing,) = first.noticing
    assert second.noticing == ()
    assert noticing.partition("::")[0] in summary["files"]
    assert [e["kind"] for e in summary["evidence"]][-1] == "test-strength"
    strength = summary["strength"]
    assert (strength["strong"], strength["unnoticed"]) == (True, [])
    assert strength["tried"] == sum(mutants(runs / e.run) for e in (first, second))
    verified = shelf.surefoot("verify")
    assert verified.returncode == 0, verified.stderr


def mutants(run: Path) -> int:
    """How many a unit's own run tried."""
    tried: int = json.loads((run / "summary.json").read_text())["strength"]["tried"]
    return tried

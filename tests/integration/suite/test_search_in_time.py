"""The search over plain edits looks at the clock between its parts, in a real worker."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import cast

from tests.integration.suite.conftest import ADD, CALC, TEST_CALC, Open
from tests.turns import first_turn

from surefoot.events.work import CandidatesRejected
from surefoot.execute.repair.evidence import Evidence, Probing, Witnesses
from surefoot.execute.repair.ground import Files, Ports
from surefoot.execute.repair.hunt import Case, Hunt
from surefoot.execute.repair.limits import RepairLimits
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.trials import Trials
from surefoot.execute.source import parse, units
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import TurnInput, Workspace
from surefoot.models.scripted import ScriptedModel
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    Ceilings,
    Complexity,
    Issue,
    PlanIR,
    ReportState,
    TestReport,
    Unit,
    UnitId,
    UnitType,
)


def turn() -> TurnInput:
    """The turn of a unit for the one failing test."""
    unit = Unit(
        unit_id=UnitId("fix-1"),
        unit_type=UnitType.FIX,
        strategy="repair",
        issue=Issue(source="test", tests=(ADD,)),
        plan=PlanIR(
            analysis="",
            steps=(),
            verification=(),
            complexity=Complexity.LOW,
            confidence=1.0,
        ),
        failing=(ADD,),
    )
    return first_turn(unit, TestReport(command=(), state=ReportState.COMPLETE, exit_code=1))


def test_when_the_time_is_up_no_further_suspect_is_looked_at(calc: Path, open_suite: Open) -> None:
    """Its edits alone may take longer than the whole run has."""
    product, tests = parse("calc.py", CALC), parse("tests/test_calc.py", TEST_CALC)
    assert product is not None
    assert tests is not None
    suspects = tuple(
        Suspect(path="calc.py", unit=unit, score=1.0, lines={}) for unit in units(product)[::-1]
    )
    files = Files(product={"calc.py": product}, tests={tests.path: tests}, paths=("calc.py",))
    clock = FakeClock()
    ledger = MemoryLedger(clock=clock)
    journal = Journal(ledger, clock)
    ceilings = Ceilings(max_iterations=1, time_s=60.0, max_files=1)
    left_s = itertools.chain([1.0], itertools.repeat(0.0))
    suite = open_suite(calc)
    with suite.worker(calc, [ADD]) as worker:
        probing = Probing({}, lambda _: worker)
        ports = Ports(
            task=replace(turn(), left_s=lambda: next(left_s)),
            suite=suite,
            workspace=cast("Workspace", None),  # a search writes nothing
            asker=MeteredModel(ScriptedModel([], default=""), journal, ceilings, clock),
            notebook=journal,
        )
        trials = Trials(worker, journal, failing=[ADD], wider=(), known={})
        case = Case(
            files=files, suspects=suspects, failing=(), issue="", traced=(), seed=0, max_files=1
        )
        witnesses = Witnesses(probing=probing, worker=worker, failing=(ADD,), neighbours=())
        evidence = Evidence(files, suspects, witnesses)
        choice = Hunt(case, RepairLimits(), trials, evidence, probing, ports).run()
    events = [r.event for r in ledger.events()]
    searched = {e.what for e in events if isinstance(e, CandidatesRejected)}
    assert searched == {"single edits of calc.py::clamp"}
    assert choice.taken is None

"""How often the solver judges a turn wrongly: `python -m bench.solver [--model]`.

The turns in `tests/data/solver/*.jsonl` are labelled by hand; those of `blind.jsonl` by somebody who had not seen the rules.
Prints a confusion matrix, and what it comes to: a **false accept** is a refusal, a no-op or a false claim that counts as
progress or complete; a **false reject** is real work that counts as anything else.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from bench.local_model import embedded
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import Model, Observation, TurnOutput
from surefoot.solver import RuleSolver
from surefoot.solver.classify import Verdict, classify
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    Ceilings,
    Checkpoint,
    CheckpointOutcome,
    Classification,
    Complexity,
    Diff,
    Evidence,
    FileChange,
    Issue,
    ModelFailure,
    ModelFault,
    PlanIR,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
    TreeId,
    Unit,
    UnitId,
    UnitType,
)

DATA: Final = Path(__file__).parents[1] / "tests" / "data" / "solver"
FIRST: Final = "false-claim-first"
"""A first refuted claim: told so and asked to go on, where the second is a blocker."""
IDLE: Final = {"executor-refused", "executor-noop", "blocker-false-claim", FIRST}
WORK: Final = {"progress", "complete"}
_START, _AFTER = TreeId("a" * 40), TreeId("b" * 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn with its true label."""

    name: str
    label: str
    note: str
    seen: Observation


def turns(folder: Path = DATA) -> Iterator[Turn]:
    """All labelled turns."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            plain = json.loads(line)
            yield Turn(
                name=plain["id"], label=plain["label"], note=plain["note"], seen=_observation(plain)
            )


def told(verdict: Verdict) -> str:
    """The label that a verdict stands for."""
    first = verdict.outcome is CheckpointOutcome.CONTINUE
    if verdict.classification is Classification.BLOCKER_FALSE_CLAIM and first:
        return FIRST
    return verdict.classification.value


def _observation(plain: Mapping[str, Any]) -> Observation:
    before = _report(plain["before"])
    after = _report(plain["after"]) if plain["after"] is not None else None
    files = tuple(
        FileChange(path=f["path"], status="M", added=f["added"], removed=f["removed"])
        for f in plain["diff_files"]
    )
    diff = Diff(before=_START, after=_AFTER if files else _START, files=files, patch="")
    return Observation(
        unit=_unit(plain["before"]["failing"]),
        number=len(plain["history"]) + 1,
        model="m",
        output=_output(plain),
        diff=diff,
        seen_diffs=(diff.after,) if plain["seen_tree"] else (),
        before=before,
        after=after,
        after_event=None,
        history=tuple(
            Checkpoint(
                outcome=CheckpointOutcome(c["outcome"]),
                classification=Classification(c["classification"]),
                summary=c["summary"],
            )
            for c in plain["history"]
        ),
        facts=tuple(plain["facts"]),
        evidence=_evidence(before, after) if after is not None else (),
    )


def _output(plain: Mapping[str, Any]) -> TurnOutput:
    failure = plain["failure"]
    return TurnOutput(
        transcript=plain["transcript"],
        claim=plain["claim"],
        effective_actions=plain["effective_actions"],
        failure=failure
        and ModelFailure(fault=ModelFault(failure["fault"]), message=failure["message"], model="m"),
    )


def _report(plain: Mapping[str, Sequence[str]]) -> TestReport:
    results = [TestResult(test_id=t, outcome=TestOutcome.FAILED) for t in plain["failing"]]
    results += [TestResult(test_id=t, outcome=TestOutcome.PASSED) for t in plain["passing"]]
    return TestReport(
        command=("pytest",),
        state=ReportState.COMPLETE,
        exit_code=int(bool(plain["failing"])),
        results=tuple(results),
    )


def _evidence(before: TestReport, after: TestReport) -> tuple[Evidence, ...]:
    """What the kernel would have proved."""
    broken = sorted(set(before.passing) - set(after.passing))
    missing = sorted(set(before.failing) - set(after.passing))
    return (
        _proof("base-tests", broken),
        _proof("failing-tests", missing),
    )


def _proof(kind: Literal["base-tests", "failing-tests"], bad: Sequence[str]) -> Evidence:
    after = f"not passing: {', '.join(bad)}" if bad else "all pass"
    return Evidence(kind=kind, command="pytest", before="", after=after, passed=not bad)


def _unit(failing: Sequence[str]) -> Unit:
    plan = PlanIR(
        analysis="",
        steps=(),
        verification=tuple(failing),
        complexity=Complexity.LOW,
        confidence=1.0,
    )
    return Unit(
        unit_id=UnitId("fix-1"),
        unit_type=UnitType.FIX,
        strategy="repair",
        issue=Issue(source="text", text="it breaks"),
        plan=plan,
        failing=tuple(failing),
    )


def main() -> None:
    """Print the matrix, the rates, and each turn that was judged wrongly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only turns whose id begins so")
    parser.add_argument("--model", action="store_true", help="ask the embedded model too")
    options = parser.parse_args()
    labelled = [t for t in turns() if t.name.startswith(options.only)]
    judged = [(t, classify(t.seen)) for t in labelled]
    _print("by rules alone", judged)
    if options.model:
        _print("by rules and the embedded model", with_model(labelled, embedded()))


def with_model(labelled: Sequence[Turn], model: Model) -> list[tuple[Turn, Verdict]]:
    """What the whole solver says, which asks the model where its rules are not certain."""
    judged = []
    for turn in labelled:
        journal = Journal(MemoryLedger(), FakeClock())
        ceilings = Ceilings(max_iterations=1, time_s=3600.0, max_files=1)
        asker = MeteredModel(model, journal, ceilings, FakeClock())
        word = RuleSolver().judge(turn.seen, asker, journal)
        verdict = Verdict(
            classification=word.classification,
            outcome=word.outcome,
            summary=word.summary,
            certain=word.decided_by != "model",
        )
        judged.append((turn, verdict))
    return judged


def _print(how: str, judged: Sequence[tuple[Turn, Verdict]]) -> None:
    pairs = Counter((t.label, told(v)) for t, v in judged)
    print(f"{len(judged)} turns, {how}\n\n{'label':<26} {'judged':<26} turns")
    for (label, word), count in sorted(pairs.items()):
        print(f"{label:<26} {word if word != label else 'the same':<26} {count:>5}")
    accepted = sum(n for (label, word), n in pairs.items() if label in IDLE and word in WORK)
    rejected = sum(n for (label, word), n in pairs.items() if label in WORK and word not in WORK)
    idle = sum(n for (label, _), n in pairs.items() if label in IDLE)
    work = sum(n for (label, _), n in pairs.items() if label in WORK)
    print(f"\nfalse accepts {accepted} of {idle}, false rejects {rejected} of {work}")
    unsure = sum(not v.certain for _, v in judged)
    print(f"the model's business, because the rules are not certain: {unsure}\n")
    for turn, verdict in judged:
        if told(verdict) != turn.label:
            sure = "" if verdict.certain else " (not certain)"
            print(f"{turn.name} {turn.label}, judged {told(verdict)}{sure}: {turn.note}")


if __name__ == "__main__":
    main()

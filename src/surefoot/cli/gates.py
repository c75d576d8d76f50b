"""`surefoot gates`: what the gates of a run decided, and on which evidence."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from surefoot.cli.common import (
    NO,
    JsonOption,
    RepoOption,
    RunArgument,
    command,
    open_here,
    print_json,
)
from surefoot.cli.screen import print_line
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from surefoot.events.envelope import Recorded
    from surefoot.events.policy import BoundariesChecked, RoundDecided
    from surefoot.events.work import MutantsTried


@command
def gates(run: RunArgument = None, repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """Show STOP or GO with the evidence of each decision gate, what changed at the boundaries, and each turn's gates."""
    from surefoot.events.policy import BoundariesChecked, RoundDecided
    from surefoot.kernel.state import fold
    from surefoot.ledger import read_events

    project = open_here(repo)
    run_id = project.find_run(run)
    events = tuple(read_events(project.ledger_file(run_id)))
    rounds = [e.event for e in events if isinstance(e.event, RoundDecided)]
    checked = [e.event for e in events if isinstance(e.event, BoundariesChecked)]
    if not rounds:
        raise UsageError(
            f"run {run_id} ended before a round was decided; `surefoot explain {run_id}` says why"
        )
    tried = fold(events).mutants.get(rounds[-1].tree)
    if json:
        print_json({"run_id": run_id, **_whole(rounds[-1], checked[-1], tried, events)})
    else:
        _show(rounds[-1], checked[-1], tried, events)
    if not rounds[-1].go:
        raise typer.Exit(NO)


def _whole(
    last: "RoundDecided",
    checked: "BoundariesChecked",
    tried: "MutantsTried | None",
    events: "Sequence[Recorded]",
) -> dict[str, object]:
    from surefoot.report import strength_summary

    return {
        "decision": _word(last),
        "round": last.number,
        "tree": last.tree,
        "files": list(checked.files),
        "boundaries": [
            {"kind": b.kind, "place": b.place, "contract": b.contract, "problem": b.problem}
            for b in checked.boundaries
        ],
        "strength": None if tried is None else strength_summary(tried),
        "gates": [
            {
                "gate": g.gate,
                "passed": g.passed,
                "asks": g.asks,
                "reason": g.reason,
                "evidence": list(g.events),
            }
            for g in last.gates
        ],
        "turns": [
            {"turn": turn, "gate": name, "outcome": outcome, "reason": reason}
            for turn, name, outcome, reason in _turns(events)
        ],
    }


def _show(
    last: "RoundDecided",
    checked: "BoundariesChecked",
    tried: "MutantsTried | None",
    events: "Sequence[Recorded]",
) -> None:
    from surefoot.kernel.strength import in_words, unnoticed

    print_line(f"{_word(last)}  round {last.number}, tree {last.tree[:12]}")
    for gate in last.gates:
        print_line(f"  {gate.gate} {'PASS' if gate.passed else 'FAIL'}  {gate.asks}")
        print_line(f"          {gate.reason}")
        if gate.events:
            print_line(f"          evidence: {', '.join(gate.events)}")
    print_line(f"changed: {', '.join(checked.files) or 'nothing'}")
    for boundary in checked.boundaries:
        told = f": {boundary.problem}" if boundary.problem else ""
        word = "BROKEN" if boundary.problem else "holds"
        print_line(f"  {word:<6} {boundary.kind:<9} {boundary.place}  {boundary.contract}{told}")
    print_line(f"strength of the tests: {in_words(tried) if tried else 'not measured'}")
    for mutant in unnoticed(tried) if tried else ():
        rows = (row for row in mutant.patch.splitlines()[2:] if row.startswith(("-", "+")))
        print_line(f"  {mutant.ended}  {mutant.file}:{mutant.line}  {'  '.join(rows)}")
    for turn, name, outcome, reason in _turns(events):
        print_line(f"turn {turn}  {name:<12} {outcome:<16} {reason}")


def _turns(events: "Sequence[Recorded]") -> "list[tuple[str, str, str, str]]":
    """The six gates of every turn, in order."""
    from surefoot.events.orchestration import GateDecided

    return [
        (
            str(e.turn_id),
            e.event.result.gate.value,
            e.event.result.outcome.value,
            e.event.result.reason,
        )
        for e in events
        if isinstance(e.event, GateDecided)
    ]


def _word(last: "RoundDecided") -> str:
    return "GO" if last.go else "STOP"

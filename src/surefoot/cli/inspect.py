"""`show`, `explain`, `events`, `diff` and the like: reading a run; nothing here writes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.common import (
    NO,
    JsonOption,
    RepoOption,
    RunArgument,
    TrustOption,
    command,
    open_here,
    places,
    print_canonical,
    print_json,
    require_bundle,
    surroundings,
)
from surefoot.cli.screen import print_line, print_patch, print_text
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from surefoot.project import Project
    from surefoot.records import DecisionLine
    from surefoot.replay import Replayed
    from surefoot.report import Summary
    from surefoot.values import RunId

_CONTRASTED = frozenset(
    {
        "run_id",
        "status",
        "reason",
        "files",
        "turns",
        "model_calls",
        "prompt_tokens",
        "completion_tokens",
        "cost_usd",
        "wall_s",
    }
)
_MOST_EVENTS = 2**63 - 1
"""SQLite counts no farther."""
_SHOWN = 200
"""Characters of an answer that a line shows."""


@command
def show(run: RunArgument = None, repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """Show a run's report."""
    project = open_here(repo)
    from surefoot.reading import outcome

    result = outcome(project, project.find_run(run))
    if json:
        print_json(result.summary)
    else:
        print_text(result.report)


@command
def explain(run: RunArgument = None, repo: RepoOption = Path()) -> None:
    """Tell how a run went: every step with its reason and the event that caused it."""
    project = open_here(repo)
    from surefoot.explain import tell
    from surefoot.ledger import read_events

    for line in tell(tuple(read_events(project.ledger_file(project.find_record(run))))):
        print_line(line)


@command
def decisions(run: RunArgument = None, repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """List a run's decisions, and those of its plan's units: who decided, by which policy, at what cost, and what the rule would have said."""
    project = open_here(repo)
    from surefoot.ledger.blobs import BlobStore
    from surefoot.records import decisions_of, utilities
    from surefoot.verify import ledgers_of

    runs = dict(ledgers_of(project, project.find_record(run)))
    get = BlobStore(project.blobs).get
    lines = {run_id: tuple(decisions_of(events, get)) for run_id, events in runs.items()}
    of_all = utilities(tuple(e for events in runs.values() for e in events))
    if json:
        from surefoot.codec import plain

        every = tuple(line for own in lines.values() for line in own)
        print_json({"decisions": plain(every), "step_utility": of_all})
        return
    for run_id, own in lines.items():
        if len(lines) > 1:
            print_line(f"{run_id}:")
        _print_decisions(own)
    told = ", ".join(f"{utility} {count}" for utility, count in of_all.items())
    print_line(f"step utility of tool calls: {told}")


def _print_decisions(lines: "Iterable[DecisionLine]") -> None:
    for line in lines:
        spent = line.usage.prompt_tokens + line.usage.completion_tokens
        cost = f", {spent} tokens" if spent else ""
        print_line(
            f"{line.event_id.rpartition(':')[2]:>5} {line.turn or '-':<12} {line.decision} by {line.decided_by} "
            f"({line.policy_bundle}{cost}): {line.output[:_SHOWN]}"
        )
        if line.by_rule is not None and line.by_rule != line.output:
            print_line(f"{'':>19}the rule would have said: {line.by_rule[:_SHOWN]}")


@command
def replay(
    run: RunArgument = None,
    repo: RepoOption = Path(),
    instead: Annotated[
        str | None,
        typer.Option(
            "--with",
            help="model=NAME or policy=BUNDLE: do it with that instead, as a new run.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Of a server of your own, for --with.")
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", help="Replay this exported file; needs no repository."),
    ] = None,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Do a run again from its record, without a model; fails at the first record that differs."""
    require_bundle(bundle, trust=trust)
    if bundle is not None:
        if run is not None or instead is not None:
            raise UsageError(
                "--bundle holds one run and no model; leave the run's id and --with out"
            )
        _replay_bundle(bundle, trust=trust, json=json)
        return
    project = open_here(repo)
    from surefoot.people import Nobody, Quiet
    from surefoot.replay import another
    from surefoot.replay import replay as play

    if base_url is not None and instead is None:
        raise UsageError("--base-url goes with --with model=NAME; a replay asks no server")
    run_id, around = project.find_run(run), surroundings(Nobody(), Quiet())
    if instead is not None:
        name, _, value = instead.partition("=")
        if name not in ("model", "policy") or not value:
            raise UsageError(f"--with {instead!r}: takes model=NAME or policy=BUNDLE")
        if name == "policy" and base_url is not None:
            raise UsageError(
                "--base-url goes with --with model=NAME; the model stays the run's own"
            )
        before = summary_of(project, run_id)
        model, policy = (value, None) if name == "model" else (None, value)
        result = another(
            project, run_id, around, model=model, base_url=base_url, policy=policy
        ).summary
        _contrast(project, before, result, json=json)
        return
    _tell(run_id, play(project, run_id, around), json=json)


def _replay_bundle(bundle: Path, *, trust: bool, json: bool) -> None:
    from surefoot.people import Nobody, Quiet
    from surefoot.replay import replay as play
    from surefoot.replay import unpacked

    with unpacked(bundle, places(), trusted=trust) as (project, run_id):
        played = play(project, run_id, surroundings(Nobody(), Quiet()))
    _tell(run_id, played, json=json)


def _tell(run_id: "RunId", played: "Replayed", *, json: bool) -> None:
    """How a replay went."""
    if json:
        print_json(
            {
                "run_id": run_id,
                "identical": played.divergence is None,
                "compared": played.compared,
                "divergence": played.divergence,
            }
        )
    elif played.divergence is None:
        print_line(f"{run_id}: {played.compared} events again, each the same")
    else:
        told = f"{run_id}: after {played.compared} equal events: {played.divergence}"
        print_line(told, err=True)
    if played.divergence is not None:
        raise typer.Exit(NO)


def _contrast(project: "Project", before: "Summary", after: "Summary", *, json: bool) -> None:
    """Two runs of one issue side by side, with the first tool call that they decided otherwise."""
    from surefoot.codec import plain
    from surefoot.records import call_of, parting

    apart = parting(_decided(project, before["run_id"]), _decided(project, after["run_id"]))
    if json:
        print_json({"before": before, "after": after, "parting": plain(apart)})
        return
    for name, old in before.items():
        if name in _CONTRASTED:
            print_line(f"{name:<18} {old!s:<40} {dict(after)[name]}")
    if apart is None:
        print_line("tool calls         the same in both")
        return
    for run, line in (("before", apart.before), ("after", apart.after)):
        told = "no call" if line is None else f"{' '.join(call_of(line))} ({line.policy_bundle})"
        print_line(f"call {apart.number} {run:<12} {told[:_SHOWN]}")


def _decided(project: "Project", run_id: str) -> "tuple[DecisionLine, ...]":
    """A run's decisions."""
    from surefoot.ledger import read_events
    from surefoot.ledger.blobs import BlobStore
    from surefoot.records import decisions_of, settled

    events = settled(tuple(read_events(project.ledger_file(project.find_record(run_id)))))
    return tuple(decisions_of(events, BlobStore(project.blobs).get))


def summary_of(project: "Project", run_id: "RunId") -> "Summary":
    """A run's summary, read anew."""
    from surefoot.reading import outcome

    return outcome(project, run_id).summary


@command
def diff(run: RunArgument = None, repo: RepoOption = Path()) -> None:
    """Print what a run changed, as a patch."""
    project = open_here(repo)
    from surefoot.reading import look_up

    _, changed = look_up(project, project.find_run(run))
    print_patch(changed.patch if changed else "")


@command
def events(
    run: RunArgument = None,
    repo: RepoOption = Path(),
    turn: Annotated[str | None, typer.Option(help="Only of this turn.")] = None,
    event_class: Annotated[str | None, typer.Option("--class", help="Only of this class.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only of this type.")] = None,
    cause: Annotated[str | None, typer.Option(help="Only what this event caused.")] = None,
    all_runs: Annotated[bool, typer.Option("--all", help="Of every run.")] = False,
    limit: Annotated[
        int, typer.Option(min=1, max=_MOST_EVENTS, help="At most so many, the oldest first.")
    ] = 1000,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line, a line an event.")
    ] = False,
) -> None:
    """Query the ledger by run, turn, class, type and cause."""
    project = open_here(repo)
    from surefoot.codec import encode
    from surefoot.events.plans import ChildEnded, ChildStarted
    from surefoot.inspection import query
    from surefoot.ledger.chain import ChainBrokenError

    trace = None if all_runs else project.find_record(run)
    found = query(
        project,
        trace=trace,
        turn=turn,
        event_class=event_class,
        kind=kind,
        cause=cause,
        limit=limit,
    )
    for recorded in found.events:
        if json:
            print_canonical(encode(recorded))
        else:
            told = f"{recorded.event.event_class}/{recorded.event.kind}"
            if isinstance(recorded.event, ChildStarted | ChildEnded):
                told += f" {recorded.event.run}"
            if recorded.caused_by is not None:
                told += f" <- {recorded.caused_by}"
            print_line(f"{recorded.event_id} {recorded.time:%H:%M:%S} {told}")
    for broken in found.broken:
        raise ChainBrokenError(broken.path, broken.fault)

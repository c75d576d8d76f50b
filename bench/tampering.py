"""Ways to tamper with a run that was honest: with its ledger, its blobs, its commits and refs, its documents."""

import json
import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.codec import canonical, digest, encode, plain
from surefoot.documents import documents_of
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import (
    AnswerGiven,
    GateDecided,
    PhaseChanged,
    QuestionAnswered,
    QuestionAsked,
    RunStopped,
    TurnClosed,
)
from surefoot.events.policy import BoundariesChecked, RoundDecided
from surefoot.events.work import TestsRan
from surefoot.kernel.lifecycle import Phase, Trigger
from surefoot.ledger import read_events
from surefoot.ledger.wire import Tip, seal
from surefoot.policy.redaction import redact
from surefoot.project import Project
from surefoot.reading import run_diff
from surefoot.report import read_story
from surefoot.values import Digest, GateOutcome, RunId, RunStatus
from surefoot.verify.blobs import digests_of

Apply = Callable[[Project, RunId, random.Random], None]
Fits = Callable[[Project, RunId], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tampering:
    """One way."""

    name: str
    apply: Apply
    fits: Fits


def _events(project: Project, run_id: RunId) -> tuple[Recorded, ...]:
    return tuple(read_events(project.ledger_file(run_id)))


def _git(project: Project, *args: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["git", *args], cwd=project.root, input=stdin, text=True, capture_output=True, check=True
    )
    return done.stdout.strip()


# --- the ledger ----------------------------------------------------------------------------------


def _bit(project: Project, run_id: RunId, rng: random.Random) -> None:
    path = project.ledger_file(run_id)
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(bytes(data))


def _field(project: Project, run_id: RunId, rng: random.Random) -> None:
    path = project.ledger_file(run_id)
    lines = path.read_bytes().splitlines()
    at = rng.randrange(len(lines))
    line = json.loads(lines[at])
    line["turn_id"] = f"{line['turn_id']}x"
    lines[at] = canonical(line)
    path.write_bytes(b"\n".join(lines) + b"\n")


def _tail(project: Project, run_id: RunId, rng: random.Random) -> None:
    path = project.ledger_file(run_id)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: -rng.randrange(1, len(lines) // 2)]))


def _torn(project: Project, run_id: RunId, rng: random.Random) -> None:
    path = project.ledger_file(run_id)
    data = path.read_bytes()
    path.write_bytes(data[: -rng.randrange(2, 60)])


def _line_gone(project: Project, run_id: RunId, rng: random.Random) -> None:
    path = project.ledger_file(run_id)
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[rng.randrange(len(lines) - 1)]
    path.write_bytes(b"".join(lines))


def _swapped_lines(project: Project, run_id: RunId, rng: random.Random) -> None:
    path = project.ledger_file(run_id)
    lines = path.read_bytes().splitlines(keepends=True)
    at = rng.randrange(len(lines) - 1)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    path.write_bytes(b"".join(lines))


def rechain(
    project: Project, run_id: RunId, change: Callable[[Recorded], Event | None]
) -> tuple[Recorded, ...]:
    """Write the ledger anew, every hash right, with what `change` makes of each event (None: it goes)."""
    tip, lines, made = Tip(trace_id=run_id), [], []
    for recorded in _events(project, run_id):
        event = change(recorded)
        if event is None:
            continue
        cause = recorded.caused_by
        if cause is not None and int(cause.rpartition(":")[2]) > tip.count:
            cause = tip.event_id(tip.count)
        sealed, line = seal(
            tip,
            event,
            canonical(plain(event)),
            cause=cause,
            turn=recorded.turn_id,
            now=recorded.time,
        )
        tip = tip.after(sealed)
        lines.append(line)
        made.append(sealed)
    project.ledger_file(run_id).write_bytes(b"".join(lines))
    return tuple(made)


def _gate_turned(recorded: Recorded) -> Event:
    event = recorded.event
    if isinstance(event, GateDecided):
        passes = event.result.outcome is GateOutcome.PASS
        outcome = GateOutcome.RETRYABLE_FAIL if passes else GateOutcome.PASS
        return replace(event, result=replace(event.result, outcome=outcome))
    return event


def _rechained(project: Project, run_id: RunId, rng: random.Random) -> None:
    """Any event is left out, or said to be of another time: all hashes are right again."""
    at = rng.randrange(1, len(_events(project, run_id)))
    rechain(project, run_id, lambda r: None if r.event_id.endswith(f":{at + 1}") else r.event)


def _better_ending(project: Project, run_id: RunId, rng: random.Random) -> None:
    del rng

    def better(recorded: Recorded) -> Event:
        event = recorded.event
        if isinstance(event, RunStopped):
            other = RunStatus.BLOCKED if event.status == "complete" else RunStatus.COMPLETE
            return replace(event, status=other)
        return event

    anchored(project, run_id, rechain(project, run_id, better))


def _gates_turned(project: Project, run_id: RunId, rng: random.Random) -> None:
    del rng
    anchored(project, run_id, rechain(project, run_id, _gate_turned))


def _tests_forged(project: Project, run_id: RunId, rng: random.Random) -> None:
    del rng

    def forged(recorded: Recorded) -> Event:
        event = recorded.event
        if isinstance(event, TestsRan):
            return replace(event, passed=event.collected, failed=0)
        return event

    anchored(project, run_id, rechain(project, run_id, forged))


def _tree_of_another(project: Project, run_id: RunId, rng: random.Random) -> None:
    del rng

    def other(recorded: Recorded) -> Event:
        event = recorded.event
        if isinstance(event, TurnClosed) and event.commit is not None:
            return replace(event, tree=project.repository.tree)
        return event

    anchored(project, run_id, rechain(project, run_id, other))


def anchored(project: Project, run_id: RunId, made: Sequence[Recorded]) -> None:
    """Let the repository's own ref keep the forged head, as a forger with the repository would."""
    about = json.dumps({"head": made[-1].hash, "version": 1}, sort_keys=True)
    blob = _git(project, "hash-object", "-w", "--stdin", stdin=about)
    if _git(project, "for-each-ref", f"refs/surefoot/{run_id}/ledger"):
        _git(project, "update-ref", f"refs/surefoot/{run_id}/ledger", blob)


def _commits(recorded: Recorded) -> bool:
    return isinstance(recorded.event, TurnClosed) and recorded.event.commit is not None


# --- decisions -----------------------------------------------------------------------------------


def retold(project: Project, run_id: RunId, change: Callable[[Recorded], Event | None]) -> None:
    """Everything that derives from a ledger told anew is made to fit it: hashes, the ref, the documents."""
    made = rechain(project, run_id, change)
    anchored(project, run_id, made)
    folder = project.runs / run_id
    diff = run_diff(project, read_story(run_id, made))
    for name, data in documents_of(made, diff, folder, redact).items():
        (folder / name).write_bytes(data)


def _go_forged(project: Project, run_id: RunId, rng: random.Random) -> None:
    """A round that a decision gate stopped is said to be GO, and the run complete."""
    del rng

    def forged(recorded: Recorded) -> Event:
        event = recorded.event
        if isinstance(event, RoundDecided):
            gates = tuple(replace(g, passed=True, reason="it holds") for g in event.gates)
            return replace(event, gates=gates, go=True)
        return _completed(event)

    retold(project, run_id, forged)


def _boundary_mended(project: Project, run_id: RunId, rng: random.Random) -> None:
    """The boundary that broke is said to hold, so that the gates follow from what is recorded."""
    del rng

    def forged(recorded: Recorded) -> Event:
        event = recorded.event
        if isinstance(event, BoundariesChecked):
            whole = tuple(replace(b, problem="") for b in event.boundaries)
            return replace(event, boundaries=whole)
        if isinstance(event, RoundDecided):
            told = f"{len(event.gates)} boundaries changed, all contracts hold"
            gates = tuple(
                g if g.passed else replace(g, passed=True, reason=told) for g in event.gates
            )
            return replace(event, gates=gates, go=True)
        return _completed(event)

    retold(project, run_id, forged)


def _completed(event: Event) -> Event:
    if isinstance(event, PhaseChanged) and event.before == Phase.DELTA_CRITIQUE:
        return replace(event, trigger=Trigger.CRITIQUE_PASSED, after=Phase.COMPLETE)
    if isinstance(event, RunStopped):
        return replace(event, status=RunStatus.COMPLETE)
    return event


def _go_rests_on_another(project: Project, run_id: RunId, rng: random.Random) -> None:
    """A gate's reason, or the record that it rests on, is another one."""
    at = rng.randrange(5)

    def forged(recorded: Recorded) -> Event:
        event = recorded.event
        if not isinstance(event, RoundDecided):
            return event
        gates = list(event.gates)
        change: dict[str, Any] = {"events": ()} if rng.random() < 0.5 else {"reason": "it holds"}
        gates[at] = replace(gates[at], **change)
        return replace(event, gates=tuple(gates))

    retold(project, run_id, forged)


def _other_approval(project: Project, run_id: RunId, rng: random.Random) -> None:
    """What was approved is said to have been this diff, and was another one."""

    def forged(recorded: Recorded) -> Event:
        event = recorded.event
        if not isinstance(event, QuestionAsked | QuestionAnswered | AnswerGiven) or not event.diff:
            return event
        shown: Any = json.loads((project.blobs / event.diff[:2] / event.diff).read_bytes())
        data = canonical({**shown, "patch": f"# {at}\n"})
        found = digest(data)
        (project.blobs / found[:2]).mkdir(exist_ok=True)
        (project.blobs / found[:2] / found).write_bytes(data)
        return replace(event, diff=Digest(found))

    at = rng.random()
    retold(project, run_id, forged)


def _unapproved(project: Project, run_id: RunId, rng: random.Random) -> None:
    """Nobody was asked, or so it is told."""
    del rng
    asked = (QuestionAsked, QuestionAnswered, AnswerGiven)
    retold(project, run_id, lambda r: None if isinstance(r.event, asked) else r.event)


def _boundaries_untold(project: Project, run_id: RunId, rng: random.Random) -> None:
    """What a round changed is left out of its record."""
    del rng

    def forged(recorded: Recorded) -> Event:
        event = recorded.event
        return replace(event, files=()) if isinstance(event, BoundariesChecked) else event

    retold(project, run_id, forged)


def _undecided(project: Project, run_id: RunId, rng: random.Random) -> None:
    """Nothing says that the gates were ever asked."""
    del rng
    gone = (RoundDecided, BoundariesChecked)
    retold(project, run_id, lambda r: None if isinstance(r.event, gone) else r.event)


# --- blobs ---------------------------------------------------------------------------------------


def _blob(project: Project, run_id: RunId, rng: random.Random) -> Path:
    found = sorted({d for _, _, d in digests_of(_events(project, run_id))})
    chosen = rng.choice(found)
    return project.blobs / chosen[:2] / chosen


def _blob_changed(project: Project, run_id: RunId, rng: random.Random) -> None:
    path = _blob(project, run_id, rng)
    path.write_bytes(path.read_bytes() + b" ")


def _blob_gone(project: Project, run_id: RunId, rng: random.Random) -> None:
    _blob(project, run_id, rng).unlink()


def _blobs_swapped(project: Project, run_id: RunId, rng: random.Random) -> None:
    one, other = _blob(project, run_id, rng), _blob(project, run_id, rng)
    while other == one:
        other = _blob(project, run_id, rng)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def _report_rewritten(project: Project, run_id: RunId, rng: random.Random) -> None:
    """A report that says more passed, under its own right digest, in a ledger with right hashes."""
    del rng

    def forged(recorded: Recorded) -> Event:
        event = recorded.event
        if not isinstance(event, TestsRan):
            return event
        report: Any = json.loads((project.blobs / event.report[:2] / event.report).read_bytes())
        for result in report["results"]:
            result["outcome"] = "passed"
        data = canonical(report)
        found = digest(data)
        (project.blobs / found[:2]).mkdir(exist_ok=True)
        (project.blobs / found[:2] / found).write_bytes(data)
        return replace(event, report=Digest(found), passed=event.collected, failed=0)

    anchored(project, run_id, rechain(project, run_id, forged))


# --- git -----------------------------------------------------------------------------------------


def _amended(project: Project, run_id: RunId, rng: random.Random) -> None:
    branch = f"refs/heads/surefoot/{run_id}"
    tree, parent = _git(project, "rev-parse", f"{branch}^{{tree}}", f"{branch}^").split()
    message = _git(project, "log", "-1", "--format=%B", branch) + f"\n{rng.random()}\n"
    commit = _git(project, "commit-tree", tree, "-p", parent, stdin=message)
    _git(project, "update-ref", branch, commit)


def _moved(project: Project, run_id: RunId, rng: random.Random) -> None:
    del rng
    _git(project, "update-ref", f"refs/heads/surefoot/{run_id}", project.repository.head)


def _turn_moved(project: Project, run_id: RunId, rng: random.Random) -> None:
    del rng
    _git(project, "update-ref", f"refs/surefoot/{run_id}/1", project.repository.head)


def _ref_gone(project: Project, run_id: RunId, rng: random.Random) -> None:
    name = rng.choice(("1", "ledger", "base"))
    _git(project, "update-ref", "-d", f"refs/surefoot/{run_id}/{name}")


def _object_changed(project: Project, run_id: RunId, rng: random.Random) -> None:
    """The loose object of the changed file is replaced by another sound one, which git shows without a word."""
    branch = f"refs/heads/surefoot/{run_id}"
    mine = _git(project, "rev-parse", f"{branch}:calc.py")
    other = _git(project, "hash-object", "-w", "--stdin", stdin=f"# {rng.random()}\n")
    paths = [project.root / ".git" / "objects" / oid[:2] / oid[2:] for oid in (mine, other)]
    paths[0].chmod(0o644)
    paths[0].write_bytes(paths[1].read_bytes())


def _replaced(project: Project, run_id: RunId, rng: random.Random) -> None:
    """A whole other history under the same names: commit, branch and turn ref agree among themselves."""
    branch = f"refs/heads/surefoot/{run_id}"
    message = _git(project, "log", "-1", "--format=%B", branch)
    head = project.repository.head
    index = project.root / ".git" / f"index-{rng.randrange(10**6)}"
    blob = _git(project, "hash-object", "-w", "--stdin", stdin="# other\n")
    listing = _git(project, "ls-tree", "-r", branch).replace("\t", " ").split("\n")
    names = [line.split(" ") for line in listing]
    lines = [
        f"{m} blob {blob if n == 'calc.py' else o}\t{n}" for m, _, o, n in names if "/" not in n
    ]
    tree = _git(project, "mktree", stdin="\n".join(lines) + "\n")
    commit = _git(project, "commit-tree", tree, "-p", head, stdin=message)
    index.unlink(missing_ok=True)
    _git(project, "update-ref", branch, commit)
    _git(project, "update-ref", f"refs/surefoot/{run_id}/1", commit)


# --- documents -----------------------------------------------------------------------------------


def _summary(project: Project, run_id: RunId, rng: random.Random) -> None:
    path = project.runs / run_id / "summary.json"
    found = json.loads(path.read_text())
    name = rng.choice(("status", "reason", "turns", "model_calls", "cost_usd", "files", "commit"))
    found[name] = "other" if isinstance(found[name], str | None) else [] if name == "files" else 99
    if name == "files":
        found[name] = ["other.py"]
    path.write_bytes(encode(found) + b"\n")


def _edited(name: str) -> Apply:
    def apply(project: Project, run_id: RunId, rng: random.Random) -> None:
        path = project.runs / run_id / name
        data = bytearray(path.read_bytes())
        at = rng.choice([n for n, byte in enumerate(data) if chr(byte).isalnum()])
        data[at] = ord("x") if data[at] != ord("x") else ord("y")
        path.write_bytes(bytes(data))

    return apply


# --- which fit where -----------------------------------------------------------------------------


def _always(project: Project, run_id: RunId) -> bool:
    return project.ledger_file(run_id).exists()


def _rests(project: Project, run_id: RunId) -> bool:
    """It has stopped and nobody threw it away, so that refs and documents are there."""
    kinds = [r.event.kind for r in _events(project, run_id)]
    summary = project.runs / run_id / "summary.json"
    return summary.exists() and "run.rejected" not in kinds


def _committed(project: Project, run_id: RunId) -> bool:
    """Its branch has commits of its own."""
    if not (_rests(project, run_id) and any(map(_commits, _events(project, run_id)))):
        return False
    return _git(project, "rev-parse", f"refs/heads/surefoot/{run_id}") != project.repository.head


def _documented(project: Project, run_id: RunId) -> bool:
    return (project.runs / run_id / "summary.json").exists()


def _decided(*, go: bool) -> Fits:
    """It rests, and its last round was GO, or STOP."""

    def fits(project: Project, run_id: RunId) -> bool:
        events = [r.event for r in _events(project, run_id)]
        rounds = [e for e in events if isinstance(e, RoundDecided)]
        # What follows an ending is another kind of tampering.
        stopped = bool(events) and isinstance(events[-1], RunStopped)
        return stopped and bool(rounds) and rounds[-1].go is go and _rests(project, run_id)

    return fits


def _approved(project: Project, run_id: RunId) -> bool:
    """A person's yes let it go on."""
    yes = any(
        isinstance(r.event, QuestionAnswered) and r.event.approved for r in _events(project, run_id)
    )
    return yes and _decided(go=True)(project, run_id)


TAMPERINGS: tuple[Tampering, ...] = (
    Tampering(name="a bit", apply=_bit, fits=_always),
    Tampering(name="a field", apply=_field, fits=_always),
    Tampering(name="a cut tail", apply=_tail, fits=_rests),
    Tampering(name="a torn line", apply=_torn, fits=_always),
    Tampering(name="a line taken out", apply=_line_gone, fits=_always),
    Tampering(name="two lines swapped", apply=_swapped_lines, fits=_always),
    Tampering(name="re-chained without an event", apply=_rechained, fits=_rests),
    Tampering(name="re-chained to another ending, ref moved", apply=_better_ending, fits=_rests),
    Tampering(name="re-chained with gates turned, ref moved", apply=_gates_turned, fits=_committed),
    Tampering(name="re-chained with test counts, ref moved", apply=_tests_forged, fits=_committed),
    Tampering(
        name="re-chained to another tree, ref moved", apply=_tree_of_another, fits=_committed
    ),
    Tampering(name="re-chained with forged reports", apply=_report_rewritten, fits=_committed),
    Tampering(name="a STOP told as GO", apply=_go_forged, fits=_decided(go=False)),
    Tampering(name="a broken boundary mended", apply=_boundary_mended, fits=_decided(go=False)),
    Tampering(name="a GO rests on nothing", apply=_go_rests_on_another, fits=_decided(go=True)),
    Tampering(name="changed files left out", apply=_boundaries_untold, fits=_decided(go=True)),
    Tampering(name="gates never asked", apply=_undecided, fits=_decided(go=True)),
    Tampering(name="approved was another diff", apply=_other_approval, fits=_approved),
    Tampering(name="nobody was asked", apply=_unapproved, fits=_approved),
    Tampering(name="a blob changed", apply=_blob_changed, fits=_always),
    Tampering(name="a blob missing", apply=_blob_gone, fits=_always),
    Tampering(name="two blobs swapped", apply=_blobs_swapped, fits=_always),
    Tampering(name="a commit amended", apply=_amended, fits=_committed),
    Tampering(name="the branch moved", apply=_moved, fits=_committed),
    Tampering(name="a turn's ref moved", apply=_turn_moved, fits=_committed),
    Tampering(name="a ref gone", apply=_ref_gone, fits=_committed),
    Tampering(name="an object's bytes changed", apply=_object_changed, fits=_committed),
    Tampering(name="another history", apply=_replaced, fits=_committed),
    Tampering(name="summary edited", apply=_summary, fits=_rests),
    Tampering(name="report edited", apply=_edited("report.md"), fits=_rests),
    Tampering(name="receipt edited", apply=_edited("RECEIPT.json"), fits=_documented),
    Tampering(name="replay file edited", apply=_edited("REPLAY.jsonl"), fits=_documented),
)

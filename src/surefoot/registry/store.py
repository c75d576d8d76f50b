"""The projection: scorecards, standings and decisions of a repository, a fold of its ledgers.

It can be deleted at any time. States come from the decisions that ledgers hold, never from deciding again. An event is
folded once, whoever brings it: the run that wrote it, or the next process that reads what a killed one left.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import singledispatchmethod
from pathlib import Path
from typing import Final

from surefoot.artifacts import (
    CallFacts,
    Decision,
    DecisionRecord,
    Fault,
    LifecycleState,
    Line,
    Standing,
    VersionId,
)
from surefoot.codec import decode, encode
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import RunOpened, RunRejected
from surefoot.events.policy import (
    EnforcementApproved,
    LifecycleForced,
    PromotionDecided,
    PromotionPolicySet,
)
from surefoot.events.work import ArtifactStored, ArtifactUsed, FactLearned
from surefoot.kernel.calibration import LOOK_BACK, is_attempt, judged_by, mistaken
from surefoot.kernel.promotion import force, session_of, settle
from surefoot.registry import schema
from surefoot.registry.queries import MOST_CALLS, Queries
from surefoot.values import Digest, RunId

Reader = Callable[[Digest], bytes]
"""Gets a blob."""
_FOUNDING: Final = (ArtifactStored, PromotionPolicySet, EnforcementApproved)
_FOLDED: Final = (
    *_FOUNDING,
    ArtifactUsed,
    FactLearned,
    LifecycleForced,
    PromotionDecided,
    RunOpened,
    RunRejected,
)


class Registry(Queries):
    """One repository's life cycles."""

    def __init__(self, path: Path, get: Reader) -> None:
        """`get` reads the blobs of recorded policies."""
        super().__init__(path)
        self._get = get
        self._held: list[Recorded] = []

    def fold(self, recorded: Iterable[Recorded]) -> None:
        """Take events in; those of a trace in their order, each once however often it is brought."""
        for one in recorded:
            if not isinstance(one.event, _FOLDED):
                continue
            self._held.append(one)
            # A repository in which nothing was ever stored gets no file.
            if isinstance(one.event, _FOUNDING):
                self.found()
            if isinstance(one.event, _FOUNDING) or self.is_there:
                with self._lock:
                    held, self._held = self._held, []
                    for waiting in held:
                        self._fold(waiting)

    def _fold(self, recorded: Recorded) -> None:
        trace, number = recorded.trace_id, int(recorded.event_id.rpartition(":")[2])
        with self.transaction() as db:
            if self.seen(trace) < number:
                db.execute("INSERT OR REPLACE INTO sources VALUES (?, ?)", (trace, number))
                self._take(recorded.event, recorded)

    def seen(self, trace: RunId) -> int:
        """Number of the last event of a trace that was folded; 0 for none."""
        with self.transaction() as db:
            row = db.execute("SELECT number FROM sources WHERE trace = ?", (trace,)).fetchone()
        return 0 if row is None else int(row[0])

    def read_to(self, trace: RunId, number: int) -> None:
        """Everything of a trace up to this event was brought."""
        with self.transaction() as db:
            db.execute(
                "INSERT INTO sources VALUES (?, ?) ON CONFLICT DO UPDATE SET"
                " number = MAX(number, excluded.number)",
                (trace, number),
            )

    @singledispatchmethod
    def _take(self, event: object, recorded: Recorded) -> None:
        """Other events leave the projection as it is."""

    @_take.register
    def _opened(self, event: RunOpened, recorded: Recorded) -> None:
        with self.transaction() as db:
            task, at = session_of(event.issue), recorded.time.isoformat()
            # The same task asked again says that the result of the time before was none.
            db.execute("UPDATE tasks SET corrected = 1 WHERE task = ? AND at < ?", (task, at))
            db.execute("INSERT INTO tasks VALUES (?, ?, ?, 0)", (recorded.trace_id, task, at))

    @_take.register
    def _rejected(self, event: RunRejected, recorded: Recorded) -> None:
        del event
        self._correct(recorded.trace_id)

    @_take.register
    def _fact(self, event: FactLearned, recorded: Recorded) -> None:
        if event.topic == "accept" and "edited" in event.text:
            self._correct(recorded.trace_id)

    def _correct(self, trace: RunId) -> None:
        with self.transaction() as db:
            db.execute("UPDATE tasks SET corrected = 1 WHERE trace = ?", (trace,))

    @_take.register
    def _stored(self, event: ArtifactStored, recorded: Recorded) -> None:
        with self.transaction() as db:
            state = LifecycleState.PROBATION if event.compatibility else LifecycleState.CANDIDATE
            db.execute(
                "INSERT OR IGNORE INTO versions"
                " (interface, artifact, capability, state, compatibility, stored_trace, stored_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    self.interface_id(event.version.interface),
                    event.version.artifact,
                    event.capability,
                    state,
                    event.compatibility,
                    recorded.trace_id,
                    recorded.time.isoformat(),
                ),
            )

    @_take.register
    def _used(self, event: ArtifactUsed, recorded: Recorded) -> None:
        with self.transaction() as db:
            version = self.version_id(event.version)
            interface = self.interface_id(event.version.interface)
            call = event.call
            # `id` is the rowid, so the last calls are found without a sort.
            db.execute(
                "INSERT INTO calls (version, session, ok, contract, faults, reads, writes, trace, turn)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    version,
                    call.session,
                    call.ok,
                    call.contract,
                    " ".join(call.faults),
                    schema.listed(call.reads),
                    schema.listed(call.writes),
                    recorded.trace_id,
                    recorded.turn_id,
                ),
            )
            self._count(version, call, recorded.time)
            db.execute("UPDATE interfaces SET calls = calls + 1 WHERE id = ?", (interface,))
            db.executemany(
                "INSERT OR REPLACE INTO state_keys SELECT id, ?, calls FROM interfaces WHERE id = ?",
                [(key, interface) for key in sorted(call.keys)],
            )
            self._note_served(event, recorded, version)
            self._judge(event.version, version)

    def _count(self, version: int, call: CallFacts, at: datetime) -> None:
        with self.transaction() as db:
            row = db.execute(
                "SELECT faults, recent_calls, recent_successes FROM versions WHERE id = ?",
                (version,),
            ).fetchone()
            faults = decode(dict[str, int], row[0])
            for fault in call.faults:
                faults[fault] = faults.get(fault, 0) + 1
            recent, successes = row[1] + 1, row[2] + call.ok
            if recent > MOST_CALLS:
                oldest = db.execute(
                    "SELECT id, ok FROM calls WHERE version = ? ORDER BY id LIMIT 1", (version,)
                ).fetchone()
                db.execute("DELETE FROM calls WHERE id = ?", (oldest[0],))
                recent, successes = MOST_CALLS, successes - oldest[1]
            db.execute(
                "UPDATE versions SET calls = calls + 1, successes = successes + ?,"
                " contract_pass = contract_pass + ?, contract_fail = contract_fail + ?, faults = ?,"
                " recent_calls = ?, recent_successes = ?, score = ?, used_at = ? WHERE id = ?",
                (
                    call.ok,
                    call.contract is True,
                    call.contract is False,
                    encode(faults).decode(),
                    recent,
                    successes,
                    (successes + 1) / (recent + 2),
                    at.isoformat(),
                    version,
                ),
            )

    def _note_served(self, event: ArtifactUsed, recorded: Recorded, version: int) -> None:
        """For the release gate: which versions a run was served by, and whether they had replaced another."""
        line = self.line(event.version.interface)
        replaced = len(line.incumbents) > 1 and line.incumbent == event.version.artifact
        guardrail = Fault.GUARDRAIL_EXHAUSTED in event.call.faults
        with self.transaction() as db:
            db.execute(
                "INSERT INTO served VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET"
                " calls = calls + 1, guardrail = guardrail + excluded.guardrail,"
                " replaced = MAX(replaced, excluded.replaced)",
                (recorded.trace_id, version, event.chosen, replaced, guardrail),
            )

    def _judge(self, version: VersionId, row_id: int) -> None:
        """What the calls since a decision say of it."""
        with self.transaction() as db:
            rows = db.execute(
                "SELECT id, judges, calls FROM decisions INDEXED BY open_judgements"
                " WHERE version = ? AND judges <> '' AND mistaken IS NULL",
                (row_id,),
            ).fetchall()
            if not rows:
                return
            policy = self.policy(self.capability_of(row_id))
            card = self.card(version, most=max(LOOK_BACK, policy.short_window))
            for decision, judges, calls in rows:
                verdict = mistaken(judges, card, since=calls, policy=policy)
                if verdict is not None:
                    db.execute(
                        "UPDATE decisions SET mistaken = ? WHERE id = ?", (verdict, decision)
                    )

    @_take.register
    def _decided(self, event: PromotionDecided, recorded: Recorded) -> None:
        record = event.record
        with self.transaction() as db:
            version = self.version_id(record.version)
            policy = self.policy(self.capability_of(version))
            standing = self.standing(record.version)
            line = self.line(record.version.interface)
            contract, coherence = self._deltas(record)
            if record.decision is Decision.DEGRADE:
                # It may never be called again, so what was decided of it before is judged now: a promotion was
                # wrong if this comes soon, and whoever held it back was right.
                db.execute(
                    "UPDATE decisions SET mistaken = (judges = 'promotion' AND ? - calls <= ?)"
                    " WHERE version = ? AND judges <> '' AND mistaken IS NULL",
                    (record.calls, LOOK_BACK, version),
                )
            waiting = db.execute(
                "SELECT 1 FROM decisions INDEXED BY open_judgements"
                " WHERE version = ? AND judges <> '' AND mistaken IS NULL",
                (version,),
            ).fetchone()
            judges = judged_by(record)
            db.execute(
                "INSERT INTO decisions (event, at, version, decision, before, after, policy, enforced,"
                " calls, attempt, judges, restored, contract_delta, coherence_delta, rationale)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    recorded.event_id,
                    recorded.time.isoformat(),
                    version,
                    record.decision,
                    record.before,
                    record.after,
                    record.policy,
                    record.enforced,
                    record.calls,
                    is_attempt(record),
                    # One at a time: holds that overlap would count the same calls again and again.
                    judges if judges == "promotion" or waiting is None else "",
                    record.restored,
                    contract,
                    coherence,
                    record.rationale,
                ),
            )
            moved, line = settle(standing, line, record, policy=policy, at=recorded.time)
            self._write(moved, line)
            db.execute(
                "UPDATE versions SET told = ?, told_calls = ? WHERE id = ?",
                (told_key(record), record.calls, version),
            )

    def _deltas(self, record: DecisionRecord) -> tuple[float | None, float | None]:
        """Candidate less incumbent: contract pass rate, and state key consistency."""
        if record.incumbent is None or record.incumbent == record.version.artifact:
            return None, None
        found = {c.name: c for c in record.conditions}
        mine, rival = found.get("contract_pass_rate"), found.get("contract_pass_rate_of_incumbent")
        contract = mine.value - rival.needed if mine and rival and mine.value is not None else None
        own = found.get("state_key_consistency_ratio")
        rivals = VersionId(interface=record.version.interface, artifact=record.incumbent)
        theirs = self.card(rivals).consistency
        coherence = (
            own.value - theirs if own and own.value is not None and theirs is not None else None
        )
        return contract, coherence

    @_take.register
    def _forced(self, event: LifecycleForced, recorded: Recorded) -> None:
        del recorded
        with self.transaction() as db:
            version = self.version_id(event.version)
            (calls,) = db.execute("SELECT calls FROM versions WHERE id = ?", (version,)).fetchone()
            # From where the person saw it: a run, or another person, may have moved it before the act was on record,
            # and what is on record has to fold.
            moved, line = force(
                replace(self.standing(event.version), state=event.before),
                self.line(event.version.interface),
                event.act,
                calls=calls,
                policy=self.policy(self.capability_of(version)),
            )
            self._write(moved, line)

    @_take.register
    def _policy_set(self, event: PromotionPolicySet, recorded: Recorded) -> None:
        with self.transaction() as db:
            db.execute(
                "INSERT INTO policies (version, constants, capability, at) VALUES (?, ?, ?, ?)",
                (
                    event.version,
                    self._get(event.policy).decode(),
                    event.capability,
                    recorded.time.isoformat(),
                ),
            )

    @_take.register
    def _approved(self, event: EnforcementApproved, recorded: Recorded) -> None:
        del recorded
        with self.transaction() as db:
            db.executemany(
                "INSERT OR IGNORE INTO approvals VALUES (?)", [(name,) for name in event.missing]
            )

    def _write(self, standing: Standing, line: Line) -> None:
        with self.transaction() as db:
            at = standing.last_decision_at
            db.execute(
                "UPDATE versions SET state = ?, policy = ?, enforced = ?, compatibility = ?, evidence_from = ?,"
                " degrades = ?, cool_until = ?, last_decision = ?, last_decision_at = ? WHERE id = ?",
                (
                    standing.state,
                    standing.policy,
                    standing.enforced,
                    standing.compatibility,
                    standing.evidence_from,
                    standing.degrades,
                    standing.cool_until,
                    standing.last_decision,
                    None if at is None else at.isoformat(),
                    self.version_id(standing.version),
                ),
            )
            db.execute(
                "UPDATE interfaces SET incumbents = ? WHERE id = ?",
                (encode(line.incumbents).decode(), self.interface_id(line.interface)),
            )


def told_key(record: DecisionRecord) -> str:
    """What makes a decision news: the decision, its effect, and the conditions that stand in the way."""
    names = ",".join(c.name for c in record.unmet)
    return f"{record.decision}>{record.after}:{names}:{record.enforced}"

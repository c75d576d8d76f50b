"""The tables, and how rows become values."""

import json
import sqlite3
from datetime import datetime
from functools import lru_cache
from typing import Final

from surefoot.artifacts import (
    CallFacts,
    Decision,
    Fault,
    Interface,
    LifecycleState,
    Standing,
    VersionId,
)
from surefoot.values import Digest

VERSION: Final = 2
SCHEMA: Final = """
CREATE TABLE sources (trace TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE interfaces (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, method TEXT NOT NULL,
    incumbents TEXT NOT NULL DEFAULT '[]', calls INTEGER NOT NULL DEFAULT 0, UNIQUE (kind, name, method)
);
CREATE TABLE versions (
    id INTEGER PRIMARY KEY, interface INTEGER NOT NULL, artifact TEXT NOT NULL, capability TEXT NOT NULL,
    state TEXT NOT NULL, policy TEXT NOT NULL DEFAULT '', enforced INTEGER NOT NULL DEFAULT 0,
    compatibility INTEGER NOT NULL DEFAULT 0, evidence_from INTEGER NOT NULL DEFAULT 0,
    degrades INTEGER NOT NULL DEFAULT 0, cool_until INTEGER NOT NULL DEFAULT 0,
    last_decision TEXT, last_decision_at TEXT, told TEXT NOT NULL DEFAULT '', told_calls INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0, successes INTEGER NOT NULL DEFAULT 0,
    contract_pass INTEGER NOT NULL DEFAULT 0, contract_fail INTEGER NOT NULL DEFAULT 0,
    faults TEXT NOT NULL DEFAULT '{}', recent_calls INTEGER NOT NULL DEFAULT 0,
    recent_successes INTEGER NOT NULL DEFAULT 0, score REAL NOT NULL DEFAULT 0.5,
    stored_trace TEXT NOT NULL, stored_at TEXT NOT NULL, used_at TEXT,
    UNIQUE (interface, artifact)
);
CREATE INDEX by_rank ON versions (interface, state, score, id);
CREATE INDEX by_age ON versions (interface, id);
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, version INTEGER NOT NULL, session TEXT NOT NULL, ok INTEGER NOT NULL,
    contract INTEGER, faults TEXT NOT NULL, reads TEXT NOT NULL, writes TEXT NOT NULL,
    trace TEXT NOT NULL, turn TEXT
);
CREATE INDEX calls_of ON calls (version, id);
CREATE INDEX calls_in ON calls (trace, turn);
CREATE TABLE state_keys (
    interface INTEGER NOT NULL, key TEXT NOT NULL, at_calls INTEGER NOT NULL, PRIMARY KEY (interface, key)
) WITHOUT ROWID;
CREATE TABLE served (
    trace TEXT NOT NULL, version INTEGER NOT NULL, chosen TEXT NOT NULL, replaced INTEGER NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0, guardrail INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (trace, version, chosen)
) WITHOUT ROWID;
CREATE TABLE tasks (
    trace TEXT PRIMARY KEY, task TEXT NOT NULL, at TEXT NOT NULL, corrected INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX runs_on ON tasks (task, at);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY, event TEXT NOT NULL, at TEXT NOT NULL, version INTEGER NOT NULL,
    decision TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL, policy TEXT NOT NULL,
    enforced INTEGER NOT NULL, calls INTEGER NOT NULL, attempt INTEGER NOT NULL, judges TEXT NOT NULL,
    mistaken INTEGER, restored TEXT, contract_delta REAL, coherence_delta REAL, rationale TEXT NOT NULL
);
CREATE INDEX open_judgements ON decisions (version) WHERE judges <> '' AND mistaken IS NULL;
CREATE INDEX decisions_of ON decisions (version, id);
CREATE TABLE policies (
    id INTEGER PRIMARY KEY, version TEXT NOT NULL, constants TEXT NOT NULL, capability TEXT, at TEXT NOT NULL
);
CREATE TABLE approvals (missing TEXT PRIMARY KEY) WITHOUT ROWID;
"""
TABLES: Final = [
    "sources",
    "interfaces",
    "versions",
    "calls",
    "state_keys",
    "served",
    "tasks",
    "decisions",
    "policies",
    "approvals",
]
STANDING: Final = (
    "i.kind, i.name, i.method, v.artifact, v.state, v.policy, v.enforced, v.compatibility, v.evidence_from,"
    " v.degrades, v.cool_until, v.last_decision, v.last_decision_at"
)
CALL: Final = "session, ok, contract, faults, reads, writes"

Row = sqlite3.Row


def standing_of(row: Row) -> Standing:
    """The life-cycle entry in a row of `STANDING`."""
    (
        kind,
        name,
        method,
        artifact,
        state,
        policy,
        enforced,
        compatible,
        since,
        falls,
        cool,
        last,
        at,
    ) = tuple(row)[:13]
    return Standing(
        version=VersionId(
            interface=Interface(kind=kind, name=name, method=method), artifact=Digest(artifact)
        ),
        state=LifecycleState(state),
        policy=policy,
        enforced=bool(enforced),
        compatibility=bool(compatible),
        evidence_from=since,
        degrades=falls,
        cool_until=cool,
        last_decision=None if last is None else Decision(last),
        last_decision_at=None if at is None else datetime.fromisoformat(at),
    )


@lru_cache(maxsize=4096)
def call_of(
    session: str, ok: int, contract: int | None, faults: str, reads: str, writes: str
) -> CallFacts:
    """The facts in a row of `CALL`. Windows are read again at every call, and most of their calls look alike."""
    return CallFacts(
        session=session,
        ok=bool(ok),
        contract=None if contract is None else bool(contract),
        faults=tuple(Fault(f) for f in faults.split()) if faults else (),
        reads=tuple(json.loads(reads)) if reads else (),
        writes=tuple(json.loads(writes)) if writes else (),
    )


def listed(names: tuple[str, ...]) -> str:
    """Names as text; empty for none."""
    return json.dumps(names) if names else ""

"""What can be asked of the projection."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from surefoot.artifacts import CallFacts, Interface, LifecycleState, Line, Standing, VersionId
from surefoot.codec import decode
from surefoot.errors import LedgerError
from surefoot.kernel.promotion import Scorecard
from surefoot.kernel.selection import Choice, Contender, Rollout, choose
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1, PromotionPolicy
from surefoot.registry import schema
from surefoot.registry.database import Database, Window
from surefoot.registry.schema import call_of, standing_of
from surefoot.values import Digest, RunId, TurnId

MOST_CALLS: Final = SOLVER_PROMOTION_V1.medium_window
"""Calls that are kept of a version; no policy looks further back."""
_CONTENDERS: Final = 4
"""Of each state, the best ones are looked at; the choice needs no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    """A version with all that is known of it."""

    standing: Standing
    card: Scorecard
    capability: str
    order: int
    """Later ones are larger."""
    lifetime: Mapping[str, int]
    """Counts over its whole life, by the names of D3."""
    incumbent: bool
    stored_at: datetime
    used_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """A decision, to read."""

    at: datetime
    version: VersionId
    decision: str
    before: str
    after: str
    policy: str
    enforced: bool
    calls: int
    judged: str
    """What came of it: `mistaken`, `right`, `pending`; empty where nothing is to be judged."""
    restored: str | None
    rationale: str


class Queries(Database):
    """Answers from the tables."""

    def choose(
        self, interface: Interface, rollout: Rollout, *, without: Collection[Digest] = ()
    ) -> Choice | None:
        """The version that serves a call of this interface now; see `kernel.selection.choose`."""
        with self.transaction():
            line = self.line(interface)
            latest_only = not rollout.enforced and rollout.kill_switch != "incumbent-only"
            found = self._contenders(
                interface, line, _CONTENDERS + len(without), latest_only=latest_only
            )
            return choose(tuple(found), line, rollout, without=without)

    def contenders(self, interface: Interface) -> tuple[Contender, ...]:
        """The versions of an interface that a choice can fall on."""
        line = self.line(interface)
        return tuple(self._contenders(interface, line, _CONTENDERS, latest_only=False))

    def interfaces(self, kind: str) -> tuple[Interface, ...]:
        """What versions of this kind serve, by name."""
        with self.transaction() as db:
            rows = db.execute(
                "SELECT kind, name, method FROM interfaces WHERE kind = ? ORDER BY name, method",
                (kind,),
            )
            return tuple(Interface(kind=k, name=n, method=m) for k, n, m in rows)

    def ranked(self, kind: str, most: int) -> tuple[Interface, ...]:
        """The interfaces with the most trusted versions first, then with those that succeed most, then by name."""
        with self.transaction() as db:
            rows = db.execute(
                "SELECT i.kind, i.name, i.method, MAX(CASE v.state WHEN 'durable' THEN 3 WHEN 'probation'"
                " THEN 2 WHEN 'candidate' THEN 1 ELSE 0 END) AS rank, MAX(v.score) AS score"
                " FROM interfaces i JOIN versions v ON v.interface = i.id"
                " WHERE i.kind = ? AND v.state <> 'disabled' GROUP BY i.id"
                " ORDER BY rank DESC, score DESC, i.name, i.method LIMIT ?",
                (kind, most),
            )
            return tuple(Interface(kind=k, name=n, method=m) for k, n, m, _, _ in rows)

    def known(self, version: VersionId) -> bool:
        """Whether the version was stored."""
        return self._found(version) is not None

    def line(self, interface: Interface) -> Line:
        """The interface's incumbents and calls."""
        with self.transaction() as db:
            row = db.execute(
                "SELECT incumbents, calls FROM interfaces WHERE id = ?",
                (self.interface_id(interface),),
            ).fetchone()
        return Line(
            interface=interface, incumbents=decode(tuple[Digest, ...], row[0]), calls=row[1]
        )

    def standing(self, version: VersionId) -> Standing:
        """The life-cycle entry of a stored version."""
        with self.transaction() as db:
            row = db.execute(
                f"SELECT {schema.STANDING} FROM versions v JOIN interfaces i ON i.id = v.interface"  # noqa: S608
                " WHERE v.id = ?",
                (self.version_id(version),),
            ).fetchone()
        return standing_of(row)

    def card(self, version: VersionId, *, most: int = MOST_CALLS) -> Scorecard:
        """The scorecard of a stored version, with at most so many of its last calls."""
        with self.transaction() as db:
            found = self.version_id(version)
            (calls,) = db.execute("SELECT calls FROM versions WHERE id = ?", (found,)).fetchone()
            return Scorecard(
                version=version,
                calls=calls,
                recent=self._window(found)[-most:],
                sibling_keys=self._sibling_keys(version.interface),
            )

    def _window(self, version: int) -> tuple[CallFacts, ...]:
        """The last calls of a version, oldest first. Calls are only ever added, so what was read once is not read again."""
        known = self._windows.get(version, Window())
        with self.transaction() as db:
            cursor = db.cursor()
            cursor.row_factory = None  # plain tuples: there are many
            cursor.execute(
                f"SELECT id, {schema.CALL} FROM calls WHERE version = ? AND id > ? ORDER BY id",  # noqa: S608
                (version, known.last),
            )
            rows = cursor.fetchall()
        if rows:
            calls = (*known.calls, *(call_of(*facts) for _, *facts in rows))
            known = self._windows[version] = Window(rows[-1][0], calls[-MOST_CALLS:])
        return known.calls

    def told(self, version: VersionId) -> tuple[str, int]:
        """What was last decided of a version, as `told_key`, and after how many of its calls."""
        with self.transaction() as db:
            row = db.execute(
                "SELECT told, told_calls FROM versions WHERE id = ?", (self.version_id(version),)
            ).fetchone()
        return row[0], row[1]

    def productive(self, trace: RunId, turn: TurnId | None) -> tuple[VersionId, ...]:
        """Candidates with a call that was ok in this turn."""
        with self.transaction() as db:
            rows = db.execute(
                "SELECT DISTINCT i.kind, i.name, i.method, v.artifact FROM calls c INDEXED BY calls_in"
                " JOIN versions v ON v.id = c.version JOIN interfaces i ON i.id = v.interface"
                " WHERE c.trace = ? AND c.turn = ? AND c.ok AND v.state = ? ORDER BY v.id",
                (trace, turn, LifecycleState.CANDIDATE),
            ).fetchall()
        return tuple(
            VersionId(interface=Interface(kind=k, name=n, method=m), artifact=Digest(a))
            for k, n, m, a in rows
        )

    def capability(self, version: VersionId) -> str:
        """The capability class of a stored version."""
        return self.capability_of(self.version_id(version))

    def policy(self, capability: str | None = None) -> PromotionPolicy:
        """The policy in force, for a class that may have its own."""
        with self.transaction() as db:
            row = db.execute(
                "SELECT constants FROM policies WHERE capability IS ? OR capability IS NULL"
                " ORDER BY capability IS NULL, id DESC LIMIT 1",
                (capability,),
            ).fetchone()
        return SOLVER_PROMOTION_V1 if row is None else decode(PromotionPolicy, row[0].encode())

    def policies(self) -> tuple[tuple[PromotionPolicy, str | None, datetime], ...]:
        """Every policy that was put in force: with its class, None for all, and when; oldest first."""
        with self.transaction() as db:
            rows = db.execute(
                "SELECT constants, capability, at FROM policies ORDER BY id"
            ).fetchall()
        return tuple(
            (decode(PromotionPolicy, c.encode()), name, datetime.fromisoformat(at))
            for c, name, at in rows
        )

    def versions(self, kind: str, name: str | None = None) -> Iterator[VersionRow]:
        """Stored versions of a kind, in the order in which they came; of one name when that is given."""
        with self.transaction() as db:
            rows = db.execute(
                f"SELECT {schema.STANDING}, v.id, v.capability, v.calls, v.successes, v.contract_pass,"  # noqa: S608
                " v.contract_fail, v.faults, v.stored_at, v.used_at FROM versions v"
                " JOIN interfaces i ON i.id = v.interface WHERE i.kind = ? AND i.name = IFNULL(?, i.name)"
                " ORDER BY v.id",
                (kind, name),
            ).fetchall()
        for row in rows:
            standing = standing_of(row)
            order, capability, calls, successes, passed, failed, faults, stored, used = tuple(row)[
                13:
            ]
            counts = decode(dict[str, int], faults.encode())
            yield VersionRow(
                standing=standing,
                card=self.card(standing.version),
                capability=capability,
                order=order,
                lifetime={
                    "calls": calls,
                    "successes": successes,
                    "failures": calls - successes,
                    "contract_pass": passed,
                    "contract_fail": failed,
                    **counts,
                },
                incumbent=self.line(standing.version.interface).incumbent
                == standing.version.artifact,
                stored_at=datetime.fromisoformat(stored),
                used_at=None if used is None else datetime.fromisoformat(used),
            )

    def decisions(self, kind: str, name: str | None = None) -> tuple[DecisionRow, ...]:
        """What was decided, oldest first."""
        with self.transaction() as db:
            rows = db.execute(
                "SELECT i.kind, i.name, i.method, v.artifact, d.* FROM decisions d"
                " JOIN versions v ON v.id = d.version JOIN interfaces i ON i.id = v.interface"
                " WHERE i.kind = ? AND i.name = IFNULL(?, i.name) ORDER BY d.id",
                (kind, name),
            ).fetchall()
        words = {None: "pending", 0: "right", 1: "mistaken"}
        return tuple(
            DecisionRow(
                at=datetime.fromisoformat(row["at"]),
                version=VersionId(
                    interface=Interface(kind=row["kind"], name=row["name"], method=row["method"]),
                    artifact=Digest(row["artifact"]),
                ),
                decision=row["decision"],
                before=row["before"],
                after=row["after"],
                policy=row["policy"],
                enforced=bool(row["enforced"]),
                calls=row["calls"],
                judged=words[row["mistaken"]] if row["judges"] else "",
                restored=row["restored"],
                rationale=row["rationale"],
            )
            for row in rows
        )

    def interface_id(self, interface: Interface) -> int:
        """Its row, made when there is none."""
        found = self._rows.get(interface)
        if found is None:
            parts = (interface.kind, interface.name, interface.method)
            with self.transaction() as db:
                db.execute(
                    "INSERT OR IGNORE INTO interfaces (kind, name, method) VALUES (?, ?, ?)", parts
                )
                (found,) = db.execute(
                    "SELECT id FROM interfaces WHERE kind = ? AND name = ? AND method = ?", parts
                ).fetchone()
                self._rows[interface] = found
        return found

    def _found(self, version: VersionId) -> int | None:
        found = self._rows.get(version)
        if found is None:
            with self.transaction() as db:
                row = db.execute(
                    "SELECT id FROM versions WHERE interface = ? AND artifact = ?",
                    (self.interface_id(version.interface), version.artifact),
                ).fetchone()
            if row is None:
                return None
            found = self._rows[version] = row[0]
        return found

    def version_id(self, version: VersionId) -> int:
        """Its row; `LedgerError` when it was never stored."""
        found = self._found(version)
        if found is None:
            raise LedgerError(
                f"{version} was used before it was stored: a ledger is missing or was changed; "
                "`surefoot verify` finds which"
            )
        return found

    def capability_of(self, row_id: int) -> str:
        """The capability class in a version's row."""
        with self.transaction() as db:
            row = db.execute("SELECT capability FROM versions WHERE id = ?", (row_id,)).fetchone()
        return str(row[0])

    def _sibling_keys(self, interface: Interface) -> frozenset[str] | None:
        """State keys that the other methods of the name used within their last medium window; None: there are none."""
        with self.transaction() as db:
            rows = db.execute(
                "SELECT i.id, i.calls FROM interfaces i WHERE i.kind = ? AND i.name = ? AND i.method <> ?",
                (interface.kind, interface.name, interface.method),
            ).fetchall()
            if not rows:
                return None
            found: set[str] = set()
            for sibling, calls in rows:
                found.update(
                    key
                    for (key,) in db.execute(
                        "SELECT key FROM state_keys WHERE interface = ? AND at_calls > ?",
                        (sibling, calls - MOST_CALLS),
                    )
                )
        return frozenset(found)

    def _contenders(
        self, interface: Interface, line: Line, most: int, *, latest_only: bool
    ) -> Iterator[Contender]:
        """The latest, the incumbents (every durable version is one), and the best of the states below."""
        asked = (
            f"SELECT {schema.STANDING}, v.id, v.recent_calls, v.recent_successes FROM versions v"  # noqa: S608
            " JOIN interfaces i ON i.id = v.interface WHERE v.interface = ?"
        )
        latest = f"{asked} AND v.state <> 'disabled' ORDER BY v.id DESC LIMIT ?"
        best = f"{asked} AND v.state = ? ORDER BY v.score DESC, v.id DESC LIMIT ?"
        with self.transaction() as db:
            here = self.interface_id(interface)
            rows = {r["id"]: r for r in db.execute(latest, (here, most))}
            if not latest_only:
                for state in (LifecycleState.PROBATION, LifecycleState.CANDIDATE):
                    rows |= {r["id"]: r for r in db.execute(best, (here, state, most))}
                for artifact in line.incumbents[-most:]:
                    one = db.execute(f"{asked} AND v.artifact = ?", (here, artifact)).fetchone()
                    rows[one["id"]] = one
        for row in rows.values():
            yield Contender(
                standing=standing_of(row),
                order=row["id"],
                calls=row["recent_calls"],
                successes=row["recent_successes"],
            )

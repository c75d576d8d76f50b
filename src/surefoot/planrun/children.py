"""A unit of a plan as a run of its own: started, taken up again, and accounted for in the plan run's ledger."""

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from surefoot.app import resume, start
from surefoot.assembly import Session
from surefoot.documents import SUMMARY
from surefoot.errors import LedgerError, SurefootError
from surefoot.events.classes import ChildKind
from surefoot.events.plans import ChildEnded, ChildStarted
from surefoot.kernel.plan_state import ChildState
from surefoot.kernel.state import RunState
from surefoot.kernel.whole import noticing
from surefoot.ledger import read_events
from surefoot.nodes import Cost
from surefoot.planrun.brief import issue_for
from surefoot.planrun.course import changes
from surefoot.planrun.interrupt import OneAtATime, Stop, interruptible
from surefoot.plans import Assignment, Plan, PlannedUnit
from surefoot.project import Project, child_run
from surefoot.reading import read_story_of
from surefoot.request import Frozen, Request
from surefoot.settings import RiskSettings
from surefoot.values import RESUMABLE, CommitId, EventId, RunId, RunStatus, TreeId, Usage

_MOST_FACTS: Final = 20
_LEAST_USD: Final = 1e-9
"""A ceiling that holds no call; None would be no ceiling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One attempt at a unit."""

    unit: PlannedUnit
    attempt: int
    node: ChildKind
    base: CommitId
    base_tree: TreeId
    share: Cost
    """What the unit may spend in all its life."""
    facts: tuple[str, ...]
    refuted: tuple[str, ...]


def project_for(order: Order, project: Project, frozen: Frozen, plan_run: RunId) -> Project:
    """The repository as if the plan's branch were checked out at a unit's base, with the settings that the plan run froze.

    Only the flags that the unit announces are on. Whether anybody trusted the settings is the plan run's answer, too: the
    file may be another one since.
    """
    repository = replace(
        project.repository,
        head=order.base,
        tree=order.base_tree,
        branch=f"refs/heads/surefoot/{plan_run}",
    )
    flags = {name: on and name in order.unit.risk_flags for name, on in frozen.settings.risk}
    limited = frozen.settings.model_copy(update={"risk": RiskSettings(**flags)})
    untrusted = () if frozen.trusted else limited.widening()
    return replace(project, repository=repository, settings=limited, untrusted=untrusted)


class Children:
    """Runs units for one plan run; may be used from several threads."""

    def __init__(self, session: Session, plan: Plan, stop: Stop) -> None:
        self._session, self._plan, self._stop = session, plan, stop
        self._person = OneAtATime(session.around.person)
        self._guard = threading.Lock()
        """Around looking at what is left and reserving it."""

    def do(self, order: Order) -> ChildEnded:
        """Do a unit, from where its run stands, to that run's next stop; what was done before is only read."""
        run_id = child_run(self._session.run_id, order.unit.unit_id, order.attempt)
        known = self._known(run_id)
        if known is not None and known.ended is not None and known.ended.status not in RESUMABLE:
            return known.ended
        before = self._state(run_id)
        life = self._reserve(order, run_id, before.spend.usage if before else Usage())
        try:
            self._run(order, run_id, before, life)
        except KeyboardInterrupt:
            return self._ended(order, run_id, RunStatus.CANCELLED, "interrupted before it began")
        except LedgerError:
            raise
        except (SurefootError, OSError) as error:
            # The machine or the settings lack something: the work is not judged, and the plan can go on later.
            return self._ended(order, run_id, RunStatus.PAUSED, str(error))
        return self._ended(order, run_id, None, "")

    def _known(self, run_id: RunId) -> ChildState | None:
        return self._session.journal.state.plan.children.get(run_id)

    def _state(self, run_id: RunId) -> RunState | None:
        """What the child's own ledger says; None when it never began."""
        project = self._session.project
        if not project.ledger_file(run_id).exists():
            return None
        state = read_story_of(project, run_id).state
        return state if state.opened is not None else None

    def _reserve(self, order: Order, run_id: RunId, spent: Usage) -> Cost:
        """Reserve what is left of the unit's share, and of the plan's ceilings; what its run may spend in all its life."""
        journal, used = self._session.journal, spent.prompt_tokens + spent.completion_tokens
        with self._guard:
            ceilings, now = journal.state.policy, journal.spend()
            known = self._known(run_id)
            # What a killed process had reserved for this very run is free again.
            free = journal.state.reservations.get(known.started if known else EventId(""), (0, 0.0))
            tokens = max(order.share.tokens - used, 0)
            usd = max(order.share.cost_usd - spent.cost_usd, 0.0)
            # A ceiling of no money is one: its shares are none, too.
            is_limited = ceilings is not None and ceilings.cost_usd is not None
            if ceilings is not None and ceilings.tokens is not None:
                gone = now.usage.prompt_tokens + now.usage.completion_tokens + now.reserved_tokens
                gone -= free[0]
                tokens = max(min(tokens, ceilings.tokens - gone), 0)
            if ceilings is not None and ceilings.cost_usd is not None:
                spent_usd = now.usage.cost_usd + now.reserved_usd - free[1]
                usd = max(min(usd, ceilings.cost_usd - spent_usd), 0.0)
            begun = ChildStarted(
                node=order.node,
                unit_id=order.unit.unit_id,
                run=run_id,
                attempt=order.attempt,
                base=order.base,
                base_tree=order.base_tree,
                tokens=tokens,
                cost_usd=usd,
                reason="; ".join(order.refuted)[:500] or order.unit.title,
            )
            journal.record_all([begun], aside=True)
        return Cost(
            tokens=max(used + tokens, 1) if order.share.tokens else 0,
            cost_usd=max(spent.cost_usd + usd, _LEAST_USD) if is_limited else 0.0,
        )

    def _run(self, order: Order, run_id: RunId, before: RunState | None, life: Cost) -> None:
        around = interruptible(self._session.around, self._stop, self._person)
        session = self._session
        project = project_for(order, session.project, session.frozen, session.run_id)
        if before is None:
            start(project, self._request(order, life), around, run_id=run_id)
        elif before.status is None or before.status in RESUMABLE:
            elapsed = before.elapsed_s(before.last_time or self._session.around.clock.now())
            resume(project, run_id, around, self._limits(life, elapsed))
        elif not (project.runs / run_id / SUMMARY).exists():
            resume(project, run_id, around)  # killed between its last event and its summary

    def _request(self, order: Order, life: Cost) -> Request:
        limits = self._limits(life, 0.0)
        return replace(
            self._session.frozen.request,
            issue=issue_for(self._plan, order.unit, facts=order.facts, refuted=order.refuted),
            mode=self._session.frozen.mode if changes(order.unit) else "report_only",
            plan=None,
            milestones=(),
            jobs=1,
            assignment=Assignment(
                parent=self._session.run_id, unit=order.unit, attempt=order.attempt
            ),
            time_s=limits.time_s,
            tokens=limits.tokens,
            cost_usd=limits.cost_usd,
        )

    def _limits(self, life: Cost, elapsed_s: float) -> Request:
        """What the child may use in its life, with the time that the plan run has left."""
        frozen, journal = self._session.frozen, self._session.journal
        policy = journal.state.policy
        left_s = max((policy.time_s if policy else 0.0) - journal.spend().time_s, 1.0)
        return replace(
            frozen.request,
            time_s=elapsed_s + left_s,
            tokens=life.tokens or None,
            cost_usd=life.cost_usd or None,
        )

    def _ended(
        self, order: Order, run_id: RunId, status: RunStatus | None, reason: str
    ) -> ChildEnded:
        state = self._state(run_id)
        known = self._known(run_id)
        settled, calls = (known.settled, known.model_calls) if known else (Usage(), 0)
        opened = state.opened if state else None
        made = state is not None and opened is not None and state.head_tree != opened.base_tree
        ended = ChildEnded(
            unit_id=order.unit.unit_id,
            run=run_id,
            status=(state.status if state else None) or status or RunStatus.ERROR,
            reason=(state.reason if state and state.status else "") or reason,
            ledger_head=self._head(run_id),
            base_tree=opened.base_tree if opened else order.base_tree,
            tree=state.head_tree if state and made else None,
            commit=state.head_commit if state else None,
            usage=_less(state.spend.usage, settled) if state else Usage(),
            model_calls=state.spend.model_calls - calls if state else 0,
            facts=_facts(order, state) if state else (),
            noticing=noticing(state) if state else (),
        )
        self._session.journal.record_all([ended], aside=True)
        return ended

    def _head(self, run_id: RunId) -> str:
        path = self._session.project.ledger_file(run_id)
        hashes = deque((r.hash for r in read_events(path)) if path.exists() else (), maxlen=1)
        return hashes.pop() if hashes else ""


def _less(one: Usage, other: Usage) -> Usage:
    return Usage(
        prompt_tokens=one.prompt_tokens - other.prompt_tokens,
        cached_tokens=one.cached_tokens - other.cached_tokens,
        completion_tokens=one.completion_tokens - other.completion_tokens,
        cost_usd=one.cost_usd - other.cost_usd,
    )


def _facts(order: Order, state: RunState) -> tuple[str, ...]:
    """What a unit that only looks has found, for those that need it."""
    if changes(order.unit) or state.opened is None:
        return ()
    audit = state.audits.get(state.opened.base_tree)
    found: Sequence[str] = [
        f"{f.severity} {f.file}:{f.line} {f.message} ({f.tool} {f.rule})"
        for f in (audit.audit.findings if audit else ())
    ]
    return (*found[:_MOST_FACTS], *state.facts[:_MOST_FACTS])

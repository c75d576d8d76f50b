"""`surefoot status`: a run at a glance, from its ledger alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from surefoot.codec import decode
from surefoot.events.orchestration import ScheduleOpened
from surefoot.gitops.collect import is_held
from surefoot.kernel.schedule import Schedule
from surefoot.ledger import read_events
from surefoot.ledger.blobs import BlobStore
from surefoot.nodes import Graph
from surefoot.planrun.course import course_of
from surefoot.planrun.status import Standing, as_json, lines_of, standing, waiting
from surefoot.project import Project
from surefoot.reading import read_story_of
from surefoot.request import frozen_of
from surefoot.values import Ceilings, RunId, Spend

_ANY: Final = Ceilings(max_iterations=1, time_s=1.0, max_files=1)
"""Of tokens and money, which is what a schedule looks at; what was deferred stands in the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What there is to say."""

    run_id: RunId
    state: str
    """`running`, `killed` (nobody works on it, and it said nothing), or the status that it stopped with."""
    phase: str
    reason: str
    ending: str
    """What the user made of it: accepted as a commit, or rejected and why; empty while neither."""
    spend: Spend
    elapsed_s: float
    ceilings: Mapping[str, float | None]
    parts: tuple[Standing, ...]

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.run_id}  {self.state} ({self.phase}): {self.reason}"
        if self.ending:
            yield self.ending
        used = self.spend.usage.prompt_tokens + self.spend.usage.completion_tokens
        kept = f", {self.spend.reserved_tokens} reserved" if self.spend.reserved_tokens else ""
        tokens = _of(self.ceilings["tokens"])
        usd, seconds = _of(self.ceilings["cost_usd"]), _of(self.ceilings["time_s"])
        yield f"used {used} tokens{kept}{tokens}; {self.spend.usage.cost_usd:.4f} USD{usd}; {self.elapsed_s:.0f} s{seconds}"
        yield from lines_of(self.parts)

    def as_json(self) -> dict[str, object]:
        """For programs."""
        usage = self.spend.usage
        return {
            "schema": 1,
            "run_id": self.run_id,
            "state": self.state,
            "phase": self.phase,
            "reason": self.reason,
            "ending": self.ending,
            "used": {
                "tokens": usage.prompt_tokens + usage.completion_tokens,
                "reserved_tokens": self.spend.reserved_tokens,
                "cost_usd": usage.cost_usd,
                "reserved_usd": self.spend.reserved_usd,
                "time_s": round(self.elapsed_s, 3),
            },
            "ceilings": dict(self.ceilings),
            "parts": as_json(self.parts),
        }


def overview(project: Project, run_id: RunId) -> Overview:
    """A run of a plan or any other one.

    Raises:
        UsageError: The run has no beginning.
    """
    frozen, story = frozen_of(project, run_id), read_story_of(project, run_id)
    state = story.state
    plan, policy = frozen.request.plan, state.policy
    alive = is_held(project.repository, run_id, project.home)
    word = state.status.value if state.status else "running" if alive else "killed"
    return Overview(
        run_id=run_id,
        state=word,
        phase=state.phase.value,
        reason=state.reason,
        ending=story.ending,
        spend=state.spend,
        elapsed_s=state.elapsed_s(state.last_time) if state.last_time else 0.0,
        ceilings={
            "tokens": policy.tokens if policy else None,
            "cost_usd": policy.cost_usd if policy else None,
            "time_s": policy.time_s if policy else None,
        },
        parts=()
        if plan is None
        else standing(
            course_of(plan, frozen.request.milestones),
            state,
            waiting(schedule) if (schedule := _schedule(project, run_id)) else {},
            alive=word == "running",
        ),
    )


def _schedule(project: Project, run_id: RunId) -> Schedule | None:
    """The graph as the run's ledger has it; None before it was taken up."""
    schedule: Schedule | None = None
    for recorded in read_events(project.ledger_file(run_id)):
        event = recorded.event
        if schedule is None and isinstance(event, ScheduleOpened):
            graph = decode(Graph, BlobStore(project.blobs).get(event.graph))
            schedule = Schedule(graph.nodes, jobs=event.jobs, seed=event.seed, ceilings=_ANY)
        if schedule is not None:
            schedule.apply(event)
    return schedule


def _of(ceiling: float | None) -> str:
    return "" if ceiling is None else f" of {ceiling:g}"

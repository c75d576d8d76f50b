"""`surefoot status`: a run at a glance, from its ledger alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from surefoot.app import frozen_of, read_story_of
from surefoot.gitops.collect import is_held
from surefoot.planrun.course import course_of
from surefoot.planrun.status import Standing, as_json, lines_of, standing
from surefoot.project import Project
from surefoot.values import RunId, Spend


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What there is to say."""

    run_id: RunId
    state: str
    """`running`, `killed` (nobody works on it, and it said nothing), or the status that it stopped with."""
    phase: str
    reason: str
    spend: Spend
    elapsed_s: float
    ceilings: Mapping[str, float | None]
    parts: tuple[Standing, ...]

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.run_id}  {self.state} ({self.phase}): {self.reason}"
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
    frozen, state = frozen_of(project, run_id), read_story_of(project, run_id).state
    plan, policy = frozen.request.plan, state.policy
    alive = is_held(project.repository, run_id, project.home)
    word = state.status.value if state.status else "running" if alive else "killed"
    return Overview(
        run_id=run_id,
        state=word,
        phase=state.phase.value,
        reason=state.reason,
        spend=state.spend,
        elapsed_s=state.elapsed_s(state.last_time) if state.last_time else 0.0,
        ceilings={
            "tokens": policy.tokens if policy else None,
            "cost_usd": policy.cost_usd if policy else None,
            "time_s": policy.time_s if policy else None,
        },
        parts=()
        if plan is None
        else standing(course_of(plan, frozen.request.milestones), state, alive=word == "running"),
    )


def _of(ceiling: float | None) -> str:
    return "" if ceiling is None else f" of {ceiling:g}"

"""What `surefoot models test` finds out about one model."""

from dataclasses import dataclass
from typing import Final

from surefoot.errors import ModelUnavailableError, SettingsError
from surefoot.lineup import Lineup, Part
from surefoot.values import Message, ModelFailure, ModelRequest

_QUESTION: Final = ModelRequest(
    purpose="models-test",
    messages=(Message(role="user", content="Reply with the one word: ready"),),
    # For one word: a model that thinks first does not think shorter when it has less room.
    max_tokens=512,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """How a model answered, or why it did not."""

    part: Part
    answer: str | None = None
    answered_by: str | None = None
    """As the server calls the model."""
    wall_s: float | None = None
    """None when nobody was asked."""
    reason: str | None = None

    @property
    def ok(self) -> bool:
        """It answered."""
        return self.reason is None

    def told(self) -> str:
        """In one line."""
        who = " ".join((self.part.model, *(f"[{role}]" for role in self.part.roles)))
        if self.reason is not None:
            return f"failed  {who}: {self.reason}"
        by = "" if self.answered_by == self.part.model else f" by {self.answered_by}"
        return f"ok      {who}: {self.answer!r}{by} in {self.wall_s:.2f} s"

    def as_json(self) -> dict[str, object]:
        """As plain data."""
        return {
            "model": self.part.model,
            "roles": list(self.part.roles),
            "ok": self.ok,
            "answer": self.answer,
            "answered_by": self.answered_by,
            "wall_s": self.wall_s,
            "reason": self.reason,
        }


def try_part(lineup: Lineup, part: Part) -> Trial:
    """Ask a model one question; one that may not be asked, or cannot be had, is not asked."""
    if part.denial is not None:
        return Trial(part=part, reason=f"{part.denial.reason} [{part.denial.rule}]")
    try:
        model = lineup.open(part.model)
    except (ModelUnavailableError, SettingsError) as error:
        return Trial(part=part, reason=str(error))
    answer = model.complete((_QUESTION,))[0]
    if isinstance(answer, ModelFailure):
        return Trial(part=part, reason=f"{answer.fault}: {answer.message}", wall_s=answer.wall_s)
    return Trial(
        part=part,
        answer=answer.text.strip(),
        answered_by=answer.model,
        wall_s=answer.wall_s,
    )

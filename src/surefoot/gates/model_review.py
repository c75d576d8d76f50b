"""The additional critique of `burn-max`: the pinned judges look at the whole change (SPEC B8, C4)."""

from dataclasses import replace

from surefoot.decisions.review import DIFF_CHARACTERS, ReviewQuestion, ask_reviewer, place_of
from surefoot.gates.review import objection
from surefoot.kernel.ports import Asker, Notebook, ReviewInput
from surefoot.values import ModelFailure, Review


class ModelReviewer:
    """Vetoes with a finding that has a place; where no model looked, the review says so and waives."""

    def __init__(self, asker: Asker, notebook: Notebook) -> None:
        self._asker = asker
        self._notebook = notebook

    def review(self, seen: ReviewInput) -> Review:
        """Ask about issue, diff and evidence; what the executor said is not shown."""
        if len(seen.diff.patch) > DIFF_CHARACTERS:
            return Review(
                verdict="WAIVER",
                action="PROCEED",
                reason=f"no model looked at the change: its {len(seen.diff.patch)} characters are more than {DIFF_CHARACTERS}",
                decided_by="model",
            )
        question = ReviewQuestion(
            issue=seen.issue.text or seen.issue.title,
            evidence=tuple(f"{p.kind}: {p.after}" for p in seen.evidence),
            patch=seen.diff.patch,
        )
        answer = ask_reviewer(question, self._asker, self._notebook)
        if answer is None or isinstance(answer, ModelFailure):
            why = answer.message if answer else "it gave no usable answer"
            return Review(
                verdict="WAIVER",
                action="PROCEED",
                reason=f"no model looked at the change: {why}",
                decided_by="model",
            )
        place = place_of(answer.quote, seen.diff.patch) if answer.objects else None
        if place is None:
            return Review(
                verdict="PASS", action="PROCEED", reason=answer.reason, decided_by="model"
            )
        path, line = place
        finding = replace(objection("model-objection", path, answer.reason), line=line)
        return Review(
            verdict="FAIL",
            action="BLOCK",
            reason=f"{path}:{line}: {answer.reason}",
            findings=(finding,),
            decided_by="model",
        )

"""Review: a model's look at a whole change (SPEC B8). It can point at a defect; it can never approve.

The prompt is the file `review.md`, filled deterministically. An objection counts only with a line that the change really
adds: one that cannot be pointed at is sent back once and then dropped.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from surefoot.codec import canonical, decode, encode
from surefoot.decisions.corrected import Corrected, ask_corrected
from surefoot.decisions.objects import object_in
from surefoot.decisions.solver_checkpoint import cut
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Message, ModelFailure, ModelRequest

POLICY_BUNDLE = "review/1"
_ISSUE_CHARACTERS = 4_000
DIFF_CHARACTERS = 12_000
"""Of a change that one look can hold."""
_ANSWER_TOKENS = 200
_SCHEMA = canonical(
    {
        "type": "object",
        "properties": {
            "objects": {"type": "boolean"},
            "reason": {"type": "string", "maxLength": 300},
            "quote": {"type": "string", "maxLength": 300},
        },
        "required": ["objects", "reason", "quote"],
        "additionalProperties": False,
    }
).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewQuestion:
    """What the reviewer is shown."""

    issue: str
    evidence: tuple[str, ...]
    patch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAnswer:
    """What it may say."""

    objects: bool
    reason: str
    quote: str
    """An added line of the change, without its plus sign; empty without an objection."""


def ask_reviewer(
    question: ReviewQuestion, asker: Asker, notebook: Notebook
) -> ReviewAnswer | ModelFailure | None:
    """The model's objection or that it has none; None when it answered, twice, with something that cannot be used."""
    request = ModelRequest(
        purpose="review",
        messages=(Message(role="user", content=render(question)),),
        max_tokens=_ANSWER_TOKENS,
        json_schema=_SCHEMA,
    )
    said = ask_corrected(asker, request, partial(parse, question=question))
    if not isinstance(said, Corrected):
        return said
    notebook.record(
        Decided(
            decision="review",
            inputs=notebook.put(encode(question)),
            output=notebook.put(encode(said.read)),
            decided_by="model",
            policy_bundle=POLICY_BUNDLE,
            usage=said.usage,
        )
    )
    return said.read


def render(question: ReviewQuestion) -> str:
    """The prompt, from the template and nothing else."""
    fields = {
        "issue": cut(question.issue, _ISSUE_CHARACTERS),
        "evidence": "\n".join(f"- {line}" for line in question.evidence),
        "diff": question.patch,
    }
    # In one pass, so that nothing in a value is taken for a place of the template.
    return re.sub(r"\{(issue|evidence|diff)\}", lambda found: fields[found[1]], _template())


def parse(text: str, question: ReviewQuestion) -> tuple[ReviewAnswer | None, str]:
    """The answer, or the exact complaint to send back."""
    try:
        answer = decode(ReviewAnswer, canonical(object_in(text)))
    except (ValueError, RecursionError) as error:
        return None, f"That is not the JSON that was asked for: {str(error).splitlines()[0]}"
    if answer.objects and place_of(answer.quote, question.patch) is None:
        return (
            None,
            "The quote must be one line that the change adds (or takes away, where it adds none), copied without its sign",
        )
    return answer, ""


def place_of(quote: str, patch: str) -> tuple[str, int] | None:
    """File and 1-based line of an added line of a patch; where it adds none, of one that it takes away, as the file is now."""
    lines = [place for place in _places(patch) if place[0] != " "]
    adds = any(sign == "+" for sign, *_ in lines)
    for sign, text, path, number in lines:
        if sign == ("+" if adds else "-") and quote.strip() and text.strip() == quote.strip():
            return path, number
    return None


def _places(patch: str) -> Iterator[tuple[str, str, str, int]]:
    """Each line of a patch's hunks: its sign, its text, its file, and its 1-based place in the new side."""
    path, number, hunk = "", 0, False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            hunk = False
        elif not hunk and line.startswith(("+++ ", "--- ")):
            # A file that is gone has no new name.
            if line != "+++ /dev/null":
                path = line[4:].removeprefix("a/" if line[0] == "-" else "b/").strip('"')
        elif line.startswith("@@"):
            number, hunk = _start(line.split(" ")), True
        elif line[:1] in {"+", "-", " "}:
            yield line[0], line[1:], path, number
            number += line[0] != "-"


def _start(head: Sequence[str]) -> int:
    """First line of the new side, from the words of a hunk's head, e.g. `@@ -1,2 +3,4 @@`."""
    new = next((word for word in head if word.startswith("+")), "+1")
    return int(new[1:].partition(",")[0])


@cache
def _template() -> str:
    return files("surefoot.decisions").joinpath("review.md").read_text()

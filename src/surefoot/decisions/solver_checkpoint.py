"""SolverCheckpoint: reading prose in which no work was done (SPEC A3, A7).

The prompt is the file `solver_checkpoint.md`, filled deterministically: the same input gives the same bytes. The reply
is held to a schema; an excerpt that does not occur in the transcript is rejected, and so is anything like an edit.
"""

import json
import re
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from surefoot.codec import canonical, decode, encode
from surefoot.decisions.corrected import Corrected, ask_corrected
from surefoot.decisions.objects import object_in
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Checkpoint, Classification, Message, ModelFailure, ModelRequest

POLICY_BUNDLE = "solver_checkpoint/1"
_TRANSCRIPT_CHARACTERS = 6_000
_ANSWER_TOKENS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverQuestion:
    """What the solver model is shown."""

    unit_type: str
    unit_id: str
    transcript: str
    last: Checkpoint | None
    state: str
    choices: tuple[Classification, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverAnswer:
    """What it may say."""

    classification: Classification
    summary: str
    excerpt: str


def ask_solver(
    question: SolverQuestion, asker: Asker, notebook: Notebook, *, by_rule: SolverAnswer
) -> SolverAnswer | ModelFailure | None:
    """The model's reading; None when it answered, twice, with something that cannot be used.

    `by_rule` is what the rules make of the same turn; it is recorded beside the model's reading.
    """
    request = ModelRequest(
        purpose="solver_checkpoint",
        messages=(Message(role="user", content=render(question)),),
        max_tokens=_ANSWER_TOKENS,
        json_schema=_schema(question.choices),
    )
    said = ask_corrected(asker, request, partial(parse, question=question))
    if not isinstance(said, Corrected):
        return said
    notebook.record(
        Decided(
            decision="solver_checkpoint",
            inputs=notebook.put(encode(question)),
            output=notebook.put(encode(said.read)),
            decided_by="model",
            policy_bundle=POLICY_BUNDLE,
            usage=said.usage,
            by_rule=notebook.put(encode(by_rule)),
        )
    )
    return said.read


def render(question: SolverQuestion) -> str:
    """The prompt, from the template and nothing else."""
    last = question.last.summary if question.last else "none"
    fields = {
        "unit_type": question.unit_type,
        "unit_id": question.unit_id,
        "state": question.state,
        "last": last,
        "choices": ", ".join(question.choices),
        "transcript": cut(question.transcript, _TRANSCRIPT_CHARACTERS),
    }
    places = "|".join(fields)
    # In one pass, so that nothing in a value is taken for a place of the template.
    return re.sub(rf"\{{({places})\}}", lambda found: fields[found[1]], _template())


def cut(text: str, most: int) -> str:
    """The first and the last half of `most` characters of a longer text, with the gap marked."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[… {len(text) - most} characters left out …]\n{text[-half:]}"


def parse(text: str, question: SolverQuestion) -> tuple[SolverAnswer | None, str]:
    """The answer, or the exact complaint to send back."""
    try:
        answer = decode(SolverAnswer, canonical(object_in(text)))
    except (ValueError, RecursionError) as error:
        return None, f"That is not the JSON that was asked for: {str(error).splitlines()[0]}"
    if answer.classification not in question.choices:
        return None, f"{answer.classification} is not one of {', '.join(question.choices)}"
    if not answer.excerpt or answer.excerpt not in question.transcript:
        return None, "The excerpt must be copied verbatim from the transcript"
    return answer, ""


def _schema(choices: tuple[Classification, ...]) -> str:
    plain = {
        "type": "object",
        "properties": {
            "classification": {"enum": list(choices)},
            "summary": {"type": "string", "maxLength": 200},
            "excerpt": {"type": "string", "maxLength": 200},
        },
        "required": ["classification", "summary", "excerpt"],
        "additionalProperties": False,
    }
    return canonical(json.loads(json.dumps(plain))).decode()


@cache
def _template() -> str:
    return files("surefoot.decisions").joinpath("solver_checkpoint.md").read_text()

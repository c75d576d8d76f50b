"""One shape for every decision: a frozen question in, a frozen answer out, and a record of who decided (SPEC E1).

A `Signature` names the two types and says in words what is asked. `decide` answers by rule where the facts suffice, else
asks the model through the DSPy program that is made of the same two types. An answer that does not fit is sent back once,
with the exact complaint; a second one ends the question without an answer.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import TypeAdapter

from surefoot.codec import canonical, decode, encode
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import CallForm, ModelFailure, Usage

if TYPE_CHECKING:
    from surefoot.decisions.native_call import NativeTools
    from surefoot.decisions.program import Program, Reply

Q = TypeVar("Q")
A = TypeVar("A")
_TRIES: Final = 2
NO_BUDGET: Final = "the budget allows no further model call"
"""The reason of what is unanswered because of it."""
MEND: Final = "`pip install 'surefoot[agent]'` brings it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature(Generic[Q, A]):
    """What is asked. The fields of both types carry their description as `Annotated[type, "words"]`."""

    name: str
    """As in `Decided.decision`, and the purpose of its model calls."""
    question: type[Q]
    answer: type[A]
    instructions: str
    version: int = 1
    answer_tokens: int = 300
    form: CallForm = "text"
    """Of a tool call: how it is asked for."""

    @property
    def bundle(self) -> str:
        """The policy bundle that a record names; asked natively it is another one, since the prompt is another."""
        native = ".native" if self.form == "native" else ""
        return f"{self.name}{native}/{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a question or an answer, as a prompt shows it."""

    name: str
    kind: Any
    description: str
    optional: bool = False
    """An answer may leave it out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[A]):
    """An answer, already recorded, and what it cost."""

    answer: A
    decided_by: Literal["rule", "model"]
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """Why a question has no answer: the model failed, the budget refused (no failure), or twice nothing that fits."""

    reason: str
    failure: ModelFailure | None = None
    usage: Usage = Usage()
    """What the replies cost that could not be used."""


def fields_of(kind: type) -> tuple[Field, ...]:
    """The fields of a frozen type in their order, with the words that stand beside them."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(f, hints[f.name]) for f in dataclasses.fields(kind))


def schema_of(kind: type) -> dict[str, object]:
    """The JSON Schema of an answer, every field required, so that a constrained model leaves none out; objects within it likewise.

    Providers refuse a strict schema in which an object may have more fields than it names.
    """
    schema: dict[str, Any] = TypeAdapter(kind).json_schema()
    for part in (schema, *schema.get("$defs", {}).values()):
        if "properties" in part:
            part["required"] = list(part["properties"])
            part["additionalProperties"] = False
    return schema


def _field(field: dataclasses.Field[Any], hint: Any) -> Field:  # noqa: ANN401  # a type hint has no type
    optional = field.default is not dataclasses.MISSING
    if get_origin(hint) is Annotated:
        bare, words, *_ = get_args(hint)
        return Field(name=field.name, kind=bare, description=str(words), optional=optional)
    return Field(name=field.name, kind=hint, description="", optional=optional)


def decide(
    signature: Signature[Q, A],
    question: Q,
    asker: Asker,
    notebook: Notebook,
    *,
    rule: Callable[[Q], A | None] | None = None,
    otherwise: Callable[[Q], A] | None = None,
    check: Callable[[A], str] | None = None,
    heard: Callable[[str], object] | None = None,
    native: "NativeTools | None" = None,
    seed: int = 0,
) -> Decision[A] | Unanswered:
    """The answer of the rule, else of the model.

    Args:
        signature: What is asked.
        question: With which facts.
        asker: Who is asked when the rule has no answer.
        notebook: Where the decision is recorded.
        rule: Answers when the facts suffice; None where they do not.
        otherwise: The rule that would decide if there were no model; its answer is recorded beside the model's.
        check: What is wrong with a model's answer, in words that the model is told; empty when nothing is.
        heard: Is told of each of a model's answers what is wrong with it; empty when nothing is.
        native: The tools that the answer has to call, in the provider's own protocol.
        seed: Of the model call; the second try has the next one.
    """
    answer = rule(question) if rule is not None else None
    if answer is not None:
        return _recorded(signature, question, Decision(answer=answer, decided_by="rule"), notebook)
    program = _program(signature, asker, native)
    if isinstance(program, Unanswered):
        return program
    spent, complaint, said = Usage(), "", ""
    for attempt in range(_TRIES):
        reply = program.ask(question, seed=seed + attempt, said=said, complaint=complaint)
        if isinstance(reply, Unanswered):
            return dataclasses.replace(reply, usage=spent + reply.usage)
        spent, said = spent + reply.usage, reply.text
        read = _read(signature, reply, spent, check)
        complaint = read if isinstance(read, str) else ""
        if heard is not None:
            heard(complaint)
        if not isinstance(read, str):
            instead = None if otherwise is None else otherwise(question)
            return _recorded(signature, question, read, notebook, instead)
    reason = f"the answer to {signature.name} cannot be used: {complaint}"
    return Unanswered(reason=reason, usage=spent)


def _read(
    signature: Signature[Q, A], reply: "Reply", spent: Usage, check: Callable[[A], str] | None
) -> Decision[A] | str:
    """What a reply decides, or what is wrong with it."""
    if reply.complaint:
        return reply.complaint
    try:
        answer = decode(signature.answer, canonical(reply.fields))
    except ValueError as error:
        return told(error)
    complaint = check(answer) if check is not None else ""
    return complaint or Decision(answer=answer, decided_by="model", usage=spent)


def _program(
    signature: Signature[Q, A], asker: Asker, native: "NativeTools | None"
) -> "Program | Unanswered":
    # Importing DSPy takes a second, which only a run that asks a model through it has to wait for.
    try:
        from surefoot.decisions.program import Program  # noqa: PLC0415
    except ModuleNotFoundError as error:
        return Unanswered(
            reason=f"{signature.name} is asked through DSPy, and {error.name} is not installed; {MEND}"
        )
    return Program(signature, asker, native)


def ruled(signature: Signature[Q, A], question: Q, notebook: Notebook, rule: Callable[[Q], A]) -> A:
    """The answer of a rule that always has one, recorded like any other decision."""
    decision = Decision(answer=rule(question), decided_by="rule")
    return _recorded(signature, question, decision, notebook).answer


def told(error: ValueError) -> str:
    """A validation error as one line: the field and what is wrong with it."""
    lines = [line.strip() for line in str(error).splitlines()[1:3]]
    return " ".join(lines).split(" [type=")[0] if lines else str(error)


def _recorded(
    signature: Signature[Q, A],
    question: Q,
    decision: Decision[A],
    notebook: Notebook,
    instead: A | None = None,
) -> Decision[A]:
    notebook.record(
        Decided(
            decision=signature.name,
            inputs=notebook.put(encode(question)),
            output=notebook.put(encode(decision.answer)),
            decided_by=decision.decided_by,
            policy_bundle=signature.bundle,
            usage=decision.usage,
            by_rule=None if instead is None else notebook.put(encode(instead)),
        )
    )
    return decision

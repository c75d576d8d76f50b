"""A decision as a DSPy program: the signature as a DSPy class, the metered model as its engine, JSON as its form.

Nothing of DSPy's global state is used: no configured model, no cache, no history, no retries. A call is one request of
the `Asker`, so that it is reserved, recorded and settled like any other (promise 6).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import dspy
from dspy import lm15
from dspy.utils.exceptions import AdapterParseError, LMError

from surefoot.codec import canonical
from surefoot.decisions.native_call import NativeTools, as_text
from surefoot.decisions.objects import object_in
from surefoot.decisions.signature import (
    NO_BUDGET,
    Field,
    Signature,
    Unanswered,
    fields_of,
    schema_of,
)
from surefoot.kernel.ports import Asker
from surefoot.values import Message, ModelFailure, ModelFault, ModelRequest, Usage

_CUT_OFF: Final = "the answer was cut off at its length limit; say less, e.g. make a smaller edit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the model said, not yet held against the answer's type."""

    text: str
    fields: Mapping[str, object]
    usage: Usage
    complaint: str = ""
    """Why no fields could be read, when none could."""


class Program:
    """Asks one model one signature's questions."""

    def __init__(
        self, signature: Signature[Any, Any], asker: Asker, native: NativeTools | None = None
    ) -> None:
        """`native`: the answer is a call of one of these tools, in the provider's own protocol."""
        self._signature, self._asker, self._native = signature, asker, native
        self._inputs, self._outputs = fields_of(signature.question), fields_of(signature.answer)
        self._schema = schema_of(signature.answer)
        self._class = dspy.make_signature(
            {f.name: (str, dspy.InputField(desc=f.description)) for f in self._inputs}
            | {f.name: (f.kind, dspy.OutputField(desc=f.description)) for f in self._outputs},
            signature.instructions,
            signature.name,
        )

    def ask(
        self, question: object, *, seed: int, said: str = "", complaint: str = ""
    ) -> Reply | Unanswered:
        """One call; `said` and `complaint` are the answer that was sent back, and why."""
        engine = _Engine(self._asker, self._signature.name, self._native)
        model = dspy.LM("surefoot/asker", engine=engine, cache=False, num_retries=0)
        form = _Form(self._inputs, self._outputs, self._schema, self._native)
        adapter = _Adapter(form, said, complaint)
        predict = dspy.Predict(
            self._class,
            max_tokens=self._signature.answer_tokens,
            temperature=0.0,
            seed=seed,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": self._signature.name, "schema": self._schema},
            },
        )
        values = {f.name: _shown(getattr(question, f.name)) for f in self._inputs}
        try:
            with dspy.context(lm=model, adapter=adapter, disable_history=True):
                prediction = predict(**values)
        except AdapterParseError as error:
            return Reply(
                text=engine.text,
                fields={},
                usage=engine.usage,
                complaint=engine.complaint
                or str(error.args[0] if error.args else "no JSON object"),
            )
        except LMError as error:
            if engine.ended is None:
                # DSPy makes a failed call of whatever breaks in one, a full disk or a replay that diverged.
                raise error.__cause__ or error  # noqa: B904  # it stands in that one already
            return engine.ended
        # DSPy gives None for what was left out.
        fields = {
            f.name: prediction[f.name]
            for f in self._outputs
            if f.name in prediction and not (f.optional and prediction[f.name] is None)
        }
        return Reply(
            text=engine.text, fields=fields, usage=engine.usage, complaint=engine.complaint
        )


class _Engine:
    """DSPy's engine over the `Asker`: one request, one answer."""

    def __init__(self, asker: Asker, purpose: str, native: NativeTools | None) -> None:
        self._asker, self._purpose, self._native = asker, purpose, native
        self.text = ""
        self.complaint = ""
        """What is wrong with a native reply, before its fields are looked at."""
        self.usage = Usage()
        self.ended: Reply | Unanswered | None = None
        """What the question comes to where no answer came."""

    def complete(self, request: lm15.Request) -> lm15.Response:
        """As `dspy.clients.engines.base.Engine` says."""
        format_ = request.config.response_format or {}
        system = _plain(request.system)
        asked = ModelRequest(
            purpose=self._purpose,
            messages=(
                *((Message(role="system", content=system),) if system else ()),
                *(
                    Message(
                        role="assistant" if m.role == "assistant" else "user",
                        content=_plain(m.parts),
                    )
                    for m in request.messages
                ),
            ),
            max_tokens=request.config.max_tokens or 0,
            temperature=request.config.temperature or 0.0,
            seed=request.config.seed or 0,
            json_schema=None if self._native else canonical(format_["schema"]).decode(),
            tools=self._native.offered if self._native else (),
        )
        answers = self._asker.ask((asked,))
        if not answers:
            self.ended = Unanswered(reason=NO_BUDGET)
            raise lm15.BillingError(NO_BUDGET)
        answer = answers[0]
        if isinstance(answer, ModelFailure):
            self.ended = _ended(answer)
            raise lm15.ServerError(answer.message)
        self.text, self.usage = answer.text, answer.usage
        if self._native is not None:
            fields, self.complaint = self._native.read(answer)
            self.text = answer.text if self.complaint else as_text(fields)
        return lm15.Response(
            id=None,
            model=answer.model,
            message=lm15.Message.assistant(self.text or "(nothing)"),
            finish_reason="stop" if answer.finish == "stop" else "length",
            usage=lm15.Usage(
                input_tokens=answer.usage.prompt_tokens,
                output_tokens=answer.usage.completion_tokens,
            ),
        )


def _ended(failure: ModelFailure) -> Reply | Unanswered:
    if failure.fault is ModelFault.TRUNCATED:
        return Reply(text="(cut off)", fields={}, usage=failure.usage, complaint=_CUT_OFF)
    return Unanswered(reason=failure.message, failure=failure, usage=failure.usage)


@dataclass(frozen=True, slots=True)
class _Form:
    """What a question shows, and what an answer holds."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    schema: Mapping[str, object]
    native: NativeTools | None


class _Adapter(dspy.Adapter):  # type: ignore[misc]  # DSPy ships no types
    """Renders what never changes first, so that a prompt cache holds it; reads one JSON object, strictly."""

    def __init__(self, form: _Form, said: str, complaint: str) -> None:
        super().__init__()
        self._outputs, self._schema, self._native = form.outputs, form.schema, form.native
        # What tools there are stands in their definitions.
        self._inputs = tuple(f for f in form.inputs if form.native is None or f.name != "tools")
        self._said, self._complaint = said, complaint

    def format(
        self,
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        messages = [{"role": "system", "content": self._system(signature.instructions)}]
        for demo in demos:
            said = {f.name: demo[f.name] for f in self._outputs if f.name in demo}
            messages.append({"role": "user", "content": self._user(demo)})
            messages.append({"role": "assistant", "content": canonical(said).decode()})
        messages.append({"role": "user", "content": self._user(inputs)})
        if self._complaint:
            wanted = "Reply with the whole JSON object, corrected."
            if self._native is not None:
                wanted = self._native.how
            again = f"That cannot be used: {self._complaint}\n{wanted}"
            messages.append({"role": "assistant", "content": self._said or "(nothing)"})
            messages.append({"role": "user", "content": again})
        return messages

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        try:
            data = object_in(completion)
        except (ValueError, RecursionError) as error:
            raise _unreadable(signature, completion, f"not JSON: {error}") from None
        if not isinstance(data, dict):
            raise _unreadable(signature, completion, "not a JSON object")
        missing = [f.name for f in self._outputs if f.name not in data and not f.optional]
        if missing:
            raise _unreadable(signature, completion, f"the field {missing[0]!r} is missing")
        return {f.name: data[f.name] for f in self._outputs if f.name in data}

    def _system(self, instructions: str) -> str:
        if self._native is not None:
            return f"{instructions}\n\n{self._native.how}"
        properties: Any = self._schema["properties"]
        lines = [
            f"- {f.name} ({_kind(properties[f.name])}): {f.description}" for f in self._outputs
        ]
        return (
            f"{instructions}\n\nReply with one JSON object and nothing else. Its fields:\n"
            + "\n".join(lines)
        )

    def _user(self, values: Mapping[str, Any]) -> str:
        shown = [(f, values.get(f.name) or "") for f in self._inputs]
        return "\n\n".join(f"## {f.description or f.name}\n{text}" for f, text in shown if text)


def _unreadable(signature: type[dspy.Signature], completion: str, why: str) -> AdapterParseError:
    error = AdapterParseError(
        adapter_name="surefoot", signature=signature, lm_response=completion, message=why
    )
    error.args = (why,)
    return error


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(str(choice) for choice in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(option) for option in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "object"))


def _shown(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return "\n".join(f"- {item}" for item in value)
    return "" if value is None else str(value)


def _plain(parts: Any) -> str:  # noqa: ANN401  # DSPy ships no types
    if parts is None or isinstance(parts, str):
        return parts or ""
    return "".join(part.text for part in parts)

"""A model that answers by rules: for tests, demonstrations and CI, without weights, key or network.

The answer is a pure function of the request, so a run that was killed and resumed gets the same answers. The form of the
file behind `--model scripted:FILE` is described in docs/reference/scripted-model.md.
"""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from surefoot.codec import canonical
from surefoot.errors import SettingsError
from surefoot.models.unseen import joined
from surefoot.values import (
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    ToolCall,
    Usage,
)

NAME: Final = "scripted"
GAP: Final = "____"
"""How a gap is told in the text that a rule's pattern is searched in."""
_LIKELY: Final = -0.2
_UNLIKELY: Final = -12.0
"""Log-probabilities of a whole text in a gap."""
_CHARACTERS_A_TOKEN: Final = 4
_TEMPLATE_TOKENS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One answer and when it is given; the first rule that fits answers. A rule without conditions always fits."""

    replies: tuple[str, ...] = ()
    """Texts to answer with, chosen by the request's seed modulo their number."""
    fault: ModelFault | None = None
    """The call fails this way instead."""
    message: str = "scripted failure"
    retry_after_s: float | None = None
    calls: tuple[ToolCall, ...] = ()
    """Tools that the answer calls; answers only requests that offer tools."""
    offered: bool | None = None
    """Only requests that offer tools, or only those that do not."""
    purpose: str | None = None
    """Only requests of this purpose."""
    pattern: str | None = None
    """Only prompts in which this regular expression is found (messages, text around a gap, and prefill, joined by line
    ends; `.` and `^` as with the flag MULTILINE)."""
    when: Callable[[ModelRequest], bool] | None = None
    """Only requests for which this is true; must be a pure function."""

    def fits(self, request: ModelRequest) -> bool:
        """Whether all conditions hold."""
        return (
            (self.purpose is None or self.purpose == request.purpose)
            and (not self.calls or bool(request.tools))
            and (self.offered is None or self.offered == bool(request.tools))
            and (
                self.pattern is None
                or re.search(self.pattern, prompt_text(request), re.MULTILINE) is not None
            )
            and (self.when is None or self.when(request))
        )


class ScriptedModel:
    """The `Model` port by rules. Thread-safe.

    Args:
        rules: The first that fits answers. Texts in place of rules are the replies of one rule that always fits.
        default: Answers when no rule fits; without it that is a `NOT_FOUND` failure which quotes the prompt's end.
        name: As settings and events call it.
        context_tokens: A longer request is refused; four characters count as a token.
        parallel: What the port reports.
        native_tools: Likewise.
        fills_gaps: Likewise. It finds likely what it would fill in itself.
        usd_per_token: Price of prompt and answer tokens alike.
    """

    def __init__(
        self,
        rules: Sequence[Rule] | Sequence[str],
        *,
        default: str | None = None,
        name: str = NAME,
        context_tokens: int = 32_768,
        parallel: int = 4,
        native_tools: bool = False,
        fills_gaps: bool = False,
        usd_per_token: float = 0.0,
    ) -> None:
        texts = tuple(rule for rule in rules if isinstance(rule, str))
        self._rules = tuple(rule for rule in rules if isinstance(rule, Rule))
        if texts:
            self._rules += (Rule(replies=texts),)
        if default is not None:
            self._rules += (Rule(replies=(default,)),)
        self._name = name
        self._context_tokens, self._parallel = context_tokens, parallel
        self._native_tools, self._fills_gaps = native_tools, fills_gaps
        self._usd_per_token = usd_per_token
        self._asked: list[ModelRequest] = []
        self._guard = threading.Lock()

    @property
    def name(self) -> str:
        """As the port says."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """As the port says."""
        return self._context_tokens

    @property
    def parallel(self) -> int:
        """As the port says."""
        return self._parallel

    @property
    def native_tools(self) -> bool:
        """As the port says."""
        return self._native_tools

    @property
    def fills_gaps(self) -> bool:
        """As the port says."""
        return self._fills_gaps

    @property
    def asked(self) -> tuple[ModelRequest, ...]:
        """Every request so far, in order of arrival."""
        with self._guard:
            return tuple(self._asked)

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Four characters a token, and a few for each message."""
        return sum(_tokens(m.content) + _TEMPLATE_TOKENS for m in messages)

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """As the port says."""
        return (prompt_tokens + completion_tokens) * self._usd_per_token

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """As the port says."""
        with self._guard:
            self._asked += requests
        return tuple(self._answer(request) for request in requests)

    def _answer(self, request: ModelRequest) -> ModelAnswer:
        prompt = self.count_tokens(request.measured)
        if prompt + request.max_tokens > self._context_tokens:
            return self._failure(
                ModelFault.CONTEXT_OVERFLOW,
                f"{prompt} tokens of prompt and {request.max_tokens} of answer do not fit into {self._context_tokens}",
            )
        if request.tools and not self._native_tools:
            return self._failure(ModelFault.UNSUPPORTED, "this model takes no tools")
        if request.gap is not None and not self._fills_gaps:
            return self._failure(ModelFault.UNSUPPORTED, "this model fills no gaps")
        rule = next((rule for rule in self._rules if rule.fits(request)), None)
        if rule is None:
            end = prompt_text(request)[-200:]
            return self._failure(
                ModelFault.NOT_FOUND,
                f"no rule fits the {request.purpose!r} request whose prompt ends with {end!r}; add one",
            )
        if rule.fault is not None:
            return self._failure(rule.fault, rule.message, rule.retry_after_s)
        text = rule.replies[request.seed % len(rule.replies)] if rule.replies else ""
        return self._reply(request, prompt, text, rule.calls)

    def _reply(
        self, request: ModelRequest, prompt: int, text: str, calls: tuple[ToolCall, ...]
    ) -> ModelAnswer:
        filled = request.gap.filled if request.gap is not None else None
        if filled is not None:
            return self._likelihood(prompt, filled, text)
        whole, begins, _ = joined(text, None, request)
        said = whole[begins:]
        most = request.max_tokens * _CHARACTERS_A_TOKEN
        finish: Literal["stop", "length"] = "length" if len(said) > most else "stop"
        said = said[:most]
        if not said.strip() and not calls:
            return self._failure(ModelFault.EMPTY, "the answer is empty")
        answered = _tokens(said) + sum(_tokens(c.tool + c.parameters) for c in calls)
        usage = Usage(
            prompt_tokens=prompt,
            completion_tokens=answered,
            cost_usd=self.estimate_usd(prompt, answered),
        )
        return ModelReply(
            text=whole[:begins] + said,
            model=self._name,
            finish=finish,
            usage=usage,
            mean_logprob=None if request.gap is None else _LIKELY / max(1, answered),
            calls=calls,
        )

    def _likelihood(self, prompt: int, filled: str, own: str) -> ModelReply:
        usage = Usage(prompt_tokens=prompt, completion_tokens=max(1, _tokens(filled)))
        likely = _LIKELY if filled.strip() == own.strip() else _UNLIKELY
        return ModelReply(
            text=filled,
            model=self._name,
            finish="stop",
            usage=usage,
            mean_logprob=likely / usage.completion_tokens,
        )

    def _failure(
        self, fault: ModelFault, message: str, retry_after_s: float | None = None
    ) -> ModelFailure:
        return ModelFailure(
            fault=fault, message=message, model=self._name, retry_after_s=retry_after_s
        )


def prompt_text(request: ModelRequest) -> str:
    """What a rule's pattern is searched in."""
    parts = [m.content for m in request.messages]
    if request.gap is not None:
        parts.append(f"{request.gap.before}{GAP}{request.gap.after}")
    return "\n".join([*parts, request.prefill] if request.prefill else parts)


def load_scripted(path: Path, *, name: str = NAME) -> ScriptedModel:
    """The model that a file describes.

    Raises:
        SettingsError: The file cannot be read or is not of the form; names the place.
    """
    try:
        script = _Script.model_validate_json(path.read_bytes())
    except OSError as problem:
        raise SettingsError(
            f"the scripted model's file {str(path)!r} cannot be read: {problem.strerror}"
        ) from problem
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SettingsError(
            f"{path} is not a scripted model: {place}: {first['msg']}; see docs/reference/scripted-model.md"
        ) from problem
    return ScriptedModel(
        [rule.as_rule() for rule in script.rules],
        default=script.default,
        name=name,
        context_tokens=script.context_tokens,
        parallel=script.parallel,
        native_tools=script.native_tools,
        fills_gaps=script.fills_gaps,
    )


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _CallForm(_Strict):
    tool: str
    parameters: dict[str, object] | str
    """A text is sent as it stands, whatever it is."""

    def as_call(self) -> ToolCall:
        given = self.parameters
        text = given if isinstance(given, str) else canonical(given).decode()
        return ToolCall(tool=self.tool, parameters=text)


class _RuleForm(_Strict):
    purpose: str | None = None
    pattern: str | None = None
    reply: str | None = None
    replies: tuple[str, ...] = ()
    calls: tuple[_CallForm, ...] = ()
    offered: bool | None = None
    fault: ModelFault | None = None
    message: str = "scripted failure"
    retry_after_s: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _one_answer(self) -> "_RuleForm":
        given = (
            self.reply is not None,
            bool(self.replies),
            bool(self.calls),
            self.fault is not None,
        )
        if given.count(True) != 1:
            raise ValueError("give exactly one of `reply`, `replies`, `calls` and `fault`")
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as problem:
                raise ValueError(f"`pattern` is no regular expression: {problem}") from problem
        return self

    def as_rule(self) -> Rule:
        return Rule(
            replies=self.replies if self.reply is None else (self.reply,),
            fault=self.fault,
            message=self.message,
            retry_after_s=self.retry_after_s,
            calls=tuple(call.as_call() for call in self.calls),
            offered=self.offered,
            purpose=self.purpose,
            pattern=self.pattern,
        )


class _Script(_Strict):
    schema_version: Literal[1] = Field(alias="schema")
    rules: tuple[_RuleForm, ...] = ()
    default: str | None = None
    context_tokens: int = Field(default=32_768, gt=0)
    parallel: int = Field(default=4, gt=0)
    native_tools: bool = False
    fills_gaps: bool = False


def _tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_A_TOKEN)

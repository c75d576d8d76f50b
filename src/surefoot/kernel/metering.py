"""No call without a reservation, none unrecorded, none paid twice (promise 6)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from surefoot.codec import decode, encode
from surefoot.errors import SurefootError
from surefoot.events.calls import (
    BudgetRefused,
    BudgetReserved,
    BudgetSettled,
    CacheHit,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    ModelWaited,
    ProviderSwitched,
)
from surefoot.kernel.budget import Shortage, shortage
from surefoot.kernel.failures import FAULTS
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Asker, Clock, Model
from surefoot.values import (
    Ceilings,
    Digest,
    EventId,
    Gap,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    Usage,
)
from surefoot.vocabulary import is_unicode

PATIENCE_S: Final = 60.0
"""Longest single wait within a turn, unless the settings say otherwise."""
_OTHER_SEED: Final = 1_000_003
_CUT: Final = frozenset(
    {
        ModelFault.TIMEOUT,
        ModelFault.BROKEN_STREAM,
        ModelFault.MALFORMED,
        ModelFault.EMPTY,
        ModelFault.TRUNCATED,
        ModelFault.REFUSAL,
    }
)
"""Failures after which the server may have written, and billed, a whole answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """One request with what was set aside for it."""

    index: int
    request: ModelRequest
    digest: Digest
    reservation: EventId
    upper: Usage
    """What it can cost at most."""


class MeteredModel:
    """The `Asker` of a run: a model behind the run's budget and ledger, patient with what passes by itself.

    A failure that another call may mend is answered by the same call again, at most as often as the table `FAULTS` says,
    each under a reservation of its own. A provider that asks for a wait longer than `patience_s`, or than the run still
    has, is not waited for here: the failure goes to the caller.

    `redact` takes the secrets out of every text before it is recorded and sent, so that the record is what was sent.
    """

    def __init__(
        self,
        model: Model,
        journal: Journal,
        ceilings: Ceilings,
        clock: Clock,
        *,
        patience_s: float = PATIENCE_S,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._model = model
        self._journal = journal
        self._ceilings = ceilings
        self._clock = clock
        self._patience_s = patience_s
        self._redact = redact

    @property
    def model(self) -> str:
        """Name of the model behind it."""
        return self._model.name

    @property
    def context_tokens(self) -> int:
        """Prompt and answer together fit into this."""
        return self._model.context_tokens

    @property
    def parallel(self) -> int:
        """How many requests it serves at once with profit."""
        return self._model.parallel

    @property
    def native_tools(self) -> bool:
        """Whether it may be offered tools in its provider's own protocol."""
        return self._model.native_tools

    @property
    def fills_gaps(self) -> bool:
        """Whether it may be asked what stands in a gap."""
        return self._model.fills_gaps

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Length of a prompt in tokens, as it would be sent."""
        return self._model.count_tokens(self._hidden(messages))

    def ask(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """Answers in order; shorter than `requests` when the budget does not hold them all.

        A reply that this turn already got before a crash is used again and costs nothing.
        """
        known: dict[int, ModelAnswer] = {}
        fresh: list[_Call] = []
        for index, request in enumerate(map(self._redacted, requests)):
            digest = self._journal.put(encode(request))
            reply = self._journal.state.replies.get((self._journal.turn_id, digest))
            if reply is not None:
                self._journal.record(CacheHit(request=digest, reply=reply))
                known[index] = decode(ModelReply, self._journal.get(reply))
                continue
            call = self._reserve(index, request, digest)
            if call is None:
                break
            fresh.append(call)
        known |= self._until_settled(fresh)
        return tuple(known[index] for index in sorted(known))

    def _redacted(self, request: ModelRequest) -> ModelRequest:
        """The request without secrets; one that has none stays what it is, and so does its digest."""
        schema, gap = request.json_schema, request.gap
        return replace(
            request,
            messages=self._hidden(request.messages),
            prefill=self._redact(request.prefill),
            json_schema=None if schema is None else self._redact(schema),
            tools=tuple(
                replace(t, purpose=self._redact(t.purpose), schema=self._redact(t.schema))
                for t in request.tools
            ),
            gap=None if gap is None else self._redacted_gap(gap),
        )

    def _redacted_gap(self, gap: Gap) -> Gap:
        """The gap without secrets; of one that lies within a secret all is told as one text, without the place."""
        before, after = self._redact(gap.before), self._redact(gap.after)
        filled = None if gap.filled is None else self._redact(gap.filled)
        whole = self._redact(f"{gap.before}{gap.filled or ''}{gap.after}")
        if whole != f"{before}{filled or ''}{after}":
            before, after = whole, ""
        return Gap(before=before, after=after, filled=filled)

    def _hidden(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        return tuple(replace(m, content=self._redact(m.content)) for m in messages)

    def _reserve(self, index: int, request: ModelRequest, digest: Digest) -> _Call | None:
        prompt = self._model.count_tokens(request.measured)
        tokens = prompt + request.max_tokens
        cost = self._model.estimate_usd(prompt, request.max_tokens)
        short = shortage(self._ceilings, self._journal.spend(), tokens=tokens, cost_usd=cost)
        if short is not None:
            self._journal.record(refusal(short, request.purpose))
            return None
        reserved = BudgetReserved(purpose=request.purpose, tokens=tokens, cost_usd=cost)
        return _Call(
            index=index,
            request=request,
            digest=digest,
            reservation=self._journal.record(reserved),
            upper=Usage(prompt_tokens=prompt, completion_tokens=request.max_tokens, cost_usd=cost),
        )

    # --- calls and calls again -------------------------------------------------------------------

    def _until_settled(self, calls: Sequence[_Call]) -> dict[int, ModelAnswer]:
        """Answers by index: a reply, or the failure after which the table allows no further call."""
        outcome: dict[int, ModelAnswer] = {}
        attempt = 1
        while calls:
            answers = self._call(calls)
            outcome |= {call.index: answer for call, answer in zip(calls, answers, strict=True)}
            failed = [
                (call, answer)
                for call, answer in zip(calls, answers, strict=True)
                if isinstance(answer, ModelFailure)
            ]
            calls = self._again(failed, attempt)
            attempt += 1
        return outcome

    def _again(self, failed: Sequence[tuple[_Call, ModelFailure]], attempt: int) -> list[_Call]:
        """The calls to make once more, after the wait that the slowest of them needs."""
        worth = [
            (call, failure, wait_s, request)
            for call, failure in failed
            if (wait_s := self._wait_s(failure, attempt)) is not None
            and (request := self._changed(call.request, failure.fault)) is not None
        ]
        if not worth:
            return []
        _, slowest, wait_s, _ = max(worth, key=lambda entry: entry[2])
        waited = ModelWaited(
            model=self._model.name, fault=slowest.fault, wait_s=wait_s, attempt=attempt
        )
        self._journal.record(waited)
        self._clock.sleep(wait_s)
        again = []
        for call, _, _, request in worth:
            renewed = self._reserve(call.index, request, self._journal.put(encode(request)))
            if renewed is None:
                break
            again.append(renewed)
        return again

    def _changed(self, request: ModelRequest, fault: ModelFault) -> ModelRequest | None:
        """The request as it is made again; None where it needs more room, and the context has none."""
        path = FAULTS[fault]
        if path.other_seed:
            request = replace(request, seed=request.seed + _OTHER_SEED)
        if not path.longer:
            return request
        room = self._model.context_tokens - self._model.count_tokens(request.measured)
        most = min(2 * request.max_tokens, room)
        return replace(request, max_tokens=most) if most > request.max_tokens else None

    def _wait_s(self, failure: ModelFailure, attempt: int) -> float | None:
        """Seconds before the next call; None when there is none."""
        path = FAULTS[failure.fault]
        if attempt > path.extra_calls:
            return None
        left_s = self._ceilings.time_s - self._journal.spend().time_s
        if failure.retry_after_s is not None:
            wait_s = failure.retry_after_s
            return wait_s if wait_s <= min(self._patience_s, left_s) else None
        wait_s = min(path.wait_s * 2 ** (attempt - 1), self._patience_s)
        return wait_s if wait_s <= left_s else None

    def _call(self, batch: Sequence[_Call]) -> tuple[ModelAnswer, ...]:
        asked = [
            ModelAsked(
                purpose=call.request.purpose,
                model=self._model.name,
                request=call.digest,
                reservation=call.reservation,
            )
            for call in batch
        ]
        self._journal.record_all(asked)
        given = self._complete(batch)
        answers = tuple(
            _billed(call, _whole(call.request, answer))
            for call, answer in zip(batch, given, strict=True)
        )
        for call, answer in zip(batch, answers, strict=True):
            told = ended(call.digest, self._journal.put(encode(answer)), answer)
            settled = BudgetSettled(reservation=call.reservation, usage=answer.usage)
            self._journal.record_all((told, settled), cause=call.reservation)
        return answers

    def _complete(self, batch: Sequence[_Call]) -> tuple[ModelAnswer, ...]:
        """What the model says; one that breaks has failed, and a call of which nobody knows how it ended is counted in full."""
        try:
            return self._model.complete([call.request for call in batch])
        except SurefootError as error:
            failure = ModelFailure(
                fault=ModelFault.NOT_FOUND, message=str(error), model=self._model.name
            )
            return (failure,) * len(batch)
        except BaseException:
            for call in batch:
                settled = BudgetSettled(reservation=call.reservation, usage=call.upper)
                self._journal.record(settled, cause=call.reservation)
            raise


def ended(request: Digest, blob: Digest, answer: ModelAnswer) -> ModelReplied | ModelFailed:
    """The event of an answer that was kept as `blob`: it repeats what the answer says, and nothing else."""
    if isinstance(answer, ModelFailure):
        return ModelFailed(
            request=request,
            failure=blob,
            fault=answer.fault,
            model=answer.model,
            message=answer.message,
            usage=answer.usage,
        )
    return ModelReplied(
        request=request,
        reply=blob,
        model=answer.model,
        finish=answer.finish,
        usage=answer.usage,
        wall_s=answer.wall_s,
    )


def refusal(short: Shortage, purpose: str) -> BudgetRefused:
    """The event of a reservation that could not be made."""
    return BudgetRefused(purpose=purpose, what=short.what, asked=short.asked, left=short.left)


def _whole(request: ModelRequest, answer: ModelAnswer) -> ModelAnswer:
    """A reply that has to be JSON, or a call, and was cut off at its limit is a failure; so is one with half a character."""
    if isinstance(answer, ModelReply) and not all(is_unicode(t) for t in _texts_of(answer)):
        return ModelFailure(
            fault=ModelFault.MALFORMED,
            message="the answer holds half a character, which is no text",
            model=answer.model.encode(errors="replace").decode(),
            usage=answer.usage,
            wall_s=answer.wall_s,
        )
    whole = request.json_schema is not None or bool(request.tools)
    if isinstance(answer, ModelReply) and whole and answer.finish == "length":
        return ModelFailure(
            fault=ModelFault.TRUNCATED,
            message=f"the answer was cut off after {request.max_tokens} tokens",
            model=answer.model,
            usage=answer.usage,
            wall_s=answer.wall_s,
        )
    return answer


def _texts_of(reply: ModelReply) -> tuple[str, ...]:
    return (reply.text, reply.model, *(t for c in reply.calls for t in (c.tool, c.parameters)))


def _billed(call: _Call, answer: ModelAnswer) -> ModelAnswer:
    """The answer with what it is counted at: as reported, else as much as it can have cost."""
    if answer.usage.prompt_tokens > 0:
        return answer
    if isinstance(answer, ModelReply) or (answer.fault in _CUT and not answer.unbilled):
        return replace(answer, usage=call.upper)
    return answer


class AskerChain:
    """Several askers as one, for the solver: the next one is asked when the one before cannot be reached (SPEC A2)."""

    def __init__(self, askers: Sequence[Asker], journal: Journal) -> None:
        self._askers = tuple(askers)
        self._journal = journal
        self._at = 0

    @property
    def model(self) -> str:
        """Name of the model that is asked now."""
        return self._askers[self._at].model

    @property
    def context_tokens(self) -> int:
        """Of the model that is asked now."""
        return self._askers[self._at].context_tokens

    @property
    def parallel(self) -> int:
        """Of the model that is asked now."""
        return self._askers[self._at].parallel

    @property
    def native_tools(self) -> bool:
        """Of the model that is asked now."""
        return self._askers[self._at].native_tools

    @property
    def fills_gaps(self) -> bool:
        """Of the model that is asked now."""
        return self._askers[self._at].fills_gaps

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """By the model that is asked now."""
        return self._askers[self._at].count_tokens(messages)

    def ask(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """Answers of the first asker, from where the chain stands, that gives any; else the last one's failures."""
        while True:
            answers = self._askers[self._at].ask(requests)
            failures = [a for a in answers if isinstance(a, ModelFailure)]
            if len(failures) < len(answers) or not answers or self._at + 1 == len(self._askers):
                return answers
            before = self.model
            self._at += 1
            self._journal.record(
                ProviderSwitched(before=before, after=self.model, reason=failures[0].message)
            )

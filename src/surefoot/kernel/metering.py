"""No call without a reservation, none unrecorded, none paid twice (promise 6)."""

from collections.abc import Sequence

from surefoot.codec import decode, encode
from surefoot.events import (
    BudgetRefused,
    BudgetReserved,
    BudgetSettled,
    CacheHit,
    Event,
    ModelAsked,
    ModelFailed,
    ModelReplied,
)
from surefoot.kernel.budget import Shortage, shortage
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Model
from surefoot.values import (
    Ceilings,
    Digest,
    EventId,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelReply,
    ModelRequest,
)


class MeteredModel:
    """The `Asker` of a run: a model behind the run's budget and ledger."""

    def __init__(self, model: Model, journal: Journal, ceilings: Ceilings) -> None:
        self._model = model
        self._journal = journal
        self._ceilings = ceilings

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

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Length of a prompt in tokens."""
        return self._model.count_tokens(messages)

    def ask(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """Answers in order; shorter than `requests` when the budget does not hold them all.

        A reply that this turn already got before a crash is used again and costs nothing.
        """
        known: dict[int, ModelAnswer] = {}
        fresh: list[tuple[int, ModelRequest, Digest, EventId]] = []
        for index, request in enumerate(requests):
            digest = self._journal.put(encode(request))
            reply = self._journal.state.replies.get((self._journal.turn_id, digest))
            if reply is not None:
                self._journal.record(CacheHit(request=digest, reply=reply))
                known[index] = decode(ModelReply, self._journal.get(reply))
                continue
            reservation = self._reserve(request)
            if reservation is None:
                break
            fresh.append((index, request, digest, reservation))
        known |= self._call(fresh)
        return tuple(known[index] for index in sorted(known))

    def _reserve(self, request: ModelRequest) -> EventId | None:
        prompt = self._model.count_tokens(request.messages)
        tokens = prompt + request.max_tokens
        cost = self._model.estimate_usd(prompt, request.max_tokens)
        short = shortage(self._ceilings, self._journal.spend(), tokens=tokens, cost_usd=cost)
        if short is not None:
            self._journal.record(refusal(short, request.purpose))
            return None
        return self._journal.record(
            BudgetReserved(purpose=request.purpose, tokens=tokens, cost_usd=cost)
        )

    def _call(
        self, batch: Sequence[tuple[int, ModelRequest, Digest, EventId]]
    ) -> dict[int, ModelAnswer]:
        if not batch:
            return {}
        asked = [
            ModelAsked(
                purpose=request.purpose,
                model=self._model.name,
                request=digest,
                reservation=reservation,
            )
            for _, request, digest, reservation in batch
        ]
        self._journal.record_all(asked)
        answers = self._model.complete([request for _, request, _, _ in batch])
        outcome: dict[int, ModelAnswer] = {}
        for (index, _, digest, reservation), answer in zip(batch, answers, strict=True):
            self._journal.record_all(
                (
                    self._ended(digest, answer),
                    BudgetSettled(reservation=reservation, usage=answer.usage),
                ),
                cause=reservation,
            )
            outcome[index] = answer
        return outcome

    def _ended(self, request: Digest, answer: ModelAnswer) -> Event:
        blob = self._journal.put(encode(answer))
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

"""The embedded model: llama.cpp in a process of its own that all runs of the user share.

How a batch is answered. The prompts are cut into tokens first, and what does not fit is refused, never truncated. Requests
whose prompts begin alike form a group; the group's common head is evaluated once, and the resulting state is copied into
other slots before the group is sent, since llama.cpp by itself evaluates equal prompts that arrive together once in each slot.
Gaps share their beginnings place by place instead: they are asked in the order of their prompts, one after the other.
What stands in a slot or in the host's prompt cache from earlier calls is reused by llama.cpp itself (`Usage.cached_tokens`).

Seeds: the same request, asked alone, gives the same answer on the same machine, up to rounding. The order of floating-point
sums depends on what is computed together (other slots, proposed tokens) and on how much of the prompt was cached; where two
tokens are nearly equally likely that can decide between them. A resumed run does not lean on this: it reads recorded replies.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Final

import httpx

from surefoot.codec import canonical, digest
from surefoot.errors import ModelUnavailableError, SurefootError
from surefoot.models import wire
from surefoot.models.estimate import estimate_tokens
from surefoot.models.host import INSTALL_MEND
from surefoot.models.hosting import (
    Address,
    HostDoor,
    HostSettings,
    usable_cores,
)
from surefoot.models.openai_chat import (
    MESSAGE_TOKENS,
    ChatServer,
    OpenAIChat,
    overflow,
)
from surefoot.models.workers import Workers
from surefoot.values import (
    Gap,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
)

NAME: Final = "embedded"
CONTEXT_TOKENS: Final = 4096
SLOTS: Final = 4
_THREADS_AN_ANSWER: Final = 2
# A shorter head costs less to evaluate again than its copies cost in calls.
_SHARED_TOKENS: Final = 48
_REMEMBERED_PROMPTS: Final = 512
# Long, because many may share the host; a run has a time limit of its own.
_CALL_S: Final = 1800.0

# Of Qwen2.5-Coder: before the text's beginning, before its end, and where the answer is to begin.
_GAP_MARKS: Final = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")

Tokens = tuple[int, ...]


class EmbeddedModel:
    """The `Model` port over the shared host. Thread-safe; starts nothing before the first call.

    Args:
        weights: The GGUF file.
        cache: Folder for the host's address, locks and log; made when missing.
        slots: Requests that the host computes together.
        threads: Of the host; by default as many as this process has cores.
        context_tokens: Of each slot: prompt and answer together.
        speculate: Propose what stands already in the prompt (n-gram look-up); changes the speed, not what the model finds likely.
        idle_s: The host ends when no client has lived for so long.
        monotonic: The clock that durations are taken from.

    Raises:
        ModelUnavailableError: xllamacpp is not installed, or the file is missing.
    """

    def __init__(
        self,
        weights: Path,
        cache: Path,
        *,
        slots: int = SLOTS,
        threads: int | None = None,
        context_tokens: int = CONTEXT_TOKENS,
        speculate: bool = True,
        idle_s: float = 120.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if find_spec("xllamacpp") is None:
            raise ModelUnavailableError(
                f"the embedded model needs xllamacpp, which is not installed; {INSTALL_MEND}"
            )
        if not weights.is_file():
            raise ModelUnavailableError(
                f"the model file {str(weights)!r} is missing; fetch it with `surefoot models pull`"
            )
        self._threads = threads or usable_cores()
        settings = HostSettings(
            weights=weights.resolve(),
            slots=slots,
            threads=self._threads,
            context_tokens=context_tokens,
            speculate=speculate,
            idle_s=idle_s,
        )
        self._slots, self._context_tokens = slots, context_tokens
        self._monotonic = monotonic
        self._door = HostDoor(settings, cache, monotonic=monotonic)
        self._talks: list[_Talk] = []
        self._guard = threading.Lock()
        self._tokens = lru_cache(maxsize=_REMEMBERED_PROMPTS)(self._tokenize)

    @property
    def name(self) -> str:
        """As the port says."""
        return NAME

    @property
    def context_tokens(self) -> int:
        """As the port says."""
        return self._context_tokens

    @property
    def parallel(self) -> int:
        """As the port says: two cores take as long for four answers together as for four in turn."""
        return min(self._slots, max(1, self._threads // _THREADS_AN_ANSWER))

    @property
    def native_tools(self) -> bool:
        """None: a grammar holds its text to a call's form, which is surer."""
        return False

    @property
    def fills_gaps(self) -> bool:
        """Yes: it was trained to."""
        return True

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Exact, with the chat template. Where the host cannot be asked, an upper estimate; `complete` then says why."""
        try:
            return len(self._tokens(tuple(messages), ""))
        except SurefootError:
            return sum(estimate_tokens(m.content) + MESSAGE_TOKENS for m in messages)

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Nothing."""
        del prompt_tokens, completion_tokens
        return 0.0

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """As the port says. When the host dies under the call, it is made once more with another host."""
        if not requests:
            return ()
        answers = self._attempt(requests)
        lost = [i for i, answer in enumerate(answers) if _is_lost(answer)]
        if not lost or self._talk is None:
            return answers
        again = self._attempt([requests[i] for i in lost])
        renewed = dict(zip(lost, again, strict=True))
        return tuple(renewed.get(i, answer) for i, answer in enumerate(answers))

    def close(self) -> None:
        """Let go of the host; a later call takes hold of it again."""
        self._door.close()
        with self._guard:
            for talk in self._talks:
                talk.close()
            self._talks.clear()

    @property
    def _talk(self) -> "_Talk | None":
        return self._talks[-1] if self._talks else None

    def _attempt(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        try:
            talk = self._connect()
            prompts = [self._prompt(r) for r in requests]
        except SurefootError as problem:
            failure = ModelFailure(fault=ModelFault.UNREACHABLE, message=str(problem), model=NAME)
            return tuple(failure for _ in requests)
        answers: dict[int, ModelAnswer] = {}
        fitting: dict[int, Tokens] = {}
        for i, (request, prompt) in enumerate(zip(requests, prompts, strict=True)):
            if len(prompt) + request.max_tokens > self._context_tokens:
                answers[i] = overflow(NAME, len(prompt), request.max_tokens, self._context_tokens)
            else:
                fitting[i] = prompt
        answers.update(self._send(talk, requests, fitting))
        return tuple(answers[i] for i in range(len(requests)))

    def _send(
        self, talk: "_Talk", requests: Sequence[ModelRequest], prompts: Mapping[int, Tokens]
    ) -> dict[int, ModelAnswer]:
        """Group by group, so that a head is shared when slots for it are about to be free."""
        sent: list[Future[dict[int, ModelAnswer]]] = []
        evaluated: dict[int, int] = {}
        workers = Workers(self._slots)
        gaps = {i: prompt for i, prompt in prompts.items() if requests[i].gap is not None}
        others = {i: prompt for i, prompt in prompts.items() if i not in gaps}
        for group in (chains(gaps, self.parallel), *([[i] for i in g] for g in groups(others))):
            waiting = {f for f in sent if not f.done()}
            while len(waiting) >= self._slots:
                waiting = wait(waiting, return_when=FIRST_COMPLETED).not_done
            if len(group) > 1:
                head = shared_head([prompts[i] for chain in group for i in chain])
                evaluated[group[0][0]] = talk.share_head(head, len(group))
            for chain in group:
                told = [(i, requests[i], prompts[i]) for i in chain]
                sent.append(workers.submit(partial(talk.send_in_turn, told)))
        answers = {i: answer for f in sent for i, answer in f.result().items()}
        return {i: _charged(answer, evaluated.get(i, 0)) for i, answer in answers.items()}

    def _connect(self) -> "_Talk":
        address = self._door.address()
        with self._guard:
            if self._talk is None or self._talk.address != address:
                # An older one may still be in use by another thread; all are closed in `close`.
                self._talks.append(_Talk(address, self._door.folder, self._slots, self._monotonic))
            return self._talks[-1]

    def _prompt(self, request: ModelRequest) -> Tokens:
        if request.gap is not None:
            return self._connect().tokenize_gap(request.gap)
        return self._tokens(request.messages, request.prefill)

    def _tokenize(self, messages: tuple[Message, ...], prefill: str) -> Tokens:
        return self._connect().tokenize(messages, prefill)


class _Talk:
    """The conversation with one living host."""

    def __init__(
        self, address: Address, folder: Path, slots: int, monotonic: Callable[[], float]
    ) -> None:
        self.address = address
        self._folder = folder
        self._slots, self._monotonic = slots, monotonic
        self._client = httpx.Client(
            base_url=address.url,
            headers={"authorization": f"Bearer {address.key}"},
            timeout=_CALL_S,
            trust_env=False,
            verify=False,  # noqa: S501  # plain HTTP on loopback: nothing to verify, and reading certificates is slow
        )
        server = ChatServer(
            base_url=f"{address.url}/v1",
            api_key=address.key,
            continues_prefill=True,
            logprobs=True,
            extra={"cache_prompt": True},
            reply_s=_CALL_S,
        )
        self.chat = OpenAIChat(NAME, server, parallel=slots, label=NAME, monotonic=monotonic)

    def close(self) -> None:
        self._client.close()
        self.chat.close()

    def send_in_turn(
        self, told: Sequence[tuple[int, ModelRequest, Tokens]]
    ) -> dict[int, ModelAnswer]:
        """The answers to numbered requests, one after the other: each finds in a slot what the one before it shares with it."""
        return {i: self.send(request, prompt) for i, request, prompt in told}

    def send(self, request: ModelRequest, prompt: Tokens) -> ModelAnswer:
        """Answer a request that fits; `prompt` are its tokens."""
        if request.gap is None:
            return self.chat.send(request)
        started = self._monotonic()
        tokens = None
        body: dict[str, object] = {
            "prompt": prompt,
            "n_predict": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed % 2**31,
            "stop": list(request.stop),
            "n_probs": 1,
            "cache_prompt": True,
        }
        if request.gap.filled is not None:
            tokens = self._tokens_of(request.gap.filled, special=False)
            body["grammar"] = _only(tokens)
        try:
            got = wire.read_filled(self._call("/completion", body))
            if isinstance(got, wire.Fault):
                return ModelFailure(fault=got.kind, message=got.message, model=NAME)
            logprobs = self._measured(prompt, tokens, got.logprobs)
        except ModelUnavailableError as problem:
            return ModelFailure(fault=ModelFault.BROKEN_STREAM, message=str(problem), model=NAME)
        return ModelReply(
            text=got.text,
            model=NAME,
            finish=got.finish,
            usage=got.usage,
            wall_s=self._monotonic() - started,
            mean_logprob=sum(logprobs) / len(logprobs) if logprobs else None,
        )

    def _measured(
        self, prompt: Tokens, tokens: Tokens | None, logprobs: Sequence[float | None]
    ) -> list[float]:
        """The log-probabilities of a given text's tokens, those that a look-up proposed asked for one by one; of any other text those that are known."""
        if tokens is None or len(logprobs) != len(tokens) + 1:
            return [logprob for logprob in logprobs if logprob is not None]
        return [
            self._alone((*prompt, *tokens[:n]), tokens[n : n + 1]) if logprob is None else logprob
            for n, logprob in enumerate(logprobs)
        ]

    def _alone(self, before: Tokens, token: Tokens) -> float:
        """Of one token behind others, none: of the end."""
        body = {
            "prompt": before,
            "n_predict": 1,
            "temperature": 0.0,
            "n_probs": 1,
            "cache_prompt": True,
            "grammar": _only(token),
        }
        got = wire.read_filled(self._call("/completion", body))
        (logprob,) = got.logprobs[:1] if isinstance(got, wire.Filled) else (None,)
        if logprob is None:
            raise ModelUnavailableError(
                f"the embedded model's process does not tell probabilities as expected; end process {self.address.pid}"
            )
        return logprob

    def tokenize_gap(self, gap: Gap) -> Tokens:
        """A gap as the model was trained to read it; marks within the text itself are text."""
        before, after = (self._tokens_of(text, special=False) for text in (gap.before, gap.after))
        (prefix,), (suffix,), (middle,) = (self._tokens_of(m, special=True) for m in _GAP_MARKS)
        return (prefix, *before, suffix, *after, middle)

    def tokenize(self, messages: Sequence[Message], prefill: str) -> Tokens:
        """The prompt's tokens as the host will read them."""
        said = [{"role": m.role, "content": m.content} for m in messages]
        if prefill:
            said.append({"role": "assistant", "content": prefill})
        prompt = self._call("/apply-template", {"messages": said}).get("prompt")
        return self._tokens_of(str(prompt), special=True)

    def _tokens_of(self, text: str, *, special: bool) -> Tokens:
        wanted = {"content": text, "add_special": special, "parse_special": special}
        tokens = self._call("/tokenize", wanted).get("tokens")
        if not isinstance(tokens, list):
            raise ModelUnavailableError(
                f"the embedded model's process does not count tokens as expected; end process {self.address.pid}"
            )
        return tuple(tokens)

    def share_head(self, head: Tokens, copies: int) -> int:
        """Evaluate `head` once and put its state into enough idle slots; the tokens that had to be evaluated.

        An optimisation: whatever fails in it only ends it.
        """
        if len(head) < _SHARED_TOKENS:
            return 0
        file = f"{digest(canonical([os.getpid(), threading.get_ident(), *head]))[:24]}.kv"
        evaluated = 0
        try:
            warm = self._call("/completion", {"prompt": head, "n_predict": 0, "cache_prompt": True})
            source, timings = warm.get("id_slot"), warm.get("timings")
            evaluated = int(timings["prompt_n"]) if isinstance(timings, dict) else 0
            if isinstance(source, int):
                self._call(f"/slots/{source}?action=save", {"filename": file})
                others = [i for i in self._idle_slots() if i != source]
                for slot in others[: copies - 1]:
                    self._call(f"/slots/{slot}?action=restore", {"filename": file})
        except ModelUnavailableError:
            return evaluated
        finally:
            (self._folder / file).unlink(missing_ok=True)
        return evaluated

    def _idle_slots(self) -> list[int]:
        try:
            reply = self._client.get("/slots")
            listed = reply.json()
        except (httpx.TransportError, ValueError):
            return []
        return [s["id"] for s in listed if not s["is_processing"]] if reply.is_success else []

    def _call(self, path: str, body: Mapping[str, object]) -> dict[str, object]:
        try:
            reply = self._client.post(path, content=canonical(body))
            content: object = reply.json()
        except (httpx.TransportError, ValueError) as problem:
            raise ModelUnavailableError(
                f"the embedded model's process broke off at {path}: {problem}; the next call starts another one"
            ) from problem
        if not reply.is_success or not isinstance(content, dict):
            raise ModelUnavailableError(
                f"the embedded model's process refused {path}: {reply.text[:200]!r}"
            )
        return content


def _only(tokens: Tokens) -> str:
    """A grammar with one sentence: each token of it comes with the probability that it had without the grammar.

    By tokens and not by letters, else ` <` and `=` would stand for ` <=` where the model finds ` <` likelier.
    """
    named = [f"<[{token}]>" for token in tokens]
    return " ".join(("root ::=", *(named or ['""'])))


def _is_lost(answer: ModelAnswer) -> bool:
    """Whether the host went away under the call."""
    faults = (ModelFault.UNREACHABLE, ModelFault.BROKEN_STREAM)
    return isinstance(answer, ModelFailure) and answer.fault in faults


def _charged(answer: ModelAnswer, evaluated: int) -> ModelAnswer:
    """The first answer of a group bears the head that was evaluated for all of them."""
    usage = answer.usage
    cached = max(0, usage.cached_tokens - evaluated)
    return replace(answer, usage=replace(usage, cached_tokens=cached)) if evaluated else answer


def chains(prompts: Mapping[int, Tokens], at_once: int) -> list[list[int]]:
    """Gaps in so many rows, or fewer, in each of which neighbours share the longest beginnings.

    The places of one file share it up to the earlier one of them, so that they are no group with one common head.
    """
    ranked = sorted(prompts, key=lambda i: (prompts[i], i))
    size = max(1, -(-len(ranked) // at_once))
    return [ranked[n : n + size] for n in range(0, len(ranked), size)]


def groups(prompts: Mapping[int, Tokens]) -> list[list[int]]:
    """The requests whose prompts share a head of at least half of the longest one, in the order of their first request."""
    alike: list[list[int]] = []
    head: Tokens = ()
    for i in sorted(prompts, key=lambda i: (prompts[i], i)):
        common = shared_head([head, prompts[i]])
        if alike and 2 * len(common) >= max(len(prompts[j]) for j in (*alike[-1], i)):
            alike[-1].append(i)
            head = common
        else:
            alike.append([i])
            head = prompts[i]
    return sorted((sorted(group) for group in alike), key=min)


def shared_head(prompts: Sequence[Tokens]) -> Tokens:
    """The longest common beginning."""
    first, last = min(prompts), max(prompts)  # all others lie between these two
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return tuple(token for token, _ in same)

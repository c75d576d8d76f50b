"""What every `Model` does: the scripted one, one behind an endpoint, and the embedded one alike."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest

import surefoot.models.openai_chat
from surefoot.codec import decode, encode
from surefoot.kernel.ports import Model
from surefoot.models.embedded import EmbeddedModel
from surefoot.models.estimate import estimate_tokens
from surefoot.models.hosted import HostedModel
from surefoot.models.openai_chat import ChatServer, OpenAIChat
from surefoot.models.weights import find
from surefoot.testing.chat_server import ScriptedServer, speaks_for
from surefoot.testing.messages_server import MessagesServer, speaks_messages_for
from surefoot.testing.model import Rule, ScriptedModel
from surefoot.values import (
    Gap,
    Message,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    OfferedTool,
    ToolCall,
    Usage,
)

SAY = "Repeat exactly this line and nothing else: "
COUNT = "Write the numbers from 1 to 9 with spaces between them, on one line, nothing else."
CONTEXT = 512

TWO = tuple(
    ToolCall(tool=name, parameters='{"path":"deeply/nested/folder/of/names.py"}')
    for name in ("file_read", "outline")
)
SCHEMA = '{"properties":{"path":{"type":"string"}},"required":["path"],"type":"object"}'
OFFERED = tuple(
    OfferedTool(name=name, purpose="Reads.", schema=SCHEMA) for name in ("file_read", "outline")
)
RULES = (
    Rule(pattern="numbers from 1 to 9", replies=("1 2 3 4 5 6 7 8 9",)),
    Rule(pattern=r"this line and nothing else: red$", replies=("red",)),
    Rule(pattern=r"this line and nothing else: blue$", replies=("blue",)),
    Rule(pattern=r"this line and nothing else: green$", replies=("green",)),
    Rule(
        pattern="Read a.py",
        calls=(ToolCall(tool="file_read", parameters='{"lines":[1,20],"path":"a.py"}'),),
    ),
    Rule(pattern="^        ____\n    return total", replies=("total += price",)),
    Rule(pattern="Say so first", replies=("It has to be read. ",), calls=TWO),
)


@pytest.fixture
def scripted() -> Model:
    return ScriptedModel(RULES, context_tokens=CONTEXT, native_tools=True, fills_gaps=True)


@pytest.fixture
def served(scripted: Model) -> Iterator[Model]:
    with ScriptedServer(speaks_for(scripted)) as server:
        where = ChatServer(base_url=server.base_url, continues_prefill=True)
        model = OpenAIChat("scripted", where, context_tokens=CONTEXT, native_tools=True)
        yield model
        model.close()


@pytest.fixture
def hosted(scripted: Model) -> Iterator[Model]:
    with ScriptedServer(speaks_for(scripted)) as server:
        yield HostedModel(
            "openai/scripted",
            api_key="k",
            base_url=server.base_url,
            context_tokens=CONTEXT,
            native_tools=True,
        )


@pytest.fixture
def hosted_streamed(scripted: Model) -> Iterator[Model]:
    with MessagesServer(speaks_messages_for(scripted)) as server:
        yield HostedModel(
            "anthropic/scripted",
            api_key="k",
            base_url=server.base_url,
            context_tokens=CONTEXT,
            native_tools=True,
            stream=True,
        )


@pytest.fixture
def hosted_whole(scripted: Model) -> Iterator[Model]:
    with MessagesServer(speaks_messages_for(scripted)) as server:
        yield HostedModel(
            "anthropic/scripted",
            api_key="k",
            base_url=server.base_url,
            context_tokens=CONTEXT,
            native_tools=True,
        )


@pytest.fixture
def hosted_pieces(scripted: Model) -> Iterator[Model]:
    with ScriptedServer(speaks_for(scripted)) as server:
        yield HostedModel(
            "openai/scripted",
            api_key="k",
            base_url=server.base_url,
            context_tokens=CONTEXT,
            native_tools=True,
            stream=True,
        )


@pytest.fixture(scope="session")
def embedded() -> Iterator[Model]:
    cache = platformdirs.user_cache_path("surefoot")
    weights = find(cache / "models")
    if weights is None:
        pytest.skip("the embedded model's file is not there; `surefoot models pull`")
    model = EmbeddedModel(weights, cache)
    yield model
    model.close()


# LiteLLM uses what its dependencies advise against; in a program such warnings are not shown.
ADVISED_AGAINST = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(
    params=[
        "scripted",
        "served",
        pytest.param("hosted", marks=ADVISED_AGAINST),
        pytest.param("hosted_streamed", marks=ADVISED_AGAINST),
        pytest.param("hosted_whole", marks=ADVISED_AGAINST),
        pytest.param("hosted_pieces", marks=ADVISED_AGAINST),
        pytest.param("embedded", marks=pytest.mark.model),
    ]
)
def model(request: pytest.FixtureRequest) -> Model:
    found: Model = request.getfixturevalue(request.param)
    return found


def ask(text: str, **changes: object) -> ModelRequest:
    given = {"purpose": "contract", "messages": (Message(role="user", content=text),)}
    return ModelRequest(**{"max_tokens": 32, **given, **changes})  # type: ignore[arg-type]


def reply(model: Model, request: ModelRequest) -> ModelReply:
    (answer,) = model.complete((request,))
    assert isinstance(answer, ModelReply), answer
    return answer


def test_it_names_itself(model: Model) -> None:
    """Name, context and parallelism are usable values, known without a call."""
    assert model.name
    assert model.context_tokens >= CONTEXT
    assert model.parallel >= 1


def test_an_answer_is_whole(model: Model) -> None:
    """A reply has text, model, finish reason and usage, and survives the codec."""
    answer = reply(model, ask(SAY + "red"))
    assert answer.text.strip() == "red"
    assert answer.model
    assert answer.finish == "stop"
    assert answer.usage.prompt_tokens > 5
    assert 1 <= answer.usage.completion_tokens <= 32
    assert decode(ModelReply, encode(answer)) == answer


def test_answers_stand_in_the_order_of_the_requests(model: Model) -> None:
    """Answer i belongs to request i, also when more are asked than fit in parallel."""
    colours = ["red", "blue", "green", "blue", "red", "green"]
    answers = model.complete([ask(SAY + colour) for colour in colours])
    assert [a.text.strip() for a in answers if isinstance(a, ModelReply)] == colours


def test_nothing_asked_is_nothing_answered(model: Model) -> None:
    """An empty batch gives an empty answer."""
    assert model.complete(()) == ()


def test_a_tool_that_is_offered_is_called(model: Model) -> None:
    """In whatever protocol, whole or in pieces: name and parameters as the model gave them, and the codec keeps them."""
    if not model.native_tools:
        pytest.skip("it has no native tool calls")
    answer = reply(model, ask("Read a.py", tools=OFFERED))
    (call,) = answer.calls
    assert call.tool == "file_read"
    assert json.loads(call.parameters) == {"path": "a.py", "lines": [1, 20]}
    assert (answer.text, answer.finish) == ("", "stop")
    assert answer.usage.completion_tokens > 0
    assert decode(ModelReply, encode(answer)) == answer


def test_words_and_several_calls_stay_apart(model: Model) -> None:
    """What is said beside the calls is the text; each call keeps its own parameters."""
    if not model.native_tools:
        pytest.skip("it has no native tool calls")
    answer = reply(model, ask("Say so first", tools=OFFERED, max_tokens=64))
    assert answer.text.strip() == "It has to be read."
    assert [c.tool for c in answer.calls] == ["file_read", "outline"]
    assert [json.loads(c.parameters) for c in answer.calls] == [json.loads(TWO[0].parameters)] * 2


def test_without_an_offer_there_is_no_call(model: Model) -> None:
    """A question for text is answered with text."""
    assert reply(model, ask(SAY + "red")).calls == ()


BEFORE = 'def total(prices):\n    """The sum of the prices."""\n    total = 0\n    for price in prices:\n        '
AFTER = "\n    return total\n"


def gap(filled: str | None = None, **changes: object) -> ModelRequest:
    given = {"messages": (), "stop": () if filled else ("\n",), **changes}
    return ask("", **given, gap=Gap(before=BEFORE, after=AFTER, filled=filled))


def test_a_gap_is_filled(model: Model) -> None:
    """By those that say so, with what fits there; the others refuse, and nothing is sent."""
    (answer,) = model.complete((gap(),))
    if not model.fills_gaps:
        assert isinstance(answer, ModelFailure)
        assert answer.fault is ModelFault.UNSUPPORTED
        assert answer.usage == Usage()
        return
    assert isinstance(answer, ModelReply)
    assert answer.text.strip() == "total += price"
    assert answer.finish == "stop"
    assert answer.usage.prompt_tokens > 20
    assert decode(ModelReply, encode(answer)) == answer


def test_what_fits_a_gap_is_likelier_there(model: Model) -> None:
    """A given text is the answer, with the likelihood that it has: the whole of it, whatever signs it has."""
    if not model.fills_gaps:
        pytest.skip("it fills no gaps")
    texts = ("total += price", "total -= price", 'print("\\n\\U0001f600 é")')
    answers = [reply(model, gap(text)) for text in texts]
    assert [a.text for a in answers] == list(texts)
    right, *wrong = ((a.mean_logprob or 0.0) * a.usage.completion_tokens for a in answers)
    assert all(w < right - 2 for w in wrong)
    assert right <= 0


@pytest.mark.model
def test_a_text_is_as_likely_as_its_own_tokens(embedded: Model) -> None:
    """`<=` is one token, though the model finds `<` likelier there: the text does not pay for `<` and then `=`."""
    given = [Gap(before="while i ", after=" n:\n    i += 1\n", filled=s) for s in ("<", "<=")]
    answers = [reply(embedded, ask("", messages=(), gap=gap)) for gap in given]
    less, equal = ((a.mean_logprob or 0.0) * a.usage.completion_tokens for a in answers)
    assert -5 < equal < less


def test_gaps_and_messages_are_asked_together(model: Model) -> None:
    """Answer i belongs to request i."""
    if not model.fills_gaps:
        pytest.skip("it fills no gaps")
    answers = model.complete([gap(), ask(SAY + "red"), gap("total += price"), ask(SAY + "blue")])
    texts = [a.text.strip() for a in answers if isinstance(a, ModelReply)]
    assert texts == ["total += price", "red", "total += price", "blue"]


def test_marks_in_the_text_around_a_gap_are_text(model: Model) -> None:
    """What a file says of such marks ends no gap and begins none."""
    if not model.fills_gaps:
        pytest.skip("it fills no gaps")
    plain = gap()
    assert plain.gap is not None
    marked = replace(plain.gap, before="# <|fim_middle|> <|endoftext|>\n" + plain.gap.before)
    assert reply(model, replace(plain, gap=marked)).text.strip() == "total += price"


def test_a_gap_that_does_not_fit_is_refused(model: Model) -> None:
    """The text around it counts, before it as after it."""
    if not model.fills_gaps:
        pytest.skip("it fills no gaps")
    long = "x = 1\n" * model.context_tokens
    asked = [
        replace(gap(), gap=Gap(before=long, after="")),
        replace(gap(), gap=Gap(before="", after=long)),
    ]
    faults = [a.fault for a in model.complete(asked) if isinstance(a, ModelFailure)]
    assert faults == [ModelFault.CONTEXT_OVERFLOW] * 2


def test_max_tokens_cuts_and_says_so(model: Model) -> None:
    """An answer that is longer than allowed is cut, and its finish reason is `length`."""
    answer = reply(model, ask(COUNT, max_tokens=3))
    assert answer.finish == "length"
    assert answer.usage.completion_tokens <= 3


def test_a_stop_text_ends_the_answer(model: Model) -> None:
    """The answer ends before the stop text, which is not part of it."""
    answer = reply(model, ask(COUNT, stop=("5",)))
    assert "4" in answer.text
    assert "5" not in answer.text
    assert answer.finish == "stop"


def test_a_prefill_is_the_answers_beginning(model: Model) -> None:
    """The reply's text starts with the prefill, once, and goes on from it."""
    answer = reply(model, ask(COUNT, prefill="1 2 3"))
    assert answer.text.startswith("1 2 3")
    assert answer.text.count("1 2 3") == 1
    assert "9" in answer.text


def test_what_does_not_fit_is_refused(model: Model) -> None:
    """A prompt that with its answer exceeds the context is a context-overflow failure, and the others are answered."""
    long = ask("word " * model.context_tokens)
    greedy = ask(SAY + "red", max_tokens=model.context_tokens)
    answers = model.complete((long, ask(SAY + "blue"), greedy))
    faults = [a.fault if isinstance(a, ModelFailure) else None for a in answers]
    assert faults == [ModelFault.CONTEXT_OVERFLOW, None, ModelFault.CONTEXT_OVERFLOW]


def test_the_count_covers_what_is_paid(model: Model) -> None:
    """`count_tokens` is never less than what the call says that the prompt had, and grows with the prompt."""
    request = ask(COUNT)
    counted = model.count_tokens(request.messages)
    assert counted >= reply(model, request).usage.prompt_tokens
    assert model.count_tokens((*request.messages, Message(role="user", content="more"))) > counted


def test_the_estimate_covers_the_cost(model: Model) -> None:
    """`estimate_usd` is an upper bound of what a call costs."""
    answer = reply(model, ask(SAY + "red"))
    usage = answer.usage
    assert usage.cost_usd <= model.estimate_usd(usage.prompt_tokens, usage.completion_tokens)


def test_the_same_question_alone_gives_the_same_answer(model: Model) -> None:
    """Asked alone with the same seed, the same request gives the same text."""
    request = ask(COUNT, temperature=0.9, seed=7)
    assert reply(model, request).text == reply(model, request).text


@pytest.mark.model
@pytest.mark.parametrize(
    "text",
    [
        Path(__file__).read_text(encoding="utf-8"),
        Path(surefoot.models.openai_chat.__file__).read_text(encoding="utf-8"),
        "The quick brown fox, it is said, jumps over internationalisation. " * 9,
        "\u8fd9\u662f\u4e00\u4e2a\u6d4b\u8bd5\u3002" * 20,
        "\u00fcberm\u00e4\u00dfig g\u00fcnstig, \u0440\u0443\u0441\u0441\u043a\u0438\u0439 \u05e2\u05d1 "
        * 9,
        "\U0001f600\U0001f389" * 20,
        "QWERTYUIOPASDFGHJKLZXCVBNM" * 9,
        " \t \n\n   \t\t" * 20,
        "=" * 80 + "\n" + "((())[]{}<>!@#$%^&*" * 9,
    ],
    ids=["test", "source", "prose", "chinese", "accents", "emoji", "capitals", "blanks", "signs"],
)
def test_the_estimate_lies_above_the_real_tokenizer(embedded: Model, text: str) -> None:
    """Where no tokenizer is at hand the estimate errs upwards, and not by more than a factor of four."""
    real = embedded.count_tokens((Message(role="user", content=text),))
    bare = embedded.count_tokens((Message(role="user", content=""),))
    assert real - bare <= estimate_tokens(text) <= 4 * (real - bare)

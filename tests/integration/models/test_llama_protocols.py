"""llama.cpp's own server, asked by both protocols that it speaks, whole and piece by piece (SPEC F1)."""

from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec

import pytest

from surefoot.models.embedded import EmbeddedModel
from surefoot.models.hosted import HostedModel
from surefoot.models.hosting import Address
from surefoot.models.openai_chat import ChatServer, OpenAIChat
from surefoot.testing.tiny_gguf import write_tiny_gguf
from surefoot.values import Message, ModelReply, ModelRequest

pytestmark = [
    pytest.mark.skipif(
        find_spec("xllamacpp") is None or find_spec("litellm") is None,
        reason="needs the extras `local` and `hosted`",
    ),
    # Of LiteLLM's own code.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    """A real server with a tiny model."""
    folder = tmp_path_factory.mktemp("llama")
    weights = write_tiny_gguf(folder / "tiny.gguf")
    model = EmbeddedModel(weights, folder / "cache", context_tokens=1024, threads=1)
    with closing(model):
        yield model._door.address()


def ask() -> ModelRequest:
    """The same question every time."""
    message = Message(role="user", content="hello")
    return ModelRequest(purpose="t", messages=(message,), max_tokens=8, seed=3)


def test_both_protocols_and_both_ways_give_one_answer(server: Address) -> None:
    """Text, finish, model and usage are the same, whoever asks how."""
    own = OpenAIChat("tiny", ChatServer(base_url=f"{server.url}/v1", api_key=server.key))
    answers = []
    with closing(own):
        answers += own.complete((ask(),))
    for name, url in (("hosted_vllm/tiny", f"{server.url}/v1"), ("anthropic/tiny", server.url)):
        for stream in (False, True):
            model = HostedModel(
                name,
                api_key=server.key,
                base_url=url,
                context_tokens=1024,
                price=None,
                stream=stream,
            )
            answers += model.complete((ask(),))
    replies = [a for a in answers if isinstance(a, ModelReply)]
    assert len(replies) == len(answers) == 5
    assert {(r.text, r.finish, r.model) for r in replies} == {(replies[0].text, "length", "tiny")}
    assert {(r.usage.prompt_tokens, r.usage.completion_tokens) for r in replies} == {
        (replies[0].usage.prompt_tokens, 8)
    }

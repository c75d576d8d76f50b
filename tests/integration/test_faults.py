"""Whole runs before a server whose replies are spoilt: each ends honestly, and its books are right (SPEC C10)."""

from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from bench.faults import ENDS, Range, Upstream, answering, plans

from surefoot.models.embedded import EmbeddedModel
from surefoot.testing.chat_server import ScriptedServer
from surefoot.testing.faulty_proxy import Spoiling
from surefoot.testing.tiny_gguf import write_tiny_gguf
from surefoot.values import RunStatus

COMPLETE, PAUSED = RunStatus.COMPLETE, RunStatus.PAUSED
TENTH = 20
FOR_EVER = 400


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Range:
    """A repository for many runs."""
    return Range(tmp_path_factory.mktemp("range"))


@pytest.fixture(scope="module")
def scripted() -> Iterator[Upstream]:
    """A server that always answers."""
    with ScriptedServer(answering) as server:
        yield Upstream(base_url=server.base_url)


@pytest.mark.parametrize("kind", list(Spoiling))
def test_one_spoilt_reply_is_got_over(runs: Range, scripted: Upstream, kind: Spoiling) -> None:
    """The call is made again, and the run ends as if nothing had been."""
    ended = runs.run(scripted, [kind])
    assert (ended.status, ended.complaint) == (COMPLETE, "")


@pytest.mark.parametrize(
    "kind", [Spoiling.RATE_LIMIT, Spoiling.ERROR, Spoiling.ERROR_BODY, Spoiling.ABORTED]
)
def test_a_server_that_stays_ill_pauses_the_run(
    runs: Range, scripted: Upstream, kind: Spoiling
) -> None:
    """It is left alone for longer and longer within the time limit; the pause says when to go on."""
    ended = runs.run(scripted, [kind] * FOR_EVER)
    assert (ended.status, ended.complaint) == (PAUSED, "")
    assert "asked again from" in ended.reason
    assert len(ended.spoilt) < 60


def test_the_second_model_takes_over(runs: Range, scripted: Upstream) -> None:
    """The first one's limit is not waited for while there is another."""
    ended = runs.run(scripted, [Spoiling.RATE_LIMIT] * FOR_EVER, [])
    assert (ended.status, ended.complaint) == (COMPLETE, "")


def test_nobody_listens(runs: Range, scripted: Upstream) -> None:
    """A port at which no server is: a pause, and nothing was spent."""
    ended = runs.run(scripted, None)
    assert (ended.status, ended.complaint) == (PAUSED, "")
    assert ended.tokens == 0


@pytest.mark.parametrize("seed", range(1, 1 + TENTH))
def test_a_random_mix(runs: Range, scripted: Upstream, seed: int) -> None:
    """Faults of all kinds in any order; `make soak` does five hundred."""
    ended = runs.run(scripted, *plans(seed))
    assert ended.status in ENDS
    assert ended.complaint == ""


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the extra `local` is not installed")
def test_mixes_before_llama_cpp(runs: Range, tmp_path: Path) -> None:
    """The same before llama.cpp's own server, which counts tokens by itself."""
    weights = write_tiny_gguf(tmp_path / "tiny.gguf")
    model = EmbeddedModel(weights, tmp_path / "cache", context_tokens=1024, threads=1)
    with closing(model):
        address = model._door.address()
        upstream = Upstream(base_url=f"{address.url}/v1", api_key=address.key)
        for seed in range(100, 120):
            ended = runs.run(upstream, *plans(seed))
            assert ended.status in ENDS, seed
            assert ended.complaint == "", seed

"""The embedded model's shared process, with a tiny model that llama.cpp really loads."""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from surefoot.errors import ModelUnavailableError
from surefoot.models.embedded import SLOTS, EmbeddedModel
from surefoot.testing.tiny_gguf import write_tiny_gguf
from surefoot.values import (
    Gap,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
)

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None, reason="the extra `local` is not installed"
)

CLIENT = """
import sys
from pathlib import Path
from surefoot.models.embedded import SLOTS, EmbeddedModel
from surefoot.values import Message, ModelRequest
weights, cache, most = sys.argv[1:]
model = EmbeddedModel(Path(weights), Path(cache), context_tokens=1024, threads=1)
message = Message(role="user", content="hello")
print(model.count_tokens((message,)), flush=True)
print(model.complete((ModelRequest(purpose="t", messages=(message,), max_tokens=int(most)),)), flush=True)
"""


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("weights") / "tiny.gguf")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of this module, whose hosts are ended with it."""
    cache = tmp_path_factory.mktemp("cache")
    yield cache
    for address in cache.glob("hosts/*/address.json"):
        os.kill(json.loads(address.read_text())["pid"], signal.SIGTERM)


Open = Callable[..., EmbeddedModel]


@pytest.fixture
def opened(weights: Path, home: Path) -> Iterator[Open]:
    models: list[EmbeddedModel] = []

    def open_one(**changes: object) -> EmbeddedModel:
        given = {"context_tokens": 1024, "threads": 1, **changes}
        models.append(EmbeddedModel(weights, home, **given))  # type: ignore[arg-type]
        return models[-1]

    yield open_one
    for model in models:
        model.close()


def ask(text: str = "hello", **changes: object) -> ModelRequest:
    given = {"purpose": "t", "messages": (Message(role="user", content=text),), "max_tokens": 8}
    return ModelRequest(**{**given, **changes})  # type: ignore[arg-type]


def reply(answers: tuple[ModelAnswer, ...]) -> ModelReply:
    (answer,) = answers
    assert isinstance(answer, ModelReply), answer
    return answer


def pid(model: EmbeddedModel) -> int:
    return model._door.address().pid


def gone(process: int) -> bool:
    """Whether a process has ended; waits for it up to a while."""
    try:
        watch = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], 20)[0])
    finally:
        os.close(watch)


def test_nothing_starts_before_the_first_call(opened: Open, home: Path) -> None:
    """Opening a model starts no process and writes nothing."""
    opened(slots=3)
    assert not list(home.glob("hosts/*/address.json"))


def test_two_models_share_one_process(opened: Open) -> None:
    """Models with the same settings talk to the same host, and its address is the user's alone."""
    first, second = opened(), opened()
    assert reply(first.complete((ask(),))).text == reply(second.complete((ask(),))).text
    assert pid(first) == pid(second) != os.getpid()
    folder = first._door.folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "address.json").stat().st_mode & 0o777 == 0o600


def test_a_link_to_the_file_means_the_same_host(
    opened: Open, weights: Path, home: Path, tmp_path: Path
) -> None:
    """Another way to write the path of the file starts no second process."""
    link = tmp_path / "link.gguf"
    link.symlink_to(weights)
    linked = EmbeddedModel(link, home, context_tokens=1024, threads=1)
    assert pid(linked) == pid(opened())
    linked.close()


def test_processes_that_start_together_share_one_host(weights: Path, tmp_path: Path) -> None:
    """Three processes that find no host at the same moment end up with one, and all are answered."""
    argv = [sys.executable, "-c", CLIENT, str(weights), str(tmp_path), "4"]
    clients = [
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)
    ]
    said = [client.communicate(timeout=60) for client in clients]
    assert all(b"ModelReply" in out for out, _ in said), said
    (address,) = tmp_path.glob("hosts/*/address.json")
    os.kill(json.loads(address.read_text())["pid"], signal.SIGTERM)


def test_a_killed_client_does_not_hurt_the_host(weights: Path, tmp_path: Path) -> None:
    """The client that started the host is killed with its whole process group in the middle of a call; others are answered."""
    argv = [sys.executable, "-c", CLIENT, str(weights), str(tmp_path), "900"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline().strip().isdigit()  # the host is there, and the call begins
        (address,) = tmp_path.glob("hosts/*/address.json")
        host = json.loads(address.read_text())["pid"]
        os.killpg(client.pid, signal.SIGKILL)
    model = EmbeddedModel(weights, tmp_path, context_tokens=1024, threads=1)
    answers = model.complete([ask(f"question {i}") for i in range(4)])
    assert all(isinstance(a, ModelReply) for a in answers)
    assert pid(model) == host
    model.close()
    os.kill(host, signal.SIGTERM)


def test_a_dead_host_is_replaced(opened: Open) -> None:
    """After SIGKILL the address that the host left is not believed; the next call starts another host and is answered."""
    model = opened()
    before = reply(model.complete((ask(),)))
    host = pid(model)
    os.kill(host, signal.SIGKILL)
    assert gone(host)
    assert reply(model.complete((ask(),))).text == before.text
    assert pid(model) != host


def test_a_host_that_dies_in_the_middle_of_a_call_is_replaced(opened: Open) -> None:
    """A call that loses its host is made again with another one."""
    model = opened()
    model.count_tokens(ask().messages)
    host = pid(model)
    answers: list[tuple[ModelAnswer, ...]] = []
    asked = ask(max_tokens=900)
    caller = threading.Thread(target=lambda: answers.append(model.complete((asked,))))
    caller.start()
    talk = model._talk
    assert talk is not None
    while len(talk._idle_slots()) == SLOTS:
        assert caller.is_alive()
    os.kill(host, signal.SIGKILL)
    caller.join(60)
    assert reply(answers[0]).usage.completion_tokens == 900


def test_a_leftover_of_another_form_is_ignored(opened: Open) -> None:
    """Rubbish in the address file of a dead host is no address."""
    model = opened(slots=1)
    folder = model._door.folder
    folder.mkdir(parents=True)
    (folder / "address.json").write_text("[1, 2")
    reply(model.complete((ask(),)))


def test_an_idle_host_ends_by_itself(opened: Open) -> None:
    """While a client lives the host stays; after the last one it ends, and its address with it."""
    model, other = opened(idle_s=0.3), opened(idle_s=0.3)
    host = pid(model)
    assert pid(other) == host
    model.close()
    reply(other.complete((ask(),)))
    other.close()
    assert gone(host)
    assert not (model._door.folder / "address.json").exists()
    reply(model.complete((ask(),)))
    assert pid(model) != host


def test_a_host_that_cannot_load_says_why(tmp_path: Path) -> None:
    """A file that is no model is an `unreachable` failure that names the log."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    model = EmbeddedModel(broken, tmp_path)
    (answer,) = model.complete((ask(),))
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.UNREACHABLE
    assert "ended with" in answer.message
    assert "host.log" in answer.message
    assert (
        model.count_tokens(ask().messages) > 0
    )  # an estimate, so that the failure is the call's to tell
    model.close()


def test_a_missing_file_names_the_mend(tmp_path: Path) -> None:
    """Without the file nothing is opened, and the sentence says how to get it."""
    with pytest.raises(ModelUnavailableError, match="surefoot models pull"):
        EmbeddedModel(tmp_path / "none.gguf", tmp_path)


def test_a_missing_library_names_the_mend(weights: Path, tmp_path: Path) -> None:
    """Without xllamacpp nothing is opened, and the sentence says how to install it."""
    script = (
        "import sys, pathlib\n"
        "import surefoot.models.embedded as embedded\n"
        "sys.path[:] = []; sys.meta_path[:] = sys.meta_path[:3]\n"
        "embedded.EmbeddedModel(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))\n"
    )
    argv = [sys.executable, "-c", script, str(weights), str(tmp_path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "ModelUnavailableError" in done.stderr
    assert "pip install 'surefoot[local]'" in done.stderr


def test_a_shared_head_is_evaluated_once(opened: Open) -> None:
    """Four samples of one prompt cost its evaluation once; only the first answer bears it."""
    model = opened()
    prompt = "all of these words stand in front " * 6
    counted = model.count_tokens(ask(prompt).messages)
    answers = model.complete([ask(prompt, temperature=1.0, seed=i) for i in range(4)])
    fresh = [a.usage.prompt_tokens - a.usage.cached_tokens for a in answers]
    assert fresh[0] >= counted - 2
    assert sum(fresh[1:]) <= 3 * 2


def test_gaps_of_one_text_share_it_up_to_the_earlier_one(opened: Open) -> None:
    """Each line's gap costs the text from the one before it on, and not from the first one on; in whatever order they are asked."""
    model = opened()
    lines = [f"the line of number {n} is like others\n" for n in range(12)]
    gaps = [
        Gap(before="".join(lines[:n]), after="".join(lines[n + 1 :])) for n in (8, 6, 11, 7, 10, 9)
    ]
    answers = model.complete([ask(messages=(), gap=gap, max_tokens=1) for gap in gaps])
    assert all(isinstance(a, ModelReply) for a in answers)
    fresh = sum(a.usage.prompt_tokens - a.usage.cached_tokens for a in answers)
    whole = answers[0].usage.prompt_tokens
    behind = sum(range(1, len(gaps)))  # lines of neighbours, from the earlier one's place on
    assert fresh < whole + (behind + 1) * len(lines[0])


def test_a_second_prompt_pays_only_for_its_tail(opened: Open) -> None:
    """A prompt that begins like an earlier one evaluates what is new; the earlier call may be of another client."""
    head = "these words stand at the head of each prompt of a kind " * 4
    reply(opened().complete((ask(head + "first"),)))
    usage = reply(opened().complete((ask(head + "second"),))).usage
    assert usage.prompt_tokens - usage.cached_tokens < 30 < usage.cached_tokens


def test_the_count_is_exact(opened: Open) -> None:
    """What `count_tokens` says is what the host says that it read."""
    model = opened()
    request = ask("some text\nwith two lines")
    assert (
        model.count_tokens(request.messages)
        == reply(model.complete((request,))).usage.prompt_tokens
    )


def test_a_request_that_does_not_fit_reaches_nobody(opened: Open) -> None:
    """Prompt and answer longer than a slot are refused; one token less is answered in full."""
    model = opened()
    room = model.context_tokens - model.count_tokens(ask().messages)
    (answer,) = model.complete((ask(max_tokens=room + 1),))
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.CONTEXT_OVERFLOW
    assert reply(model.complete((ask(max_tokens=room),))).usage.completion_tokens == room


def test_seeds_decide(opened: Open) -> None:
    """The same seed repeats an answer, another seed gives another one, and greedy answers need none."""
    model = opened()
    one = reply(model.complete((ask(temperature=1.5, seed=1, max_tokens=24),)))
    again = reply(model.complete((ask(temperature=1.5, seed=1, max_tokens=24),)))
    other = reply(model.complete((ask(temperature=1.5, seed=2, max_tokens=24),)))
    assert one.text == again.text != other.text
    assert one.mean_logprob is not None
    assert one.mean_logprob < 0


def test_a_schema_holds_the_answer(opened: Open) -> None:
    """Even a model that babbles answers with JSON of the form asked for, also behind a prefill."""
    schema = json.dumps(
        {
            "type": "object",
            "properties": {"verdict": {"enum": ["yes", "no"]}},
            "required": ["verdict"],
            "additionalProperties": False,
        }
    )
    model = opened()
    answer = reply(model.complete((ask(json_schema=schema, max_tokens=60, temperature=0.9),)))
    assert json.loads(answer.text)["verdict"] in ("yes", "no")
    begun = ask(json_schema=schema, max_tokens=60, prefill='{"verdict":')
    assert json.loads(reply(model.complete((begun,))).text)["verdict"] in ("yes", "no")


def test_more_requests_than_slots_are_all_answered(opened: Open) -> None:
    """Nine requests on four slots are answered, each its own."""
    model = opened()
    requests = [ask(f"number {i} " * (i + 1), max_tokens=4 + i) for i in range(9)]
    answers = model.complete(requests)
    assert [a.usage.completion_tokens for a in answers] == [4 + i for i in range(9)]

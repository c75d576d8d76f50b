"""What holds for all tests."""

import compileall
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

import surefoot

# Where Python is told to keep no bytecode, each process that the tests start would compile Surefoot anew, and each worker all
# tests. So both are compiled once, up to the collection's end; what the tests themselves import and start does as it was told.
_NO_BYTECODE = sys.dont_write_bytecode
if _NO_BYTECODE:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _CODE = Path(surefoot.__file__).parent
        compileall.compile_dir(_CODE, quiet=2, rx=re.compile(r"/patients/[^/]+/"))
    sys.dont_write_bytecode = False

# The patients' environment that `make dev` makes: pytest alone. The plugins of ours cost each of their test processes a second.
_PATIENTS = Path(sys.prefix) / "patients"
if _PATIENTS.is_dir():
    os.environ["VIRTUAL_ENV"] = str(_PATIENTS)

# `accept` commits in the user's name; a machine whose git knows no user gets one for the tests.
_KNOWN = subprocess.run(
    ["git", "-C", "/", "config", "user.email"], capture_output=True, check=False
)
if not _KNOWN.stdout.strip():
    _SOMEBODY = Path(tempfile.gettempdir()) / f"surefoot-tests-{os.getuid()}.gitconfig"
    _SOMEBODY.write_text("[user]\n\tname = T\n\temail = t@example.invalid\n")
    os.environ["GIT_CONFIG_GLOBAL"] = str(_SOMEBODY)

_WHOLE_RUNS = Path(__file__).parent / "integration"

# A busy machine may stop any example for a second; how long one takes is never what a property is about.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# A shell that starts the tests in the background has them ignore ctrl-C, and so would every process that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no worker is left alone with it at the end."""

    def brevity(item: pytest.Item) -> int:
        if item.get_closest_marker("campaign"):
            return 0
        return 1 if item.path.is_relative_to(_WHOLE_RUNS) else 2

    items.sort(key=brevity)


def pytest_collection_finish() -> None:
    """From here on it is the tests that import."""
    sys.dont_write_bytecode = _NO_BYTECODE

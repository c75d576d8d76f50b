"""What a repository's files lead to: a device without end, a pipe that nobody writes into (SPEC F4)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.test_bad_input import Surefoot, refuses

from surefoot.plain_files import read_head, read_plain

LIMITED = 'ulimit -v 2000000; exec "$0" "$@"'
"""A process that reads on and on ends, instead of the machine's memory."""
QUESTIONS = {
    "settings.read_settings(root)": "surefoot.toml",
    "findings.read_baseline(root / 'surefoot-baseline.json')": "surefoot-baseline.json",
    "findings.tools.mypy.applies(root)": "pyproject.toml setup.cfg",
    "findings.tools.bandit.bandit_config(root)": "pyproject.toml",
    "findings.tools.deadcode._table(root)": "pyproject.toml",
    "findings.tools.ruff._has_bound(root)": "pyproject.toml",
    "execute.fixes.oldest.oldest_python(root)": "pyproject.toml setup.cfg setup.py",
    "suite.commands.from_package(root)": "package.json",
    "suite.layout.source_roots(root, ())": "pyproject.toml setup.cfg setup.py",
    "suite.layout.carried(root)": "_version.py",
    "suite.formats.parsed.Place(root=root, files=()).text(Path('go.mod'))": "go.mod",
    "suite.interpreter._text(root / 'pyvenv.cfg')": "pyvenv.cfg",
}
ASKED = """
import importlib, sys
from pathlib import Path
root, question = Path(sys.argv[1]), sys.argv[2]
for name in sys.argv[3:]:
    importlib.import_module("surefoot." + name)
import surefoot
from surefoot.errors import SettingsError
try:
    eval("surefoot." + question)
except SettingsError as error:
    print(error)
"""


def limited(*argv: str, cwd: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """A process of this Python that may take no more memory than a command needs, and hangs for no test's life."""
    return subprocess.run(
        ["sh", "-c", LIMITED, sys.executable, *argv],
        cwd=cwd,
        env={**os.environ, "SUREFOOT_HOME": str(home)},
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("question", list(QUESTIONS))
@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_nothing_without_end_is_read(tmp_path: Path, question: str, kind: str) -> None:
    """Whoever asks goes on without the file, or says that it is none."""
    for name in QUESTIONS[question].split():
        if kind == "device":
            (tmp_path / name).symlink_to("/dev/zero")
        else:
            os.mkfifo(tmp_path / name)
    module = question.partition("(")[0].rpartition(".")[0]
    done = limited("-c", ASKED, str(tmp_path), question, module, cwd=tmp_path, home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("it is no plain file" in done.stdout) is ("read_" in question)


def test_commands_say_what_cannot_be_read(
    surefoot: Surefoot, patient: Path, tmp_path: Path
) -> None:
    """In one sentence; `init` goes on without a configuration that is none."""
    for name in ("pyproject.toml", "setup.cfg", "tox.ini"):
        (patient / name).unlink(missing_ok=True)
        (patient / name).symlink_to("/dev/zero")
    done = limited("-m", "surefoot", "init", cwd=patient, home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    (patient / "surefoot.toml").unlink()
    os.mkfifo(patient / "surefoot.toml")
    refuses(surefoot("show", cwd=patient), "surefoot.toml cannot be read: it is no plain file")


def test_a_plain_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    """Through a link, too, where links are meant; one byte more is refused."""
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"12345")
    link.symlink_to(file)
    assert read_plain(link, 5) == b"12345"
    assert read_head(link, 2) == b"12"
    with pytest.raises(OSError, match="it has more than 4 bytes"):
        read_plain(link, 4)
    with pytest.raises(OSError, match="link"):
        read_head(link, 2, links=False)
    with pytest.raises(OSError, match="it is no plain file"):
        read_plain(tmp_path)

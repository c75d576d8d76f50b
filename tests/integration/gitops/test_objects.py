"""Blobs through one git process that is asked again and again: an answer is that to its question, whatever became of the last."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefoot.errors import GitError
from surefoot.gitops import Repository
from surefoot.gitops.objects import Objects
from surefoot.testing.repository import ScratchRepository
from surefoot.values import Diff, TreeId

FIRST, SECOND = "src/app.py", "src/util.py"


@pytest.fixture
def heard() -> Iterator[None]:
    """Ctrl-C as a terminal gives it: a job in the background of a script inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def objects(user: ScratchRepository, on_batch: str) -> tuple[Objects, TreeId]:
    """The store through a git that does something first when it is asked for blobs, and the tree of HEAD."""
    git, shim = shutil.which("git"), user.folder / "shim"
    shim.mkdir()
    (shim / "git").write_text(
        f'#!/bin/sh\ncase "$*" in *--batch) {on_batch};; esac\nexec {git} "$@"\n'
    )
    (shim / "git").chmod(0o755)
    env = {**user.env, "PATH": f"{shim}:{user.env['PATH']}"}
    repository = Repository.discover(user.root, env)
    return Objects(repository.git(), user.folder, 40), TreeId(repository.tree)


def text(user: ScratchRepository, path: str) -> bytes:
    return (user.root / path).read_bytes()


@pytest.mark.usefixtures("heard")
def test_an_answer_that_nobody_waited_for_is_not_the_next_ones(user: ScratchRepository) -> None:
    """Interrupted between question and answer, it is asked anew; here the first answer comes with the second question."""
    once = user.folder / "once"
    answers_late = (
        f"if mkdir {once} 2>/dev/null; then read -r one; kill -INT $PPID; read -r two || exit; "
        f'printf "%s\\n%s\\n" $one $two | {shutil.which("git")} "$@"; exit; fi'
    )
    store, tree = objects(user, answers_late)
    with pytest.raises(KeyboardInterrupt):
        store.read(tree, FIRST)
    assert store.read(tree, SECOND) == text(user, SECOND)
    assert store.read(tree, FIRST) == text(user, FIRST)
    store.blobs.close()


def test_a_process_that_was_killed_is_started_again(user: ScratchRepository) -> None:
    """It costs the one read that met it dead. Ctrl-C at the terminal, which goes to a whole session, does not reach it."""
    note = user.folder / "pid"
    store, tree = objects(user, f"echo $$ > {note}")
    assert store.read(tree, FIRST) == text(user, FIRST)
    pid = int(Path(note).read_text())
    assert os.getsid(pid) == pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(GitError, match="it ended"):
        store.read(tree, SECOND)
    assert store.read(tree, SECOND) == text(user, SECOND)
    store.blobs.close()


def test_a_missing_blob_is_told_and_others_are_read(user: ScratchRepository) -> None:
    """Git says which it lacks."""
    store, tree = objects(user, ":")
    with pytest.raises(GitError, match="missing"):
        store.blobs.read("1" * 40)
    assert store.read(tree, FIRST) == text(user, FIRST)
    store.blobs.close()


def test_half_a_blob_is_no_blob(user: ScratchRepository) -> None:
    """Of a process that ends in the middle of its answer."""
    store, tree = objects(user, "read -r one; printf '%s blob 10\\nabc' $one; exit")
    with pytest.raises(GitError, match="it ended after 3 of 10 bytes"):
        store.read(tree, FIRST)


def attributes(user: ScratchRepository, line: str) -> Path:
    """A file of attributes that is the user's, not the repository's."""
    path = user.folder / "attributes"
    path.write_text(line)
    return path


OURS = "def one():\n    a = 1\n\n    b = 2\n\n    c = 3\n\n    d = 4\n\n    e = 5\n"
HIDES = "*.py -diff\n"


@pytest.mark.parametrize(
    "setting",
    [
        "core.quotePath=false",
        "diff.suppressBlankEmpty=true",
        "diff.algorithm=patience",
        "diff.context=0",
        "diff.noprefix=true",
        "diff.mnemonicPrefix=true",
        "diff.renames=copies",
        "diff.indentHeuristic=false",
        "diff.external=true",
        "color.ui=always",
        "core.attributesFile",
        ".gitattributes",
        ".git/info/attributes",
        "core.bigFileThreshold=1",
        "diff.default.binary=true",
    ],
)
def test_a_diff_follows_from_its_trees_alone(user: ScratchRepository, setting: str) -> None:
    """Whoever verifies a run elsewhere has other settings; and no attribute hides a change from who judges it."""
    user.commit({"größe.py": OURS, "a.py": "A = 1\n"})
    before = TreeId(user.git("rev-parse", "HEAD^{tree}"))
    user.commit({"größe.py": OURS.replace("e = 5", "e = 6"), "a.py": "A = 2\n"})
    after = TreeId(user.git("rev-parse", "HEAD^{tree}"))

    def diff() -> Diff:
        return Objects(
            Repository.discover(user.root, user.env).git(), user.folder, len(after)
        ).diff(before, after)

    plain = diff()
    assert "+    e = 6" in plain.patch
    if setting.endswith("attributes"):
        user.write({setting: HIDES})
    elif setting == "core.attributesFile":
        user.git("config", setting, str(attributes(user, HIDES)))
    else:
        user.git("config", *setting.split("="))
    assert diff() == plain

"""The golden runs: ten recorded runs, each in a bundle that is replayed without its model and without its repository.

    python -m tests.replay.runs          record all of them anew
    python -m tests.replay.runs bug      or some

They say nearly the same ten times, so they lie together in one archive, which takes a third of the room of ten.

A run is recorded anew when the kernel is meant to do something else, never to make a test green.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests import commands
from tests.integration import shop
from tests.integration.execute import test_agent as till
from tests.integration.execute import test_native_calls as native
from tests.integration.steps import call, done, script

RUNS: Final = Path(__file__).parent / "runs.tar.xz"
_BUG: Final = "`receipt` shows 2.5 for 250"
_RIGHT: Final = call("file_edit", path="till/money.py", search=":.1f", replace=":.2f")


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What is recorded."""

    files: Mapping[str, str]
    issue: str
    rules: Mapping[str, object]
    status: str
    strategy: str = "agent"


def _by_every_other_seed(answers: Sequence[str]) -> dict[str, object]:
    """A model whose first answer to each question is empty."""
    made = script(answers)
    rules: list[dict[str, Any]] = made["rules"]  # type: ignore[assignment]
    late = [
        {k: v for k, v in r.items() if k != "reply"} | {"replies": ["", r["reply"]]} for r in rules
    ]
    return {**made, "rules": late}


STORIES: Final[Mapping[str, Story]] = {
    "bug": Story(files=till.BUG, issue=_BUG, rules=script(till.BUG_EDITS), status="complete"),
    "feature": Story(
        files=till.FILES, issue=till.FEATURE, rules=script(till.EDITS), status="complete"
    ),
    "native": Story(
        files=till.BUG, issue=_BUG, rules=native.script(till.BUG_EDITS), status="complete"
    ),
    "native-given-up": Story(
        files=till.BUG,
        issue=_BUG,
        rules=native.script(till.BUG_EDITS, dict.fromkeys(range(9), "broken")),
        status="complete",
    ),
    "mistakes": Story(
        files=till.BUG,
        issue=_BUG,
        rules=script(
            [
                call("file_edit", path="till/money.py", search="no such text", replace="x"),
                call("file_read", pathh="till/money.py"),
                call("file_read", path="till/money.py"),
                call("file_read", path="till/money.py"),
                call(
                    "file_edit", path="till/money.py", search="cents / 100:.1f", replace="cents:.1f"
                ),
                call(
                    "file_edit", path="till/money.py", search="cents:.1f", replace="cents / 100:.2f"
                ),
                done(),
            ]
        ),
        status="complete",
    ),
    "only-claims": Story(files=till.BUG, issue=_BUG, rules=script([done()]), status="blocked"),
    "bends-a-test": Story(
        files=till.BUG,
        issue=_BUG,
        rules=script(
            [call("file_edit", path="tests/test_till.py", search="2.50", replace="2.5"), done()]
        ),
        status="blocked",
    ),
    "shell": Story(
        files=till.BUG,
        issue=_BUG,
        rules=script(
            [
                call("shell", command="date +%N; echo $$; ls -la --time-style=full-iso till"),
                call("shell", command="echo '# note' >> till/app.py; exit 3"),
                _RIGHT,
                done(),
            ]
        ),
        status="complete",
    ),
    "empty-answers": Story(
        files=till.BUG, issue=_BUG, rules=_by_every_other_seed([_RIGHT, done()]), status="complete"
    ),
    "search": Story(
        files={"shop.py": shop.CODE, "test_shop.py": shop.TESTS + shop.DISCOUNT},
        issue=shop.ISSUE,
        rules={
            "schema": 1,
            "rules": [{"pattern": "Function `total`", "reply": shop.RIGHT}],
            "default": "I do not know.",
        },
        status="complete",
        strategy="repair",
    ),
}


def unpack(folder: Path) -> dict[str, Path]:
    """The bundles by name, in a folder."""
    with tarfile.open(RUNS) as archive:
        archive.extractall(folder, filter="data")
    return {path.stem: path for path in sorted(folder.glob("*.zip"))}


def _pack(bundles: Mapping[str, bytes]) -> None:
    with tarfile.open(RUNS, "w:xz", preset=9) as archive:
        for name, data in sorted(bundles.items()):
            about = tarfile.TarInfo(f"{name}.zip")
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))


def _plain(bundle: Path) -> bytes:
    """The same bundle uncompressed, so that what ten of them share is seen."""
    written = io.BytesIO()
    with zipfile.ZipFile(bundle) as given, zipfile.ZipFile(written, "w") as out:
        for info in given.infolist():
            out.writestr(zipfile.ZipInfo(info.filename), given.read(info))
    return written.getvalue()


def record(name: str) -> tuple[str, bytes]:
    """Do one run: how it ended, in words, and its bundle; empty where it ended otherwise than it should."""
    story = STORIES[name]
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        root = till.repository(Path(folder), story.files)
        (root.parent / "model.json").write_text(json.dumps(story.rules))
        options = ("--model", "scripted:../model.json", "--strategy", story.strategy, "--seed", "7")
        ran = _surefoot(root, "solve", story.issue, *options, "--json")
        if not ran.stdout:
            return f"{name}: {ran.stderr}", b""
        answer: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
        if answer["status"] != story.status:
            told = f"{answer['status']} instead of {story.status}: {answer['reason']}"
            return f"{name}: {told}", b""
        bundle = root.parent / f"{name}.zip"
        kept = _surefoot(root, "export", "--bundle", str(bundle))
        return f"{name}: {answer['status']}{kept.stderr}", _plain(bundle)


def main(names: Sequence[str]) -> None:
    """Record some anew, all at once, and leave the others as they are."""
    with tempfile.TemporaryDirectory() as folder:
        known = unpack(Path(folder)) if RUNS.exists() else {}
        bundles = {name: path.read_bytes() for name, path in known.items() if name in STORIES}
    with ThreadPoolExecutor(len(STORIES)) as pool:
        for name, (told, bundle) in zip(names, pool.map(record, names), strict=True):
            sys.stdout.write(f"{told}\n")
            if bundle:
                bundles[name] = bundle
    _pack(bundles)


def _surefoot(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, "SUREFOOT_HOME": str(root.parent / "home")}
    return commands.surefoot(*args, cwd=root, env=whole)


if __name__ == "__main__":
    main(sys.argv[1:] or list(STORIES))

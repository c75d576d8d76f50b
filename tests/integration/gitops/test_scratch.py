"""A folder for a moment is gone with its command; what a kill has left goes, and what is in use stays."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from surefoot.gitops.scratch import drop_left, scratch_in

_MAKES = """
import sys
from pathlib import Path
from surefoot.gitops.scratch import scratch_in
with scratch_in(Path(sys.argv[1]), "run") as folder:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_text("half")
    print(folder, flush=True)
    sys.stdin.read()
"""
NOW = datetime(2026, 1, 2, tzinfo=UTC)


@contextmanager
def maker(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that has a folder, and the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", _MAKES, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process, Path(process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate()


def left(place: Path) -> list[Path]:
    """All that is no folder of leases."""
    return [path for path in place.rglob("*") if path.name != ".leases"]


def test_what_a_kill_has_left_goes_and_what_is_in_use_stays(tmp_path: Path) -> None:
    """The lease tells them apart; of the folder that goes nothing stays."""
    with maker(tmp_path) as (living, used), maker(tmp_path) as (dead, unused):
        dead.kill()
        dead.wait()
        assert list(drop_left(tmp_path, now=NOW)) == [unused]
        assert not unused.exists()
        assert (used / "deep" / "file").exists()
        living.communicate()
    assert left(tmp_path) == []


def test_a_lease_that_is_left_alone_goes(tmp_path: Path) -> None:
    """Of a command that was killed after its folder had gone."""
    with maker(tmp_path) as (process, folder):
        process.kill()
        process.wait()
        subprocess.run(["rm", "-r", str(folder)], check=True)
        with scratch_in(tmp_path, "bundle"):
            assert list(drop_left(tmp_path, now=NOW)) == []
            assert len(list(tmp_path.glob(".leases/*"))) == 1
    assert left(tmp_path) == []


def test_a_folder_of_an_earlier_version_goes_after_a_day(tmp_path: Path) -> None:
    """Nobody holds a lease of it; the folder of a repository, whatever its name, is none of them."""
    names = ("run-abcd_123", "bundle-abcd_123", "run-0123456789ab", "run-run-abcd_123-0123456789ab")
    for name in names:
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (NOW.timestamp(), NOW.timestamp()))
    assert list(drop_left(tmp_path, now=NOW + timedelta(hours=23))) == []
    gone = list(drop_left(tmp_path, now=NOW + timedelta(hours=25)))
    assert gone == [tmp_path / "bundle-abcd_123", tmp_path / "run-abcd_123"]
    assert {path.name for path in left(tmp_path)} == set(names[2:])

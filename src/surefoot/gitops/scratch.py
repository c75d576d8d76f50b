"""Folders that do not outlast their command, and what is left of them after a kill.

    <place>/<kind>-<random>          the folder; `kind` says what for
    <place>/.leases/<kind>-<random>  its lease: taken when the folder was made, given up when it is gone

Earlier versions took no leases.
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal

from surefoot.gitops.files import mended, remove_tree
from surefoot.gitops.lease import Lease
from surefoot.vocabulary import RunId

_NAME: Final = re.compile(r"(run|bundle)-[a-z0-9_]{8}")
"""As `tempfile` makes them; the folder of a repository, which lies beside them, has a longer end."""
_UNLEASED: Final = timedelta(days=1)
"""How long a folder without a lease may be in use: it has just been made, or an earlier version has made it."""


@contextmanager
def scratch_in(place: Path, kind: Literal["run", "bundle"]) -> Iterator[Path]:
    """A folder below `place`, gone afterwards.

    Raises:
        EnvironmentBrokenError: It or its lease cannot be written.
    """
    with ExitStack() as last, ExitStack() as first:
        with mended("make a scratch folder"):
            place.mkdir(parents=True, exist_ok=True)
            made = tempfile.TemporaryDirectory(dir=place, prefix=f"{kind}-")
        folder = Path(first.enter_context(made))
        lease = Lease.take(_lease(folder), RunId(folder.name), place)
        last.callback(lease.discard)
        yield folder


def drop_left(place: Path, *, now: datetime) -> Iterator[Path]:
    """Remove the folders below `place` whose makers are dead; each of them."""
    for folder in sorted(place.glob("*")):
        if _NAME.fullmatch(folder.name) and _drop(folder, now):
            yield folder
    for left in place.glob(".leases/*"):
        lease = Lease.attempt(left, place)
        if lease is not None:
            lease.discard()


def _drop(folder: Path, now: datetime) -> bool:
    with suppress(FileNotFoundError):  # whoever made it has just ended
        changed = folder.stat().st_mtime
        if _lease(folder).exists():
            return _drop_unheld(folder)
        if changed < (now - _UNLEASED).timestamp():
            remove_tree(folder)
            return True
    return False


def _drop_unheld(folder: Path) -> bool:
    lease = Lease.attempt(_lease(folder), folder.parent)
    if lease is None:
        return False
    existed = folder.exists()
    remove_tree(folder)
    lease.discard()
    return existed


def _lease(folder: Path) -> Path:
    return folder.parent / ".leases" / folder.name

"""What was measured on a seed, kept in the repository: outcomes and the pool that its natural bugs come from.

The script and its model are what they were, so that its half of a seed is worked on once. Surefoot's half counts for the
code that it was measured at: an outcome's key changes with it. A pool cannot be sampled twice: parallel slots give other answers.
"""

import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "baselines" / "repair"


def pool_record(seed: int, folder: Path = FOLDER) -> Path:
    """The samples of a seed."""
    return folder / f"pool-{seed}.jsonl.xz"


def outcome_record(seed: int, who: str, folder: Path = FOLDER) -> Path:
    """Somebody's outcomes on a seed's cases."""
    return folder / f"{who}-{seed}.jsonl.xz"


def lines_of(record: Path) -> list[bytes]:
    """The lines of a record; none where there is no such file."""
    if not record.exists():
        return []
    return lzma.decompress(record.read_bytes()).splitlines()


def all_outcomes(folder: Path = FOLDER) -> Iterator[bytes]:
    """The lines of all records of outcomes."""
    for who in ("surefoot", "script"):
        for record in sorted(folder.glob(f"{who}-*.jsonl.xz")):
            yield from lines_of(record)


def write(record: Path, lines: Sequence[bytes]) -> None:
    """The lines as a record; no file where there are none."""
    if lines:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_bytes(lzma.compress(b"\n".join(lines) + b"\n", preset=9))

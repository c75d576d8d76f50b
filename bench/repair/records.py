"""What does not change with the product, kept in the repository: the script's outcomes, and pools, by seed.

The script and its model are what they were, so that its half of a seed is worked on once; Surefoot's half is measured anew
on whatever machine. A pool cannot be sampled twice: parallel slots give other answers.
"""

import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "baselines" / "repair"


def pool_record(seed: int, folder: Path = FOLDER) -> Path:
    """The samples of a seed."""
    return folder / f"pool-{seed}.jsonl.xz"


def script_record(seed: int, folder: Path = FOLDER) -> Path:
    """The script's outcomes on a seed's cases."""
    return folder / f"script-{seed}.jsonl.xz"


def lines_of(record: Path) -> list[bytes]:
    """The lines of a record; none where there is no such file."""
    if not record.exists():
        return []
    return lzma.decompress(record.read_bytes()).splitlines()


def all_outcomes(folder: Path = FOLDER) -> Iterator[bytes]:
    """The lines of all records of outcomes."""
    for record in sorted(folder.glob("script-*.jsonl.xz")):
        yield from lines_of(record)


def write(record: Path, lines: Sequence[bytes]) -> None:
    """The lines as a record; no file where there are none."""
    if lines:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_bytes(lzma.compress(b"\n".join(lines) + b"\n", preset=9))

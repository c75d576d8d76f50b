"""The findings that a project has accepted: a file that people commit and review like code.

It holds no line numbers and is sorted, so that it changes only when a finding comes or goes. Only fingerprints count;
the rest of an entry tells a reviewer what was accepted.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from surefoot.errors import SettingsError
from surefoot.plain_files import read_plain, write_whole
from surefoot.values import Finding

BASELINE_NAME: Final = "surefoot-baseline.json"
_MOST_BYTES: Final = 64 * 1024**2
"""Two hundred thousand findings; nobody reads so many."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    file: str
    tool: str
    rule: str
    message: str
    fingerprint: str = Field(pattern=r"^[0-9a-f]{32}$")


class _Baseline(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1]
    findings: list[_Entry]


def read_baseline(path: Path) -> tuple[str, ...]:
    """The accepted fingerprints, sorted; none when there is no such file.

    Raises:
        SettingsError: The file cannot be read or is not a baseline; nothing is accepted on a guess.
    """
    try:
        data = read_plain(path, _MOST_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}; make it readable") from error
    try:
        baseline = _Baseline.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise SettingsError(
            f"{path} is not a baseline: {place}: {first['msg']}; restore it from git, "
            "or write a new one with surefoot audit --write-baseline"
        ) from error
    return tuple(sorted({entry.fingerprint for entry in baseline.findings}))


def write_baseline(path: Path, findings: Iterable[Finding]) -> None:
    """Accept exactly `findings`; as `plain_files.write_whole`."""
    entries = {
        f.fingerprint: _Entry(
            file=f.file,
            tool=f.tool,
            rule=f.rule,
            message=f.message,
            fingerprint=f.fingerprint,
        )
        for f in findings
    }
    ordered = sorted(entries.values(), key=lambda e: (e.file, e.tool, e.rule, e.fingerprint))
    text = _Baseline(version=1, findings=ordered).model_dump_json(indent=2)
    write_whole(path, f"{text}\n".encode())

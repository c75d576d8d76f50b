"""`surefoot solve` run as a user runs it, watched from outside: what it used is read from its ledger as it grows."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.meter import Used

_LOOK_S: Final = 0.5
_PARTING_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """How a run ended, by its own `--json` object."""

    status: str
    """The run's status, or `no answer` when it printed no object."""
    reason: str
    run_id: str | None
    commit: str | None
    used: Used
    exit_code: int
    wall_s: float
    over_limit: bool
    """It was interrupted because it had used what a case may use."""
    stderr: str
    """Its tail."""


class Tally:
    """Counts what runs in a repository have used, from the lines that their ledgers have so far."""

    def __init__(self, repository: Path) -> None:
        self._runs = repository / ".surefoot" / "runs"
        self._read: dict[Path, int] = {}
        self.used = Used()

    def look(self) -> Used:
        """Read what is new; a line that is not whole yet is left for the next look."""
        for path in sorted(self._runs.glob("*/events.jsonl")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            for line in whole.splitlines():
                self.used += usage_of(json.loads(line)["payload"])
        return self.used


def usage_of(payload: Mapping[str, Any]) -> Used:
    """What one event of a ledger says was used."""
    if payload["kind"] == "candidate.tried":
        return Used(candidates=1)
    if payload["kind"] == "candidates.rejected":
        return Used(candidates=payload["count"])
    if payload["kind"] in ("model.replied", "model.failed"):
        usage = payload["usage"]
        return Used(
            model_calls=1,
            prompt_tokens=usage["prompt_tokens"],
            cached_tokens=usage["cached_tokens"],
            completion_tokens=usage["completion_tokens"],
        )
    return Used()


def solve(
    repository: Path,
    arguments: Sequence[str],
    *,
    scratch: Path,
    may_go_on: Callable[[Used], bool] = lambda _used: True,
    wall_s: float = 3600.0,
    program: Path | None = None,
) -> Solved:
    """Run `surefoot solve … --json` in `repository` and end it by a signal when `may_go_on` says no.

    Args:
        repository: The user's checkout.
        arguments: What stands between `solve` and `--json`.
        scratch: Takes the worktrees of the run, and what it prints.
        may_go_on: Asked twice a second with what was used so far.
        wall_s: After so many seconds it is interrupted in any case.
        program: Instead of the `surefoot` beside this interpreter.
    """
    command = [str(program or Path(sys.executable).with_name("surefoot")), "solve", *arguments]
    command += ["--repo", str(repository), "--json", "--quiet"]
    start = time.monotonic()
    tally, over = Tally(repository), False
    with (scratch / "stdout").open("wb") as out, (scratch / "stderr").open("wb") as err:
        process = subprocess.Popen(
            command,
            cwd=repository,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, "XDG_STATE_HOME": str(scratch / "state")},
            start_new_session=True,
        )
        while not over and _waits(process, _LOOK_S):
            late = time.monotonic() - start > wall_s
            over = late or not may_go_on(tally.look())
        if over:
            process.send_signal(signal.SIGTERM)  # a background job has ctrl-C ignored
            if _waits(process, _PARTING_S):
                process.kill()
                process.wait()
    used = tally.look()
    over = over or not may_go_on(used)
    return _read(scratch, used, process.returncode, time.monotonic() - start, over)


def _waits(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether the process is still there after so many seconds."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def _read(scratch: Path, used: Used, exit_code: int, wall_s: float, over: bool) -> Solved:  # noqa: FBT001
    lines = (scratch / "stdout").read_text("utf-8", "replace").strip().splitlines()
    stderr = (scratch / "stderr").read_text("utf-8", "replace")[-2000:]
    try:
        said = json.loads(lines[-1]) if lines else None
    except ValueError:
        said = None
    if not isinstance(said, dict):
        said = {"status": "no answer", "reason": stderr.strip()[-300:]}
    return Solved(
        status=said["status"],
        reason=said["reason"],
        run_id=said.get("run_id"),
        commit=said.get("commit"),
        used=used,
        exit_code=exit_code,
        wall_s=wall_s,
        over_limit=over,
        stderr=stderr,
    )

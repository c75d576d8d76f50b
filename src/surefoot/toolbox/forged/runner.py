"""One call of a forged tool inside the sandbox: no network, nothing written, bounded in time, memory and output."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from surefoot.codec import canonical, decode
from surefoot.kernel.ports import Processes
from surefoot.toolbox.bounds import clean, clip
from surefoot.toolbox.forged.artifact import Artifact
from surefoot.values import Command, Limits

DRIVER: Final = Path(__file__).parent / "inside" / "driver.py"
LIMITS: Final = Limits(
    wall_s=20.0,
    cpu_s=20,
    memory_bytes=2 * 1024**3,
    file_bytes=16 * 1024**2,
    processes=16,
    output_bytes=1024**2,
)
_ERROR_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a call did, not yet held against the contract."""

    ok: bool
    result: object = None
    error: str = ""
    wrong_boundary: bool = False
    """The tool says that it was asked for what is another tool's."""
    reads: tuple[str, ...] = ()
    writes: Mapping[str, object]
    """State, by key."""
    opened: tuple[str, ...] = ()
    """Files that were really read: paths in the worktree, absolute ones outside of it."""


class Runner:
    """Runs forged tools."""

    def __init__(
        self,
        processes: Processes,
        python: Path,
        limits: Limits = LIMITS,
        *,
        redact: Callable[[str], str] = str,
    ) -> None:
        """`python` interprets them, without any package beside its standard library.

        `redact` hides secrets in what they say, before any of it is cut.
        """
        self._processes, self._python, self._limits = processes, python, limits
        self.redact = redact
        self._driver = DRIVER.read_text()

    def run(
        self,
        artifact: Artifact,
        arguments: Mapping[str, object],
        *,
        root: Path,
        state: Mapping[str, object],
    ) -> Ran:
        """Call it in the folder `root`, which it may read."""
        asked = {
            "source": artifact.source,
            "method": artifact.method,
            "arguments": arguments,
            "state": state,
        }
        result = self._processes.run(
            Command(
                argv=(str(self._python), "-s", "-S", "-P", "-B", "-c", self._driver),
                cwd=root,
                env={"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
                stdin=canonical(asked),
                reads=(root,),
                limits=self._limits,
            )
        )
        if result.timed_out:
            return _broken(f"it did not end within {self._limits.wall_s:g} s")
        if result.truncated:
            return _broken(f"its result has more than {self._limits.output_bytes} bytes")
        try:
            ran = decode(Ran, result.stdout)
        except ValueError:
            said = self.redact(clean(result.stderr.decode("utf-8", "replace")))
            tail = said.strip()[-_ERROR_CHARACTERS:]
            ended = f"exit code {result.exit_code}" if result.signal is None else "a limit"
            return _broken(f"it ended without a result ({ended}); {tail or 'it said nothing'}")
        return replace(ran, error=clip(self.redact(clean(ran.error)), _ERROR_CHARACTERS))


def _broken(error: str) -> Ran:
    return Ran(ok=False, error=error, writes={})

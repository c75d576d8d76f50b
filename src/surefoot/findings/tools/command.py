"""Any command that prints SARIF 2.1.0 on its standard output is an auditor."""

from collections.abc import Collection, Sequence
from pathlib import Path

from surefoot.findings.process import AUDIT_LIMITS, Answer, Probe, UnreadableOutputError, run_probe
from surefoot.findings.sarif import SarifError, read_sarif
from surefoot.kernel.ports import Processes
from surefoot.values import AuditorResult, Limits, ProcessResult


class CommandAuditor:
    """Runs a command at the tree's root and reads its standard output as SARIF."""

    def __init__(
        self,
        processes: Processes,
        *,
        name: str,
        argv: Sequence[str],
        exit_codes: Collection[int] = (0, 1),
        reads: Sequence[Path] = (),
        limits: Limits = AUDIT_LIMITS,
    ) -> None:
        self._processes = processes
        self._probe = Probe(
            tool=name,
            argv=tuple(argv),
            reads=tuple(reads),
            limits=limits,
            exit_codes=frozenset(exit_codes),
            mend=f"install {argv[0]!r} or take the auditor out of surefoot.toml",
        )

    @property
    def tool(self) -> str:
        """The name that the settings give it."""
        return self._probe.tool

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`."""
        return run_probe(self._processes, self._probe, root, lambda result: _read(result, root))


def _read(result: ProcessResult, root: Path) -> Answer:
    try:
        log = read_sarif(result.stdout, root=root)
    except SarifError as error:
        raise UnreadableOutputError(str(error)) from error
    if log.failures:
        raise UnreadableOutputError(f"it says itself that it failed: {log.failures[0]}")
    if not log.tools:
        raise UnreadableOutputError("the log holds no run, so nothing was looked at")
    # Not broken: SpotBugs says so of every class that it was not given, and goes on.
    note = f"it says of its configuration: {log.remarks[0]}" if log.remarks else ""
    return Answer(raws=tuple(raw for _, raw in log.results), note=note)

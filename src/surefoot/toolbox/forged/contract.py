"""A call held against its contract: what it may be given, what it may rest on, and what it has to give."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from surefoot.artifacts import Fault
from surefoot.toolbox.bounds import named
from surefoot.toolbox.forged.artifact import Artifact
from surefoot.toolbox.forged.checks import validator
from surefoot.toolbox.forged.runner import Ran, Runner
from surefoot.toolbox.misfit import INAPPLICABLE, misfit

_FEW: Final = 3
_MESSAGE_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of a call."""

    ok: bool
    result: object = None
    error: str = ""
    contract: bool | None = None
    """The result fitted the contract; None: there was none to look at."""
    faults: tuple[Fault, ...] = ()
    reads: tuple[str, ...] = ()
    """State keys."""
    writes: Mapping[str, object]
    opened: tuple[str, ...] = ()
    """Files that the result rests on."""


def wrong_arguments(artifact: Artifact, arguments: Mapping[str, object]) -> str:
    """What is wrong with the arguments of a call; empty when they fit."""
    return misfit(artifact.spec(), validator(artifact.input_schema), arguments) or ""


def judge(
    artifact: Artifact,
    runner: Runner,
    arguments: Mapping[str, object],
    *,
    root: Path,
    state: Mapping[str, object],
) -> Judged:
    """Make the call, as often as the failure policy says, and hold what comes of it against the contract."""
    wrong = wrong_arguments(artifact, arguments)
    if wrong:
        return Judged(ok=False, error=wrong, writes={})
    judged = _held(artifact, runner.run(artifact, arguments, root=root, state=state), runner.redact)
    if judged.ok or judged.faults or artifact.on_error == "return_error":
        return judged
    again = _held(artifact, runner.run(artifact, arguments, root=root, state=state), runner.redact)
    if again.ok or again.faults:
        return again
    return Judged(
        ok=False,
        error=f"{again.error}; it was tried twice",
        contract=again.contract,
        faults=(Fault.OUTCOME_EXHAUSTED,),
        reads=again.reads,
        writes={},
        opened=again.opened,
    )


def _declares(artifact: Artifact, path: str) -> bool:
    """Whether a pattern names what was opened; one that begins in the worktree names nothing outside of it, `*` neither."""
    outside = path.startswith("/")
    return any(p.startswith("/") == outside and fnmatchcase(path, p) for p in artifact.reads)


def _unfit(artifact: Artifact, result: object) -> str:
    """Why a result does not fit; empty when it does."""
    try:
        found = sorted(
            validator(artifact.output_schema).iter_errors(result), key=lambda e: e.json_path
        )
    except INAPPLICABLE as error:
        return f"output_schema cannot be applied ({type(error).__name__}: {error})"
    if not found:
        return ""
    return f"the result does not fit output_schema at {found[0].json_path}: {found[0].message}"


def _held(artifact: Artifact, ran: Ran, redact: Callable[[str], str]) -> Judged:
    """A run held against the contract; what failed keeps no state."""
    faults: tuple[Fault, ...] = ()
    contract: bool | None = None
    error = ran.error
    undeclared = [path for path in ran.opened if not _declares(artifact, path)]
    if ran.wrong_boundary:
        faults, error = (Fault.WRONG_BOUNDARY,), f"this is another tool's work: {ran.error}"
    if undeclared:
        declared = ", ".join(artifact.reads) or "nothing"
        read = ", ".join(named(path) for path in undeclared[:_FEW])
        faults = tuple(sorted({*faults, Fault.PROVENANCE}))
        error = f"it read {read}, but its contract declares {declared}; declare it in `reads`"
    elif ran.ok:
        error = _unfit(artifact, ran.result)
        contract = not error
    ok = ran.ok and not faults and contract is True
    return Judged(
        ok=ok,
        result=ran.result if ok else None,
        error="" if ok else redact(error)[-_MESSAGE_CHARACTERS * 2 :],
        contract=contract,
        faults=faults,
        reads=ran.reads,
        writes=ran.writes if ok else {},
        opened=ran.opened,
    )

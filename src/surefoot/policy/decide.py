"""The three decisions of a round as public, pure functions with the keys of their contracts (SPEC B6).

Input is validated to the key: a missing, unknown or wrongly typed one is a `SettingsError`, which callers treat as a
stop. An unknown mode is the one exception: it is read as `report_only`, with a warning.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict  # the one that pydantic takes before Python 3.12

from surefoot.errors import SettingsError
from surefoot.vocabulary import RISK_FLAGS, Mode

T = TypeVar("T")
_STRICT = ConfigDict(extra="forbid", strict=True)


@with_config(_STRICT)
class StateKeys(TypedDict):
    """Where the orchestrator stands."""

    phase: str
    iteration: int


@with_config(_STRICT)
class PolicyResult(TypedDict):
    """What `resolve_policy` answers."""

    mode: str
    max_iterations: int
    max_seconds: float
    max_files: int
    hard_stops: list[str]
    warnings: list[str]
    can_execute: bool
    can_fix: bool
    can_escalate: bool


@with_config(_STRICT)
class SummaryKeys(TypedDict):
    """Findings above the baseline."""

    critical: int
    high: int
    medium: int
    ci_pass: bool


@with_config(_STRICT)
class PolicyKeys(TypedDict):
    """The part of a policy that the next action depends on."""

    mode: str
    can_fix: bool
    max_iterations: int
    max_seconds: float


@with_config(_STRICT)
class IterationKeys(TypedDict):
    """What the run has used."""

    iteration: int
    elapsed_seconds: float


@with_config(_STRICT)
class RunResultKeys(TypedDict):
    """What a round of solving gave."""

    status: str
    diff_files: list[str]
    summary: str


@with_config(_STRICT)
class ChecksKeys(TypedDict):
    """What the checks after it gave."""

    ci_pass: bool
    critical: int
    high: int


class NextActionResult(TypedDict):
    """What `decide_next_action` answers."""

    action: Literal["report", "solve", "stop"]
    reason: str


class RoundResult(TypedDict):
    """What `record_and_verify` answers."""

    phase: str
    done: bool
    blocker: str | None


BUDGETS: Final[Mapping[Mode, tuple[int, float, int]]] = {
    Mode.REPORT_ONLY: (1, 1200.0, 0),
    Mode.AUTO_FIX_SAFE: (3, 1200.0, 5),
    Mode.AUTO_SOLVE_FULL: (8, 3600.0, 40),
}
"""Default iterations, seconds and changed files of each mode (SPEC B1)."""


def read_mode(user_mode: str) -> tuple[Mode, list[str]]:
    """The mode that a name means, and what to warn of: an unknown one is the mode that does least."""
    try:
        return Mode(user_mode), []
    except ValueError:
        known = ", ".join(Mode)
        told = f"mode {user_mode!r} is unknown and is read as report_only; the modes are {known}"
        return Mode.REPORT_ONLY, [told]


def resolve_policy(
    user_mode: str,
    execution_lock: bool,  # noqa: FBT001  # the signature is a published contract
    risk_flags: Mapping[str, bool],
    state: Mapping[str, object],
) -> PolicyResult:
    """Normalise what the user asked for into what a run may do.

    Raises:
        SettingsError: `risk_flags` or `state` has a missing, unknown or wrongly typed key.
    """
    _check(StateKeys, state, "state")
    _check_flags(risk_flags)
    mode, warnings = read_mode(user_mode)
    iterations, seconds, files = BUDGETS[mode]
    stops = ["the execution lock is on"] if execution_lock else []
    fix = not execution_lock and mode is not Mode.REPORT_ONLY
    return PolicyResult(
        mode=mode.value,
        max_iterations=iterations,
        max_seconds=seconds,
        max_files=files,
        hard_stops=stops,
        warnings=warnings,
        can_execute=not execution_lock,
        can_fix=fix,
        can_escalate=fix and mode is Mode.AUTO_SOLVE_FULL,
    )


def decide_next_action(
    audit_summary: Mapping[str, object],
    policy: Mapping[str, object],
    iteration_state: Mapping[str, object],
) -> NextActionResult:
    """Report, solve or stop, with the reason. Malformed input is a stop that says so."""
    try:
        summary = _check(SummaryKeys, audit_summary, "audit_summary")
        limits = _check(PolicyKeys, policy, "policy")
        used = _check(IterationKeys, iteration_state, "iteration_state")
    except SettingsError as error:
        return NextActionResult(action="stop", reason=str(error))
    spent = _spent(limits, used)
    if spent:
        return NextActionResult(action="stop", reason=spent)
    blocking = summary["critical"] + summary["high"]
    if not limits["can_fix"]:
        reason = f"mode {limits['mode']} reports only; {blocking} blocking findings"
        return NextActionResult(action="report", reason=reason)
    if blocking:
        reason = f"{summary['critical']} critical and {summary['high']} high findings"
        return NextActionResult(action="solve", reason=reason)
    if not summary["ci_pass"]:
        return NextActionResult(action="solve", reason="findings above the baseline, none blocking")
    return NextActionResult(action="report", reason="no findings above the baseline")


def _spent(limits: PolicyKeys, used: IterationKeys) -> str:
    if used["iteration"] >= limits["max_iterations"]:
        return f"iteration budget spent: {used['iteration']} of {limits['max_iterations']}"
    if used["elapsed_seconds"] >= limits["max_seconds"]:
        return f"time budget spent: {used['elapsed_seconds']:.0f} of {limits['max_seconds']:.0f} s"
    return ""


def record_and_verify(
    run_result: Mapping[str, object],
    checks_result: Mapping[str, object] | None,
    state: Mapping[str, object],
) -> RoundResult:
    """Where the round leads. Solver output without checks is a failure, and the checks run again.

    Raises:
        SettingsError: A mapping has a missing, unknown or wrongly typed key.
    """
    result = _check(RunResultKeys, run_result, "run_result")
    where = _check(StateKeys, state, "state")
    if checks_result is None:
        return RoundResult(phase="post_checks", done=False, blocker="no checks ran; they run again")
    checks = _check(ChecksKeys, checks_result, "checks_result")
    green = checks["ci_pass"] and not checks["critical"]
    if where["phase"] == "complete" and not green:
        blocker = "contradiction (HIGH): the phase says complete over failing checks"
        return RoundResult(phase="blocked", done=False, blocker=blocker)
    if not green:
        return RoundResult(phase="solving", done=False, blocker=None)
    if not result["diff_files"]:
        return RoundResult(phase="blocked", done=False, blocker="checks pass, but nothing changed")
    return RoundResult(phase="complete", done=True, blocker=None)


def _check_flags(flags: Mapping[str, object]) -> None:
    unknown = sorted(set(flags) - set(RISK_FLAGS))
    if unknown:
        accepted = ", ".join(RISK_FLAGS)
        raise SettingsError(f"risk flag {unknown[0]!r} is unknown; accepted are {accepted}")
    wrong = sorted(k for k, v in flags.items() if not isinstance(v, bool))
    if wrong:
        raise SettingsError(
            f"risk flag {wrong[0]!r} is {flags[wrong[0]]!r}; it takes true or false"
        )


def _check(kind: type[T], value: object, name: str) -> T:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{name}.{place}: {first['msg']}") from None

"""The `Policy` port over the three public decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from surefoot.kernel.hold import Hold
from surefoot.policy.decide import decide_next_action, record_and_verify, resolve_policy
from surefoot.values import (
    RISK_FLAGS,
    AuditSummary,
    Ceilings,
    Mode,
    NextAction,
    Resolution,
    RoundVerdict,
    Spend,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Ceilings that the user set; None keeps the mode's default."""

    max_iterations: int | None = None
    time_s: float | None = None
    max_files: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    times: int = 1
    """How many runs' worth of the mode's defaults."""


class RulePolicy:
    """What a run may do, asked anew at every turn."""

    def __init__(
        self, *, mode: str, flags: Mapping[str, bool], overrides: Overrides, lock: Hold
    ) -> None:
        self._mode = mode
        self._flags = flags
        self._overrides = overrides
        self._lock = lock

    def locked(self) -> str | None:
        """Why the repository is locked, read anew."""
        return self._lock.reason()

    def resolve(self) -> Resolution:
        """The present resolution."""
        flags = {**dict.fromkeys(RISK_FLAGS, False), **self._flags}
        found = resolve_policy(
            self._mode, self.locked() is not None, flags, {"phase": "resolve", "iteration": 0}
        )
        own = self._overrides
        ceilings = Ceilings(
            max_iterations=own.max_iterations or found["max_iterations"] * own.times,
            time_s=own.time_s or found["max_seconds"] * own.times,
            max_files=found["max_files"] * own.times if own.max_files is None else own.max_files,
            tokens=own.tokens,
            cost_usd=own.cost_usd,
        )
        return Resolution(
            mode=Mode(found["mode"]),
            ceilings=ceilings,
            can_execute=found["can_execute"],
            can_fix=found["can_fix"],
            can_escalate=found["can_escalate"],
            hard_stops=tuple(found["hard_stops"]),
            risk_flags=frozenset(name for name, on in flags.items() if on),
        )

    def next_action(self, summary: AuditSummary, spend: Spend, *, asked: bool) -> NextAction:
        """Report, solve or stop; an issue is a reason to solve even where the audit is clean."""
        now = self.resolve()
        decision = decide_next_action(
            {
                "critical": summary.critical,
                "high": summary.high,
                "medium": summary.medium,
                "ci_pass": summary.ci_pass,
            },
            {
                "mode": now.mode.value,
                "can_fix": now.can_fix,
                "max_iterations": now.ceilings.max_iterations,
                "max_seconds": float(now.ceilings.time_s),
            },
            {"iteration": spend.iterations, "elapsed_seconds": float(spend.time_s)},
        )
        if asked and decision["action"] == "report" and now.can_fix:
            return NextAction(action="solve", reason="an issue was given")
        return NextAction(action=decision["action"], reason=decision["reason"])

    def verify_round(
        self, files: Sequence[str], *, checks_passed: bool | None, summary: AuditSummary
    ) -> RoundVerdict:
        """Whether the round is done, by the checks that ran."""
        checks = (
            None
            if checks_passed is None
            else {"ci_pass": checks_passed, "critical": 0, "high": summary.high}
        )
        verdict = record_and_verify(
            {"status": "solved", "diff_files": list(files), "summary": ""},
            checks,
            {"phase": "post_checks", "iteration": 0},
        )
        return RoundVerdict(
            phase=verdict["phase"], done=verdict["done"], blocker=verdict["blocker"]
        )

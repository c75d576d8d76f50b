"""The errors that this package raises on purpose, sorted by who must act.

A failed gate, a wrong answer or a spent budget is a value (`surefoot.values`), not one of these.
Every message says what happened, with the value, and how to mend it.
"""

from typing import ClassVar, Literal


class SurefootError(Exception):
    """Base of every error this package raises on purpose; its text is one sentence with the mend."""

    code: ClassVar[str] = "internal"
    blame: ClassVar[Literal["caller", "config", "machine", "provider", "internal"]] = "internal"


class UsageError(SurefootError):
    """The command or the call cannot be understood as given."""

    code = "usage"
    blame = "caller"


class RepositoryError(SurefootError):
    """The repository is not one that a run can start from."""

    code = "repository"
    blame = "caller"


class SettingsError(SurefootError):
    """`surefoot.toml`, the environment or an option holds a value that is not accepted."""

    code = "settings"
    blame = "config"


class EnvironmentBrokenError(SurefootError):
    """The machine lacks something: a tool, space, a writable folder, a working sandbox."""

    code = "environment"
    blame = "machine"


class DiskError(EnvironmentBrokenError):
    """What has to be kept cannot be written: no space, or no permission. Work is broken off by it, and goes on once it is mended."""


class SandboxError(SurefootError):
    """A command cannot be enclosed as the policy demands, so it is not run."""

    code = "sandbox"
    blame = "machine"


class ModelUnavailableError(SurefootError):
    """No model can be asked: not installed, not pulled, no key, nobody listens."""

    code = "model_unavailable"
    blame = "provider"


class LedgerError(SurefootError):
    """The ledger cannot be written, or does not say what it must."""

    code = "ledger"


class DivergenceError(LedgerError):
    """A replay did something else than the run that it replays; names the first record that differs."""

    code = "divergence"


class GitError(SurefootError):
    """A git command did not do what a run needs."""

    code = "git"

    def __init__(self, argv: tuple[str, ...], exit_code: int, stderr: str) -> None:
        super().__init__(argv, exit_code, stderr)
        self.argv, self.exit_code, self.stderr = argv, exit_code, stderr

    def __str__(self) -> str:
        return f"`{' '.join(self.argv)}` ended with {self.exit_code}: {self.stderr.strip()!r}"


class PlanRefusedError(SurefootError):
    """The plan gate does not let a plan through; nothing was run."""

    code = "plan_refused"
    blame = "caller"

    def __init__(self, plan_id: str, messages: tuple[str, ...]) -> None:
        super().__init__(plan_id, messages)
        self.plan_id, self.messages = plan_id, messages

    def __str__(self) -> str:
        return "\n  ".join((f"plan {self.plan_id or 'by hand'} is refused:", *self.messages))


class MergeConflictError(SurefootError):
    """The work of a unit does not fit onto what was merged before it."""

    code = "merge_conflict"

    def __init__(self, run_id: str, paths: tuple[str, ...]) -> None:
        super().__init__(run_id, paths)
        self.run_id, self.paths = run_id, paths

    def __str__(self) -> str:
        return (
            f"the work of {self.run_id} conflicts with merged work in {', '.join(self.paths[:3])}"
        )


class AcceptError(SurefootError):
    """The result cannot be put onto the user's branch; nothing was changed."""

    code = "accept"
    blame = "caller"


class DisagreedError(SurefootError):
    """Work is complete, and those who were to choose among it agree on none."""

    code = "disagreed"


class LockedError(SurefootError):
    """The repository is locked against execution (`surefoot lock`)."""

    code = "locked"
    blame = "caller"


class IllegalTransitionError(SurefootError):
    """An event arrived in a phase that has no transition for it."""

    code = "illegal_transition"

    def __init__(self, phase: str, event: str, allowed: tuple[str, ...]) -> None:
        super().__init__(phase, event, allowed)
        self.phase, self.event, self.allowed = phase, event, allowed

    def __str__(self) -> str:
        return f"no transition for {self.event!r} in phase {self.phase!r}; takes {self.allowed!r}"

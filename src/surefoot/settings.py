"""`surefoot.toml`: read once from the user's checkout, checked to the key, frozen and hashed (SPEC F7).

What widens power (risk flags, a base URL, a command of one's own, more than a bare `solve` may do), and what has the work checked less than a run
does by itself, works only after `surefoot trust` has named the very content; the same on the command line needs no trust, because the user typed it.
"""

import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Annotated, Final, Literal, NoReturn, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from surefoot.codec import digest
from surefoot.errors import SettingsError
from surefoot.kernel.thresholds import NOOP_CHARACTERS, SOLVER_PROMOTION_V1, ReleaseLimits
from surefoot.models.catalogue import CardForm
from surefoot.models.registry import EMBEDDED
from surefoot.models.select import Pin
from surefoot.plain_files import read_plain
from surefoot.policy.decide import BUDGETS
from surefoot.vocabulary import Digest, Mode, Profile, TestFormat, TurnAction

_V1: Final = SOLVER_PROMOTION_V1
_LIMITS: Final = ReleaseLimits()
CEILINGS: Final = ("max_iterations", "time_limit_s", "max_files")
"""Of `[run]`, in the order of a mode's budgets. Without trust they only lower what the run's mode has by itself."""
ISSUE_AUDITORS: Final = ("ruff", "secrets")
"""What is audited before and after when an issue was given; a bare run asks every auditor."""
AUDITORS: Final = ("tests", "secrets", "ruff", "mypy", "bandit", "dead-code", "complexity")
"""Those that need no command of one's own."""
FILE_NAME: Final = "surefoot.toml"
_MOST_BYTES: Final = 1_000_000

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, le=366 * 86_400)]
Wait = Annotated[float, Field(gt=0, le=86_400)]
"""Seconds that are waited in one piece; a day is more than anything takes, and far from what a clock cannot count."""
Megabytes = Annotated[int, Field(gt=0, le=16 * 1024**2)]
"""Up to 16 TiB; the kernel takes no number without end."""
Money = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Strategy = Literal["auto", "repair", "agent"]


class _Section(BaseModel):
    # Each is read as a part of the file, by the file's schema; one of its own would be made at every start.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    @classmethod
    def plain(cls) -> Self:
        """With its defaults, which stand here and need no check."""
        return cls.model_construct()


class RunSettings(_Section):
    """`[run]`: how far and how long."""

    mode: str | None = None
    """report_only, auto_fix_safe or auto_solve_full; unset: by what `solve` was given."""
    model: str = "embedded"
    base_url: str | None = None
    """Of a server of the user's own, for `model`."""
    strategy: Strategy = "auto"
    """How fixes are worked on: `repair` searches, `agent` takes step by step; auto: by the model."""
    max_iterations: Positive | None = None
    time_limit_s: Seconds | None = None
    max_files: Positive | None = None
    budget_usd: Money | None = None
    budget_tokens: Positive | None = None
    seed: int = 0
    strict: bool = False
    """Complete only when the tests notice every mutant of the changed lines that is tried."""

    def server_of(self, asked: str | None) -> str | None:
        """Where the model listens that is asked instead, or this one (None): an address is that of its model alone."""
        return self.base_url if asked in (None, self.model) else None


class SolverSettings(_Section):
    """`[solver]`: the pinned models that judge."""

    model: str | None = None
    """One, or several with commas between: the first that can be reached judges."""
    noop_characters: Positive = NOOP_CHARACTERS
    """An idle turn of fewer visible characters did nothing; of more, somebody has to read what it says."""


class ModelSettings(_Section):
    """`[models]`: who may be asked beside the model of `[run]`, and who never."""

    use: tuple[str, ...] = ()
    """Names that may follow when the first one fails or refuses."""
    allow: tuple[str, ...] = ()
    """Patterns such as `anthropic/*`; empty: all."""
    deny: tuple[str, ...] = ()
    pin: Pin = "first"
    """What the model of `[run]` or `--model` is: asked first, the ceiling, or the only one."""
    profile: Profile = Profile.BALANCED
    patience_s: Wait = 60.0
    """Longest single wait within a turn for a provider that asks for one."""
    reply_s: Wait = 600.0
    """Longest time for one whole reply."""
    stream: bool = False
    """Ask for answers piece by piece, through LiteLLM only: a server that falls silent is noticed sooner."""
    card: tuple[CardForm, ...] = ()
    """`[[models.card]]`: what the catalogue lacks or has wrong."""


_OURS: Final = re.compile(
    "PATH|HOME|TMPDIR|VIRTUAL_ENV|NODE_OPTIONS|(?:PYTHON|PYTEST_|LD_|SUREFOOT_).*"
)
"""Variables that say where tests find things, or what runs them: a report is believed because they are set here."""


def _passed_on(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("no name of a variable; write e.g. DJANGO_SETTINGS_MODULE")
    if _OURS.fullmatch(name):
        raise ValueError("Surefoot sets it itself for tests, or runs them without it; remove it")
    return name


class TestSettings(_Section):
    """`[test]`: how the project's own tests run."""

    __test__ = False

    python: str | None = None
    command: tuple[str, ...] | None = None
    format: TestFormat | None = None
    """How the command reports; unset: known from its program."""
    env_names: tuple[Annotated[str, AfterValidator(_passed_on)], ...] = ()
    """Variables of the user's environment that tests get, which is otherwise the same for everybody."""
    timeout_s: Wait = 300.0
    memory_mb: Megabytes = 4096
    mutants: Positive | None = 12
    """Wrong changes of the changed lines that the tests meet before a run may complete; None: of a run from before."""
    mutants_s: Wait = 120.0
    """Longest time for all of them; what is left then is told as not tried."""

    @model_validator(mode="after")
    def _format_of_a_command(self) -> Self:
        if self.format is not None and self.command is None:
            raise ValueError("`format` says how `command` reports, and there is none; name it too")
        return self


class PlanSettings(_Section):
    """`[plan]`: how long `surefoot plan` asks, and how often a refused draft is mended."""

    rounds: Annotated[int, Field(ge=0)] = 3
    """Rounds of questions; 0 asks nothing."""
    repairs: Annotated[int, Field(ge=0)] = 2


class RepairSettings(_Section):
    """`[repair]`: how much one turn of the search may try."""

    max_candidates: Positive | None = None
    max_samples: Positive | None = None


Share = Annotated[float, Field(ge=0, le=1)]


class ScoreSettings(_Section):
    """`[score]`: what counts how much when candidates of a fix are compared."""

    passes: Share = 0.5
    blast: Share = 0.3
    reversible: Share = 0.2


class CommandSettings(_Section):
    """`[[audit.commands]]`: a command of one's own that prints SARIF."""

    name: str
    argv: Annotated[tuple[str, ...], Field(min_length=1)]


class AuditSettings(_Section):
    """`[audit]`: which auditors look."""

    tools: tuple[str, ...] | None = None
    """Names; unset: all that are installed and fit the project."""
    timeout_s: Wait = 300.0
    commands: tuple[CommandSettings, ...] = ()


class McpSettings(_Section):
    """`[[tools.mcp]]`: an MCP server of one's own; it runs inside the sandbox, without a network."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,32}$")]
    """Its tools are called `name.tool`."""
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    env_names: tuple[str, ...] = ()
    """Variables of the environment that it gets."""


def _suffix(given: str) -> str:
    """As a file's suffix is compared: in lower case."""
    if not given or PurePath(f"name{given}").suffix != given:
        raise ValueError("the suffix of a file begins with a dot and has no other, like '.php'")
    return given.lower()


class LspSettings(_Section):
    """`[[tools.lsp]]`: a language server of one's own; it runs inside the sandbox, without a network."""

    suffixes: Annotated[tuple[Annotated[str, AfterValidator(_suffix)], ...], Field(min_length=1)]
    """Of the files that it is asked about, with their dots; they go before the suffixes of servers known here."""
    language: Annotated[str, Field(min_length=1)]
    """The protocol's name of their language."""
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    """Makes it speak over standard input and output; sections with one command are one server."""


class ReleaseSettings(_Section):
    """`[tools.release]`: the limits that enforcement waits for; what each means stands with `ReleaseLimits`."""

    max_guardrail_increase: Share = _LIMITS.max_guardrail_increase
    max_correction_increase: Share = _LIMITS.max_correction_increase
    min_fallback_drills: Positive = _LIMITS.min_fallback_drills
    max_false_promotions: Share = _LIMITS.max_false_promotions
    max_false_holds: Share = _LIMITS.max_false_holds
    max_class_misfit: Annotated[float, Field(ge=1, allow_inf_nan=False)] = _LIMITS.max_class_misfit


class PolicySettings(_Section):
    """`[[tools.policy]]`: a version of the promotion policy of one's own; in force only after `tools policy set`."""

    version: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,63}$")]
    short_window: Annotated[int, Field(ge=5, le=100)] = _V1.short_window
    medium_window: Annotated[int, Field(ge=20, le=200)] = _V1.medium_window
    min_calls: Positive = _V1.min_calls
    min_sessions: Positive = _V1.min_sessions
    min_contract_rate: Share = _V1.min_contract_rate
    min_success_rate: Share = _V1.min_success_rate
    min_consistency: Share = _V1.min_consistency
    regression_calls: Positive = _V1.regression_calls
    benefit_of_doubt: bool = _V1.benefit_of_doubt
    cool_down_calls: Annotated[int, Field(ge=0)] = _V1.cool_down_calls
    returned_min_calls: Positive = _V1.returned_min_calls
    returned_min_success_rate: Share = _V1.returned_min_success_rate


class ToolSettings(_Section):
    """`[tools]`: what the step loop may use beside its own tools, and how far the life cycle of forged ones goes."""

    mcp: tuple[McpSettings, ...] = ()
    lsp: tuple[LspSettings, ...] = ()
    forge: bool = True
    """A model that is no small one may write tools, and finds those that were written before."""
    capture: bool = True
    """Calls are recorded with their shape."""
    shadow: bool = True
    """The promotion policy decides, without effect."""
    enforcement: bool = False
    """What it decides has effect, once the release gate lets it."""
    kill_switch: Literal["", "off", "incumbent-only"] = ""
    release: ReleaseSettings = ReleaseSettings.plain()
    policy: tuple[PolicySettings, ...] = ()

    @field_validator("policy")
    @classmethod
    def _policies_differ(cls, given: tuple[PolicySettings, ...]) -> tuple[PolicySettings, ...]:
        names = [one.version for one in given]
        if len(set(names)) < len(names) or _V1.version in names:
            raise ValueError(
                f"a version of a policy never changes, so its name is free only once: {', '.join(names)}"
            )
        return given

    @field_validator("mcp")
    @classmethod
    def _names_differ(cls, servers: tuple[McpSettings, ...]) -> tuple[McpSettings, ...]:
        names = [server.name for server in servers]
        if len(set(names)) < len(names):
            raise ValueError(f"two servers have one name: {', '.join(names)}")
        return servers

    @field_validator("lsp")
    @classmethod
    def _suffixes_differ(cls, servers: tuple[LspSettings, ...]) -> tuple[LspSettings, ...]:
        counts = Counter(suffix for server in servers for suffix in server.suffixes)
        if twice := [suffix for suffix, count in counts.items() if count > 1]:
            raise ValueError(
                f"a suffix, in upper or lower case, has one server; name once: {', '.join(twice)}"
            )
        return servers


class GitSettings(_Section):
    """`[git]`: what a turn leaves in git, and where else."""

    turn_action: TurnAction = "commit"
    """`commit`: on the run's branch. `snapshot`: a commit under `refs/surefoot/` only. `status-only`: its tree there."""
    turn_push: Literal["never", "milestone", "always"] = "never"
    """When the run's branch is pushed to the remote of the user's branch; needs `allow_network`."""

    @model_validator(mode="after")
    def _a_branch_to_push(self) -> Self:
        if self.turn_push != "never" and self.turn_action != "commit":
            raise ValueError(
                "`turn_push` pushes the run's branch, which only `turn_action = commit` moves"
            )
        return self


class RiskSettings(_Section):
    """`[risk]`: flags, all off by default."""

    allow_dependency_upgrades: bool = False
    allow_destructive_ops: bool = False
    allow_network: bool = False
    allow_test_changes: bool = False
    allow_ci_changes: bool = False
    allow_suppressions: bool = False


class HookSettings(_Section):
    """`[hooks]`: commands of one's own around each unit of a plan; each is a list of words."""

    pre_dispatch: tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] = ()
    """Before a unit's run begins."""
    post_unit: tuple[Annotated[tuple[str, ...], Field(min_length=1)], ...] = ()
    """After it, before its work is merged."""


class Settings(_Section):
    """The whole file."""

    run: RunSettings = RunSettings.plain()
    solver: SolverSettings = SolverSettings.plain()
    models: ModelSettings = ModelSettings.plain()
    test: TestSettings = TestSettings.plain()
    plan: PlanSettings = PlanSettings.plain()
    repair: RepairSettings = RepairSettings.plain()
    score: ScoreSettings = ScoreSettings.plain()
    audit: AuditSettings = AuditSettings.plain()
    tools: ToolSettings = ToolSettings.plain()
    git: GitSettings = GitSettings.plain()
    risk: RiskSettings = RiskSettings.plain()
    hooks: HookSettings = HookSettings.plain()

    def widening(self) -> tuple[str, ...]:
        """Which keys of this file widen power, so that they need trust."""
        found = [f"risk.{name}" for name, on in self.risk if on]
        if self.run.mode == Mode.AUTO_SOLVE_FULL:
            found.append("run.mode")
        found += [f"run.{key}" for key in CEILINGS if _is_beyond(self.run, key)]
        if self.run.base_url is not None:
            found.append("run.base_url")
        # A hosted model is sent the code and paid with the user's key; a card can make it look free. A scripted one says
        # what a file tells it to, which may be a file of the repository.
        if self.run.model != EMBEDDED:
            found.append("run.model")
        if self.solver.model not in (None, EMBEDDED):
            found.append("solver.model")
        if self.models.profile is Profile.BURN_MAX:
            found.append("models.profile")
        found += [f"models.{key}" for key in ("use", "card") if getattr(self.models, key)]
        if self.audit.commands:
            found.append("audit.commands")
        if self.git.turn_push != "never":
            found.append("git.turn_push")
        found += [f"tools.{key}" for key in ("mcp", "lsp") if getattr(self.tools, key)]
        found += [f"hooks.{name}" for name, commands in self.hooks if commands]
        found += [f"test.{key}" for key in ("command", "env_names") if getattr(self.test, key)]
        if _leads_out(self.test.python):
            found.append("test.python")
        return (*found, *self._weakening())

    def running(self) -> tuple[str, ...]:
        """Which keys say what is run, or what it is given, each with its value."""
        sections = {"test": ("python", "command", "env_names"), "audit": ("commands",)}
        sections |= {"tools": ("mcp", "lsp"), "hooks": ("pre_dispatch", "post_unit")}
        values = {
            f"{name}.{key}": getattr(getattr(self, name), key)
            for name, keys in sections.items()
            for key in keys
        }
        return tuple(f"{key} = {value!r}" for key, value in values.items() if value)

    def _weakening(self) -> Iterator[str]:
        """Which keys have the work checked less than a run does by itself."""
        plain = Settings.plain()
        if self.audit.tools and not set(ISSUE_AUDITORS).issubset(self.audit.tools):
            yield "audit.tools"
        # An auditor that finds no time to look finds nothing.
        if self.audit.timeout_s < plain.audit.timeout_s:
            yield "audit.timeout_s"
        if (self.test.mutants or 0) < (plain.test.mutants or 0):
            yield "test.mutants"
        if self.test.mutants_s < plain.test.mutants_s:
            yield "test.mutants_s"
        if self.solver.noop_characters < plain.solver.noop_characters:
            yield "solver.noop_characters"
        if not self.tools.capture:
            yield "tools.capture"
        if self.tools.release != plain.tools.release:
            yield "tools.release"

    def without_widening(self) -> "Settings":
        """The same with the defaults of those keys; ceilings stay, because the run's mode holds them down."""
        plain, changed = Settings.plain(), defaultdict[str, dict[str, object]](dict)
        for key in self.widening():
            section, _, name = key.partition(".")
            if name not in CEILINGS:
                changed[section][name] = getattr(getattr(plain, section), name)
        if "command" in changed["test"]:
            changed["test"]["format"] = None
        return self.model_copy(
            update={name: getattr(self, name).model_copy(update=u) for name, u in changed.items()}
        )


def _is_beyond(run: RunSettings, key: str) -> bool:
    """Whether a ceiling of the file is above what a bare `solve` has by itself."""
    asked: float | None = getattr(run, key)
    return asked is not None and asked > BUDGETS[Mode.AUTO_FIX_SAFE][CEILINGS.index(key)]


def _leads_out(path: str | None) -> bool:
    """Whether a path is one outside of the checkout, so that what is there would be shown to the tests."""
    return path is not None and (PurePath(path).is_absolute() or ".." in PurePath(path).parts)


def read_settings(root: Path) -> tuple[Settings, Digest | None]:
    """The settings of a checkout and the hash of the file; defaults and None when there is no file.

    Raises:
        SettingsError: The file cannot be read, is not TOML, or holds an unknown key or a wrong value.
    """
    path = root / FILE_NAME
    try:
        data = read_plain(path, _MOST_BYTES)
    except FileNotFoundError:
        return Settings.plain(), None
    except OSError as error:
        raise SettingsError(
            f"{FILE_NAME} cannot be read: {error.strerror}; mend the file"
        ) from None
    try:
        plain = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:  # nested too deep, a number too long
        raise SettingsError(f"{FILE_NAME} is not TOML: {error}; correct or remove it") from None
    return parse_settings(plain), digest(data)


def parse_settings(plain: dict[str, object]) -> Settings:
    """Settings from plain data; `SettingsError` names the key and what it takes."""
    try:
        # As JSON, which has arrays and no tuples, too: strict takes them so, and no "3" for 3.
        settings = Settings.model_validate_json(json.dumps(plain, default=_no_value), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        place = tuple(str(part) for part in first["loc"])
        key = ".".join(place)
        if first["type"] == "extra_forbidden":
            raise SettingsError(f"{FILE_NAME}: {_unknown(place)}") from None
        raise SettingsError(f"{FILE_NAME}: {key} = {first['input']!r}: {first['msg']}") from None
    _require_auditors(settings.audit)
    return settings


def _require_auditors(audit: AuditSettings) -> None:
    # Not a check of the section: without trust its commands go, and a name of theirs may stay.
    known = (*AUDITORS, *(command.name for command in audit.commands))
    if unknown := [name for name in audit.tools or () if name not in known]:
        raise SettingsError(
            f"{FILE_NAME}: audit.tools: there is no auditor {unknown[0]!r}; there are {', '.join(known)}"
        )


def _no_value(given: object) -> NoReturn:
    """Refuse the one kind of value that TOML has and no setting takes."""
    raise SettingsError(f"{FILE_NAME}: {given} is a date or a time; put text into quotes")


def _unknown(place: tuple[str, ...]) -> str:
    """That a key is none, and which ones there are in its place."""
    known = dict(Settings.model_fields)
    for name in place[:-1]:
        inner: object = known[name].annotation if name in known else None
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return f"{'.'.join(place)} is no setting"
        known = dict(inner.model_fields)
    near = get_close_matches(place[-1], known, n=2)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    there = f"; there are {', '.join(sorted(known))}" if known and not near else ""
    return f"{'.'.join(place)} is no setting{meant}{there}"

"""`surefoot tools …`: forged tools and how far they are trusted. What changes something is a plan until `--apply`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.common import (
    NO,
    JsonOption,
    RepoOption,
    command,
    open_here,
    print_json,
    user_name,
)
from surefoot.cli.screen import print_line
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.artifacts import OperatorAct
    from surefoot.kernel.thresholds import PromotionPolicy
    from surefoot.registry import DecisionRow
    from surefoot.toolkeeping import Act, Listed

app = typer.Typer(
    help="Show the tools that runs forged, and decide on them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
policy = typer.Typer(
    help="The promotion policy: show it, change it, roll it back, let it have effect.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(policy, name="policy")
NameArgument = Annotated[
    str, typer.Argument(help="tool, tool.method or tool.method@artifact; a beginning will do.")
]
AnyNameArgument = Annotated[
    str | None, typer.Argument(help="tool, tool.method or tool.method@artifact; all if left out.")
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; it is kept with the act.")]
ApplyOption = Annotated[bool, typer.Option("--apply", help="Do it; otherwise it is only told.")]
CapabilityOption = Annotated[
    str | None, typer.Option("--capability", help="Only for this class of work.")
]
_FACTS = ("calls", "successes", "failures", "contract_pass", "contract_fail")


@app.command("list")
@command
def list_tools(repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """List every version with its state and what its last calls say."""
    project = open_here(repo)
    from surefoot.toolkeeping import listing

    rows = listing(project)
    if json:
        print_json({"tools": [_row(one) for one in rows]})
        return
    if not rows:
        print_line("no run has forged a tool here yet")
    for one in rows:
        row = _row(one)
        marks = [m for m in ("serves", "incumbent", "compatibility") if row[m]]
        print_line(
            f"{row['version']:<40} {row['state']:<10} {row['successes']} of {row['calls']} calls"
            f"  {row['capability']}{'  ' + ', '.join(marks) if marks else ''}"
        )


@app.command("show")
@command
def show(name: NameArgument, repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """Show the scorecard of a tool: its whole life, its two windows, its last decision."""
    project = open_here(repo)
    from surefoot.toolkeeping import listing

    rows = [_row(one) | _windows(one) for one in listing(project, name)]
    if not rows:
        raise UsageError(f"no version is called {name!r}; `surefoot tools list` shows all")
    if json:
        print_json({"tools": rows})
        return
    for row in rows:
        print_line(str(row["version"]))
        for key, value in row.items():
            if key != "version":
                print_line(f"  {key}: {'no data' if value is None else value}")


@app.command("decisions")
@command
def decisions(
    name: AnyNameArgument = None, repo: RepoOption = Path(), json: JsonOption = False
) -> None:
    """List what the policy decided, why, and whether the calls after it bore it out."""
    project = open_here(repo)
    from surefoot.toolkeeping import decisions as decided

    rows = [_decision(row) for row in decided(project, name)]
    if json:
        print_json({"decisions": rows})
        return
    for row in rows:
        judged = f"  [{row['judged']}]" if row["judged"] else ""
        back = f"; {str(row['restored'])[:12]} serves again" if row["restored"] else ""
        print_line(
            f"{row['at']}  {row['version']}  {row['decision']}: {row['before']} -> {row['after']}"
            f" after {row['calls']} calls ({row['policy']}, {row['effect']}){judged}"
        )
        print_line(f"    {row['rationale']}{back}")


@app.command("promote")
@command
def promote(
    name: NameArgument, reason: ReasonOption, apply: ApplyOption = False, repo: RepoOption = Path()
) -> None:
    """Move a version one step up: disabled or degraded to probation, candidate to probation, probation to durable."""
    from surefoot.artifacts import OperatorAct

    _move(repo, name, OperatorAct.PROMOTE, _act(reason, apply=apply))


@app.command("demote")
@command
def demote(
    name: NameArgument, reason: ReasonOption, apply: ApplyOption = False, repo: RepoOption = Path()
) -> None:
    """Degrade a version; the incumbent before it serves again."""
    from surefoot.artifacts import OperatorAct

    _move(repo, name, OperatorAct.DEMOTE, _act(reason, apply=apply))


@app.command("disable")
@command
def disable(
    name: NameArgument, reason: ReasonOption, apply: ApplyOption = False, repo: RepoOption = Path()
) -> None:
    """Take a version out, whatever the flags say, until a person promotes it."""
    from surefoot.artifacts import OperatorAct

    _move(repo, name, OperatorAct.DISABLE, _act(reason, apply=apply))


@app.command("migrate")
@command
def migrate(reason: ReasonOption, apply: ApplyOption = False, repo: RepoOption = Path()) -> None:
    """Give tools that were kept without a life cycle one: in probation, with a compatibility mark."""
    project = open_here(repo)
    from surefoot.toolkeeping import migrate as move_over

    versions = move_over(project, _act(reason, apply=apply))
    for version in versions:
        print_line(f"{version}: probation, with a compatibility mark")
    if not versions:
        print_line("every kept tool has a life cycle")
    else:
        _hint(apply)


@app.command("metrics")
@command
def metrics(repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """Print the ten metrics of each version of the promotion policy."""
    project = open_here(repo)
    from surefoot.codec import plain
    from surefoot.toolkeeping import all_metrics

    found = all_metrics(project)
    if json:
        print_json({"metrics": [plain(one) for one in found]})
        return
    if not found:
        print_line("no run has forged a tool here yet")
    for one in found:
        facts = plain(one)
        assert isinstance(facts, dict)  # noqa: S101  # a dataclass is one
        print_line(facts.pop("policy"))
        facts.pop("calibration")
        for key, value in facts.items():
            print_line(f"  {key.replace('_', ' ')}: {'no data' if value is None else value}")
        for fit in one.calibration.classes:
            told = "no data" if fit.multiplier is None else f"{fit.multiplier:.2f} times all"
            mark = "  REPORTED: more than twice the rate of all" if fit.is_reported else ""
            print_line(f"  class {fit.capability}: {fit.decisions} judged, {told}{mark}")


@policy.command("show")
@command
def show_policy(repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """Show what is in force, and what enforcement waits for; exit code 10 while it waits."""
    project = open_here(repo)
    from surefoot.codec import plain
    from surefoot.toolkeeping import in_force

    found = in_force(project)
    if json:
        print_json(plain(found))
    else:
        rollout = found.rollout
        print_line(_constants(found.policy))
        for capability, own in found.profiles:
            print_line(f"for {capability}: {_constants(own)}")
        print_line(f"can be set: {', '.join(p.version for p in found.known)}")
        print_line(
            f"capture {_on(rollout.capture)}, shadow {_on(rollout.shadow)}, "
            f"enforcement {_on(rollout.enforced)}, kill switch {rollout.kill_switch or 'open'}"
        )
        for one in found.readiness.requirements:
            let = one.gap in found.readiness.approved and not one.met
            mark = "met" if one.met else "let pass" if let else "MISSING"
            print_line(f"  {one.name}: {mark}: {one.told}")
    if found.readiness.refused:
        raise typer.Exit(NO)


@policy.command("set")
@command
def set_policy(
    version: Annotated[str, typer.Argument(help="Built in, or [[tools.policy]] of surefoot.toml.")],
    reason: ReasonOption,
    capability: CapabilityOption = None,
    apply: ApplyOption = False,
    repo: RepoOption = Path(),
) -> None:
    """Put a version of the policy in force, for all or as the profile of one class of work."""
    project = open_here(repo)
    from surefoot.toolkeeping import set_policy as put

    found = put(project, version, capability, _act(reason, apply=apply))
    print_line(f"{'in force' if apply else 'would be in force'}: {_constants(found)}")
    _hint(apply)


@policy.command("rollback")
@command
def rollback(
    reason: ReasonOption,
    capability: CapabilityOption = None,
    apply: ApplyOption = False,
    repo: RepoOption = Path(),
) -> None:
    """Put the policy back in force that was before the present one."""
    project = open_here(repo)
    from surefoot.toolkeeping import roll_back

    found = roll_back(project, capability, _act(reason, apply=apply))
    print_line(f"{'in force again' if apply else 'would be in force again'}: {_constants(found)}")
    _hint(apply)


@policy.command("approve")
@command
def approve(reason: ReasonOption, apply: ApplyOption = False, repo: RepoOption = Path()) -> None:
    """Let enforcement begin without what it waits for at present; anything else stops it all the same."""
    project = open_here(repo)
    from surefoot.toolkeeping import approve_enforcement

    found = approve_enforcement(project, _act(reason, apply=apply))
    for one in found.refused:
        print_line(f"{'let pass' if apply else 'would let pass'}: {one.name}: {one.told}")
    if not found.refused:
        print_line("enforcement waits for nothing")
    else:
        _hint(apply)


def _move(repo: Path, name: str, act: "OperatorAct", how: "Act") -> None:
    project = open_here(repo)
    from surefoot.toolkeeping import move

    event = move(project, name, act, how)
    does = "" if how.apply else "would be "
    print_line(f"{event.version} {does}{act}d: {event.before} -> {event.after}")
    _hint(how.apply)


def _act(reason: str, *, apply: bool) -> "Act":
    from surefoot.toolkeeping import Act

    return Act(who=user_name(), reason=reason, apply=apply, environ=os.environ)


def _hint(apply: bool) -> None:  # noqa: FBT001  # the option itself
    if not apply:
        print_line("nothing was changed; --apply does it")


def _row(one: "Listed") -> dict[str, object]:
    row, standing = one.row, one.row.standing
    at = standing.last_decision_at
    return {
        "version": str(standing.version),
        "artifact": standing.version.artifact,
        "state": standing.state.value,
        "serves": one.serves,
        "incumbent": row.incumbent,
        "compatibility": standing.compatibility,
        "capability": row.capability,
        "policy": standing.policy or None,
        "enforced": standing.enforced,
        **{key: row.lifetime[key] for key in _FACTS},
        "stored_at": row.stored_at.isoformat(timespec="seconds"),
        "used_at": row.used_at.isoformat(timespec="seconds") if row.used_at else None,
        "last_decision": standing.last_decision,
        "last_decision_at": at.isoformat(timespec="seconds") if at else None,
    }


def _windows(one: "Listed") -> dict[str, object]:
    from surefoot.artifacts import Fault
    from surefoot.kernel.promotion import tally

    found: dict[str, object] = {fault.value: one.row.lifetime.get(fault, 0) for fault in Fault}
    sizes = {"short": one.policy.short_window, "medium": one.policy.medium_window}
    for name, size in sizes.items():
        seen = tally(one.row.card.window(size))
        found[f"{name}_window_calls"] = seen.calls
        found[f"{name}_window_success_rate"] = seen.success_rate
        found[f"{name}_window_contract_rate"] = seen.contract_rate
        found[f"{name}_window_sessions"] = seen.sessions
    return found | {"state_key_consistency_ratio": one.row.card.consistency}


def _decision(row: "DecisionRow") -> dict[str, object]:
    return {
        "at": row.at.isoformat(timespec="seconds"),
        "version": str(row.version),
        "decision": row.decision,
        "before": row.before,
        "after": row.after,
        "policy": row.policy,
        "effect": "enforced" if row.enforced else "shadow",
        "calls": row.calls,
        "judged": row.judged,
        "restored": row.restored,
        "rationale": row.rationale,
    }


def _constants(of: "PromotionPolicy") -> str:
    from dataclasses import asdict

    told = [f"{key} {value}" for key, value in asdict(of).items() if key != "version"]
    return f"{of.version} ({', '.join(told)})"


def _on(flag: bool) -> str:  # noqa: FBT001  # one word for it
    return "on" if flag else "off"

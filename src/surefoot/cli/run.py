"""`surefoot run`: a plan, executed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from surefoot.cli.common import (
    JsonOption,
    RepoOption,
    RunArgument,
    command,
    open_here,
    print_json,
)
from surefoot.cli.options import (
    AcceptOption,
    BaseUrlOption,
    IterationsOption,
    ModelOption,
    ProfileOption,
    QuietOption,
    SeedOption,
    SolverModelOption,
    StrategyOption,
    StrictOption,
    TimeOption,
    TokensOption,
    UnsandboxedOption,
    UsdOption,
)
from surefoot.cli.plan import read_plan
from surefoot.cli.screen import print_line
from surefoot.cli.solve import (
    finish,
    read_profile,
    read_strategy,
    told_with_its_run,
    watched,
)
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.plans import Plan
    from surefoot.project import Project
    from surefoot.team import Turnout


@command
def run(
    plan: Annotated[
        str | None, typer.Argument(help="A plan's id or file; the last plan if left out.")
    ] = None,
    repo: RepoOption = Path(),
    jobs: Annotated[int, typer.Option(min=1, help="Units at once.")] = 1,
    mode: Annotated[str | None, typer.Option(help="auto_fix_safe or auto_solve_full.")] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    solver_model: SolverModelOption = None,
    profile: ProfileOption = None,
    strategy: StrategyOption = None,
    max_iterations: IterationsOption = None,
    time_limit: TimeOption = None,
    budget_usd: UsdOption = None,
    budget_tokens: TokensOption = None,
    seed: SeedOption = None,
    strict: StrictOption = False,
    unsandboxed: UnsandboxedOption = False,
    team: Annotated[
        bool,
        typer.Option(
            "--team", help="Take free milestones beside other workers, and accept each when done."
        ),
    ] = False,
    accept: AcceptOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Execute a plan: each unit as a run of its own, merged in the plan's order and proved on the merged tree."""
    if team and accept:
        raise UsageError("--team accepts each milestone when it is done; leave --accept out")
    project = open_here(repo)
    given = _find(project, plan)
    from surefoot.app import new_run_id
    from surefoot.planrun.run import run_plan
    from surefoot.request import Request

    request = Request(
        issue=given.issue,
        mode=mode,
        model=model,
        base_url=base_url,
        solver_model=solver_model,
        profile=read_profile(profile),
        strategy=read_strategy(strategy),
        seed=seed,
        max_iterations=max_iterations,
        time_s=time_limit,
        cost_usd=budget_usd,
        tokens=budget_tokens,
        unsandboxed=unsandboxed,
        strict=strict,
        plan=given,
        jobs=jobs,
    )
    around, view = watched(quiet=quiet or json, asks=not json)
    if team:
        from surefoot.team import work

        turnout = work(lambda: open_here(repo), request, around)
        view.close()
        _finish_team(turnout, json=json)
    run_id = new_run_id(project, around)
    with told_with_its_run(project, run_id, json=json):
        result = run_plan(project, request, around, run_id=run_id)
    view.close()
    finish(project, result, around, accept=accept, json=json, quiet=quiet)


def _finish_team(turnout: "Turnout", *, json: bool) -> NoReturn:
    """Print what a worker of a team did, and exit with the code of the plan's status as it leaves it."""
    from surefoot.team import told
    from surefoot.values import EXIT_CODES

    status = turnout.status
    if json:
        print_json(
            {
                "schema": 1,
                "status": status.value,
                "accepted": turnout.accepted,
                "left": turnout.left,
            }
        )
    for line in () if json else told(turnout):
        print_line(line)
    raise typer.Exit(EXIT_CODES[status])


@command
def status(run: RunArgument = None, repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """Show how far a run is: what is done, running, waiting or blocked, and why; and what is left of its budget."""
    project = open_here(repo)
    from surefoot.planrun.overview import overview

    seen = overview(project, project.find_run(run))
    if json:
        print_json(seen.as_json())
        return
    for line in seen.lines():
        print_line(line)


def _find(project: "Project", given: str | None) -> "Plan":
    """A file, or what a planning has written.

    Raises:
        UsageError: There is none, or it has not passed its gate.
    """
    from surefoot.planner import PLAN_FILE

    if given is not None and _is_file(given):
        return read_plan(Path(given))
    plan_id = project.find_plan(given)
    path = project.plans / plan_id / PLAN_FILE
    if not path.is_file():
        raise UsageError(
            f"plan {plan_id} has not passed its gate; `surefoot explain {plan_id}` tells why"
        )
    return read_plan(path)


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except OSError:  # longer than a name can be
        return False

"""`resume`, `accept`, `reject`, `gc`: what follows a run."""

from pathlib import Path
from typing import Annotated

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
    BaseUrlOption,
    IterationsOption,
    ModelOption,
    QuietOption,
    TimeOption,
    TokensOption,
    UsdOption,
)
from surefoot.cli.screen import print_line
from surefoot.cli.solve import finish, told_with_its_run, watched

_MOST_DAYS = 36_500
"""A century; farther back than that a date need not reach."""


@command
def resume(
    run: RunArgument = None,
    repo: RepoOption = Path(),
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    max_iterations: IterationsOption = None,
    time_limit: TimeOption = None,
    budget_usd: UsdOption = None,
    budget_tokens: TokensOption = None,
    accept: Annotated[bool, typer.Option("--accept", help="Accept if complete.")] = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Go on with a run that was interrupted, killed, paused, or ran out of budget, on another model if one is named."""
    project = open_here(repo)
    from surefoot.planrun.run import go_on as take_up
    from surefoot.reading import read_story_of
    from surefoot.request import Request
    from surefoot.values import Issue

    larger = Request(
        issue=Issue(source="audit"),
        model=model,
        base_url=base_url,
        max_iterations=max_iterations,
        time_s=time_limit,
        cost_usd=budget_usd,
        tokens=budget_tokens,
    )
    around, view = watched(quiet=quiet or json, asks=not json)
    run_id = project.find_run(run)
    view.goes_on_from(read_story_of(project, run_id).state.spend)
    with told_with_its_run(project, run_id, json=json):
        result = take_up(project, run_id, around, larger)
    view.close()
    finish(project, result, around, accept=accept, json=json, quiet=quiet)


@command
def accept(run: RunArgument = None, repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """Put a complete run's work onto your branch as one commit, with your identity and hooks."""
    project = open_here(repo)
    from surefoot.handover import accept as take_over

    around, view = watched(quiet=True, asks=False)
    view.close()
    run_id = project.find_run(run)
    commit = take_over(project, run_id, around)
    if json:
        print_json({"run_id": run_id, "commit": commit})
    else:
        print_line(f"accepted as {commit}")


@command
def reject(
    run: RunArgument = None,
    repo: RepoOption = Path(),
    why: Annotated[str, typer.Option(help="Kept in the ledger.")] = "",
    json: JsonOption = False,
) -> None:
    """Remove a run's branch, worktree and commits; only the ledger remembers it."""
    project = open_here(repo)
    from surefoot.handover import reject as throw_away

    run_id = project.find_run(run)
    around, view = watched(quiet=True, asks=False)
    view.close()
    kept = throw_away(project, run_id, around, why)
    if json:
        print_json({"run_id": run_id, "reason": why, "kept": list(kept)})
    else:
        print_line(f"rejected {run_id}")
        for told in kept:
            print_line(f"kept {told}")


@command
def gc(
    repo: RepoOption = Path(),
    keep_days: Annotated[
        int | None,
        typer.Option(
            "--keep-days",
            min=0,
            max=_MOST_DAYS,
            help="Archive runs that were decided, or ended for good, longer ago than this.",
        ),
    ] = None,
) -> None:
    """Remove what killed and finished runs left behind: worktrees, locks, scratch folders; archive old runs."""
    project = open_here(repo)
    from surefoot.handover import collect

    around, view = watched(quiet=True, asks=False)
    view.close()
    for line in collect(project, around, keep_days=keep_days):
        print_line(line)

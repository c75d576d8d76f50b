"""`surefoot plan`: a plan that can be trusted, before anything is spent on the work."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.common import (
    JsonOption,
    RepoOption,
    command,
    open_here,
    print_json,
)
from surefoot.cli.options import (
    BaseUrlOption,
    ModelOption,
    ProfileOption,
    QuietOption,
    SeedOption,
    TimeOption,
    TokensOption,
    UnsandboxedOption,
    UsdOption,
)
from surefoot.cli.screen import print_line, print_text
from surefoot.cli.solve import (
    from_root,
    read_issue,
    read_profile,
    watched,
)
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.planner import PlanOutcome
    from surefoot.plans import Plan

_MOST_BYTES = 5_000_000


@command
def plan(
    issue: Annotated[
        str | None, typer.Argument(help="A file, text, or - for standard input.")
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option("--test", help="A failing test id; may be repeated.")
    ] = None,
    given: Annotated[
        Path | None, typer.Option("--from", help="A plan made by hand: judge it and write it out.")
    ] = None,
    repo: RepoOption = Path(),
    answers: Annotated[
        Path | None, typer.Option(help="A JSON object: question (Q1, or its text) to option.")
    ] = None,
    defaults: Annotated[
        bool, typer.Option("--defaults", help="Ask nobody; open questions take their defaults.")
    ] = False,
    rounds: Annotated[int | None, typer.Option(min=0, help="Rounds of questions at most.")] = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", help="A file or URL to read in research; may be repeated."),
    ] = None,
    network: Annotated[
        bool, typer.Option("--network", help="URLs given with --source may be read.")
    ] = False,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    profile: ProfileOption = None,
    time_limit: TimeOption = None,
    budget_usd: UsdOption = None,
    budget_tokens: TokensOption = None,
    seed: SeedOption = None,
    unsandboxed: UnsandboxedOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Plan an issue: units with what they read and write, what proves them, and a gate before anything runs."""
    if given is not None and (issue is not None or test):
        raise UsageError("give an issue or --from PLAN.json, not both")
    hand_made = None if given is None else read_plan(given)
    wanted = hand_made.issue if hand_made else read_issue(issue, test or [], None, repo)
    project = open_here(repo)
    if hand_made is None:
        wanted = from_root(wanted, repo, project.root)
    from surefoot.drafting import PlanRequest
    from surefoot.plan.fetch import fetch
    from surefoot.planner import make_plan
    from surefoot.request import Request  # heavy; see cli.main

    asked = PlanRequest(
        request=Request(
            issue=wanted,
            model=model,
            base_url=base_url,
            profile=read_profile(profile),
            seed=seed,
            time_s=time_limit,
            cost_usd=budget_usd,
            tokens=budget_tokens,
            unsandboxed=unsandboxed,
        ),
        given=hand_made,
        answers={} if answers is None else read_answers(answers),
        answers_by="given answers" if answers is None else answers.name,
        defaults=defaults,
        rounds=rounds,
        sources=tuple(source or ()),
        fetch=fetch if network else None,
    )
    around, view = watched(quiet=quiet or json, asks=not json)
    outcome = make_plan(project, asked, around)
    view.close()
    finish(outcome, json=json, quiet=quiet)


def finish(outcome: "PlanOutcome", *, json: bool, quiet: bool) -> None:
    """Print how the planning ended, and exit with the status's code."""
    from surefoot.plan import overview
    from surefoot.values import EXIT_CODES, RunStatus

    passed = outcome.status is RunStatus.REPORTED and outcome.plan is not None
    if json:
        print_json(_summary(outcome))
    elif quiet or not passed or outcome.plan is None:
        print_line(f"{outcome.plan_id} {outcome.status}: {outcome.reason}")
    else:
        print_text(overview(outcome.plan))
        print_line(
            f"Read it: {outcome.folder}/ROADMAP.md. Do it: `surefoot run {outcome.plan_id}`."
        )
    raise typer.Exit(EXIT_CODES[outcome.status])


def _summary(outcome: "PlanOutcome") -> dict[str, object]:
    from surefoot.codec import plain

    plan = outcome.plan
    return {
        "schema": 1,
        "plan_id": outcome.plan_id,
        "status": outcome.status.value,
        "reason": outcome.reason,
        "folder": str(outcome.folder),
        "units": [] if plan is None else [unit.unit_id for unit in plan.units],
        "milestones": [] if plan is None else [m.milestone_id for m in plan.milestones],
        "refusals": [plain(refusal) for refusal in outcome.refusals],
        "question": None if outcome.question is None else plain(outcome.question),
    }


def read_plan(path: Path) -> "Plan":
    """A plan that a person wrote.

    Raises:
        UsageError: It cannot be read, or is no plan.
    """
    from surefoot.codec import decode
    from surefoot.plans import Plan

    try:
        return decode(Plan, _read(path))
    except ValueError as error:
        from surefoot.decisions.signature import told

        raise UsageError(
            f"{str(path)!r} is no plan: {told(error)}; see docs/reference/plan.md"
        ) from None


def read_answers(path: Path) -> dict[str, str]:
    """Answers to questions that a planning may ask.

    Raises:
        UsageError: It cannot be read, or is no JSON object of texts and numbers.
    """
    import json

    try:
        found = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{str(path)!r} is no JSON: {error}") from None
    if not isinstance(found, dict) or not all(isinstance(v, str | int) for v in found.values()):
        raise UsageError(
            f'{str(path)!r} must be one JSON object such as {{"Q1": 2, "Which total?": "shop.py"}}'
        )
    return {question: str(answer) for question, answer in found.items()}


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{str(path)!r} is larger than {_MOST_BYTES} bytes")
    return data

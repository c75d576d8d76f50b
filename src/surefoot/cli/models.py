"""`surefoot models list|show|explain|pull|test`: the models that a run can ask, and why which one."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.common import (
    JsonOption,
    RepoOption,
    command,
    open_here,
    places,
    print_json,
    user_name,
)
from surefoot.cli.options import BaseUrlOption, ModelOption, ProfileOption
from surefoot.cli.screen import print_line, print_text
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from surefoot.events.orchestration import TurnClosed
    from surefoot.lineup import Lineup
    from surefoot.models.catalogue import Card
    from surefoot.models.select import Scored, Selection, Standing
    from surefoot.project import Project
    from surefoot.values import CallRecord, RunId, Unit

app = typer.Typer(
    help="List, explain, pull and test models.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
@command
def list_models(repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """List the models that are known here, and whether each can be used."""
    lineup = _lineup(_project(repo), None, None, None)
    rows = [(card, *_ready(lineup, card)) for card in lineup.catalogue.cards.values()]
    if json:
        print_json({card.name: {"ready": ready, "detail": told} for card, ready, told in rows})
        return
    for card, ready, told in rows:
        print_line(f"{card.name:<32} {'ready' if ready else 'not ready':<10} {told}")


@app.command("show")
@command
def show(
    model: Annotated[str, typer.Argument(help="As after --model.")],
    repo: RepoOption = Path(),
    json: JsonOption = False,
) -> None:
    """Show what is known of a model: context, price, abilities, scores, and where that comes from."""
    from dataclasses import replace

    from surefoot.models.registry import check_spec

    check_spec(model)
    project = _project(repo)
    lineup = replace(_lineup(project, None, None, None), calls=_calls(project))
    catalogue = lineup.catalogue
    card = catalogue.card(model)
    form, why = lineup.calling(card)
    ready, told = _ready(lineup, card)
    facts = {
        "name": card.name,
        "provider": card.provider,
        "tier": card.tier.value,
        "context_tokens": card.context_tokens,
        "prompt_usd": card.prompt_usd,
        "completion_usd": card.completion_usd,
        "tools": card.tools,
        "tool_calls": form,
        "tool_calls_why": why,
        "tool_calls_here": {
            asked: {
                "valid": count.valid,
                "invalid": count.invalid,
                "turned_down": count.turned_down,
            }
            for asked, count in lineup.calls.get(card.name, {}).items()
        },
        "schema": card.schema,
        "base_url": card.base_url,
        "scores": dict(card.scores),
        "listed": card.listed,
        "ready": ready,
        "detail": told,
        "source": catalogue.source if card.listed else "nobody listed it: conservative values",
    }
    if json:
        print_json(facts)
        return
    for name, value in facts.items():
        print_line(f"{name:<16} {value}")


@app.command("explain")
@command
def explain(
    unit: Annotated[
        str,
        typer.Argument(
            help="A kind of unit (fix, feature, refactor, test, docs, plan, audit), or a unit of --run."
        ),
    ],
    run: Annotated[
        str | None, typer.Option("--run", help="The run that the unit is of; the last if left out.")
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    profile: ProfileOption = None,
    repo: RepoOption = Path(),
    json: JsonOption = False,
) -> None:
    """Explain who would be asked for a unit: what it needs, who is eligible, who is not and why, scores, and the order."""
    from dataclasses import replace

    from surefoot.cli.solve import read_profile
    from surefoot.models.registry import check_spec
    from surefoot.models.select import Standing, needs_of, select
    from surefoot.vocabulary import Complexity, UnitType

    project, chosen = _project(repo), read_profile(profile)
    if unit in list(UnitType) and run is None:
        lineup = _lineup(project, model, base_url, chosen)
        needs = needs_of(UnitType(unit), Complexity.MEDIUM)
        standing, turns = Standing(), _history(project)
    elif project is None:
        raise UsageError(f"{unit!r} is no kind of unit; give one of {', '.join(UnitType)}")
    else:
        run_id = project.find_run(run)
        lineup = _lineup_of(project, run_id, model, base_url, chosen)
        work, standing, turns = _of_run(project, run_id, unit)
        needs = needs_of(work.unit_type, work.plan.complexity)
    for judge in lineup.judging().models:
        check_spec(judge)
    policy = lineup.routing(turns)
    standing = replace(standing, profile=policy.profile, history=policy.history)
    selection = select(needs, policy.cards, policy.rules, standing)
    if json:
        print_json(_as_json(lineup, selection))
    else:
        _print(lineup, selection)


@app.command("pull")
@command
def pull(repo: RepoOption = Path()) -> None:
    """Download the embedded model once, checked by its hash; resumes what was cut off."""
    project = _project(repo)
    from surefoot.handover import pull_model

    path = pull_model(project, places().cache / "models", user_name(), _Bar(), environ=os.environ)
    print_text(f"\nthe embedded model is ready: {path}", err=True)


class _Bar:
    """Bytes so far, on standard error, a line that moves on a terminal and tenths elsewhere."""

    def __init__(self) -> None:
        self._tenth = -1

    def __call__(self, done: int, total: int) -> None:
        share = done / total if total else 0.0
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{done / 1e6:8.0f} of {total / 1e6:.0f} MB  {share:4.0%}")
            sys.stderr.flush()
        elif int(share * 10) > self._tenth:
            self._tenth = int(share * 10)
            sys.stderr.write(f"{share:.0%}\n")


@app.command("test")
@command
def test(
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    repo: RepoOption = Path(),
    json: JsonOption = False,
) -> None:
    """Ask a model one question and say how it answered; without --model, or with auto, all that a run would ask."""
    from surefoot.cli.trying import Trial, try_part
    from surefoot.lineup import Part
    from surefoot.models.registry import AUTO

    lineup = _lineup(_project(repo), model, base_url, None)
    one = model is not None and model != AUTO
    parts = (Part(model=lineup.model, roles=()),) if one else lineup.parts()
    trials: list[Trial] = []
    for part in parts:
        trials.append(try_part(lineup, part))
        if not json:
            print_line(trials[-1].told())
    somebody_works = one or any("works" in part.roles for part in parts)
    ok = somebody_works and all(trial.ok for trial in trials)
    if json:
        print_json({"ok": ok, "models": [trial.as_json() for trial in trials]})
    elif not somebody_works:
        print_line(
            f"no model may be asked for work; see `surefoot models explain fix --model {AUTO}`"
        )
    if not ok:
        raise typer.Exit(1)


# --- what the commands share ---------------------------------------------------------------------


def _project(repo: Path) -> "Project | None":
    """The repository here, if any: models can be looked at without one."""
    from surefoot.errors import RepositoryError

    try:
        project = open_here(repo)
    except RepositoryError:
        return None
    unheard = [key for key in project.untrusted if key.startswith(("run.", "models.", "solver."))]
    if unheard:
        print_line(f"{', '.join(unheard)} have no effect until `surefoot trust`", err=True)
    return project


def _lineup(
    project: "Project | None", model: str | None, base_url: str | None, profile: str | None
) -> "Lineup":
    from surefoot.lineup import Lineup
    from surefoot.models.registry import check_address
    from surefoot.settings import Settings
    from surefoot.vocabulary import Profile

    settings = project.settings if project else Settings.plain()
    works = model or settings.run.model
    check_address(works, base_url)
    return Lineup(
        model=works,
        base_url=base_url or settings.run.server_of(model),
        judges=settings.solver.model,
        profile=Profile(profile) if profile else settings.models.profile,
        settings=settings.models,
        environ=dict(os.environ),
        cache=places().cache,
    )


def _lineup_of(
    project: "Project",
    run_id: "RunId",
    model: str | None,
    base_url: str | None,
    profile: str | None,
) -> "Lineup":
    """The models of a run, by what it was started with; what is given here stands in place of that."""
    from dataclasses import replace

    from surefoot.assembly import lineup_of
    from surefoot.request import frozen_of

    frozen = frozen_of(project, run_id)
    its_own = frozen.request.base_url if model in (None, frozen.model) else None
    request = replace(
        frozen.request,
        model=model or frozen.request.model,
        base_url=base_url or its_own,
        profile=profile or frozen.request.profile,
    )
    return lineup_of(project, replace(frozen, request=request), dict(os.environ))


def _of_run(
    project: "Project", run_id: "RunId", unit_id: str
) -> "tuple[Unit, Standing, tuple[TurnClosed, ...]]":
    """A unit of a run, how the run stood when it last recorded anything, and the turns before it."""
    from surefoot.assembly import turns_before
    from surefoot.inspection import route_request
    from surefoot.models.select import Standing

    asked = route_request(project, run_id, unit_id)
    standing = Standing(refused=asked.refused, grounded=asked.grounded, pressure=asked.pressure)
    return asked.unit, standing, turns_before(project, run_id)


def _ready(lineup: "Lineup", card: "Card") -> tuple[bool, str]:
    from surefoot.models import known_models

    for known in known_models(lineup.cache):
        if known.spec == card.name:
            return known.ready, known.detail
    denial = lineup.denial(card)
    if denial is not None:
        return False, f"{denial.reason} [{denial.rule}]"
    return True, f"{card.tier}, {card.context_tokens} tokens, {_price(card)}"


def _price(card: "Card") -> str:
    return f"${card.prompt_usd:g} in, ${card.completion_usd:g} out for a million tokens"


def _history(project: "Project | None") -> "tuple[TurnClosed, ...]":
    """Closed turns of the runs here."""
    if project is None or not project.run_ids():
        return ()
    from surefoot.assembly import REMEMBERED
    from surefoot.ledger import recent_turns

    ledgers = (project.ledger_file(run_id) for run_id in reversed(project.run_ids()))
    return recent_turns(ledgers, most=REMEMBERED)


def _calls(project: "Project | None") -> "Mapping[str, CallRecord]":
    """By model, what came of the tool calls of the runs here."""
    if project is None or not project.run_ids():
        return {}
    from surefoot.assembly import REMEMBERED
    from surefoot.kernel.calls import by_model
    from surefoot.ledger import recent_calls

    ledgers = (project.ledger_file(run_id) for run_id in reversed(project.run_ids()))
    return by_model(recent_calls(ledgers, most=REMEMBERED))


def _as_json(lineup: "Lineup", selection: "Selection") -> dict[str, object]:
    judging = lineup.judging()
    return {
        "needs": {
            "unit_type": selection.needs.unit_type.value,
            "weights": dict(selection.needs.weights),
            "context_tokens": selection.needs.context_tokens,
        },
        "profile": lineup.profile.value,
        "catalogue": lineup.catalogue.version,
        "chain": [_scored_as_json(s) for s in selection.chain],
        "denied": [
            {"model": d.model, "rule": d.rule, "reason": d.reason} for d in selection.denied
        ],
        "judges": {"chain": list(judging.models), "reason": judging.reason},
    }


def _scored_as_json(scored: "Scored") -> dict[str, object]:
    return {
        "model": scored.card.name,
        "tier": scored.card.tier.value,
        "score": round(scored.score, 2),
        "capability": round(scored.capability, 2),
        "history": round(scored.history, 2),
        "cost": round(scored.cost, 2),
        "listed": scored.card.listed,
    }


def _print(lineup: "Lineup", selection: "Selection") -> None:
    needs, judging = selection.needs, lineup.judging()
    weights = ", ".join(f"{name} {weight:g}" for name, weight in needs.weights.items())
    print_line(f"{needs.unit_type} needs {weights}; {needs.context_tokens} tokens of context")
    print_line(f"profile {lineup.profile}, catalogue {lineup.catalogue.version}")
    print_line("may be asked, in this order:" if selection.chain else "no model may be asked")
    for number, scored in enumerate(selection.chain, 1):
        card = scored.card
        print_line(
            f"{number:>3}. {card.name:<32} {scored.score:5.1f} = {scored.capability:.1f} capability "
            f"{scored.history:+.1f} history {-scored.cost:+.1f} cost; {card.tier}, {_price(card)}"
            + ("" if card.listed else "; nobody listed it")
        )
    if selection.denied:
        print_line("not asked:")
    for denied in selection.denied:
        print_line(f"     {denied.model:<32} {denied.rule}: {denied.reason}")
    print_line(f"judged by {', '.join(judging.models)}: {judging.reason}")

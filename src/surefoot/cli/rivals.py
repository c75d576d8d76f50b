"""`surefoot solve --rival MODEL`: several models on one issue, side by side; a roundtable keeps one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from surefoot.cli.common import NO
from surefoot.cli.screen import print_line

if TYPE_CHECKING:
    from surefoot.app import Outcome
    from surefoot.assembly import Request, Surroundings
    from surefoot.operations import Results
    from surefoot.project import Project


def side_by_side(
    project: "Project", request: "Request", rivals: Sequence[str], around: "Surroundings"
) -> "Outcome":
    """The run that is kept; of the others only their ledgers and branches tell, until they are rejected.

    Where none is complete it is the first. Where complete ones are not agreed on, nothing is kept and the answer is no.
    """
    from surefoot.app import outcome
    from surefoot.operations import (
        await_runs,
        consolidate_results,
        run_roundtable,
        spawn_runs,
    )
    from surefoot.values import RunStatus

    # An address is that of the model that it was given for.
    requests = (request, *(replace(request, model=model, base_url=None) for model in rivals))
    awaited = await_runs(spawn_runs(project, requests, around, jobs=len(requests)))
    for one in awaited:
        if one.error:
            print_line(f"{one.run_id} did not begin: {one.error}", err=True)
    ran = [one.run_id for one in awaited if one.outcome is not None]
    if not ran:
        # Refused as it would be alone; an interrupt has been told.
        raise awaited[0].refusal or typer.Exit(1)
    results = consolidate_results(project, ran)
    for line in _lines(results):
        print_line(line, err=True)
    if RunStatus.COMPLETE not in results.by_status:
        return outcome(project, ran[0])
    choice = run_roundtable(project, ran, around)
    if choice.run_id is None:
        print_line("the reviewers agree on none; `surefoot diff RUN` shows each", err=True)
        raise typer.Exit(NO)
    same = f", and so does {', '.join(choice.same)}" if choice.same else ""
    print_line(f"the roundtable keeps {choice.run_id}{same}", err=True)
    return outcome(project, choice.run_id)


def _lines(results: "Results") -> list[str]:
    found = [f"{status}: {', '.join(runs)}" for status, runs in results.by_status.items()]
    tokens = results.usage.prompt_tokens + results.usage.completion_tokens
    found.append(f"{results.model_calls} model calls, {tokens} tokens in all")
    return found

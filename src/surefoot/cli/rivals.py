"""`surefoot solve --rival MODEL`: several models on one issue, side by side; a roundtable keeps one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from surefoot.cli.screen import print_line
from surefoot.errors import DisagreedError, SurefootError

if TYPE_CHECKING:
    from surefoot.assembly import Surroundings
    from surefoot.operations import Choice, Results
    from surefoot.project import Project
    from surefoot.reading import Outcome
    from surefoot.request import Request
    from surefoot.values import RunId


def side_by_side(
    project: "Project", request: "Request", rivals: Sequence[str], around: "Surroundings"
) -> "Outcome":
    """The run that is kept; of the others only their ledgers and branches tell, until they are rejected.

    Where none is complete it is the first. Where complete ones are not agreed on, nothing is kept and the answer is no.
    """
    from surefoot.operations import (
        await_runs,
        consolidate_results,
        run_roundtable,
        spawn_runs,
    )
    from surefoot.reading import outcome
    from surefoot.values import RunStatus

    # An address is that of the model that it was given for.
    requests = (request, *(replace(request, model=model, base_url=None) for model in rivals))
    awaited = await_runs(spawn_runs(project, requests, around, jobs=len(requests)))
    for one in awaited:
        if one.error:
            print_line(f"{one.run_id} did not begin: {one.error}", err=True)
    ran = [one.run_id for one in awaited if one.outcome is not None]
    if not ran:
        # Refused as it would be alone.
        raise awaited[0].refusal or SurefootError("interrupted before a run had begun")
    results = consolidate_results(project, ran)
    for line in _lines(results):
        print_line(line, err=True)
    if RunStatus.COMPLETE not in results.by_status:
        return outcome(project, ran[0])
    complete = results.by_status[RunStatus.COMPLETE]
    return outcome(project, kept(run_roundtable(project, ran, around), complete))


def kept(choice: "Choice", complete: Sequence[str]) -> "RunId":
    """The run that the roundtable keeps of those that are complete.

    Raises:
        DisagreedError: It keeps none.
    """
    if choice.run_id is None:
        raise DisagreedError(
            f"the reviewers agree on none of {', '.join(complete)}; `surefoot diff RUN` shows each, `surefoot accept RUN` takes one"
        )
    same = f", and so does {', '.join(choice.same)}" if choice.same else ""
    print_line(f"the roundtable keeps {choice.run_id}{same}", err=True)
    return choice.run_id


def _lines(results: "Results") -> list[str]:
    found = [f"{status}: {', '.join(runs)}" for status, runs in results.by_status.items()]
    tokens = results.usage.prompt_tokens + results.usage.completion_tokens
    found.append(f"{results.model_calls} model calls, {tokens} tokens in all")
    return found

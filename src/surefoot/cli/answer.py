"""`surefoot answer`: what a paused run asks, and what a person says to it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.common import (
    NO,
    JsonOption,
    RepoOption,
    RunArgument,
    command,
    open_here,
    print_json,
    surroundings,
    user_name,
)
from surefoot.cli.screen import print_line, print_text
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.operations import Pending, Response


@command
def answer(
    run: RunArgument = None,
    repo: RepoOption = Path(),
    yes: Annotated[
        str | None, typer.Option("--yes", help="Approve the diff of this hash (eight digits do).")
    ] = None,
    no: Annotated[bool, typer.Option("--no", help="Do not approve.")] = False,
    say: Annotated[str, typer.Option("--say", help="Words, or why.")] = "",
    json: JsonOption = False,
) -> None:
    """Show what a paused run asks a person, why, and the diff; answer it. Without an answer it is a no."""
    if yes is not None and no:
        raise UsageError("--yes and --no are two answers; give one")
    project = open_here(repo)
    from surefoot.operations import Response, pending_gate, respond_to_gate
    from surefoot.people import Nobody, Quiet

    run_id = project.find_run(run)
    pending = pending_gate(project, run_id)
    if pending is None:
        raise UsageError(
            f"run {run_id} asks nobody; `surefoot explain {run_id}` tells how it stands"
        )
    who = user_name()
    response: Response | None = None
    if yes is not None or no or (say and not pending.approval):
        response = Response(who=who, approve=yes is not None, diff=yes or "", text=say)
    elif not json:
        response = _asked(pending, who)
    if response is not None:
        respond_to_gate(project, run_id, response, surroundings(Nobody(), Quiet()))
    if json:
        print_json(_plain(pending, response))
    elif response is not None:
        word = "approved" if response.approve else "answered" if response.text else "not approved"
        print_line(f"{word}; `surefoot resume {run_id}` goes on with that")
    if response is None:
        raise typer.Exit(NO)


def _asked(pending: "Pending", who: str) -> "Response | None":
    """Show it, and ask where somebody is; None when nobody said anything."""
    from surefoot.cli.live import Terminal
    from surefoot.operations import Response

    if not sys.stdin.isatty():
        if pending.change is not None:
            print_text(pending.change.patch)
            print_line(f"diff {pending.diff}")
        print_text(f"{pending.question}\n({pending.why})")
        return None
    said = Terminal().ask(
        pending.question, pending.why, approval=pending.approval, diff=pending.change
    )
    if said.is_silence:
        return None
    return Response(who=who, approve=said.approved, diff=pending.diff or "", text=said.text)


def _plain(pending: "Pending", response: "Response | None") -> dict[str, object]:
    given = None
    if response is not None:
        given = {"who": response.who, "approve": response.approve, "text": response.text}
    return {
        "schema": 1,
        "run_id": pending.run_id,
        "question": pending.question,
        "why": pending.why,
        "approval": pending.approval,
        "diff": pending.diff,
        "files": list(pending.change.paths) if pending.change else [],
        "patch": pending.change.patch if pending.change else None,
        "answer": given,
    }

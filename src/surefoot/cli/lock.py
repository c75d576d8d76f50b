"""`lock`, `unlock`, `trust`: a person's word, kept in the repository's own ledger."""

import os
from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli.common import RepoOption, command, open_here, places, user_name
from surefoot.cli.screen import print_line


@command
def lock(
    why: Annotated[str, typer.Option("--why", help="What everyone is told who tries.")],
    repo: RepoOption = Path(),
) -> None:
    """Stop every run of this repository, and refuse new ones."""
    from surefoot.consent import set_lock
    from surefoot.project import open_to_lock

    project = open_to_lock(repo, places())
    set_lock(project, why, user_name(), environ=os.environ)
    print_line(f"locked: {why}")


@command
def unlock(repo: RepoOption = Path()) -> None:
    """Let runs go on again."""
    from surefoot.consent import clear_lock
    from surefoot.project import open_to_lock

    project = open_to_lock(repo, places())
    was = clear_lock(project, user_name(), environ=os.environ)
    print_line("unlocked" if was else "it was not locked")


@command
def trust(repo: RepoOption = Path()) -> None:
    """Let the present content of surefoot.toml widen power (risk flags, base URL, commands)."""
    project = open_here(repo)
    from surefoot.consent import give_trust

    keys = give_trust(project, user_name(), environ=os.environ)
    print_line(f"trusted: {', '.join(keys) or 'nothing in it widens power'}")

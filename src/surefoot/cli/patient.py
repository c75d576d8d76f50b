"""`surefoot patient`: a small repository with a real bug, to try things on."""

from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli.common import command
from surefoot.cli.screen import print_line


@command
def patient(
    dest: Annotated[Path, typer.Argument(help="A folder that is new or empty.")],
    name: Annotated[str, typer.Option(help="Which of the bundled patients.")] = "daybook",
) -> None:
    """Write a bundled patient: a git repository with a bug, its tests and its ISSUE.md."""
    from surefoot.patients import materialise

    print_line(f"wrote {materialise(name, dest)}")

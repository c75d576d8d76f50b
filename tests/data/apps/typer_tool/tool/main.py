from typing import Annotated, Optional

import typer

from tool import jobs
from tool.common import RepoOption, bounded

app = typer.Typer(name="tool", add_completion=False)
single = typer.Typer(name="alone")


@app.callback()
def root(version: Annotated[bool, typer.Option("--version")] = False) -> None:
    """The tool."""


@app.command()
@bounded
def build_all(
    target: str,
    repo: RepoOption = ".",
    count: int = 3,
    fast: bool = False,
    quiet: Annotated[bool, typer.Option("--quiet/--loud", "-q")] = False,
    names: Optional[list[str]] = typer.Option(None, "--name", "-n"),
    level: int = typer.Option(1, help="how much"),
    where: str = typer.Argument("here"),
) -> None:
    """Build."""


@single.command()
def only(depth: int = 1) -> None:
    """The one command of its group."""


app.command("run")(jobs.run)
app.add_typer(jobs.app, name="jobs")
app.add_typer(single)


def main() -> None:
    app()

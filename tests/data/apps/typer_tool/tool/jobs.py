import typer

app = typer.Typer()
lost = typer.Typer(name="lost")


def run(ctx: typer.Context, dry: "bool" = False) -> None:
    """Run."""


@app.command(name="start-one")
def start(job: str, *, force: bool = typer.Option(False, "--force")) -> None:
    """Start."""


@app.command()
def stop_now() -> None:
    """Stop."""


@lost.command()
def never() -> None:
    """In no program."""

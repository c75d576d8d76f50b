"""`surefoot models list|pull|test`: the models that a run can ask."""

import sys
from typing import Annotated

import typer

from surefoot.cli.common import JsonOption, command, places, print_json

app = typer.Typer(help="List, pull and test models.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
@command
def list_models(json: JsonOption = False) -> None:
    """List the models that are known here, and whether each can be used."""
    from surefoot.models import known_models

    known = known_models(places().cache)
    if json:
        print_json({m.spec: {"ready": m.ready, "detail": m.detail} for m in known})
        return
    for model in known:
        typer.echo(f"{model.spec:<24} {'ready' if model.ready else 'not ready':<10} {model.detail}")


@app.command("pull")
@command
def pull() -> None:
    """Download the embedded model once, checked by its hash; resumes what was cut off."""
    from surefoot.models import pull as fetch

    path = fetch(places().cache / "models", progress=_Bar())
    typer.echo(f"\nthe embedded model is ready: {path}", err=True)


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
    model: Annotated[
        str, typer.Option(help="embedded, openai/NAME or scripted:FILE.")
    ] = "embedded",
    base_url: Annotated[str | None, typer.Option(help="Of an OpenAI-compatible server.")] = None,
    json: JsonOption = False,
) -> None:
    """Ask a model one question and say how it answered."""
    import os

    from surefoot.models import open_model
    from surefoot.values import Message, ModelFailure, ModelRequest

    key = os.environ.get("OPENAI_API_KEY")
    asked = open_model(model, base_url=base_url, api_key=key, cache=places().cache)
    request = ModelRequest(
        purpose="models-test",
        messages=(Message(role="user", content="Reply with the one word: ready"),),
        max_tokens=8,
    )
    answer = asked.complete((request,))[0]
    failed = isinstance(answer, ModelFailure)
    told = f"{answer.fault}: {answer.message}" if isinstance(answer, ModelFailure) else answer.text
    if json:
        print_json(
            {"model": answer.model, "ok": not failed, "answer": told, "wall_s": answer.wall_s}
        )
    else:
        typer.echo(f"{answer.model}: {told.strip()!r} in {answer.wall_s:.2f} s")
    if failed:
        raise typer.Exit(1)

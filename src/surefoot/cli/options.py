"""The options that several commands take, each said once."""

import math
from typing import Annotated

import typer


def _finite(given: float | None) -> float | None:
    """A ceiling that is a number: no record can hold another, and no ceiling at all is the option left out."""
    if given is not None and not math.isfinite(given):
        raise typer.BadParameter(f"{given} is no number to stop at; name one, or leave it out")
    return given


ModelOption = Annotated[
    str | None, typer.Option(help="embedded, PROVIDER/NAME, auto or scripted:FILE.")
]
BaseUrlOption = Annotated[
    str | None, typer.Option(help="Of a server of your own, for PROVIDER/NAME.")
]
SolverModelOption = Annotated[
    str | None, typer.Option(help="The model that judges turns, or several with commas.")
]
ProfileOption = Annotated[str | None, typer.Option(help="economy, balanced, quality or burn-max.")]
StrategyOption = Annotated[
    str | None, typer.Option(help="repair (search), agent (step by step) or auto.")
]
IterationsOption = Annotated[int | None, typer.Option("--max-iterations", min=1, help="Turns.")]
TimeOption = Annotated[
    float | None,
    typer.Option("--time-limit", min=1, help="Seconds of active time.", callback=_finite),
]
UsdOption = Annotated[
    float | None,
    typer.Option("--budget-usd", min=0.0, help="Money ceiling.", callback=_finite),
]
TokensOption = Annotated[
    int | None, typer.Option("--budget-tokens", min=1, help="Prompt and answer tokens in all.")
]
SeedOption = Annotated[int | None, typer.Option(help="Same seed, same choices.")]
UnsandboxedOption = Annotated[
    bool, typer.Option("--unsandboxed", help="Run commands without a sandbox if none works.")
]
StrictOption = Annotated[
    bool,
    typer.Option("--strict", help="Complete only when tests notice every mutant of changed lines."),
]
AcceptOption = Annotated[
    bool, typer.Option("--accept", help="Accept the result if the run is complete.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]

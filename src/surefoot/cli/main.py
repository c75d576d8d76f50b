"""Collects the commands. What a command needs is imported when it runs, so that `--help` is instant."""

import gc
import io
import os
import sys
from typing import Annotated, Final, cast

import typer

from surefoot import __version__
from surefoot.cli import (
    answer,
    audit,
    doctor,
    evidence,
    finish,
    gates,
    init,
    inspect,
    lock,
    models,
    patient,
    plan,
    preflight,
    run,
    solve,
    tools,
)
from surefoot.cli.common import CANCELLED, print_refusal
from surefoot.cli.screen import print_line
from surefoot.errors import UsageError

_BETWEEN_COLLECTIONS: Final = 50_000
"""New objects after which the garbage collector looks."""

app = typer.Typer(
    name="surefoot",
    help="An autonomous software engineer that never takes a step it cannot prove.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(show: bool) -> None:  # noqa: FBT001  # Typer's callback signature
    if show:
        print_line(f"surefoot {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """An autonomous software engineer that never takes a step it cannot prove."""


app.command("init")(init.init)
app.command("solve")(solve.solve)
app.command("plan")(plan.plan)
app.command("run")(run.run)
app.command("status")(run.status)
app.command("resume")(finish.resume)
app.command("answer")(answer.answer)
app.command("show")(inspect.show)
app.command("explain")(inspect.explain)
app.command("gates")(gates.gates)
app.command("events")(inspect.events)
app.command("verify")(evidence.verify)
app.command("diff")(inspect.diff)
app.command("decisions")(inspect.decisions)
app.command("export")(evidence.export)
app.command("replay")(inspect.replay)
app.command("accept")(finish.accept)
app.command("reject")(finish.reject)
app.command("gc")(finish.gc)
app.command("audit")(audit.audit)
app.command("preflight")(preflight.preflight)
app.command("parity")(preflight.parity)
app.command("lock")(lock.lock)
app.command("unlock")(lock.unlock)
app.command("trust")(lock.trust)
app.add_typer(models.app, name="models")
app.add_typer(tools.app, name="tools")
app.command("doctor")(doctor.doctor)
app.command("patient")(patient.patient)


_NotUnderstood: Final = cast("type[typer.BadParameter]", typer.BadParameter.__bases__[0])
"""What every command line that cannot be read is refused with; Typer gives it no public name."""


_INTERRUPTED: Final = 130
"""What Typer makes of ctrl-C; no command of ours ends with it."""


def _run() -> int:
    """Do what the command line asks for; the exit code."""
    try:
        ended: object = app(standalone_mode=False)
    except _NotUnderstood as error:
        error.show()
        if "--json" in sys.argv[1:]:
            print_refusal(error.format_message(), UsageError.code, error.exit_code)
        return int(error.exit_code)
    except typer.Abort:
        print_line("surefoot: ended at a question", err=True)
        return 1
    if ended == _INTERRUPTED:
        print_line("surefoot: interrupted", err=True)
        if "--json" in sys.argv[1:]:
            print_refusal("interrupted", "cancelled", CANCELLED)
        return CANCELLED
    return ended if isinstance(ended, int) else 0


def _open_streams() -> None:
    """Standard streams that are there and can say everything.

    One that the caller closed is nowhere: else the next file that is opened would get its number, and whatever a program
    prints would go there. A character that the terminal's encoding lacks is shown as its escape.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """The console script."""
    # A start makes classes by the thousand and no garbage, and looking for it costs a tenth of the start.
    gc.set_threshold(_BETWEEN_COLLECTIONS)
    # Else pydantic searches everything that is installed for plug-ins, and would let them into our own validation.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    _open_streams()
    try:
        sys.exit(_run())
    finally:
        # What is there now goes away with the process, and the interpreter would look through all of it for garbage once more.
        gc.freeze()

"""Writes the reference pages and pictures that are made from the code: `python docs/generate.py`; a test fails when one is stale."""

import dataclasses
import inspect
import sys
import typing
from pathlib import Path

import typer

from surefoot.cli.main import app
from surefoot.events.envelope import Event
from surefoot.kernel import promotion

Command = type(typer.main.get_command(app))
Parameter = type(typer.main.get_command(app).params[0])
HERE = Path(__file__).parent / "reference"


def cli() -> str:
    """Every command with its arguments and options."""
    root = typer.main.get_command(app)
    lines = ["# Commands", "", "Made from the code by `docs/generate.py`.", ""]
    lines += ["Every command that works on a repository takes `--repo PATH`.", ""]
    for name, command in _commands(root, "surefoot"):
        lines += [f"## {name}", "", (command.help or "").strip(), ""]
        rows = [_row(p) for p in command.params if p.name != "help"]
        if rows:
            lines += ["| | |", "|---|---|", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def _commands(command: Command, path: str) -> list[tuple[str, Command]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        return [(path, command)]
    found: list[tuple[str, Command]] = []
    for name in inner:
        found += _commands(inner[name], f"{path} {name}")
    return found


def _row(param: Parameter) -> str:
    names = ", ".join(f"`{o}`" for o in param.opts)
    if param.param_type_name == "argument":
        names = f"`{param.name.upper()}`"
    return f"| {names} | {(getattr(param, 'help', None) or '').strip()} |"


def event_types() -> str:
    """Every event type with its class and fields."""
    lines = ["# Events", "", "Made from the code by `docs/generate.py`.", ""]
    lines += [
        "A line of `events.jsonl` is canonical JSON with the keys `event_id`, `trace_id`, `turn_id`, `caused_by`,",
        "`class`, `type`, `time`, `payload`, `previous_hash`, `hash` and `schema`.",
        "The payload is one of these; bulk text is a blob that the payload names by its SHA-256.",
        "",
        "| type | class | what it says | payload |",
        "|---|---|---|---|",
    ]
    kinds = typing.get_args(Event)
    for name, kind in sorted((((k.event_class, _kind(k)), k) for k in kinds), key=lambda p: p[0]):
        told = (inspect.getdoc(kind) or "").splitlines()[0]
        names = ", ".join(f"`{f.name}`" for f in dataclasses.fields(kind) if f.name != "kind")
        lines.append(f"| `{name[1]}` | {name[0]} | {told} | {names} |")
    return "\n".join(lines) + "\n"


def _kind(event: type) -> str:
    field = next(f for f in dataclasses.fields(event) if f.name == "kind")
    return str(field.default)


def life_cycle() -> str:
    """The picture of the states of a forged tool, from the tables of decisions and of acts."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> candidate: stored"]
    for table, form in ((promotion.TRANSITIONS, "{}"), (promotion.ACTS, "a person: {}")):
        for before, row in table.items():
            edges: dict[str, list[str]] = {}
            for what, after in row.items():
                edges.setdefault(after, []).append(form.format(what))
            lines += [f"    {before} --> {after}: {', '.join(w)}" for after, w in edges.items()]
    return "\n".join([*lines, "```"])


PAGES = {"cli.md": cli, "events.md": event_types}
PICTURES = {"explanation/tools.md": life_cycle}
BEGIN, END = "<!-- made by docs/generate.py -->", "<!-- end -->"


def with_picture(page: str, picture: str) -> str:
    """A page with the picture between its two marks."""
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n\n{picture}\n\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Write all pages."""
    for name, make in PAGES.items():
        (HERE / name).write_text(make())
        sys.stdout.write(f"wrote {HERE / name}\n")
    for name, draw in PICTURES.items():
        page = HERE.parent / name
        page.write_text(with_picture(page.read_text(), draw()))
        sys.stdout.write(f"wrote the picture of {page}\n")


if __name__ == "__main__":
    main()

"""`surefoot preflight` and `surefoot parity`: what a document claims against what is there. Exit 0, 1 or 2."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.common import (
    JsonOption,
    RepoOption,
    checker,
    open_here,
    print_json,
    to_write,
)
from surefoot.cli.screen import print_line
from surefoot.errors import UsageError
from surefoot.plain_files import write_whole

if TYPE_CHECKING:
    from surefoot.preflight import Inventory, Problem

SarifOption = Annotated[
    Path | None,
    typer.Option("--sarif-out", help="Write what is wrong as SARIF 2.1.0.", callback=to_write),
]
_WRONG = 1
"""Exit code: something that is claimed does not hold. Not answered is 2."""


@checker
def preflight(
    plan: Annotated[Path, typer.Argument(help="A plan in Markdown.")],
    check: Annotated[
        list[str] | None,
        typer.Option("--check", help="integration or routes; may be repeated; both if left out."),
    ] = None,
    repo: RepoOption = Path(),
    sarif_out: SarifOption = None,
    json: JsonOption = False,
) -> None:
    """Check a plan's six inputs, integration contracts and routes against the code, before anything is built on it."""
    project = open_here(repo)
    from surefoot import claims
    from surefoot.preflight import CHECKS

    document = claims.read_document(plan, project.root)
    found = claims.preflight(project.repository, document, check or CHECKS)
    told = f"{document.name}: {found.contracts} contracts, {found.routes} claimed routes"
    _finish("preflight", found.problems, told, (project.root, sarif_out), json=json)


@checker
def parity(
    documents: Annotated[
        list[Path] | None, typer.Argument(help="Plans or pages in Markdown.")
    ] = None,
    claims_file: Annotated[
        Path | None, typer.Option("--claims", help="A file with one claim a line.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--list", help="Print the routes and commands that there are.")
    ] = False,
    repo: RepoOption = Path(),
    sarif_out: SarifOption = None,
    json: JsonOption = False,
) -> None:
    """Check that the routes and commands that documents name are really there."""
    if bool(documents or claims_file) == everything:
        raise UsageError("name documents, or --claims FILE, or else --list")
    project = open_here(repo)
    from surefoot import claims

    read = [claims.read_document(path, project.root) for path in documents or []]
    if claims_file is not None:
        read.append(claims.read_document(claims_file, project.root, is_list=True))
    real = claims.inventory(project.root)
    if everything:
        _list(real, json=json)
        return
    found = claims.parity(read, real)
    problems = [problem for one in found for problem in one.problems]
    count = sum(len(one.claims) for one in found)
    told = f"{count} claims in {', '.join(document.name for document in read)}"
    _finish("parity", problems, told, (project.root, sarif_out), json=json)


def _finish(
    tool: str,
    problems: "list[Problem] | tuple[Problem, ...]",
    told: str,
    places: tuple[Path, Path | None],
    *,
    json: bool,
) -> None:
    root, sarif_out = places
    if sarif_out is not None:
        from surefoot.claims import as_audit
        from surefoot.findings import write_sarif

        write_whole(sarif_out, write_sarif(as_audit(tool, problems, root)))
    if json:
        from surefoot.codec import plain

        print_json({"ok": not problems, "checked": told, "problems": plain(list(problems))})
    else:
        for problem in problems:
            print_line(problem.told)
        print_line(f"{told}: {len(problems) or 'nothing'} wrong")
    if problems:
        raise typer.Exit(_WRONG)


def _list(real: "Inventory", *, json: bool) -> None:
    if json:
        from surefoot.codec import plain

        print_json(plain(real))
        return
    for route in real.routes:
        print_line(f"{route.told}  {route.file}:{route.line}")
    for command in real.commands:
        options = " ".join(sorted(command.options))
        print_line(f"{command.told} {options}  {command.file}:{command.line}")
    for route in real.unmounted:
        print_line(f"not mounted: {route.told}  {route.file}:{route.line}")
    for note in real.unread:
        print_line(f"not read: {note.told}")

"""`surefoot doctor`: what works on this machine and in this repository, each with the mend."""

from pathlib import Path

import typer

from surefoot.cli.common import (
    NO,
    JsonOption,
    RepoOption,
    command,
    places,
    print_json,
    surroundings,
)
from surefoot.cli.screen import print_line


@command
def doctor(repo: RepoOption = Path(), json: JsonOption = False) -> None:
    """Check git, sandbox, model, disk, settings and tests."""
    from surefoot.checkup import examine
    from surefoot.people import Nobody, Quiet

    checks = examine(repo, places(), surroundings(Nobody(), Quiet()))
    if json:
        print_json(
            {
                "ok": all(c.ok for c in checks),
                "checks": [
                    {"name": c.name, "ok": c.ok, "detail": c.detail, "mend": c.mend} for c in checks
                ],
            }
        )
    else:
        for check in checks:
            print_line(f"{'ok  ' if check.ok else 'FAIL'} {check.name:<10} {check.detail}")
            if not check.ok and check.mend:
                print_line(f"     {'':<10} -> {check.mend}")
    if not all(c.ok for c in checks):
        raise typer.Exit(NO)

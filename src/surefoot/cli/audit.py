"""`surefoot audit`: findings on HEAD, for people, SARIF viewers and CI."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.common import (
    NO,
    JsonOption,
    RepoOption,
    command,
    open_here,
    print_json,
    surroundings,
    to_write,
)
from surefoot.cli.screen import print_line
from surefoot.plain_files import write_whole

if TYPE_CHECKING:
    from surefoot.values import Audit


@command
def audit(
    repo: RepoOption = Path(),
    sarif_out: Annotated[
        Path | None,
        typer.Option("--sarif-out", help="Write findings as SARIF 2.1.0.", callback=to_write),
    ] = None,
    summary_out: Annotated[
        Path | None,
        typer.Option("--summary-out", help="Write the counts as summary.json.", callback=to_write),
    ] = None,
    enforce: Annotated[
        bool,
        typer.Option("--enforce", help="Fail on anything above the baseline, or a broken tool."),
    ] = False,
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Accept what is found now.")
    ] = False,
    unsandboxed: Annotated[
        bool, typer.Option("--unsandboxed", help="Run tools without a sandbox if none works.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Audit HEAD with every tool that fits the project; a tool that broke never reads as clean."""
    project = open_here(repo)
    from surefoot import findings
    from surefoot.app import audit as run
    from surefoot.people import Nobody, Quiet

    around = surroundings(Nobody(), Quiet())
    found = run(project, around, unsandboxed=unsandboxed, anew=write_baseline)
    if sarif_out is not None:
        write_whole(sarif_out, findings.write_sarif(found))
    if summary_out is not None:
        write_whole(summary_out, findings.summary_json(found))
    if write_baseline:
        path = project.root / findings.BASELINE_NAME
        every = [f for result in found.results for f in result.findings]
        findings.write_baseline(path, every)
        print_line(f"accepted {len(every)} findings in {path.name}", err=True)
    if json:
        print_json(dict(findings.summary(found)))
    else:
        _print(found)
    if write_baseline:
        accepted = tuple(f.fingerprint for result in found.results for f in result.findings)
        found = replace(found, baseline=accepted)  # a tool that broke is still no answer
    if enforce and not found.ci_pass:
        print_line(f"surefoot: {findings.fail_reason(found)}", err=True)
        raise typer.Exit(NO)


def _print(found: "Audit") -> None:
    from surefoot import findings
    from surefoot.values import Severity

    for finding in findings.worst_first(found):
        place = f"{finding.file}:{finding.line}:{finding.column}"
        print_line(f"{finding.severity:<8} {place} {finding.rule} {finding.message}")
    for row in findings.rows(found):
        counts = ", ".join(f"{n} {s}" for n, s in zip(row.counts, Severity, strict=True) if n)
        told = counts or row.message or "nothing found"
        print_line(f"{row.tool:<12} {row.state:<8} {row.wall_s:6.2f}s  {told}")

"""`verify` and `export`: what a run can be held against, here or by somebody else."""

from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli.common import (
    NO,
    JsonOption,
    RepoOption,
    RunArgument,
    TrustOption,
    command,
    open_here,
    places,
    print_json,
    require_bundle,
    surroundings,
    to_write,
)
from surefoot.cli.screen import print_line
from surefoot.errors import UsageError


@command
def verify(
    run: RunArgument = None,
    repo: RepoOption = Path(),
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", help="Verify this exported file; needs no repository."),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option(
            "--head", help="Hash of a line that was kept elsewhere; the ledger must have it."
        ),
    ] = None,
    rerun_tests: Annotated[
        bool, typer.Option("--rerun-tests", help="Run the deciding test suites again, too.")
    ] = False,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Hold a run against itself: hashes, commits, gates, proofs, spending, documents; name the first difference."""
    from surefoot.people import Nobody, Quiet
    from surefoot.verify import open_bundle, open_run, verify_run

    require_bundle(bundle, trust=trust)
    if bundle is not None and run is not None:
        raise UsageError("a bundle holds one run; leave the run's id out")
    opened = (
        open_bundle(bundle, places(), trusted=trust) if bundle else open_run(open_here(repo), run)
    )
    with opened as (project, run_id):
        around = surroundings(Nobody(), Quiet()) if rerun_tests else None
        verdict = verify_run(project, run_id, head=head, around=around)
    if json:
        print_json(
            {
                "run_id": run_id,
                "ok": verdict.fault is None,
                "fault": verdict.fault,
                "events": verdict.events,
                "commits": verdict.commits,
                "blobs": verdict.blobs,
                "reran": verdict.reran,
                "head": verdict.head,
                "notes": verdict.notes,
            }
        )
    elif verdict.fault is None:
        again = (
            f", and {verdict.reran} tests ran again with the same outcome" if rerun_tests else ""
        )
        print_line(
            f"{run_id}: {verdict.events} events, {verdict.commits} commits and {verdict.blobs} blobs "
            f"are as recorded{again}"
        )
        for note in verdict.notes:
            print_line(f"not looked at: {note}")
        print_line(f"head {verdict.head}")
    else:
        print_line(f"{run_id}: {verdict.fault}", err=True)
    if verdict.fault is not None:
        raise typer.Exit(NO)


@command
def export(
    run: RunArgument = None,
    repo: RepoOption = Path(),
    labelled: Annotated[
        Path | None,
        typer.Option(
            "--labelled", help="Write the labelled calls here, a JSON line each.", callback=to_write
        ),
    ] = None,
    bundle: Annotated[
        Path | None,
        typer.Option(
            "--bundle",
            help="Write all that `verify --bundle` needs into this one file.",
            callback=to_write,
        ),
    ] = None,
) -> None:
    """Write a run out: its tool calls as rows to learn from, or all of it in one file that can be verified anywhere."""
    if labelled is None and bundle is None:
        raise UsageError("say what to write: --bundle FILE, or --labelled FILE")
    from surefoot.ledger.blobs import BlobStore
    from surefoot.verify import ledgers_of, open_run, write_bundle

    with open_run(open_here(repo), run) as (project, run_id):
        if labelled is not None:
            from surefoot.codec import canonical
            from surefoot.records import labelled as rows_of

            get = BlobStore(project.blobs).get
            runs = ledgers_of(project, run_id)
            rows = [canonical(row) + b"\n" for _, events in runs for row in rows_of(events, get)]
            labelled.write_bytes(b"".join(rows))
            print_line(f"{len(rows)} labelled calls in {labelled}")
        if bundle is not None:
            written = write_bundle(project, run_id, bundle)
            print_line(f"{bundle}: {written.blobs} blobs, {written.size_bytes} bytes")
            print_line(f"head {written.head}")

"""`surefoot solve`: the main job."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.common import (
    CANCELLED,
    JsonOption,
    RepoOption,
    command,
    exit_code_of,
    open_here,
    print_json,
    surroundings,
)
from surefoot.cli.options import (
    AcceptOption,
    BaseUrlOption,
    IterationsOption,
    ModelOption,
    ProfileOption,
    QuietOption,
    SeedOption,
    SolverModelOption,
    StrategyOption,
    StrictOption,
    TimeOption,
    TokensOption,
    UnsandboxedOption,
    UsdOption,
)
from surefoot.cli.screen import print_line, print_text
from surefoot.errors import SurefootError, UsageError

if TYPE_CHECKING:
    from surefoot.assembly import Surroundings
    from surefoot.cli.live import LiveView
    from surefoot.project import Project
    from surefoot.reading import Outcome
    from surefoot.report import Summary
    from surefoot.values import Issue, RunId

_MOST_ISSUE_BYTES = 1_000_000


@command
def solve(
    issue: Annotated[
        str | None, typer.Argument(help="A file, text, or - for standard input; nothing: audit.")
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option("--test", help="A failing test id; may be repeated.")
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", help="Findings to mend, as SARIF 2.1.0.")
    ] = None,
    repo: RepoOption = Path(),
    mode: Annotated[
        str | None, typer.Option(help="report_only, auto_fix_safe or auto_solve_full.")
    ] = None,
    model: ModelOption = None,
    base_url: BaseUrlOption = None,
    solver_model: SolverModelOption = None,
    profile: ProfileOption = None,
    strategy: StrategyOption = None,
    max_iterations: IterationsOption = None,
    time_limit: TimeOption = None,
    budget_usd: UsdOption = None,
    budget_tokens: TokensOption = None,
    seed: SeedOption = None,
    rival: Annotated[
        list[str] | None,
        typer.Option("--rival", help="Another model, side by side; a roundtable keeps one run."),
    ] = None,
    unsandboxed: UnsandboxedOption = False,
    strict: StrictOption = False,
    accept: AcceptOption = False,
    quiet: QuietOption = False,
    json: JsonOption = False,
) -> None:
    """Solve an issue, a failing test, findings, or whatever an audit finds."""
    project = open_here(repo)
    given = from_root(read_issue(issue, test or [], sarif, project.root), repo, project.root)
    from surefoot.app import new_run_id, start  # heavy; see cli.main
    from surefoot.request import Request

    request = Request(
        issue=given,
        mode=mode,
        model=model,
        base_url=base_url,
        solver_model=solver_model,
        profile=read_profile(profile),
        strategy=read_strategy(strategy),
        seed=seed,
        max_iterations=max_iterations,
        time_s=time_limit,
        cost_usd=budget_usd,
        tokens=budget_tokens,
        unsandboxed=unsandboxed,
        strict=strict,
    )
    around, view = watched(quiet=quiet or json, asks=not json)
    run_id = new_run_id(project, around)
    if rival:
        from surefoot.cli.rivals import side_by_side

        result = side_by_side(project, request, rival, around)
    else:
        with told_with_its_run(project, run_id, json=json):
            result = start(project, request, around, run_id=run_id)
    view.close()
    finish(project, result, around, accept=accept, json=json, quiet=quiet)


@contextmanager
def told_with_its_run(project: "Project", run_id: "RunId", *, json: bool) -> Iterator[None]:
    """What breaks a run off is told with the run's id and how it goes on, and to a program as the run's own object.

    A run ends itself on ctrl-C; what comes before its first step, or behind its last, is interrupted here.
    """
    ledger = project.ledger_file(run_id)
    before = ledger.stat().st_size if ledger.exists() else 0
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        # Named boundary: it is told, and what Surefoot does not raise on purpose goes on, so that its place is seen.
        from surefoot.app import broken_off
        from surefoot.values import EXIT_CODES, RunStatus

        if not ledger.exists() or ledger.stat().st_size == before:
            raise  # refused, not broken off
        interrupted = isinstance(error, KeyboardInterrupt)
        status = RunStatus.CANCELLED if interrupted else RunStatus.ERROR
        meant = interrupted or isinstance(error, SurefootError)
        told = "interrupted" if interrupted else str(error) if meant else repr(error)
        with suppress(
            SurefootError
        ):  # where nothing can be read, the error itself is all there is to tell
            summary = broken_off(project, run_id, told, status)
            if summary is not None:
                print_text(f"surefoot: {summary['reason']}", err=True)
                if json:
                    print_json(summary)
                if meant:
                    raise typer.Exit(EXIT_CODES[status]) from error
        raise


def watched(*, quiet: bool, asks: bool) -> "tuple[Surroundings, LiveView]":
    """The real surroundings with a live view on standard error; a quiet one shows warnings only."""
    from surefoot.cli.live import LiveView, Terminal, Warnings
    from surefoot.interrupts import end_on_signals
    from surefoot.people import Nobody

    end_on_signals()
    view = LiveView(sys.stderr)
    person = Terminal() if asks and sys.stdin.isatty() else Nobody()
    return surroundings(person, Warnings(sys.stderr) if quiet else view), view


def finish(
    project: "Project",
    result: "Outcome",
    around: "Surroundings",
    *,
    accept: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Print how it ended, accept if asked, and exit with the status's code."""
    from surefoot.values import EXIT_CODES, RunStatus

    summary, code = result.summary, EXIT_CODES[result.status]
    if accept and result.status is RunStatus.COMPLETE:
        summary, code = _taken_over(project, summary, around)
        if "not_accepted" in summary:
            print_text(f"surefoot: not accepted: {summary['not_accepted']}", err=True)
        elif not json and not quiet:
            print_line(f"accepted as {summary['commit']}", err=True)
    if json:
        print_json(summary)
    elif not quiet:
        print_text(result.report)
    else:
        print_line(f"{summary['run_id']} {summary['status']}: {summary['reason']}")
    raise typer.Exit(code)


def _taken_over(
    project: "Project", summary: "Summary", around: "Surroundings"
) -> "tuple[Summary, int]":
    """The summary of a complete run that was to be accepted, and the exit code; where it was not, with the reason."""
    from surefoot.handover import accept

    try:
        return {**summary, "commit": accept(project, summary["run_id"], around)}, 0
    except KeyboardInterrupt:
        told = f"interrupted; `surefoot accept {summary['run_id']}` goes on"
        return {**summary, "not_accepted": told}, CANCELLED
    except SurefootError as error:
        return {**summary, "not_accepted": str(error)}, exit_code_of(error)


def read_issue(given: str | None, tests: list[str], sarif: Path | None, root: Path) -> "Issue":
    """What the user gave, as an `Issue`; the paths of a SARIF file are those of the checkout at `root`.

    Raises:
        UsageError: More than one kind was given, or it cannot be read.
    """
    from surefoot.values import Issue

    if sum((given is not None, bool(tests), sarif is not None)) > 1:
        raise UsageError("give an issue, --test or --sarif, not several of them")
    if not all(test.strip() for test in tests):
        raise UsageError("--test is empty; name a test as its runner does, or leave it out")
    if tests:
        return Issue(source="test", tests=tuple(tests))
    if sarif is not None:
        return _from_sarif(sarif, root)
    if given is None:
        return Issue(source="audit")
    if given == "-":
        return _checked("stdin", sys.stdin.buffer.read(_MOST_ISSUE_BYTES + 1))
    if _is_file(given):
        return _checked("file", _read(Path(given)))
    if _reads_like_file(given):
        raise UsageError(f"{given!r} looks like a file, but there is none; give a path or the text")
    return _checked("text", os.fsencode(given))


def from_root(issue: "Issue", folder: Path, root: Path) -> "Issue":
    """The issue with ids of tests as the repository has them, whose files are found from `folder`, where the user is."""
    return replace(
        issue, tests=tuple(_id_from_root(t, folder.resolve(), root) for t in issue.tests)
    )


def _id_from_root(test: str, folder: Path, root: Path) -> str:
    file, sign, rest = test.partition("::")
    path = Path(os.path.normpath(folder / file))
    if not file or not path.is_relative_to(root) or not _stands(path):
        return test
    return f"{path.relative_to(root).as_posix()}{sign}{rest}"


def read_profile(given: str | None) -> str | None:
    """The profile as given.

    Raises:
        UsageError: There is none of that name.
    """
    from surefoot.vocabulary import Profile

    if given is not None and given not in list(Profile):
        raise UsageError(f"there is no profile {given!r}; it is one of {', '.join(Profile)}")
    return given


def read_strategy(given: str | None) -> str | None:
    """The strategy as given.

    Raises:
        UsageError: There is none of that name.
    """
    if given not in (None, "auto", "repair", "agent"):
        raise UsageError(f"there is no strategy {given!r}; it is repair, agent or auto")
    return given


def _is_file(given: str) -> bool:
    """Whether an issue is the name of a file, be it of one that may not be looked at; empty would be the folder itself."""
    return given != "" and _stands(Path(given), hidden=_reads_like_file(given))


def _stands(path: Path, *, hidden: bool = False) -> bool:
    """Whether something is there; `hidden`: what to say where one may not look. Any text may be asked about, of any length."""
    try:
        path.stat()
    except PermissionError:
        return hidden
    except OSError:
        return False
    return True


def _reads_like_file(given: str) -> bool:
    plain = not any(sign in given for sign in " \n")
    return plain and ("/" in given or given.endswith((".md", ".txt")))


def _read(path: Path, most: int = _MOST_ISSUE_BYTES + 1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except IsADirectoryError:
        raise UsageError(f"{str(path)!r} is a folder and cannot be read; name a file") from None
    except OSError as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}") from None


def _checked(source: str, data: bytes) -> "Issue":
    from surefoot.values import Issue

    if len(data) > _MOST_ISSUE_BYTES:
        raise UsageError(f"the issue is larger than {_MOST_ISSUE_BYTES} bytes; shorten it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"the issue is not UTF-8 text (byte {error.start}); convert it") from None
    if not text.strip():
        raise UsageError("the issue is empty; say what is wrong, or give nothing to audit")
    return Issue(
        source="stdin" if source == "stdin" else "file" if source == "file" else "text", text=text
    )


def _from_sarif(path: Path, root: Path) -> "Issue":
    from surefoot.findings import sarif_to_findings
    from surefoot.findings.sarif import MAX_BYTES
    from surefoot.values import Issue

    data = _read(path, MAX_BYTES + 1)
    return Issue(source="sarif", findings=sarif_to_findings(data, root=root))

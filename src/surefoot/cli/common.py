"""What every command shares: places, the error boundary, and how things are printed."""

import errno
import functools
import getpass
import json
import os
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, ParamSpec

import typer

from surefoot.cli.screen import print_text
from surefoot.errors import (
    AcceptError,
    DisagreedError,
    LockedError,
    PlanRefusedError,
    SettingsError,
    SurefootError,
    UsageError,
)
from surefoot.vocabulary import is_unicode

if TYPE_CHECKING:
    from surefoot.assembly import Surroundings
    from surefoot.kernel.ports import Person, Progress
    from surefoot.project import Places, Project

P = ParamSpec("P")
_DISK = frozenset({errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES})
NO = 10
"""Exit code of a command whose answer is no."""
CANCELLED = 11
"""Exit code of a command that was interrupted."""

RepoOption = Annotated[
    Path, typer.Option("--repo", help="A path inside the git repository.", show_default="here")
]
RunArgument = Annotated[
    str | None, typer.Argument(help="A run's id, or a unique end of it; the last run if left out.")
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust", help="Of a bundle: run what its settings say, with what its run was allowed."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, last.")]


def command(body: Callable[P, None]) -> Callable[P, None]:
    """Give a command the error boundary: one sentence with the mend, and the exit code of the vocabulary."""
    return _bounded(body, exit_code_of, broken=1)


def checker(body: Callable[P, None]) -> Callable[P, None]:
    """The same for a command of which 1 means that something is wrong: whatever kept it from answering is 2."""
    return _bounded(body, lambda _: 2, broken=2)


def _bounded(
    body: Callable[P, None], exit_code: Callable[[SurefootError], int], *, broken: int
) -> Callable[P, None]:
    @functools.wraps(body)
    def bounded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            _require_text(kwargs)
            body(*args, **kwargs)
        except SurefootError as error:
            _refuse(str(error), error.code, exit_code(error), json=kwargs.get("json") is True)
        except BrokenPipeError:
            # The reader of our output went away (`surefoot events | head`): that is its right.
            _give_up_output()
            raise typer.Exit(broken) from None
        except OSError as error:
            if error.errno not in _DISK:
                raise
            where = error.filename or "the disk"
            told = (
                f"{where} cannot be written: {error.strerror}; "
                "free some space or make it writable, or set SUREFOOT_HOME to another place"
            )
            _refuse(told, "disk", broken, json=kwargs.get("json") is True)

    return bounded


def _give_up_output() -> None:
    """Let what standard output still holds, and what comes, go nowhere: nobody can read it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _require_text(given: Mapping[str, object]) -> None:
    """Refuse what is no text before anything is done with it; what names a file that is there may be any bytes."""
    for value in given.values():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and not is_unicode(text) and not os.path.lexists(text):
                raise UsageError(f"{text!r} is not UTF-8 text; convert it")


def _refuse(told: str, kind: str, exit_code: int, *, json: bool) -> NoReturn:
    """One sentence for people, and one object for a program that asked for one."""
    print_text(f"surefoot: {told}", err=True)
    try:
        if json:
            print_refusal(told, kind, exit_code)
        sys.stdout.flush()
    except OSError:  # it is our output that finds no room; standard error has told it
        _give_up_output()
    raise typer.Exit(exit_code) from None


def print_refusal(told: str, kind: str, exit_code: int) -> None:
    """The object of a command that was refused."""
    status = {NO: "blocked", CANCELLED: "cancelled"}.get(exit_code, "error")
    print_json({"schema": 1, "status": status, "reason": told, "error": kind})


def exit_code_of(error: SurefootError) -> int:
    """The vocabulary's: usage is 2, a no is 10, and what kept the command from answering is 1."""
    if isinstance(error, UsageError | SettingsError):
        return 2 if isinstance(error, UsageError) else 1
    return (
        NO
        if isinstance(error, AcceptError | DisagreedError | LockedError | PlanRefusedError)
        else 1
    )


def places() -> "Places":
    """Where state and model live for this user; `SUREFOOT_HOME` puts both into one folder."""
    import platformdirs  # imported where used, so that --help stays instant

    from surefoot.project import Places

    home = os.environ.get("SUREFOOT_HOME")
    if home:
        return Places(state=Path(home) / "state", cache=Path(home) / "cache")
    return Places(
        state=platformdirs.user_state_path("surefoot"),
        cache=platformdirs.user_cache_path("surefoot"),
    )


def require_bundle(bundle: Path | None, *, trust: bool) -> None:
    """Refuse trust where there is nothing to trust: a run of one's own goes by the repository's settings.

    Raises:
        UsageError: `--trust` stands alone.
    """
    if trust and bundle is None:
        raise UsageError("--trust is about a bundle; give --bundle FILE, or leave it out")


def user_name() -> str:
    """Who is at work; by number where the system has no name for them, as in many containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # before Python 3.13, and from it on
        return f"uid {os.getuid()}"


def open_here(repo: Path) -> "Project":
    """The project that a path lies in."""
    from surefoot.project import open_project

    return open_project(repo, places())


def surroundings(person: "Person", progress: "Progress") -> "Surroundings":
    """The real clock, ids and environment."""
    from surefoot.assembly import Surroundings

    return Surroundings.real(os.environ, person, progress)


def to_write(path: Path | None) -> Path | None:
    """A file that an option asks to be written, refused before the work where it could not be."""
    if path is not None and (why := _unwritable(path)):
        raise typer.BadParameter(
            f"{path} cannot be written: {why}; name a file in a folder that is there"
        )
    return path


def _unwritable(path: Path) -> str:
    """Why a file cannot be made there, empty where it can; what only the writing shows is told then."""
    try:
        return "it is a folder" if stat.S_ISDIR(path.stat().st_mode) else ""
    except (FileNotFoundError, NotADirectoryError):
        return "" if path.absolute().parent.is_dir() else f"there is no folder {path.parent}"
    except OSError as error:
        return str(error.strerror)


def print_canonical(line: bytes) -> None:
    """A line of a ledger as it stands there; escaped where standard output's encoding lacks characters."""
    text = line.decode()
    sys.stdout.write(f"{text if _says_all() else json.dumps(json.loads(text))}\n")


def print_json(value: object) -> None:
    """One JSON object on one line, the last of standard output; escaped where its encoding lacks characters."""
    sys.stdout.write(json.dumps(value, ensure_ascii=not _says_all()) + "\n")
    sys.stdout.flush()


def _says_all() -> bool:
    """Whether standard output's encoding has all characters."""
    return sys.stdout.encoding.lower() in ("utf-8", "utf8")

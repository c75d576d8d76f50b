"""One language server that is at work on one worktree, told of every file that changes in it."""

import importlib.util
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from surefoot.errors import UsageError
from surefoot.kernel.ports import Clock, Processes
from surefoot.plain_files import read_plain
from surefoot.toolbox.lsp.client import (
    Fields,
    LanguageClient,
    ServerRefusalError,
    ServerTroubleError,
)
from surefoot.toolbox.lsp.languages import Language
from surefoot.toolbox.lsp.text import ENCODINGS, Encoding
from surefoot.toolbox.places import locate
from surefoot.toolbox.programs import Program, Programs
from surefoot.values import Command, Limits

RELAY: Final = Path(__file__).parent / "inside" / "relay.py"
LIFE_S: Final = 24 * 3600.0
# No bound on address space: Node, Go and the JVM reserve many times what they use.
LIMITS: Final = Limits(wall_s=LIFE_S, cpu_s=None, memory_bytes=None, output_bytes=64 * 1024**2)
LEFT_OUT: Final = frozenset({"node_modules", "venv", "__pycache__", "target"})
"""Folders of things that were made or installed; those with a dot are left out too."""
_PIECES_S: Final = 0.5
"""A server that publishes diagnostics of its own accord may do so in pieces; this long a silence is their end."""
_CREATED, _CHANGED, _DELETED = 1, 2, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a server may take, seconds."""

    start_s: float = 60.0
    """To start, and to read the project when it tells of that."""
    answer_s: float = 60.0
    """To answer one question."""
    settle_s: float = 1.0
    """It counts as ready when it has been silent for so long after it was shown a file."""


PATIENCE: Final = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """What a server was last told of an open file."""

    version: int
    text: str


class Session:
    """A server from its start to its end. `ServerTroubleError` from any method means that it is of no more use."""

    def __init__(
        self,
        language: Language,
        root: Path,
        *,
        client: LanguageClient,
        clock: Clock,
        patience: Patience,
    ) -> None:
        """`root` is the worktree."""
        self.language = language
        self.root = root
        self.encoding: Encoding = "utf-16"
        """How columns are counted."""
        self.has_begun = False
        self._client = client
        self._clock = clock
        self._patience = patience
        self._has_pull_diagnostics = False
        self._documents: dict[str, _Document] = {}
        self._files: dict[str, tuple[int, int]] = {}

    def begin(self, options: Mapping[str, object]) -> None:
        """Shake hands, and wait while it reads the project."""
        uri = self.root.as_uri()
        params = {
            "processId": None,
            "clientInfo": {"name": "surefoot"},
            "rootUri": uri,
            "workspaceFolders": [{"uri": uri, "name": self.root.name}],
            "capabilities": _CAPABILITIES,
            "initializationOptions": options,
        }
        match self._client.ask("initialize", params, self._patience.start_s):
            case {"capabilities": dict(capabilities)}:
                encoding = capabilities.get("positionEncoding", "utf-16")
                self._has_pull_diagnostics = bool(capabilities.get("diagnosticProvider"))
            case answer:
                raise ServerTroubleError(f"shook hands with {str(answer)[:200]!r}")
        if encoding not in ENCODINGS:
            raise ServerTroubleError(f"counts columns in {encoding!r}, which nobody offered")
        self.encoding = encoding
        self._files = dict(self._walk())
        self._client.tell("initialized", {})
        self.has_begun = True

    def show(self, path: str) -> bool:
        """Tell of all that changed since the last time, and open a file of the worktree.

        True when the server is at work on nothing, for which it is given time; false when it still is after that.

        Raises:
            UsageError: The file is not UTF-8.
        """
        self._tell_of_files()
        for opened in [*self._documents]:
            self._tell_of_document(opened)
        text = read_text(self.root, path)
        if path not in self._documents:
            suffix = Path(path).suffix.lower()
            item = {
                "uri": self.uri(path),
                "languageId": self.language.ids[suffix],
                "version": 1,
                "text": text,
            }
            self._documents[path] = _Document(version=1, text=text)
            self._client.tell("textDocument/didOpen", {"textDocument": item})
            self._settle()
        return self._client.await_rest(self._patience.start_s)

    def ask(self, method: str, params: Fields) -> object:
        """As `LanguageClient.ask`."""
        return self._client.ask(method, params, self._patience.answer_s)

    def diagnostics(self, path: str) -> object:
        """The diagnostics of an open file, as the server gave them."""
        if self._has_pull_diagnostics:
            params = {"textDocument": {"uri": self.uri(path)}}
            match self.ask("textDocument/diagnostic", params):
                case {"items": items}:
                    return items
                case answer:
                    raise ServerTroubleError(f"gave diagnostics that are none: {answer!r:.200}")
        return self._pushed(path)

    def _pushed(self, path: str) -> object:
        """What the server publishes when it is sent the file once more, with what it adds soon after."""
        uri = self.uri(path)
        self._client.published.pop(uri, None)
        self._send_text(path, self._documents[path].text)
        version = self._documents[path].version
        until = self._clock.monotonic() + self._patience.answer_s
        while True:
            found = self._client.published.get(uri)
            is_fresh = found is not None and found.version in (None, version)
            left = until - self._clock.monotonic()
            if left > 0 and self._client.listen(_PIECES_S if is_fresh else left):
                continue
            if found is None or not is_fresh:
                within = f"{self._patience.answer_s:g} s"
                raise ServerTroubleError(f"gave no diagnostics of {path!r} within {within}")
            return found.items

    def stop(self) -> None:
        """End the server."""
        self._client.stop()

    def uri(self, path: str) -> str:
        """Of a path of the worktree."""
        return (self.root / path).as_uri()

    def files(self) -> Iterator[str]:
        """Files of the language in the worktree, sorted."""
        return iter(sorted(self._files))

    def _settle(self) -> None:
        """Wait while it reads the project, which it begins to tell of after its start, or when it is shown a file."""
        if self.language.reads_ahead:
            until = self._clock.monotonic() + self._patience.start_s
            while self._client.listen(self._patience.settle_s):
                left = until - self._clock.monotonic()
                if left <= 0 or not self._client.await_rest(left):
                    return

    def _tell_of_files(self) -> None:
        """Changes on the disk, of which some servers learn in no other way."""
        now = dict(self._walk())
        kinds = {path: _DELETED for path in self._files if path not in now}
        for path, stamp in now.items():
            if stamp != self._files.get(path):
                kinds[path] = _CHANGED if path in self._files else _CREATED
        self._files = now
        if kinds:
            changes = [{"uri": self.uri(path), "type": kind} for path, kind in kinds.items()]
            self._client.tell("workspace/didChangeWatchedFiles", {"changes": changes})

    def _tell_of_document(self, path: str) -> None:
        try:
            text = read_text(self.root, path)
        except UsageError:
            del self._documents[path]
            item = {"textDocument": {"uri": self.uri(path)}}
            self._client.tell("textDocument/didClose", item)
            return
        if text != self._documents[path].text:
            self._send_text(path, text)

    def _send_text(self, path: str, text: str) -> None:
        version = self._documents[path].version + 1
        self._documents[path] = _Document(version=version, text=text)
        params = {
            "textDocument": {"uri": self.uri(path), "version": version},
            "contentChanges": [{"text": text}],
        }
        self._client.tell("textDocument/didChange", params)

    def _walk(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Path, and time and size, of each file of the language."""
        for folder, folders, names in os.walk(self.root):
            folders[:] = [n for n in folders if n not in LEFT_OUT and not n.startswith(".")]
            for name in names:
                path = Path(folder, name)
                if path.suffix.lower() not in self.language.ids:
                    continue
                relative = path.relative_to(self.root).as_posix()
                if (found := _regular(self.root, relative)) is not None:
                    yield relative, (found.st_mtime_ns, found.st_size)


_CAPABILITIES: Final = {
    "general": {"positionEncodings": list(ENCODINGS)},
    "window": {"workDoneProgress": True},
    "workspace": {
        "configuration": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True},
        "workspaceFolders": True,
    },
    "textDocument": {
        "definition": {"linkSupport": False},
        "diagnostic": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "publishDiagnostics": {"versionSupport": True},
        "references": {},
        "rename": {"prepareSupport": False},
        "synchronization": {},
    },
}


def read_text(root: Path, path: str) -> str:
    """The text of a file, its line ends as they are.

    Raises:
        UsageError: It is gone, no plain file, not UTF-8, or a link that leads out of the worktree: here no fence stands before it.
    """
    where = locate(root, path).where
    try:
        return read_plain(where).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path!r} is not UTF-8, in which columns are counted: {error}") from None
    except OSError as error:
        raise UsageError(f"{path!r} cannot be read: {error.strerror}") from None


def _regular(root: Path, path: str) -> os.stat_result | None:
    """Of a regular file, or of a link to one in the worktree; None of anything else."""
    try:
        found = (root / path).lstat()
        if stat.S_ISLNK(found.st_mode):
            found = locate(root, path).where.stat()
    except (OSError, UsageError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def path_of(uri: str, root: Path) -> str | Path:
    """Where a URI leads: a path of the worktree, or one outside of it.

    Raises:
        ServerTroubleError: It is not the URI of a file.
    """
    try:
        parts = urlsplit(uri)
    except ValueError:  # the brackets of a host that is none
        parts = urlsplit("")
    if parts.scheme != "file" or not parts.path.startswith("/"):
        raise ServerTroubleError(f"named {uri[:200]!r}, which is not the URI of a file")
    path = Path(os.path.normpath(unquote(parts.path, errors="surrogateescape")))
    for top in (root, root.resolve()):
        if path.is_relative_to(top):
            return path.relative_to(top).as_posix()
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """Starts servers inside the fence."""

    processes: Processes
    clock: Clock
    programs: Programs
    project_python: Path | None
    reads: tuple[Path, ...]
    patience: Patience

    def start(self, language: Language, root: Path) -> Session:
        """A server at work.

        Raises:
            UsageError: It is not installed; the message says how that is mended.
            SandboxError: It cannot be enclosed.
            ServerTroubleError: It did not come up.
        """
        program = self._program(language, root)
        if program is None:
            raise UsageError(
                f"{language.server}, the language server for this file, is not installed, so nothing was looked up; "
                f"{language.install}"
            )
        command = Command(
            argv=(sys.executable, "-I", str(RELAY), *program.argv),
            cwd=root,
            env=program.env,
            reads=(root, RELAY, *program.reads),
            limits=LIMITS,
        )
        client = LanguageClient(self.processes.start(command), self.clock)
        session = Session(language, root, client=client, clock=self.clock, patience=self.patience)
        try:
            session.begin(self._options(language))
        except (ServerTroubleError, ServerRefusalError) as error:
            mend = f"it did not start; if it is not wholly installed, {language.install}"
            raise ServerTroubleError(f"{error}; {mend}") from None
        finally:
            if not session.has_begun:
                client.stop()
        return session

    def _program(self, language: Language, root: Path) -> Program | None:
        if language.module:
            if importlib.util.find_spec(language.module) is None:
                return None
            argv = (sys.executable, *language.argv)
            return Program(argv=argv, env={"LC_ALL": "C.UTF-8"}, reads=self.reads)
        found = self.programs.find(language.argv, root)
        return found and self.programs.with_help(found, language.companions, language.folders)

    def _options(self, language: Language) -> Mapping[str, object]:
        if not language.module or self.project_python is None:
            return {}
        return {"workspace": {"environmentPath": str(self.project_python)}}

"""The tool `lsp`: what a language server knows of a name, in any language whose server is installed."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from surefoot.errors import SandboxError, UsageError
from surefoot.kernel.ports import Clock, Processes, Workspace
from surefoot.toolbox.lsp import questions
from surefoot.toolbox.lsp.client import ServerRefusalError, ServerTroubleError
from surefoot.toolbox.lsp.languages import Language, language_of
from surefoot.toolbox.lsp.questions import Name
from surefoot.toolbox.lsp.session import PATIENCE, Patience, Session, Starter, read_text
from surefoot.toolbox.lsp.text import Lines, word
from surefoot.toolbox.places import existing
from surefoot.toolbox.programs import Programs
from surefoot.toolbox.specs import failed, number, spec, text
from surefoot.values import ToolOutcome, ToolSpec

_SPEC: Final = spec(
    "lsp",
    "Asks the language server about a name: its definition, all references, its type and documentation (hover), a rename "
    "in all files, or the diagnostics of a file; use it where the meaning of a name counts and not its text.",
    "write",
    parameters={
        "action": {"enum": ["definition", "references", "hover", "diagnostics", "rename"]},
        "path": {"type": "string", "description": "file, relative to the repository"},
        "line": {
            "type": "integer",
            "minimum": 1,
            "description": "line on which the name stands; not for diagnostics",
        },
        "symbol": {"type": "string", "minLength": 1, "description": "the name on that line"},
        "new_name": {"type": "string", "minLength": 1, "description": "for rename"},
    },
    required=("action", "path"),
    example={"action": "references", "path": "shop/cart.py", "line": 12, "symbol": "total"},
)
SPEC: Final = replace(_SPEC, looks=True)


class LanguageServers:
    """The tool `lsp`. A server stays open from the first question in its language to `close`; one thread at a time."""

    def __init__(
        self,
        processes: Processes,
        *,
        clock: Clock,
        programs: Programs,
        own: Sequence[Language] = (),
        project_python: Path | None = None,
        reads: tuple[Path, ...] = (),
        patience: Patience = PATIENCE,
    ) -> None:
        """`own` languages go before those that are known here.

        `project_python` has what the project imports, and needs `reads`; None: what Surefoot itself has.
        """
        self._own = tuple(own)
        self._starter = Starter(
            processes=processes,
            clock=clock,
            programs=programs,
            project_python=project_python,
            reads=reads,
            patience=patience,
        )
        self._sessions: dict[Language, Session] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all servers; a later question would start one again."""
        with ExitStack() as stack:
            for session in self._sessions.values():
                stack.callback(session.stop)
            self._sessions.clear()

    @property
    def spec(self) -> ToolSpec:
        """As `Tool.spec`."""
        return SPEC

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        """As `Tool.run`."""
        try:
            path = existing(workspace.path, text(parameters, "path") or "").path
            language = language_of(path, self._own)
            name = _name(workspace.path, path, parameters)
            return self._ask(language, path, name, parameters, workspace)
        except (UsageError, SandboxError) as error:
            return failed(error)

    def _ask(
        self,
        language: Language,
        path: str,
        name: Name | None,
        parameters: Mapping[str, object],
        workspace: Workspace,
    ) -> ToolOutcome:
        try:
            session = self._session(language, workspace.path)
            is_ready = session.show(path)
            if name is None:
                outcome = questions.diagnostics(session, path)
            else:
                outcome = _answer(session, name, parameters, workspace)
        except ServerRefusalError as error:
            return failed(f"{language.server} refused: {error}")
        except ServerTroubleError as error:
            self._drop(language)
            return failed(
                f"{language.server} {error}; nothing was learnt or changed, and the next call starts it anew"
            )
        except SandboxError:
            self._drop(language)
            raise
        if is_ready:
            return outcome
        note = f"{language.server} is still reading the project, so there may be more."
        return replace(outcome, output=f"{outcome.output}\n{note}")

    def _session(self, language: Language, root: Path) -> Session:
        session = self._sessions.get(language)
        if session is not None and session.root != root:
            self._drop(language)
            session = None
        if session is None:
            session = self._starter.start(language, root)
            self._sessions[language] = session
        return session

    def _drop(self, language: Language) -> None:
        session = self._sessions.pop(language, None)
        if session is not None:
            session.stop()


def _answer(
    session: Session, name: Name, parameters: Mapping[str, object], workspace: Workspace
) -> ToolOutcome:
    match parameters["action"]:
        case "definition":
            return questions.definition(session, name)
        case "references":
            return questions.references(session, name)
        case "hover":
            return questions.hover(session, name)
        case _:
            return questions.rename(session, name, text(parameters, "new_name"), workspace)


def _name(root: Path, path: str, parameters: Mapping[str, object]) -> Name | None:
    """Where the name stands; None where no name is asked about.

    Raises:
        UsageError: It is not given, or not on that line; the message says where it is.
    """
    if parameters["action"] == "diagnostics":
        return None
    symbol, line = text(parameters, "symbol"), number(parameters, "line")
    if symbol is None or line is None:
        raise UsageError("this action needs `line` and `symbol`, a name that stands on that line")
    pattern, lines = word(symbol), Lines(read_text(root, path))
    match = pattern.search(lines[line - 1]) if line <= len(lines) else None
    if match is None:
        found = [str(n + 1) for n in range(len(lines)) if pattern.search(lines[n])]
        where = f"it is on {', '.join(found[:10])}" if found else "it is on no line of that file"
        raise UsageError(f"{symbol!r} does not stand on line {line} of {path!r}; {where}")
    last = symbol.rpartition(".")[2] or symbol
    return Name(path=path, line=line - 1, index=match.end() - len(last), text=last)

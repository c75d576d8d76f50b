"""Commands as a tree below each program, whatever framework made them."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from surefoot.preflight.flow import At
from surefoot.preflight.routes.graph import Unread, line_of

_DEEPEST: Final = 8
"""Groups inside groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command that a user can type, or a group of them."""

    words: tuple[str, ...]
    """The program and the names down to this command."""
    options: frozenset[str]
    """With their dashes."""
    inner: tuple[str, ...]
    """Names of its subcommands; empty for a command that does something itself."""
    framework: str
    file: str
    line: int

    @property
    def told(self) -> str:
        """As a user types it."""
        return " ".join(self.words)


@dataclass(slots=True)
class Spec:
    """What is known of a command before its place in the tree is."""

    framework: str
    at: At
    name: str = ""
    options: set[str] = field(default_factory=set)
    is_group: bool = False
    is_inner: bool = False
    """A subcommand (argparse), also where its name cannot be read; never a program."""
    alone: bool = False
    """A group of one command and nothing else is that command (Typer)."""
    help_names: frozenset[str] | None = None
    """What asks for help, here and in commands below that say nothing of it (Click, Typer)."""


@dataclass(slots=True)
class CommandGraph:
    """What was found; filled by one reader a framework."""

    specs: dict[At, Spec] = field(default_factory=dict)
    children: defaultdict[At, dict[str, At]] = field(default_factory=lambda: defaultdict(dict))
    programs: dict[str, At] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)

    def cannot_read(self, at: At, what: str) -> None:
        """Note something that only running the program would tell."""
        note = Unread(file=at.scope.file, line=line_of(at.node), what=what)
        if note not in self.unread:
            self.unread.append(note)

    def commands(self) -> tuple[Command, ...]:
        """Every command of every program, in the order of what is typed."""
        found = [c for name, node in self.programs.items() for c in self._below(node, (name,))]
        return tuple(sorted(found, key=lambda c: c.words))

    def unreached(self) -> tuple[Command, ...]:
        """Commands that no program leads to, under their own names only."""
        reached = {(c.file, c.line) for c in self.commands()}
        inner = {child for names in self.children.values() for child in names.values()}
        found = [
            command
            for node, spec in self.specs.items()
            if node not in inner
            for command in self._below(node, (spec.name or "?",))
        ]
        return tuple(c for c in found if (c.file, c.line) not in reached)

    def _below(
        self, node: At, words: tuple[str, ...], helps: frozenset[str] | None = None
    ) -> Iterator[Command]:
        spec = self.specs[node]
        helps = spec.help_names or helps
        children = self.children.get(node, {})
        if spec.alone and len(children) == 1:
            only = self.specs[next(iter(children.values()))]
            if not only.is_group:
                options = _helped(only.options | spec.options, only.help_names or helps)
                yield _command(only, words, options, ())
                return
        yield _command(spec, words, _helped(spec.options, helps), tuple(children))
        if len(words) < _DEEPEST:
            for name, child in children.items():
                yield from self._below(child, (*words, name), helps)


def _helped(options: set[str], helps: frozenset[str] | None) -> set[str]:
    """Options with other names for help than Click's own."""
    return options if helps is None else (options - {"--help"}) | helps


def _command(
    spec: Spec, words: tuple[str, ...], options: set[str], inner: tuple[str, ...]
) -> Command:
    return Command(
        words=words,
        options=frozenset(options),
        inner=inner,
        framework=spec.framework,
        file=spec.at.scope.file,
        line=line_of(spec.at.node),
    )

"""Whether what a document claims is there: routes that are served, commands and options that are understood."""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from surefoot.preflight.claims import Claim, CommandClaim, RouteClaim, claims_in
from surefoot.preflight.code import Code
from surefoot.preflight.commands import Command, CommandGraph, read_commands
from surefoot.preflight.flow import Flow
from surefoot.preflight.problems import Problem
from surefoot.preflight.routes import ANY, Graph, Route, Unread, matches, read_routes

_PLACEHOLDER: Final = re.compile(r"[A-Z][A-Z0-9_-]*$|<.*>$|[({]|…$|\.{3}$|\*$")
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What a project really serves and understands."""

    routes: tuple[Route, ...]
    unmounted: tuple[Route, ...]
    """Declared, but on a router that no application includes."""
    commands: tuple[Command, ...]
    unreached: tuple[Command, ...]
    """Declared, but in no program's tree."""
    unread: tuple[Unread, ...]
    """What only running the program would tell."""

    @property
    def programs(self) -> frozenset[str]:
        """The first words of all commands."""
        return frozenset(command.words[0] for command in self.commands)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parity:
    """The claims of one document and what is wrong with them."""

    claims: tuple[Claim, ...]
    problems: tuple[Problem, ...]


def take_inventory(code: Code) -> Inventory:
    """Read every route and command from the syntax trees; nothing is imported or run."""
    flow = Flow(code)
    graph: Graph = read_routes(code, flow)
    commands: CommandGraph = read_commands(code, flow)
    mounted, unmounted = graph.mounted(), graph.unmounted()
    return Inventory(
        routes=mounted,
        unmounted=unmounted,
        commands=commands.commands(),
        unreached=commands.unreached(),
        unread=(*graph.unread, *commands.unread, *_unparsed(code)),
    )


def _unparsed(code: Code) -> Iterator[Unread]:
    for file in code.unparsed():
        yield Unread(file=file, line=1, what="the file cannot be read as Python")


def check_parity(
    file: str,
    text: str,
    inventory: Inventory,
    *,
    only_routes: bool = False,
    is_list: bool = False,
) -> Parity:
    """Hold the claims of a document against what is there: of a page, or of a list with one claim a line. `file` names it."""
    programs = frozenset[str]() if only_routes else inventory.programs
    claims = claims_in(text, programs, is_markdown=not is_list)
    found = [
        problem for claim in claims if not claim.marks for problem in _held(file, claim, inventory)
    ]
    return Parity(claims=claims, problems=tuple(found))


def _held(file: str, claim: Claim, inventory: Inventory) -> Iterator[Problem]:
    if isinstance(claim, RouteClaim):
        yield from _route(file, claim, inventory)
    else:
        yield from _command(file, claim, inventory)


def _route(file: str, claim: RouteClaim, inventory: Inventory) -> Iterator[Problem]:
    served = [route for route in inventory.routes if matches(claim.path, route.path)]
    methods = frozenset(method for route in served for method in route.methods)
    missing = [m for m in claim.methods if m not in methods and not methods & ANY]
    if served and not missing:
        return
    if served:
        known = "; ".join(f"{r.told} at {r.file}:{r.line}" for r in served[:_SHOWN])
        yield Problem(
            rule="wrong-method",
            file=file,
            line=claim.line,
            message=f"{','.join(missing)} {claim.path} is not served, but {known}",
            mend="name a method that is, or add the route, or mark the line [NEW]",
        )
        return
    for route in inventory.unmounted:
        if _ends_with(claim.path, route.path):
            yield Problem(
                rule="unmounted-route",
                file=file,
                line=claim.line,
                message=(
                    f"{claim.told} is declared at {route.file}:{route.line}, "
                    "on a router that no application includes"
                ),
                mend="include the router in the application, or mark the line [NEW] or [DEAD]",
            )
            return
    yield Problem(
        rule="missing-route",
        file=file,
        line=claim.line,
        message=f"{claim.told} is served by nothing{_near_routes(claim, inventory)}",
        mend="correct the path, or mark the line [NEW], [FRONTEND], [EXTERNAL] or [DEAD]",
    )


def _ends_with(claimed: str, declared: str) -> bool:
    """Whether a claim is an unmounted route, whatever prefix it would be mounted under."""
    parts = [part for part in claimed.partition("?")[0].split("/") if part]
    return any(matches("/" + "/".join(parts[n:]), declared) for n in range(max(len(parts), 1)))


def _near_routes(claim: RouteClaim, inventory: Inventory) -> str:
    paths = {route.path: route for route in inventory.routes}
    near = difflib.get_close_matches(claim.path, paths, n=_SHOWN)
    told = [f"{paths[p].told} at {paths[p].file}:{paths[p].line}" for p in near]
    unread = [u.told for u in inventory.unread[:_SHOWN]]
    return (f"; there is {' and '.join(told)}" if told else "") + (
        f"; could not be read: {' and '.join(unread)}" if unread else ""
    )


def _command(file: str, claim: CommandClaim, inventory: Inventory) -> Iterator[Problem]:
    by_words = {command.words: command for command in inventory.commands}
    at = by_words.get(claim.words[:1])
    if at is None:
        message = f"there is no program {claim.words[0]!r}"
        yield _missing(file, claim, message, claim.words[0], inventory.programs)
        return
    is_value = False  # whether the word may be the value of the option before it
    for word in claim.words[1:]:
        if word == "--":
            return
        if word.strip("[]").startswith("-"):
            is_value = "=" not in word
            for option in _options(word):
                if not _takes(at, option):
                    message = f"{at.told!r} ({at.file}:{at.line}) takes no {option!r}"
                    yield _missing(file, claim, message, option, at.options, "missing-option")
            continue
        bare = word.strip("[]")
        inner = by_words.get((*at.words, bare))
        if inner is None and at.inner and not is_value:
            if not _PLACEHOLDER.match(bare):
                message = f"{at.told!r} ({at.file}:{at.line}) has no command {bare!r}"
                yield _missing(file, claim, message, bare, at.inner)
            return
        at, is_value = inner or at, False


def _options(word: str) -> Iterator[str]:
    """The options that a word of a claim names: `--a`, `--a=3`, `[--a|--b]`."""
    for part in word.strip("[]").split("|"):
        if part.startswith("-") and part.strip("-"):
            yield part.partition("=")[0].rstrip("]")


def _takes(command: Command, option: str) -> bool:
    if option in command.options or _PLACEHOLDER.match(option.lstrip("-")):
        return True
    # `-n4` and `-xvs` are short options with a value, or several of them.
    return not option.startswith("--") and option[:2] in command.options


def _missing(
    file: str,
    claim: CommandClaim,
    message: str,
    word: str,
    known: frozenset[str] | tuple[str, ...],
    rule: str = "missing-command",
) -> Problem:
    near = difflib.get_close_matches(word, known, n=_SHOWN)
    hint = f"; there is {' and '.join(near)}" if near else ""
    return Problem(
        rule=rule,
        file=file,
        line=claim.line,
        message=f"{claim.told!r}: {message}{hint}",
        mend="correct it, or mark the line [NEW], [EXTERNAL] or [DEAD]",
    )

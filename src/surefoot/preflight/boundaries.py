"""The boundaries that a change touches: public signatures, and calls into other modules of the project (SPEC B9, G2).

Each contract is read from the syntax tree: what the callee takes now, held against every call that certainly reaches it.
A call that cannot be followed (a method of an unknown object) says nothing either way, and neither does a definition that
takes something else than is written there (a decorator's work). A false problem would stop a run for good; of a missed one
tests and types still tell.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.judgements import Boundary
from surefoot.preflight.code import BLOCKS, FUNCTIONS, Code, Function, Imported, Scope, Source
from surefoot.preflight.flow import At, Flow, last_name
from surefoot.preflight.parity import Inventory, check_parity, take_inventory
from surefoot.preflight.problems import Problem
from surefoot.preflight.signatures import (
    Signature,
    bind,
    constructor_of,
    difference,
    signature_of,
)
from surefoot.syntax import dumped, written

_KEEPING: Final = frozenset(
    {
        "abc.abstractmethod",
        "atexit.register",
        "contextlib.asynccontextmanager",
        "contextlib.contextmanager",
        "dataclasses.dataclass",
        "functools.cache",
        "functools.lru_cache",
        "functools.total_ordering",
        "functools.wraps",
        "warnings.deprecated",
        *(
            f"{module}.{name}"
            for module in ("typing", "typing_extensions")
            for name in (
                "deprecated",
                "final",
                "no_type_check",
                "overload",
                "override",
                "runtime_checkable",
            )
        ),
    }
)
"""Decorators of the standard library after which a call binds as it is written."""
_BOUND: Final = frozenset({"classmethod", "staticmethod"})
_ENUMS: Final = ("Enum", "Flag", "Choices")
"""How the names of classes end whose call looks up a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Public:
    """A function, method or class that other modules may use."""

    name: str
    """Dotted from its module."""
    node: Function | ast.ClassDef
    owner: ast.ClassDef | None
    """The class whose method it is."""

    @property
    def signature(self) -> Signature | None:
        """As it is written; of a class what its construction takes."""
        if isinstance(self.node, ast.ClassDef):
            return constructor_of(self.node)
        return signature_of(self.node)


def boundaries(before: Code, after: Code, changed: Sequence[str]) -> tuple[Boundary, ...]:
    """What a change of some files touched, and what it broke; in the order of the files and lines."""
    was, flow = Flow(before), Flow(after)
    found: list[Boundary] = []
    for file in sorted(set(changed) & {*before.files, *after.files}):
        old, new = _publics(before.source(file)), _publics(after.source(file))
        found += [_gone(file, old[name], flow) for name in sorted(old.keys() - new.keys())]
        for name, public in new.items():
            told = _changed(old.get(name), public)
            if told is not None:
                found.append(_signature(file, public, told, (was, flow)))
        source = after.source(file)
        if source is not None:
            found += _new_calls(source, before.source(file), (was, flow))
    return tuple(found)


def claims_broken(before: Code, after: Code, pages: Mapping[str, str]) -> tuple[Boundary, ...]:
    """Claims of documents that held before a change and do not after it; `pages` are texts by path, as they are after.

    What is wrong now is looked for first: an inventory reads the whole project, and most changes need only one.
    """
    if not pages:
        return ()
    now = take_inventory(after)
    wrong = {file: found for file, text in pages.items() if (found := _problems(file, text, now))}
    if not wrong:
        return ()
    then = take_inventory(before)
    return tuple(
        Boundary(
            kind="claim",
            place=f"{problem.file}:{problem.line}",
            contract="a claimed route or command is there",
            problem=problem.message,
        )
        for file, found in sorted(wrong.items())
        for problem in _new(found, _problems(file, pages[file], then))
    )


def _problems(file: str, text: str, inventory: Inventory) -> tuple[Problem, ...]:
    return check_parity(file, text, inventory).problems


def _new(now: Sequence[Problem], then: Sequence[Problem]) -> Iterator[Problem]:
    """Those that were not there before, by rule and line of the page: a message also names places in the code, which move."""
    known = Counter((p.rule, p.line) for p in then)
    for problem in now:
        key = problem.rule, problem.line
        if known[key]:
            known[key] -= 1
        else:
            yield problem


def _publics(source: Source | None) -> dict[str, _Public]:
    return {} if source is None else {p.name: p for p in _public_in(source.tree.body, None)}


def _public_in(body: Sequence[ast.stmt], owner: ast.ClassDef | None) -> Iterator[_Public]:
    for node in body:
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)) or node.name.startswith("_"):
            continue
        if owner is not None and isinstance(node, ast.ClassDef):
            continue
        name = node.name if owner is None else f"{owner.name}.{node.name}"
        yield _Public(name=name, node=node, owner=owner)
        if isinstance(node, ast.ClassDef):
            yield from _public_in(node.body, node)


def _changed(old: _Public | None, new: _Public) -> str | None:
    """How a signature changed, in words; None when it did not, or when it is new and nobody relied on it."""
    if old is None:
        return None
    was, now = old.signature, new.signature
    if was is None or now is None:
        return None
    return difference(was, now)


def _signature(file: str, public: _Public, told: str, sides: tuple[Flow, Flow]) -> Boundary:
    problems = (_problem_of(call, scope, sides) for call, scope in _calls(public, sides[1]))
    return Boundary(
        kind="signature",
        place=f"{file}:{public.node.lineno}",
        contract=f"{public.name}: {told}",
        problem=next(filter(None, problems), ""),
    )


def _calls(public: _Public, flow: Flow) -> Iterator[tuple[ast.Call, Scope]]:
    """The calls that certainly reach a function, class or method, or another definition in its place."""
    for source in flow.code.mentioning([public.node.name]):
        for call, scope in source.calls:
            if any(at.node is public.node for at in flow.certainly(call.func, scope)):
                yield call, scope


def _problem_of(call: ast.Call, scope: Scope, sides: tuple[Flow, Flow]) -> str:
    """Why a call does not bind; empty where the same call of that file did not before the change either."""
    was, flow = sides
    told = _misfit(call, scope, flow)
    source = was.code.source(scope.file) if told else None
    if source is None:
        return told
    same = dumped(call)
    for known, there in source.calls:
        if dumped(known) == same and _misfit(known, there, was):
            return ""
    return told


def _misfit(call: ast.Call, scope: Scope, flow: Flow) -> str:
    """Why a call binds to nothing that it may reach; empty when it does, or when that cannot be read."""
    reason = ""
    for at in flow.certainly(call.func, scope):
        for signature in _taken(call, scope, at, flow):
            bound = bind(call, signature) if signature is not None else None
            if not isinstance(bound, str):
                return ""
            reason = bound
    if not reason:
        return ""
    return f"`{written(call)}` at {scope.file}:{call.lineno} does not bind: {reason}"


def _taken(call: ast.Call, scope: Scope, at: At, flow: Flow) -> Iterator[Signature | None]:
    """What a call's own arguments may bind to where it reaches a definition; None for what cannot be read."""
    func = call.func
    holders = flow.certainly(func.value, scope) if isinstance(func, ast.Attribute) else ()
    if not all(_is_as_written(known, flow) for known in (at, *holders)):
        yield None
    elif isinstance(at.node, ast.ClassDef):
        yield from _constructors(at, at.node, flow)
    elif isinstance(at.node, FUNCTIONS):
        signature = signature_of(at.node)
        decorators = {last_name(d) for d in at.node.decorator_list}
        by_class = any(known.node is at.scope.node for known in holders)
        is_method = isinstance(func, ast.Attribute) and isinstance(at.scope.node, ast.ClassDef)
        is_given = "classmethod" in decorators or not (by_class or "staticmethod" in decorators)
        yield signature.without_first() if is_method and is_given else signature


def _constructors(at: At, node: ast.ClassDef, flow: Flow) -> Iterator[Signature | None]:
    """What a class's call may bind to: each `__init__` of its own, or a dataclass's fields."""
    inside = flow.inside(at)
    if inside is None or _is_made_otherwise(at, flow):
        yield None
        return
    if "__init__" not in inside.names:
        yield constructor_of(node)
    for what, scope in inside.names.get("__init__", ()):
        if isinstance(what, FUNCTIONS) and _is_as_written(At(what, scope), flow):
            yield signature_of(what).without_first()
        else:
            yield None


def _is_as_written(at: At, flow: Flow) -> bool:
    """Whether nothing that decorates a definition may change what a call of it takes."""
    decorators = at.node.decorator_list if isinstance(at.node, BLOCKS) else []
    return all(_keeps(decorator, at.scope, flow) for decorator in decorators)


def _keeps(decorator: ast.expr, scope: Scope, flow: Flow) -> bool:
    func = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(func, ast.Name) and func.id in _BOUND and scope.lookup(func.id) is None:
        return True
    return flow.external(func, scope) in _KEEPING


def _is_made_otherwise(at: At, flow: Flow) -> bool:
    """Whether a class, or one of the project that it is derived from, is not simply made by its `__init__`."""
    for known in flow.lineage(at):
        node, inside = known.node, flow.inside(known)
        if not isinstance(node, ast.ClassDef) or inside is None or "__new__" in inside.names:
            return True
        metaclasses = [k.value for k in node.keywords if k.arg in {"metaclass", None}]
        if any(last_name(m) != "ABCMeta" for m in metaclasses):
            return True
        if any(last_name(base).endswith(_ENUMS) for base in node.bases):
            return True
    return False


def _new_calls(
    source: Source, before: Source | None, sides: tuple[Flow, Flow]
) -> Iterator[Boundary]:
    """Calls into other modules of the project that this file did not make before."""
    flow = sides[1]
    known = {_told(call.func) for call, _ in before.calls} if before is not None else set()
    for call, scope in source.calls:
        name = _told(call.func)
        found = () if name in known else flow.certainly(call.func, scope)
        others = [at for at in found if at.scope.file != source.file]
        if not others:
            continue
        known.add(name)
        *_, signature = _taken(call, scope, others[-1], flow)
        yield Boundary(
            kind="call",
            place=f"{source.file}:{call.lineno}",
            contract=f"{name} is {_shown(others[-1], signature)} in {others[-1].scope.file}",
            problem=_problem_of(call, scope, sides),
        )


def _told(func: ast.expr) -> str:
    return written(func)


def _shown(at: At, signature: Signature | None) -> str:
    name = at.node.name if isinstance(at.node, BLOCKS) else ""
    if signature is None:
        return name
    return f"{name}({', '.join(p.told for p in signature.parameters)})"


def _gone(file: str, public: _Public, flow: Flow) -> Boundary:
    """A public name that is no longer there; broken where another module still takes it from here."""
    problem = ""
    after, source = flow.code, flow.code.source(file)
    is_there = source is not None and flow.may_have(source.scope, public.node.name)
    if public.owner is None and not is_there:
        takers = (
            other.file
            for other in after.mentioning([public.node.name])
            if other.file != file and _takes(other, public.node.name, file, after)
        )
        taker = next(takers, None)
        if taker is not None:
            problem = f"{taker} still imports {public.node.name!r} from {after.module_of(file)}"
    return Boundary(
        kind="gone",
        place=f"{file}:{public.node.lineno}",
        contract=f"{public.name} is gone",
        problem=problem,
    )


def _takes(source: Source, name: str, file: str, code: Code) -> bool:
    """Whether a module imports a name from a file."""
    return any(
        isinstance(seen.what, Imported)
        and seen.what.name == name
        and code.module_file(seen.what.module, source.file) == file
        for scope in source.scopes.values()
        for bound in scope.names.values()
        for seen in bound
    )

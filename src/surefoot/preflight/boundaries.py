"""The boundaries that a change touches: public signatures, and calls into other modules of the project (SPEC B9, G2).

Each contract is read from the syntax tree: what the callee takes now, held against every call that certainly reaches it.
A call that cannot be followed (a method of an unknown object) says nothing either way.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from surefoot.judgements import Boundary
from surefoot.preflight.code import FUNCTIONS, Code, Function, Imported, Scope, Source
from surefoot.preflight.flow import Flow
from surefoot.preflight.parity import Inventory, check_parity, take_inventory
from surefoot.preflight.problems import Problem
from surefoot.preflight.signatures import (
    Signature,
    bind,
    constructor_of,
    difference,
    signature_of,
)
from surefoot.syntax import written


@dataclass(frozen=True, slots=True, kw_only=True)
class _Public:
    """A function, method or class that other modules may use."""

    name: str
    """Dotted from its module."""
    node: Function | ast.ClassDef
    owner: ast.ClassDef | None

    @property
    def signature(self) -> Signature | None:
        """As it is written; of a class what its construction takes."""
        if isinstance(self.node, ast.ClassDef):
            return constructor_of(self.node)
        return signature_of(self.node)


def boundaries(before: Code, after: Code, changed: Sequence[str]) -> tuple[Boundary, ...]:
    """What a change of some files touched, and what it broke; in the order of the files and lines."""
    flow = Flow(after)
    found: list[Boundary] = []
    for file in sorted(set(changed) & {*before.files, *after.files}):
        old, new = _publics(before.source(file)), _publics(after.source(file))
        found += [_gone(file, old[name], after) for name in sorted(old.keys() - new.keys())]
        for name, public in new.items():
            told = _changed(old.get(name), public)
            if told is not None:
                found.append(_signature(file, public, told, flow))
        source = after.source(file)
        if source is not None:
            found += _new_calls(source, before.source(file), flow)
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


def _signature(file: str, public: _Public, told: str, flow: Flow) -> Boundary:
    problems = [p for p in (_misfit(call, public, s) for call, s in _calls(public, flow)) if p]
    return Boundary(
        kind="signature",
        place=f"{file}:{public.node.lineno}",
        contract=f"{public.name}: {told}",
        problem=problems[0] if problems else "",
    )


def _calls(public: _Public, flow: Flow) -> Iterator[tuple[ast.Call, Scope]]:
    for source in flow.code.mentioning([public.node.name]):
        for call, scope in source.calls:
            if _reaches(call, scope, public, flow):
                yield call, scope


def _reaches(call: ast.Call, scope: Scope, public: _Public, flow: Flow) -> bool:
    """Whether a call certainly is one of this function, class, or method of the same class by `self`."""
    if public.owner is None:
        return any(at.node is public.node for at in flow.definitions(call.func, scope))
    func, owner = call.func, scope.owner
    by_self = (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id == "self"
        and func.attr == public.node.name
    )
    return by_self and owner is not None and owner.node is public.owner


def _misfit(call: ast.Call, public: _Public, scope: Scope) -> str:
    signature = public.signature
    if signature is None:
        return ""
    if public.owner is not None and not _is_static(public.node):
        signature = signature.without_first()
    bound = bind(call, signature)
    if not isinstance(bound, str):
        return ""
    return f"`{written(call)}` at {scope.file}:{call.lineno} does not bind: {bound}"


def _is_static(node: Function | ast.ClassDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)


def _new_calls(source: Source, before: Source | None, flow: Flow) -> Iterator[Boundary]:
    """Calls into other modules of the project that this file did not make before."""
    known = {_told(call.func) for call, _ in before.calls} if before is not None else set()
    seen: set[str] = set()
    for call, scope in source.calls:
        name = _told(call.func)
        if name in known or name in seen:
            continue
        for at in flow.definitions(call.func, scope):
            other = at.scope.file
            if other == source.file or isinstance(at.node, ast.expr | ast.Module):
                continue
            seen.add(name)
            callee = _Public(name=at.node.name, node=at.node, owner=None)
            signature = callee.signature
            yield Boundary(
                kind="call",
                place=f"{source.file}:{call.lineno}",
                contract=f"{name} is {_shown(signature) if signature else at.node.name} in {other}",
                problem=_misfit(call, callee, scope),
            )
            break


def _told(func: ast.expr) -> str:
    return written(func)


def _shown(signature: Signature) -> str:
    return f"{signature.name}({', '.join(p.told for p in signature.parameters)})"


def _gone(file: str, public: _Public, after: Code) -> Boundary:
    """A public name that is no longer there; broken where another module still takes it from here."""
    problem = ""
    if public.owner is None:
        takers = (
            source.file
            for source in after.mentioning([public.node.name])
            if source.file != file and _takes(source, public.node.name, file, after)
        )
        taker = next(takers, None)
        if taker is not None and not _binds(after.source(file), public.node.name):
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


def _binds(source: Source | None, name: str) -> bool:
    """Whether a module still has a name, by an import or an assignment."""
    return source is not None and name in source.scope.names

"""What an expression may stand for, followed through names, imports, parameters, returns, loops and lists.

No code runs. Where a value is made at run time in a way that is not followed, nothing is returned for it, and whoever
asks treats that as "cannot be read", never as "is not there".
"""

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from surefoot.preflight.code import (
    BLOCKS,
    FUNCTIONS,
    Code,
    Element,
    Function,
    Imported,
    Parameter,
    Scope,
    Seen,
    Source,
    Untold,
)

Node: TypeAlias = ast.expr | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
_LISTS: Final = (ast.List, ast.Tuple, ast.Set)
_DEEPEST: Final = 40
"""Steps that one value is followed; real programs take less than twenty."""


class At(NamedTuple):
    """A syntax node with the scope that it is read in. Nodes are equal when they are the same node."""

    node: Node
    scope: Scope

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.scope.file}:{getattr(self.node, 'lineno', 1)}"


class Flow:
    """Answers about one project; each answer is worked out once."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self._values: dict[At, tuple[At, ...]] = {}
        self._open: set[At | tuple[At, str]] = set()
        self._cut = 0
        """Answers that were cut short because a value depends on itself; those are not kept."""
        self._callers: dict[Function, tuple[tuple[ast.Call, Scope], ...]] = {}

    def values(self, node: ast.expr, scope: Scope) -> tuple[At, ...]:
        """What an expression may be: definitions, modules, literals, and calls that make something."""
        at = At(node, scope)
        if at in self._values:
            return self._values[at]
        if at in self._open or len(self._open) > _DEEPEST:
            self._cut += 1
            return ()
        cut = self._cut
        self._open.add(at)
        try:
            found = tuple(dict.fromkeys(self._of(node, scope)))
        finally:
            self._open.discard(at)
        if cut == self._cut or not self._open:
            self._values[at] = found
        return found

    def _of(self, node: ast.expr, scope: Scope) -> Iterator[At]:
        if isinstance(node, ast.Name):
            found = scope.lookup(node.id)
            for seen in found[1] if found else ():
                yield from self.seen(seen, node.id)
        elif isinstance(node, ast.Attribute):
            yield from self._attribute(node, scope)
        elif isinstance(node, ast.Call):
            yield from self._called(node, scope)
        elif isinstance(node, ast.IfExp):
            yield from self.values(node.body, scope)
            yield from self.values(node.orelse, scope)
        elif isinstance(node, ast.BoolOp):
            for part in node.values:
                yield from self.values(part, scope)
        elif isinstance(node, ast.NamedExpr | ast.Await | ast.Starred):
            yield from self.values(node.value, scope)
        else:
            yield At(node, scope)

    def seen(self, seen: Seen, name: str) -> Iterator[At]:
        """What one binding may be."""
        what, scope = seen
        if isinstance(what, Imported):
            yield from self._imported(what, scope)
        elif isinstance(what, Parameter):
            yield from self._argument(what, scope)
        elif isinstance(what, Element):
            for element in self.elements(what.of, scope)[0]:
                yield from self.values(element.node, element.scope)  # type: ignore[arg-type]  # elements are expressions
        elif isinstance(what, BLOCKS):
            yield At(what, scope)
        elif not isinstance(what, Untold) and not (isinstance(what, ast.Name) and what.id == name):
            yield from self.values(what, scope)

    def member(self, holder: At, name: str) -> tuple[At, ...]:
        """What a module, a class or an instance of one has under a name."""
        asked = (holder, name)
        if asked in self._open:
            self._cut += 1
            return ()
        self._open.add(asked)
        try:
            return tuple(self._member(holder, name))
        finally:
            self._open.discard(asked)

    def _member(self, holder: At, name: str) -> Iterator[At]:
        node = holder.node
        if isinstance(node, ast.Module):
            inside = self._module(holder.scope.file)
            for seen in inside.scope.names.get(name, ()) if inside else ():
                yield from self.seen(seen, name)
            return
        if isinstance(node, ast.Call):
            for made in self.values(node.func, holder.scope):
                if isinstance(made.node, ast.ClassDef):
                    yield from self.member(made, name)
            return
        if isinstance(node, ast.ClassDef):
            inside = self._module(holder.scope.file)
            names = inside.scopes[node].names if inside else {}
            for seen in names.get(name) or names.get(f"self.{name}") or ():
                yield from self.seen(seen, name)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Iterator[At]:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            owner = scope.owner
            if owner is not None:
                for seen in (
                    owner.names.get(f"self.{node.attr}") or owner.names.get(node.attr) or ()
                ):
                    yield from self.seen(seen, node.attr)
            return
        dotted = _dotted_name(node)
        submodule = self._submodule(dotted, scope) if dotted else None
        if submodule is not None:
            yield submodule
            return
        for holder in self.values(node.value, scope):
            yield from self.member(holder, node.attr)

    def _submodule(self, dotted: str, scope: Scope) -> At | None:
        """The module that `a.b.c` is, where `a` is imported."""
        found = scope.lookup(dotted.partition(".")[0])
        for seen in found[1] if found else ():
            if isinstance(seen.what, Imported) and seen.what.name is None:
                rest = dotted.partition(".")[2]
                at = self._module_at(f"{seen.what.module}.{rest}", scope.file)
                if at is not None:
                    return at
        return None

    def _called(self, node: ast.Call, scope: Scope) -> Iterator[At]:
        functions = [f for f in self.values(node.func, scope) if isinstance(f.node, FUNCTIONS)]
        told = False
        for function in functions:
            for returned, inner in self._returned(function):
                told = True
                yield from self.values(returned, inner)
        if not told:
            yield At(node, scope)

    def _returned(self, function: At) -> Iterator[tuple[ast.expr, Scope]]:
        source = self._module(function.scope.file)
        node = function.node
        if source is None or not isinstance(node, FUNCTIONS):
            return
        for inner in own_nodes(node):
            value = inner.value if isinstance(inner, ast.Return | ast.Yield) else None
            if value is not None and not isinstance(value, ast.Constant):
                yield value, source.scopes[node]

    def _imported(self, what: Imported, scope: Scope) -> Iterator[At]:
        if what.name is None:
            at = self._module_at(what.module, scope.file)
            if at is not None:
                yield at
            return
        module = self._module_at(what.module, scope.file)
        found = self.member(module, what.name) if module else ()
        yield from found
        if not found:
            inner = self._module_at(f"{what.module}.{what.name}", scope.file)
            if inner is not None:
                yield inner

    def _module_at(self, module: str, importer: str) -> At | None:
        file = self.code.module_file(module, importer)
        source = self.code.source(file) if file else None
        return None if source is None else At(source.tree, source.scope)

    def _module(self, file: str) -> Source | None:
        return self.code.source(file)

    def _argument(self, what: Parameter, scope: Scope) -> Iterator[At]:
        """What callers pass for a parameter, and its default."""
        for call, outside in self.callers(what.function, scope.owner):
            given = argument(call, what.function, what.name, is_method=scope.owner is not None)
            if given is not None:
                yield from self.values(given, outside)
        default = default_of(what.function, what.name)
        if default is not None:
            yield from self.values(default, scope)

    def callers(
        self, function: Function, owner: Scope | None
    ) -> tuple[tuple[ast.Call, Scope], ...]:
        """The calls of a plain function, or of a class for its `__init__`; those of other methods are not followed."""
        target = function if owner is None else owner.node
        if owner is not None and function.name != "__init__":
            return ()
        if function not in self._callers and not isinstance(target, ast.Module):
            self._callers[function] = tuple(
                (call, scope)
                for source in self.code.mentioning([target.name])
                for call, scope in source.calls
                if last_name(call.func) == target.name and self._names(call.func, scope, target)
            )
        return self._callers.get(function, ())

    def _names(self, node: ast.expr, scope: Scope, target: Node) -> bool:
        """Whether a name, or a module's attribute, is a definition."""
        if isinstance(node, ast.Name):
            found = scope.lookup(node.id)
            if found is not None and any(seen.what is target for seen in found[1]):
                return True
        return any(value.node is target for value in self._through_imports(node, scope))

    def definitions(self, node: ast.expr, scope: Scope) -> tuple[At, ...]:
        """The functions and classes among what a name is, by definition or by import; parameters are not followed."""
        found = scope.lookup(node.id) if isinstance(node, ast.Name) else None
        direct = [
            At(seen.what, seen.scope)
            for seen in (found[1] if found else ())
            if isinstance(seen.what, BLOCKS)
        ]
        through = self._through_imports(node, scope)
        return (*direct, *(v for v in through if isinstance(v.node, BLOCKS)))

    def _through_imports(self, node: ast.expr, scope: Scope) -> tuple[At, ...]:
        """What a name or attribute is when its first part is imported; nothing else is followed."""
        head = node
        while isinstance(head, ast.Attribute):
            head = head.value
        found = scope.lookup(head.id) if isinstance(head, ast.Name) else None
        if found is None or not all(isinstance(seen.what, Imported) for seen in found[1]):
            return ()
        return self.values(node, scope)

    def certainly(self, node: ast.expr, scope: Scope) -> tuple[At, ...]:
        """All the functions and classes that an expression can be; empty where it can be, or might be, anything else.

        There are several e.g. of overloads, and of the branches of an `if`.
        """
        if isinstance(node, ast.Name):
            found = scope.lookup(node.id)
            return self._all(found[0], node.id) if found else ()
        if not isinstance(node, ast.Attribute):
            return ()
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._methods(node.attr, scope.owner)
        holder = self._holder(node.value, scope)
        return self._all(holder, node.attr) if holder is not None else ()

    @staticmethod
    def _methods(name: str, owner: Scope | None) -> tuple[At, ...]:
        """What `self` has under a name, where that is a method; other attributes are there to be replaced."""
        if owner is None or f"self.{name}" in owner.names:
            return ()
        found = owner.names.get(name, ())
        methods = tuple(At(what, scope) for what, scope in found if isinstance(what, FUNCTIONS))
        return methods if len(methods) == len(found) else ()

    def _all(self, home: Scope, name: str) -> tuple[At, ...]:
        """As `certainly`, of a name in the scope that binds it."""
        asked = (At(home.node, home), f"all {name}")
        if asked in self._open or self._may_bring(home, name):
            return ()
        self._open.add(asked)
        try:
            found = [self._one(seen) for seen in home.names.get(name, ())]
        finally:
            self._open.discard(asked)
        return tuple(dict.fromkeys(at for ats in found for at in ats)) if all(found) else ()

    def _one(self, seen: Seen) -> tuple[At, ...]:
        what, scope = seen
        if isinstance(what, BLOCKS):
            return (At(what, scope),)
        if isinstance(what, Imported) and what.name is not None:
            module = self._module_at(what.module, scope.file)
            return self._all(module.scope, what.name) if module is not None else ()
        # Of an attribute (`get = A.get`) it would have to be known whether it is bound.
        return self.certainly(what, scope) if isinstance(what, ast.Name) else ()

    def _holder(self, node: ast.expr, scope: Scope) -> Scope | None:
        """The scope of the one class or module that an expression certainly is."""
        head = node
        while isinstance(head, ast.Attribute):
            head = head.value
        bound = scope.lookup(head.id) if isinstance(head, ast.Name) else None
        is_one = bound is not None and len({seen.what for seen in bound[1]}) == 1
        found = self.certainly(node, scope)
        if not found and is_one:
            found = self._through_imports(node, scope)
        source = self._module(found[0].scope.file) if len(found) == 1 else None
        if source is None or not isinstance(found[0].node, ast.ClassDef | ast.Module):
            return None
        return source.scopes[found[0].node]

    def may_have(self, module: Scope, name: str) -> bool:
        """Whether a module may have a name: it binds it, makes it by `__getattr__`, or may get it by an `import *`."""
        return not module.names.keys().isdisjoint({name, "__getattr__"}) or self._may_bring(
            module, name
        )

    def _may_bring(self, scope: Scope, name: str) -> bool:
        """Whether an `import *` may bind a name."""
        asked = (At(scope.node, scope), f"* {name}")
        if asked in self._open:
            return False
        self._open.add(asked)
        try:
            return any(
                module is None or self.may_have(module.scope, name)
                for seen in scope.names.get("*", ())
                if isinstance(seen.what, Imported)
                for module in (self._module_at(seen.what.module, scope.file),)
            )
        finally:
            self._open.discard(asked)

    def inside(self, at: At) -> Scope | None:
        """The scope of a definition's own body."""
        source = self._module(at.scope.file)
        return source.scopes[at.node] if source and isinstance(at.node, BLOCKS) else None

    def external(self, node: ast.expr, scope: Scope) -> str | None:
        """The dotted name of something that is imported from outside, or that is derived from such a class."""
        if isinstance(node, ast.Attribute):
            base = self.external(node.value, scope)
            if base is not None:
                return f"{base}.{node.attr}"
        elif not isinstance(node, ast.Name):
            return None
        else:
            found = scope.lookup(node.id)
            for seen in found[1] if found else ():
                name = self._external_of(seen, node.id)
                if name is not None:
                    return name
        return self._base_of(self._through_imports(node, scope))

    def _external_of(self, seen: Seen, name: str) -> str | None:
        what, scope = seen
        if isinstance(what, Imported):
            top = what.module.partition(".")[0]
            if self.code.module_file(top, scope.file) is None:
                return ".".join(part for part in what if part)
        elif isinstance(what, ast.ClassDef):
            return self._base_of((At(what, scope),))
        elif isinstance(what, ast.Attribute) or (isinstance(what, ast.Name) and what.id != name):
            return self.external(what, scope)
        return None

    def _base_of(self, values: tuple[At, ...]) -> str | None:
        """What a project's class is derived from outside the project."""
        for value in values:
            bases = value.node.bases if isinstance(value.node, ast.ClassDef) else ()
            for base in bases:
                found = self.external(base, value.scope)
                if found is not None:
                    return found
        return None

    def lineage(self, at: At) -> tuple[At, ...]:
        """A class with those of the project that it is derived from, the nearest first."""
        found = [at]
        for known in found:
            bases = known.node.bases if isinstance(known.node, ast.ClassDef) else ()
            values = [value for base in bases for value in self.values(base, known.scope)]
            found += [v for v in values if isinstance(v.node, ast.ClassDef) and v not in found]
        return tuple(found)

    def text(self, node: ast.expr | None, scope: Scope) -> str | None:
        """The string that an expression always is; None when that cannot be read."""
        if isinstance(node, ast.JoinedStr):
            return self._joined([self._piece(part, scope) for part in node.values])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self._joined([self.text(node.left, scope), self.text(node.right, scope)])
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name) and node.id == "__name__":
            return self.code.module_of(scope.file)
        if node is None:
            return None
        found = {
            None if value.node is node else self.text(value.node, value.scope)
            for value in self.values(node, scope)
            if isinstance(value.node, ast.expr)
        }
        return found.pop() if len(found) == 1 else None

    def texts(self, node: ast.expr | None, scope: Scope) -> tuple[str, ...]:
        """Every string that an expression may be, e.g. of a loop's variable; empty when one of them cannot be read."""
        if isinstance(node, ast.Name):
            values = self.values(node, scope)
            found = [self.text(v.node, v.scope) for v in values if isinstance(v.node, ast.expr)]
            return () if None in found else tuple(t for t in found if t is not None)
        text = self.text(node, scope)
        return () if text is None else (text,)

    def _piece(self, part: ast.expr, scope: Scope) -> str | None:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        return self.text(inner, scope)

    @staticmethod
    def _joined(parts: list[str | None]) -> str | None:
        known = [part for part in parts if part is not None]
        return "".join(known) if len(known) == len(parts) else None

    def elements(self, node: ast.expr, scope: Scope) -> tuple[list[At], bool]:
        """The element expressions of a list with what is added to it, and whether all of them could be read."""
        asked = (At(node, scope), "elements")
        if asked in self._open:
            self._cut += 1
            return [], True
        self._open.add(asked)
        try:
            found, is_whole = self._elements(node, scope)
        finally:
            self._open.discard(asked)
        return list(dict.fromkeys(found)), is_whole

    def _elements(self, node: ast.expr, scope: Scope) -> tuple[list[At], bool]:
        if isinstance(node, ast.BinOp):
            if not isinstance(node.op, ast.Add):
                return [], False
            left, is_left_whole = self.elements(node.left, scope)
            right, is_right_whole = self.elements(node.right, scope)
            return left + right, is_left_whole and is_right_whole
        found, is_whole = self._grown(node, scope)
        lists = self.values(node, scope)
        for value in lists:
            if isinstance(value.node, _LISTS):
                more, whole = self._members(value.node, value.scope)
            elif isinstance(value.node, ast.BinOp):
                more, whole = self.elements(value.node, value.scope)
            else:
                more, whole = [], False
            found = [*found, *more]
            is_whole = is_whole and whole
        return found, is_whole and bool(lists)

    def _members(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> tuple[list[At], bool]:
        found: list[At] = []
        is_whole = True
        for element in node.elts:
            if isinstance(element, ast.Starred):
                more, whole = self.elements(element.value, scope)
                found += more
                is_whole = is_whole and whole
            else:
                found.append(At(element, scope))
        return found, is_whole

    def _grown(self, node: ast.expr, scope: Scope) -> tuple[list[At], bool]:
        """What `+=`, `append` and `extend` add to a named list, in the scope that binds it and in the one that reads it."""
        if not isinstance(node, ast.Name):
            return [], True
        home = self._home(node.id, scope)
        grown = {id(s): s for s in (scope.block, home) if s is not None}.values()
        found: list[At] = []
        is_whole = True
        for where in grown:
            for added, is_list in where.grown.get(node.id, ()):
                if not is_list:
                    found.append(At(added, where))
                    continue
                more, whole = self.elements(added, where)
                found += more
                is_whole = is_whole and whole
        return found, is_whole

    def _home(self, name: str, scope: Scope) -> Scope | None:
        found = scope.lookup(name)
        if found is None:
            return None
        for seen in found[1]:
            if isinstance(seen.what, Imported) and seen.what.name == name:
                module = self._module_at(seen.what.module, scope.file)
                return module.scope if module else None
        return found[0]


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body, without those of functions, classes and lambdas in it."""
    todo: list[ast.AST] = list(reversed(function.body))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*BLOCKS, ast.Lambda)):
            todo.extend(reversed(list(ast.iter_child_nodes(node))))


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c`; empty when it has no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _dotted_name(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def argument(
    call: ast.Call, function: Function, name: str, *, is_method: bool = False
) -> ast.expr | None:
    """What a call passes for a parameter by position or by name."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    positional = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    is_static = any(last_name(d) == "staticmethod" for d in function.decorator_list)
    if is_method and not is_static:
        positional = positional[1:]
    if name not in positional:
        return None
    index = positional.index(name)
    before = call.args[: index + 1]
    if len(before) <= index or any(isinstance(a, ast.Starred) for a in before):
        return None
    return before[index]


def default_of(function: Function, name: str) -> ast.expr | None:
    """A parameter's default."""
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    pairs = dict(zip(reversed([p.arg for p in positional]), reversed(a.defaults), strict=False))
    found = pairs.get(name)
    if found is not None:
        return found
    only = dict(zip([p.arg for p in a.kwonlyargs], a.kw_defaults, strict=True))
    return only.get(name)


def keyword(call: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    """What a call passes under a name, or at a position of a signature that is not at hand."""
    for given in call.keywords:
        if given.arg == name:
            return given.value
    if position is None or len(call.args) <= position:
        return None
    before = call.args[: position + 1]
    return None if any(isinstance(a, ast.Starred) for a in before) else before[position]

"""Signatures from syntax trees, and whether a call's arguments bind to one."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from surefoot.preflight.annotations import agree
from surefoot.preflight.code import FUNCTIONS, Function
from surefoot.preflight.flow import default_of, last_name
from surefoot.syntax import tree_of, written

_KIND = inspect.Parameter
_MOST_STARRED: Final = 8
"""Elements that one `*expression` of a call is tried with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter."""

    name: str
    kind: "inspect._ParameterKind"
    annotation: str
    """Empty when there is none."""
    default: str | None
    """None when it must be given."""

    @property
    def told(self) -> str:
        """With its stars."""
        if self.kind == _KIND.VAR_POSITIONAL:
            return f"*{self.name}"
        return f"**{self.name}" if self.kind == _KIND.VAR_KEYWORD else self.name

    @property
    def is_starred(self) -> bool:
        """`*args` or `**kwargs`."""
        return self.kind in {_KIND.VAR_POSITIONAL, _KIND.VAR_KEYWORD}


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function takes and gives."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: str
    """Empty when there is no annotation."""
    is_async: bool = False

    def without_first(self) -> "Signature":
        """As a bound method takes it; of `*args` nothing is taken away."""
        has_first = any(p.kind != _KIND.VAR_POSITIONAL for p in self.parameters[:1])
        return Signature(
            name=self.name,
            parameters=self.parameters[has_first:],
            returns=self.returns,
            is_async=self.is_async,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """Which argument of a call goes to which parameter."""

    arguments: Mapping[str, ast.expr]
    """By parameter; what a starred argument may fill is not in it."""


def signature_of(function: Function) -> Signature:
    """A function's signature as it is written, `self` included."""
    return Signature(
        name=function.name,
        parameters=tuple(_parameters(function)),
        returns=written(function.returns) if function.returns else "",
        is_async=isinstance(function, ast.AsyncFunctionDef),
    )


def claimed_signature(text: str) -> tuple[Signature, Function] | None:
    """The signature that a `def …:` without a body is; None when the text is anything else."""
    plain = text.strip()
    body = plain if plain.endswith("...") else f"{plain.removesuffix(':')}: ..."
    tree = tree_of(body)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], FUNCTIONS):
        return None
    return signature_of(tree.body[0]), tree.body[0]


def constructor_of(node: ast.ClassDef) -> Signature | None:
    """What calling a class takes, without `self`: its `__init__` or a dataclass's fields; None when neither can be read."""
    for statement in node.body:
        if isinstance(statement, FUNCTIONS) and statement.name == "__init__":
            found = signature_of(statement).without_first()
            return Signature(name=node.name, parameters=found.parameters, returns=node.name)
    decorator = next((d for d in node.decorator_list if _is_dataclass(d)), None)
    if decorator is None or any(
        last_name(base) not in {"object", "Protocol"} for base in node.bases
    ):
        return None  # a base's fields would come first
    said = decorator.keywords if isinstance(decorator, ast.Call) else []
    options = [k for k in said if k.arg in {"init", "kw_only", None}]
    given = {k.arg: k.value.value for k in options if isinstance(k.value, ast.Constant)}
    if len(given) < len(options) or not given.get("init", True):
        return None
    fields = tuple(_fields(node, is_keyword_only=bool(given.get("kw_only"))))
    if len({p.name for p in fields}) < len(fields):
        return None  # the later one says the default, the earlier one the place
    return Signature(
        name=node.name,
        parameters=tuple(sorted(fields, key=lambda p: p.kind)),
        returns=node.name,
    )


def difference(claimed: Signature, real: Signature) -> str | None:
    """The first difference between a claimed signature and the code's, in words; None when they are equal."""
    names, real_names = [p.told for p in claimed.parameters], [p.told for p in real.parameters]
    if claimed.name != real.name:
        return f"it is named {real.name!r}, not {claimed.name!r}"
    if names != real_names:
        return f"its parameters are ({', '.join(real_names)}), not ({', '.join(names)})"
    pairs = zip(claimed.parameters, real.parameters, strict=True)
    first = next((told for mine, theirs in pairs if (told := _differs(mine, theirs))), None)
    if first is None and not _same_type(claimed.returns, real.returns):
        first = f"it returns {_type(real.returns)}, not {_type(claimed.returns)}"
    if first is None and claimed.is_async != real.is_async:
        first = "it is async" if real.is_async else "it is not async"
    return first


def _differs(mine: Parameter, theirs: Parameter) -> str | None:
    name = f"parameter {theirs.name!r}"
    if mine.kind != theirs.kind:
        return f"{name} is {theirs.kind.description}, not {mine.kind.description}"
    if not _same_type(mine.annotation, theirs.annotation):
        return f"{name} is {_type(theirs.annotation)}, not {_type(mine.annotation)}"
    if mine.default != theirs.default:
        return f"{name} has {_default(theirs)}, not {_default(mine)}"
    return None


def bind(call: ast.Call, signature: Signature) -> Binding | str:
    """Bind a call's arguments by Python's own rules; the reason in words when they do not.

    A `*` or `**` argument may hold anything: the call binds when some content of it does.
    """
    # A name of its own for what no keyword reaches: before Python 3.13, `bind` refuses `f(a=1)` for `def f(a=0, /, **k)`.
    hidden = {
        p.name: f"{p.name}_{index}_positional"
        for index, p in enumerate(signature.parameters)
        if p.kind == _KIND.POSITIONAL_ONLY
    }
    try:
        empty = inspect.Signature(
            [
                inspect.Parameter(
                    hidden.get(p.name, p.name), p.kind, default=p.default or _KIND.empty
                )
                for p in signature.parameters
            ]
        )
    except ValueError as error:
        return f"the signature is none: {error}"
    shown = {inner: name for name, inner in hidden.items()}
    names = [k.arg for k in call.keywords if k.arg is not None]
    if len(set(names)) < len(names):
        return f"{next(n for n in names if names.count(n) > 1)!r} is given twice"
    reason = ""
    for arguments, keywords in _contents(call, signature):
        try:
            bound = empty.bind(*arguments, **keywords)
        except TypeError as error:
            reason = reason or str(error)
            continue
        named = {shown.get(name, name): value for name, value in bound.arguments.items()}
        return Binding(arguments=dict(_given(named, signature)))
    for inner, name in shown.items():
        reason = reason.replace(inner, name)
    return reason


def _contents(
    call: ast.Call, signature: Signature
) -> Iterator[tuple[list[ast.expr | None], dict[str, ast.expr | None]]]:
    """The ways in which starred arguments may be filled, from none to as many as there are parameters; None is their content."""
    stars = sum(isinstance(a, ast.Starred) for a in call.args)
    most = min(len(signature.parameters), _MOST_STARRED)
    given: dict[str, ast.expr | None] = {k.arg: k.value for k in call.keywords if k.arg}
    has_mapping = any(k.arg is None for k in call.keywords)
    for counts in product(range(most + 1), repeat=stars):
        lengths = iter(counts)
        arguments: list[ast.expr | None] = []
        for argument in call.args:
            is_star = isinstance(argument, ast.Starred)
            arguments += [None] * next(lengths) if is_star else [argument]
        more: dict[str, ast.expr | None] = {}
        if has_mapping:
            positional = [p for p in signature.parameters if p.kind != _KIND.KEYWORD_ONLY]
            taken = {p.name for p in positional[: len(arguments)]}
            more = {
                p.name: None
                for p in signature.parameters
                if p.default is None
                and not p.is_starred
                and p.kind != _KIND.POSITIONAL_ONLY
                and p.name not in taken
                and p.name not in given
            }
        yield arguments, given | more


def _given(bound: Mapping[str, object], signature: Signature) -> Iterator[tuple[str, ast.expr]]:
    kinds = {p.name: p.kind for p in signature.parameters}
    for name, value in bound.items():
        if isinstance(value, ast.expr):
            yield name, value
        elif kinds[name] == _KIND.VAR_POSITIONAL and isinstance(value, tuple) and any(value):
            yield name, ast.Tuple(elts=[v for v in value if v is not None], ctx=ast.Load())
        elif kinds[name] == _KIND.VAR_KEYWORD and isinstance(value, dict):
            held = {k: v for k, v in value.items() if v is not None}
            yield name, ast.Dict(keys=[ast.Constant(k) for k in held], values=list(held.values()))


def _parameters(function: Function) -> Iterator[Parameter]:
    a = function.args
    kinds = [
        *((p, _KIND.POSITIONAL_ONLY) for p in a.posonlyargs),
        *((p, _KIND.POSITIONAL_OR_KEYWORD) for p in a.args),
        *((p, _KIND.VAR_POSITIONAL) for p in (a.vararg,) if p),
        *((p, _KIND.KEYWORD_ONLY) for p in a.kwonlyargs),
        *((p, _KIND.VAR_KEYWORD) for p in (a.kwarg,) if p),
    ]
    for node, kind in kinds:
        default = default_of(function, node.arg)
        yield Parameter(
            name=node.arg,
            kind=kind,
            annotation=written(node.annotation) if node.annotation else "",
            default=written(default) if default is not None else None,
        )


def _fields(node: ast.ClassDef, *, is_keyword_only: bool) -> Iterator[Parameter]:
    keyword_only = is_keyword_only
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        annotation = written(statement.annotation)
        if annotation.endswith("KW_ONLY"):
            keyword_only = True
            continue
        value = statement.value
        if "ClassVar" in annotation or _constant(value, "init") is False:
            continue
        told = _constant(value, "kw_only")
        is_last = keyword_only if told is None else told
        kind = _KIND.KEYWORD_ONLY if is_last else _KIND.POSITIONAL_OR_KEYWORD
        yield Parameter(
            name=statement.target.id,
            kind=kind,
            annotation=annotation,
            default=_field_default(value),
        )


def _constant(field: ast.expr | None, option: str) -> bool | None:
    """What a field's call gives for an option, where that is `True` or `False`."""
    keywords = field.keywords if isinstance(field, ast.Call) else []
    given = [
        k.value.value for k in keywords if k.arg == option and isinstance(k.value, ast.Constant)
    ]
    return bool(given[0]) if given else None


def _field_default(value: ast.expr | None) -> str | None:
    if value is None:
        return None
    if isinstance(value, ast.Call) and last_name(value.func) == "field":
        given = [k.value for k in value.keywords if k.arg in {"default", "default_factory", None}]
        return written(given[0]) if given else None
    return written(value)


def _is_dataclass(node: ast.expr) -> bool:
    return last_name(node.func if isinstance(node, ast.Call) else node) == "dataclass"


def _same_type(left: str, right: str) -> bool:
    return left == right or agree(left, right)


def _type(annotation: str) -> str:
    return f"`{annotation}`" if annotation else "unannotated"


def _default(parameter: Parameter) -> str:
    return "no default" if parameter.default is None else f"the default {parameter.default}"

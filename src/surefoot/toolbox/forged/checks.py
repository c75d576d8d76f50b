"""What is wrong with a function and its contract before it is ever run, in one exact sentence."""

import ast
import json
from collections.abc import Iterable, Iterator
from typing import Final

from jsonschema import Draft202012Validator
from referencing import Registry

from surefoot.syntax import tree_of
from surefoot.toolbox import units
from surefoot.toolbox.bounds import named
from surefoot.toolbox.forged.artifact import Artifact
from surefoot.toolbox.misfit import flaw_of

STATE: Final = "state"
"""The parameter by which a function gets its state."""
# What the driver refuses when it runs, told before; the sandbox holds the rest at any level but `none`.
FORBIDDEN: Final = frozenset(
    {
        *(
            "asyncio.subprocess",
            "ctypes",
            "ftplib",
            "http",
            "importlib",
            "imaplib",
            "multiprocessing",
        ),
        *(
            "poplib",
            "pty",
            "smtplib",
            "socket",
            "socketserver",
            "ssl",
            "subprocess",
            "urllib.request",
        ),
    }
)
MOST_CHARACTERS: Final = 20_000
_NOT_BY_NAME: Final = frozenset({"eval", "exec", "compile", "__import__"})


def flaw(artifact: Artifact) -> str:
    """The first thing that is wrong; empty when nothing is."""
    return next(_flaws(artifact), "")


def validator(schema: str) -> Draft202012Validator:
    """Checks values against a schema that was found to be one; what it refers to elsewhere is never fetched."""
    return Draft202012Validator(json.loads(schema), registry=Registry())


def takes_state(source: str, method: str) -> bool:
    """Whether the function asks for its state; False too when it cannot be read."""
    tree = tree_of(source)
    function = None if tree is None else _function(tree, method)
    return function is not None and STATE in _parameters(function)


def _flaws(artifact: Artifact) -> Iterator[str]:
    for what, schema in (("input", artifact.input_schema), ("output", artifact.output_schema)):
        wrong = flaw_of(json.loads(schema))
        if wrong:
            yield f"{what}_schema is no JSON Schema: {wrong}"
    yield from _source(artifact)


def _source(artifact: Artifact) -> Iterator[str]:
    if len(artifact.source) > MOST_CHARACTERS:
        yield f"source has {len(artifact.source)} characters, over {MOST_CHARACTERS}; write less"
        return
    tree = units.tree_of(artifact.source)
    if isinstance(tree, str):
        yield f"source does not parse: {tree}"
        return
    yield from _imports(tree)
    function = _function(tree, artifact.method)
    if function is None:
        yield f"source defines no function {named(artifact.method)} at its top level"
        return
    yield from _signature(function, json.loads(artifact.input_schema))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in _NOT_BY_NAME:
            yield f"line {node.lineno}: a forged tool must not use {node.id}"
        elif isinstance(node, ast.Import):
            yield from _refused(node.lineno, [alias.name for alias in node.names])
        elif isinstance(node, ast.ImportFrom):
            yield from _refused(node.lineno, [f"{node.module}.{a.name}" for a in node.names])


def _refused(line: int, modules: Iterable[str]) -> Iterator[str]:
    for module in modules:
        parts = module.split(".")
        if {".".join(parts[: n + 1]) for n in range(len(parts))} & FORBIDDEN:
            told = "a forged tool starts no program and has no network"
            yield f"line {line}: the import of {named(module)} is refused: {told}"


def _function(tree: ast.Module, method: str) -> ast.FunctionDef | None:
    found = (n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == method)
    return next(found, None)


def _parameters(function: ast.FunctionDef) -> tuple[str, ...]:
    given = function.args
    return tuple(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs))


def _signature(function: ast.FunctionDef, schema: object) -> Iterator[str]:
    """The arguments that the schema lets through are those that the function takes."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield 'input_schema must have "type": "object": its properties are the parameters'
        return
    properties = schema.get("properties", {})
    if STATE in properties:
        yield f"`{STATE}` is the state that a tool keeps, not an argument; leave it out of input_schema"
    if function.args.posonlyargs:
        yield f"{function.name} takes arguments by position only; they are given by name"
    parameters = _parameters(function)
    if function.args.kwarg is None:
        if schema.get("additionalProperties") is not False:
            yield 'input_schema must have "additionalProperties": false'
        extra = sorted(set(properties) - set(parameters))
        if extra:
            yield f"{function.name} has no parameter {named(extra[0])}, which input_schema lets through"
    required = set(schema.get("required", ()))
    for name in _needed(function):
        if name not in required and name != STATE:
            yield f"{function.name} needs {named(name)}, which input_schema does not require"


def _needed(function: ast.FunctionDef) -> tuple[str, ...]:
    """Parameters without a default."""
    given = function.args
    plain = given.args[: len(given.args) - len(given.defaults)]
    keyed = [a for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is None]
    return tuple(a.arg for a in (*plain, *keyed))

"""Which commands a user can start: console scripts, and files that are run as they are."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from surefoot.preflight.code import FUNCTIONS, Code
from surefoot.preflight.commands.argparse import ArgparseReader
from surefoot.preflight.commands.click import ClickReader
from surefoot.preflight.commands.graph import CommandGraph
from surefoot.preflight.commands.typer import TyperReader
from surefoot.preflight.flow import At, Flow, own_nodes
from surefoot.toml_files import parse_toml, table

_DEEPEST: Final = 5
"""Calls from a console script's function to the one that makes or starts the commands."""


def read_commands(code: Code, flow: Flow) -> CommandGraph:
    """Every program of a project with the tree of its commands."""
    graph = CommandGraph()
    typer = TyperReader(code, flow, graph)
    typer.read()
    ClickReader(code, flow, graph).read()
    ArgparseReader(code, flow, graph).read()
    programs = _Programs(code, flow, graph, typer)
    programs.scripts()
    programs.files()
    return graph


class _Programs:
    def __init__(self, code: Code, flow: Flow, graph: CommandGraph, typer: TyperReader) -> None:
        self._code = code
        self._flow = flow
        self._graph = graph
        self._typer = typer
        self._inner = {c for children in graph.children.values() for c in children.values()}
        self._inner |= {at for at, spec in graph.specs.items() if spec.is_inner}

    def scripts(self) -> None:
        """The console scripts of `pyproject.toml`."""
        for name, target in _console_scripts(self._code.text("pyproject.toml") or ""):
            module, _, attribute = target.partition(":")
            file = self._code.module_file(module.strip())
            source = self._code.source(file) if file else None
            if source is None:
                continue
            here = At(source.tree, source.scope)
            for value in self._flow.member(here, attribute.partition("[")[0].strip()):
                found = self._started(value, 0)
                if found is not None:
                    self._graph.programs[name] = found

    def files(self) -> None:
        """What a file starts itself: `python tool.py`, `python -m package`, or a parser's own `prog`."""
        started = set(self._graph.programs.values())
        for node, spec in list(self._graph.specs.items()):
            if node in self._inner or node in started:
                continue
            file = PurePosixPath(node.scope.file)
            text = self._code.text(node.scope.file) or ""
            if spec.framework == "argparse" and spec.name:
                self._graph.programs.setdefault(spec.name, node)
            elif "__main__" in text or file.name == "__main__.py":
                self._graph.programs.setdefault(file.name, node)
                module = self._code.module_of(node.scope.file).removesuffix(".__main__")
                self._graph.programs.setdefault(f"-m {module}", node)

    def _started(self, at: At, depth: int) -> At | None:
        """The command that a console script's object is, or that its function makes or starts."""
        if at in self._graph.specs:
            return at
        if depth > _DEEPEST or not isinstance(at.node, FUNCTIONS):
            return None
        return next((found for found in self._calls(at, depth) if found is not None), None)

    def _calls(self, at: At, depth: int) -> Iterator[At | None]:
        source = self._code.source(at.scope.file)
        if source is None or not isinstance(at.node, FUNCTIONS):
            return
        scope = source.scopes[at.node]
        for call in own_nodes(at.node):
            if not isinstance(call, ast.Call):
                continue
            made = At(call, scope)
            if made in self._graph.specs and made not in self._inner:
                yield made
            if self._typer.is_from_typer(call.func, scope, "run") and call.args:
                for value in self._flow.values(call.args[0], scope):
                    yield self._typer.command(value)
            for value in self._flow.values(call.func, scope):
                yield self._started(value, depth + 1)


def _console_scripts(text: str) -> Iterator[tuple[str, str]]:
    settings = parse_toml(text)
    for place in (("project",), ("tool", "poetry")):
        for name, target in table(settings, *place, "scripts").items():
            if isinstance(target, str):
                yield name, target

"""Which Python files of a tree depend on which, read from their syntax alone.

An import is followed to every file that it may mean, from whatever directory without an `__init__.py` it may start. A
file whose dependencies cannot be read this way, because it imports by computed names, runs text or starts processes, is
opaque: it may depend on everything.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal, TypeAlias

from surefoot.syntax import dumped, tree_of

Opaque: TypeAlias = Literal["", "dynamic", "process"]
"""`dynamic`: what it loads is only known when it runs. `process`: work goes on where nobody watches it."""

_DYNAMIC: Final = frozenset(
    {
        "__import__", "entry_points", "eval", "exec", "exec_module", "find_spec", "import_module", "iter_modules",
        "load_module", "pytest_plugins", "reload", "run_module", "run_path", "spec_from_file_location", "walk_packages",
    }
)  # fmt: skip
_PROCESS_MODULES: Final = frozenset(
    {"asyncio.subprocess", "multiprocessing", "pexpect", "subprocess"}
)
_PROCESS: Final = frozenset(
    {
        "create_subprocess_exec", "create_subprocess_shell", "execv", "fork", "popen", "posix_spawn", "pytester",
        "script_runner", "spawnv", "testdir", "ProcessPoolExecutor",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What one file says about itself."""

    imports: tuple[tuple[int, str], ...] = ()
    """(level of a relative import or 0, dotted name), names of `from` imports included."""
    opaque: Opaque = ""


def read_facts(text: str | None) -> FileFacts:
    """The facts of a file; one that is no text or does not parse is opaque."""
    tree = None if text is None else tree_of(text)
    if tree is None:
        return FileFacts(opaque="dynamic")
    imports: dict[tuple[int, str], None] = {}
    opaque: Opaque = ""
    for node in ast.walk(tree):
        imports |= dict.fromkeys(_imported(node))
        name = _name(node)
        if name in _PROCESS:
            opaque = "process"
        elif name in _DYNAMIC and not opaque:
            opaque = "dynamic"
    if any(level == 0 and _starts_with(name, _PROCESS_MODULES) for level, name in imports):
        opaque = "process"
    return FileFacts(imports=tuple(imports), opaque=opaque)


def _imported(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        yield from ((0, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            parts = [node.module or "", "" if alias.name == "*" else alias.name]
            yield node.level, ".".join(part for part in parts if part)


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
            return name
        case ast.alias(name=name):
            return name.rpartition(".")[2]
        case _:
            return ""


def _starts_with(name: str, modules: Collection[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def same_but_bodies(before: str, after: str) -> bool:
    """Whether two texts differ in nothing but what is inside of functions, so that importing them does the same."""
    trees = tree_of(before), tree_of(after)
    if trees[0] is None or trees[1] is None:
        return False
    return _skeleton(trees[0]) == _skeleton(trees[1])


def _skeleton(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [ast.Pass()]
    return dumped(tree)


class Imports:
    """The dependencies among the files of one tree; paths that are not Python files are in nobody's way."""

    def __init__(self, facts: Mapping[str, FileFacts], is_test: Callable[[str], bool]) -> None:
        self._facts, self._is_test = facts, is_test
        self._by_name: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for path in facts:
            parts = _module(path)
            if parts:
                self._by_name.setdefault(parts[-1], []).append((parts, path))
        self._importers: dict[str, list[str]] = {}
        for path in facts:
            for other in self._needs(path):
                self._importers.setdefault(other, []).append(path)

    def changed(self, facts: Mapping[str, FileFacts | None]) -> "Imports":
        """The same with other facts of some files; None removes one."""
        merged = {**self._facts, **facts}
        return Imports(
            {path: fact for path, fact in merged.items() if fact is not None}, self._is_test
        )

    def __contains__(self, path: str) -> bool:
        return path in self._facts

    def opaque(self, *kinds: Opaque) -> frozenset[str]:
        """Files that are opaque in one of these ways."""
        return frozenset(path for path, fact in self._facts.items() if fact.opaque in kinds)

    def dependents(self, paths: Iterable[str]) -> frozenset[str]:
        """These files, and all that need one of them, directly or not."""
        found, left = set(paths), list(paths)
        while left:
            for importer in self._importers.get(left.pop(), ()):
                if importer not in found:
                    found.add(importer)
                    left.append(importer)
        return frozenset(found)

    def _needs(self, path: str) -> Iterator[str]:
        """What runs when a file is imported or collected: packages around it, conftests of a test, its imports."""
        folder = PurePosixPath(path).parent
        is_test = self._is_test(path)
        for place in (folder, *folder.parents):
            yield from self._present(place / "__init__.py")
            if is_test:
                yield from self._present(place / "conftest.py")
        for level, dotted in self._facts[path].imports:
            names = tuple(part for part in dotted.split(".") if part)
            if level:
                start = (folder, *folder.parents)[min(level - 1, len(folder.parts))].parts
                yield from self._below(start, names)
            else:
                yield from self._anywhere(names)

    def _present(self, path: PurePosixPath) -> Iterator[str]:
        if str(path) in self._facts:
            yield str(path)

    def _below(self, start: tuple[str, ...], names: tuple[str, ...]) -> Iterator[str]:
        for count in range(len(names) + 1):
            base = PurePosixPath(*start, *names[:count])
            yield from self._present(base / "__init__.py")
            if count:
                yield from self._present(base.parent / f"{base.name}.py")

    def _anywhere(self, names: tuple[str, ...]) -> Iterator[str]:
        for count in range(1, len(names) + 1):
            wanted = names[:count]
            for parts, path in self._by_name.get(wanted[-1], ()):
                start = parts[:-count]
                if (
                    parts[-count:] == wanted
                    and "/".join((*start, "__init__.py")) not in self._facts
                ):
                    yield path


def _module(path: str) -> tuple[str, ...]:
    """`a/b.py` and `a/b/__init__.py` as the parts of `a.b`."""
    parts = PurePosixPath(path).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts

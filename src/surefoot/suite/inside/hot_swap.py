"""Puts new function bodies into a process that has already imported a module. Loaded inside the project's interpreter.

Allowed only where the outcome is the one of a fresh import: everything outside function bodies is the same, no changed
function ran while the tests were collected (its old result may have been kept), and each function object that holds old
code is found and can take the new one. Anything else raises `NotSwappableError`, and the caller starts afresh.
"""

from __future__ import annotations

import gc
import os
import types
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Key = tuple[str, int, str]
    Pair = tuple[types.CodeType, types.CodeType, bool]
    """Old code, new code, and whether a function that holds the old one must be found."""

OPTIMIZED = 0x1
"""Flag of function bodies; module and class bodies lack it."""
KINDS = 0x20 | 0x80 | 0x200 | 0x4 | 0x8
"""Flags that callers look at: generator, coroutine, asynchronous generator, *args, **kwargs."""


class NotSwappableError(Exception):
    """The change needs a fresh import; the text says why."""


class Image:
    """The functions of the modules under a root, as they are after collection."""

    def __init__(self, root: str, ran: list[types.CodeType]) -> None:
        self._functions: dict[str, list[types.FunctionType]] = {}
        self._ran: set[Key] = {key_of(code) for code in ran}
        for thing in gc.get_objects():
            kind = type(thing)
            if kind is types.FunctionType:
                path = _real(thing.__code__.co_filename)
                if path.startswith(root + os.sep):
                    self._functions.setdefault(path, []).append(thing)
            elif kind in {types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType}:
                # It goes on with its old code whatever its function gets.
                code = getattr(thing, "gi_code", None) or getattr(thing, "cr_code", None)
                self._ran.add(key_of(code or thing.ag_code))

    def swap(self, path: str, old_source: str, new_source: str) -> None:
        """Give the functions of the module at `path` the bodies of `new_source`."""
        functions = self._functions.get(path)
        if not functions:
            raise NotSwappableError(f"no function of {path} is known")
        filename = functions[0].__code__.co_filename
        # An import drops the byte order mark that a text may begin with; `compile` takes it for code.
        old_text, new_text = old_source.lstrip("\ufeff"), new_source.lstrip("\ufeff")
        old_module = compile(old_text, filename, "exec", dont_inherit=True)
        new_module = compile(new_text, filename, "exec", dont_inherit=True)
        pairs: list[Pair] = []
        self._compare(old_module, new_module, pairs, enclosed=False)
        holders: dict[types.CodeType, list[types.FunctionType]] = {}
        for function in functions:
            holders.setdefault(function.__code__, []).append(function)
        for old, new, needed in pairs:
            for function in holders.get(old, ()):
                _check_doc(function, new)
            if needed and old not in holders:
                raise NotSwappableError(f"nothing holds {old.co_name}")
        for old, new, _needed in pairs:
            for function in holders.get(old, ()):
                function.__code__ = new

    def _compare(
        self, old: types.CodeType, new: types.CodeType, pairs: list[Pair], *, enclosed: bool
    ) -> bool:
        """Collect the functions that get new code; whether more than line numbers changed."""
        if old == new:
            return False
        body = bool(old.co_flags & OPTIMIZED)
        changed = _own(old) != _own(new)
        if changed:
            if not body and not enclosed:
                raise NotSwappableError(f"the change is outside functions, in {old.co_name}")
            if key_of(old) in self._ran:
                raise NotSwappableError(f"{old.co_name} ran while the tests were collected")
            if _face(old) != _face(new):
                raise NotSwappableError(
                    f"{old.co_name} has another signature or other free variables"
                )
        else:
            for inner_old, inner_new in zip(_nested(old), _nested(new)):
                inner = self._compare(inner_old, inner_new, pairs, enclosed=enclosed or body)
                changed = changed or inner
        if body:
            # Inside a function that is held, the new outer code makes the new inner one.
            pairs.append((old, new, changed and not enclosed))
        return changed


@lru_cache(maxsize=4096)
def _real(filename: str) -> str:
    return os.path.realpath(filename)


def key_of(code: types.CodeType) -> Key:
    """What a code object is known by while its module is unchanged."""
    return (_real(code.co_filename), code.co_firstlineno, code.co_name)


def _nested(code: types.CodeType) -> list[types.CodeType]:
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


def _face(code: types.CodeType) -> tuple[Any, ...]:
    """What others see of a function without calling it."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x4) + bool(code.co_flags & 0x8)
    return (
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_posonlyargcount,
        code.co_varnames[:count],
        code.co_freevars,
        code.co_flags & KINDS,
    )


def _own(code: types.CodeType) -> tuple[Any, ...]:
    """A code object without its lines and without what its nested functions do."""
    # Equal constants of different types (1, 1.0, True) must not look the same.
    consts = [
        "code " + const.co_name
        if isinstance(const, types.CodeType)
        # Since 3.13 a class body holds its own line number.
        else "line"
        if "__firstlineno__" in code.co_names and const == code.co_firstlineno
        else _exact(const)
        for const in code.co_consts
    ]
    return (
        code.co_code,
        consts,
        code.co_names,
        code.co_varnames,
        code.co_cellvars,
        code.co_freevars,
        code.co_flags,
        getattr(code, "co_exceptiontable", b""),
        _face(code),
    )


def _exact(const: Any) -> Any:
    if isinstance(const, tuple):
        return ("tuple", *[_exact(item) for item in const])
    if isinstance(const, frozenset):
        return ("frozenset", sorted(repr(_exact(item)) for item in const))
    return (type(const).__name__, repr(const))


def _check_doc(function: types.FunctionType, new: types.CodeType) -> None:
    before = _doc(function.__code__)
    if before is not None and before == function.__doc__ and _doc(new) != before:
        raise NotSwappableError(f"{function.__name__} has another docstring")


def _doc(code: types.CodeType) -> str | None:
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) else None

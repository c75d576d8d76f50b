"""Runs a project's `unittest` tests where the interpreter has no pytest; the same records, ids and controls as the hooks.

Ids are those that pytest would give: `path::Class::method`. Python 3.8 syntax, standard library only.
"""

from __future__ import annotations

import contextlib
import fnmatch
import importlib
import os
import sys
import time
import traceback
import types
import unittest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("test*.py", "*_test.py")
SKIPPED = {"build", "dist", "node_modules", "__pycache__", "site-packages"}


class Failed(Exception):  # noqa: N818  # only its text is shown
    """A failure whose exception is not at hand."""


def files_below(root: str, places: list[str]) -> list[str]:
    """Test files below some places, relative to the root."""
    found = []
    for place in places or ["."]:
        top = os.path.normpath(os.path.join(root, place))
        if os.path.isfile(top):
            found.append(os.path.relpath(top, root))
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(
                f
                for f in folders
                if f not in SKIPPED
                and not f.startswith(".")
                and not os.path.exists(os.path.join(folder, f, "pyvenv.cfg"))
            )
            kept = (n for n in sorted(names) if any(fnmatch.fnmatch(n, p) for p in NAMES))
            found += [os.path.relpath(os.path.join(folder, name), root) for name in kept]
    return list(dict.fromkeys(found))


def load(root: str, path: str) -> types.ModuleType:
    """Import a test file as pytest does: from the first directory above it that is no package."""
    folder, name = os.path.split(os.path.join(root, path))
    parts = [name[:-3]]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.import_module(".".join(parts))
    found = getattr(module, "__file__", None) or ""
    if os.path.realpath(found) != os.path.realpath(os.path.join(root, path)):
        raise ImportError(
            f"{module.__name__} is {found}, not {path}: outside of packages no two test files may have one name"
        )
    return module


def flat(suite: Any) -> list[Any]:
    """The test cases of a suite, in order."""
    if not isinstance(suite, unittest.TestSuite):
        return [suite]
    return [case for inner in suite for case in flat(inner)]


BAD = ("failed", "error")


class Result(unittest.TestResult):
    """Says what each test did, by way of `report`."""

    def __init__(self, ids: dict[Any, str], report: Callable[..., None]) -> None:
        super().__init__()
        self._ids = ids
        self._report = report
        self._seen: dict[str, tuple[str, Any]] = {}
        self._began = 0.0

    def startTest(self, test: Any) -> None:
        super().startTest(test)
        self._began = time.monotonic()
        self._report("start", id=self._ids[test])

    def stopTest(self, test: Any) -> None:
        super().stopTest(test)
        self.tell(self._ids[test], time.monotonic() - self._began)

    def tell(self, test_id: str, wall_s: float) -> None:
        """Report what is known of a test."""
        outcome, error = self._seen.pop(test_id, ("error", Failed("the test did not end")))
        self._report("test", id=test_id, outcome=outcome, wall_s=wall_s, error=error)

    def _note(self, test: Any, outcome: str, error: Any = None) -> None:
        # A subtest stands for its test; a shared set-up that broke (`setUpClass`) for all of its class.
        of = getattr(test, "test_case", test)
        known = self._ids.get(of)
        if known is None:
            name = str(getattr(test, "description", test))
            self._seen_in_class(name, outcome, error)
        else:
            was = self._seen.get(known, ("passed", None))[0]
            if outcome in BAD:
                # At once, so that what is said of the test afterwards cannot be better.
                self._report("failed", id=known)
            if was == "passed" or (outcome in BAD and was not in BAD):
                self._seen[known] = (outcome, error)

    def _seen_in_class(self, name: str, outcome: str, error: Any) -> None:
        for test, test_id in self._ids.items():
            cls = type(test)
            if f"({cls.__module__}.{cls.__qualname__})" in name or f"({cls.__module__})" in name:
                self._report("start", id=test_id)
                self._seen[test_id] = (outcome, error)
                self.tell(test_id, 0.0)

    def addSuccess(self, test: Any) -> None:
        super().addSuccess(test)
        self._note(test, "passed")

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self._note(test, "failed" if test in self._ids else "error", err[1])

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self._note(test, "failed", err[1])

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self._note(test, "skipped", Failed(reason))

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self._note(test, "xfailed", err[1])

    def addUnexpectedSuccess(self, test: Any) -> None:
        super().addUnexpectedSuccess(test)
        self._note(test, "xpassed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._note(test, "failed", err[1])


class Cases:
    """The test cases of a project, by id, and what could not be imported."""

    def __init__(self, root: str, places: list[str], asked: list[str] | None) -> None:
        self.found: dict[Any, str] = {}
        self.broken: list[tuple[str, BaseException]] = []
        paths = places if asked is None else sorted({a.partition("::")[0] for a in asked})
        for path in files_below(root, paths):
            try:
                module = load(root, path)
                suite = unittest.defaultTestLoader.loadTestsFromModule(module)
            except Exception as error:  # noqa: BLE001  # the project's own code ran
                self.broken.append((path, error))
                continue
            for case in flat(suite):
                test_id = f"{path}::{type(case).__qualname__}::{case._testMethodName}"  # noqa: SLF001
                if asked is None or any(_is_of(test_id, a) for a in asked):
                    self.found[case] = test_id


def _is_of(test_id: str, asked: str) -> bool:
    return test_id == asked or test_id.startswith(asked + "::")


def control(name: str, outcome: str) -> Any:
    """A test case under a random name that must have a given outcome."""

    def method(_self: Any) -> None:
        if outcome == "failed":
            raise AssertionError("control: this test must fail")

    def set_up_class(_cls: Any) -> None:
        if outcome == "error":
            raise ValueError("control: this class must not be set up")

    space = {name: method, "setUpClass": classmethod(set_up_class), "__module__": name}
    return type("Control", (unittest.TestCase,), space)(name)


def run(
    hooks: Any,
    order: dict[str, Any],
    say: Callable[..., None],
    around: Any = None,
) -> int:
    """Run as ordered (`root`, `args`, `tests`, `controls`, `keep_going`) and return pytest's exit code for that.

    `around` is entered when everything is imported, and left after the last test.
    """
    root = order["root"]
    cases = Cases(root, order["args"], order["tests"])
    for path, error in cases.broken:
        say("collect-error", id=path, **described(hooks, error, root))
    say("collected", ids=list(cases.found.values()))
    if not cases.found:
        return 5
    half = len(order["controls"]) // 2
    path = next(iter(cases.found.values())).partition("::")[0]
    controls = [(control(*pair), f"{path}::Control::{pair[0]}") for pair in order["controls"]]
    ids = {**dict(controls[:half]), **cases.found, **dict(controls[half:])}
    watched: dict[str, Any] = {}
    for case, test_id in ids.items():
        name = case._testMethodName  # noqa: SLF001
        if hooks.is_sync(getattr(case, name)):
            watched[test_id] = hooks.Phases("not-called")
            setattr(case, name, hooks.watched(getattr(case, name), watched[test_id]))

    def report(kind: str, **fields: Any) -> None:
        error = fields.pop("error", None)
        if kind == "test":
            witness = watched[fields["id"]].witness if fields["id"] in watched else "none"
            fields.update(witness=witness, **described(hooks, error, root))
        say(kind, **fields)

    result = Result(ids, report)
    result.failfast = not order["keep_going"]
    with around or contextlib.nullcontext():
        unittest.TestSuite(ids).run(result)
    return int(bool(cases.broken) or not result.wasSuccessful())


def described(hooks: Any, error: Any, root: str) -> dict[str, Any]:
    """Message, detail and frames of an exception; only the reason of a skip."""
    if error is None or isinstance(error, Failed):
        return {
            "message": hooks.plain(hooks.settled(error or ""), hooks.MESSAGE),
            "detail": "",
            "frames": [],
        }
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    fields: dict[str, Any] = hooks.describe(
        types.SimpleNamespace(value=error), types.SimpleNamespace(longrepr=text), root
    )
    return fields

"""The events of `go test -json` (`go doc test2json`)."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from surefoot.suite.formats.parsed import Parsed, Place, broken, finite, result
from surefoot.suite.paths import is_inside
from surefoot.values import ReportState, TestOutcome, TestResult

_ENDS: Final[Mapping[str, TestOutcome]] = {
    "pass": TestOutcome.PASSED,
    "fail": TestOutcome.FAILED,
    "skip": TestOutcome.SKIPPED,
}
_NOISE: Final = re.compile(r"^\s*(=== |--- |PASS$|FAIL$|ok\s|FAIL\s)")
_BUILD: Final = re.compile(r"^FAIL\s+(\S+) \[(?:build|setup) failed\]", re.MULTILINE)
_TESTS: Final = re.compile(r"^func\s+(?:Test(?!Main\b)|Example|Fuzz)\w*\s*\(", re.MULTILINE)
_CONSTRAINT: Final = re.compile(r"^//(?:go:build| ?\+build)\s", re.MULTILINE)

Key: TypeAlias = tuple[str, str]
"""Package and test; the test is empty for the package itself."""


@dataclass(slots=True, kw_only=True)
class _Heard:
    started: set[Key] = field(default_factory=set)
    ended: dict[Key, tuple[str, float]] = field(default_factory=dict)
    output: dict[Key, list[str]] = field(default_factory=lambda: defaultdict(list))
    plain: list[str] = field(default_factory=list)
    doubled: str = ""


def parse(text: bytes, place: Place) -> Parsed:
    """A whole report: each test that ended had started, each that started has ended, and so has its package.

    A test's id begins with the file that declares it; one that no file declares was made up by the code under test.
    """
    heard = _hear(text.decode("utf-8", "replace"))
    if not heard.ended and not heard.plain:
        return broken(ReportState.UNPARSABLE, "no report of `go test -json`")
    if heard.doubled:
        return broken(ReportState.FORGED, f"reported more than once: {heard.doubled}")
    if unfinished := sorted(t for _, t in heard.started - heard.ended.keys()):
        return broken(ReportState.CRASHED, f"started and never ended: {', '.join(unfinished[:5])}")
    module = _module(place)
    files = _Declared(place)
    results: list[TestResult] = []
    for (package, test), (action, wall_s) in heard.ended.items():
        if not test:
            continue
        folder = _folder(package, module)
        file = files.find(folder, test.partition("/")[0])
        if file is None or (package, test) not in heard.started:
            return broken(ReportState.FORGED, f"{test} is reported, and no test file declares it")
        said = "".join(heard.output[package, test])
        results.append(_result(f"{file}::{test}", action, wall_s, said))
    errors = _broken_packages(heard, module, files)
    if errors:
        why = f"cannot be built or run: {', '.join(r.test_id for r in errors[:5])}"
        return broken(ReportState.COLLECTION_ERROR, why, (*results, *errors))
    return Parsed(results=tuple(results))


def _hear(text: str) -> _Heard:
    heard = _Heard()
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        match event:
            case {"Action": str(action), "Package": str(package), **rest}:
                _sort_in(heard, action, (package, str(rest.get("Test", ""))), rest)
            case {"Action": "build-output", "Output": str(output)}:
                heard.plain.append(output.rstrip("\n"))
            case {"Action": "build-fail"}:
                pass
            case _:
                heard.plain.append(line)
    return heard


def _sort_in(heard: _Heard, action: str, key: Key, rest: Mapping[object, object]) -> None:
    if action == "run":
        heard.started.add(key)
    elif action == "output":
        heard.output[key].append(str(rest.get("Output", "")))
    elif action in _ENDS:
        if key in heard.ended:
            heard.doubled = key[1] or key[0]
        heard.ended[key] = (action, finite(rest.get("Elapsed")))


def _result(test_id: str, action: str, wall_s: float, said: str) -> TestResult:
    told = [line for line in said.splitlines() if not _NOISE.match(line)]
    message = " ".join(line.strip() for line in told[:3])
    return result(test_id, _ENDS[action], wall_s=wall_s, message=message, detail="\n".join(told))


def _broken_packages(heard: _Heard, module: str, files: "_Declared") -> list[TestResult]:
    """The test files of packages that failed without a failing test: they did not build, or somebody ended their process.

    Go builds the tests of a folder together, so that one file that does not build takes the others with it. A package
    without such files is named by its folder.
    """
    failed = {
        package for (package, test), (action, _) in heard.ended.items() if test and action == "fail"
    }
    plain = "\n".join(heard.plain)
    names = [
        package
        for (package, test), (action, _) in heard.ended.items()
        if not test and action == "fail" and package not in failed
    ]
    names += [name for name in _BUILD.findall(plain) if name not in names]
    found = []
    for package in names:
        said = "".join(heard.output[package, ""]) + plain
        told = [line for line in said.splitlines() if line and not _NOISE.match(line)]
        message = next((line for line in told if not line.startswith("#")), "")
        detail = "\n".join(told)
        folder = _folder(package, module)
        found += [
            result(name, TestOutcome.ERROR, message=message, detail=detail)
            for name in files.holding(folder) or [folder]
        ]
    return found


def _module(place: Place) -> str:
    match = re.search(r"^module\s+\"?([^\s\"]+)", place.text(PurePosixPath("go.mod")), re.MULTILINE)
    return match[1] if match else ""


def _folder(package: str, module: str) -> str:
    """Where a package is, relative to the root."""
    if package == module:
        return "."
    return package.removeprefix(f"{module}/")


class _Declared:
    """Which test files of a folder declare tests.

    The folder itself is asked: go has packages in `env`, `build` or `target`, where other languages keep what is no source.
    """

    def __init__(self, place: Place) -> None:
        self._root = place.root
        self._files = cache(self._files_of)
        self._text = cache(place.text)

    def _files_of(self, folder: str) -> tuple[PurePosixPath, ...]:
        if folder != "." and not is_inside(folder):
            return ()
        try:
            names = sorted(p.name for p in (self._root / folder).iterdir())
        except (OSError, ValueError):  # the report may call a package whatever it likes
            return ()
        found = [PurePosixPath(folder, n) for n in names if n.endswith("_test.go")]
        return tuple(p for p in found if (self._root / p).is_file())

    def find(self, folder: str, test: str) -> str | None:
        declared = re.compile(rf"^func\s+{re.escape(test)}\s*\(", re.MULTILINE)
        if re.fullmatch(r"\w+", test):
            for path in self._files(folder):
                if declared.search(self._text(path)):
                    return path.as_posix()
        return None

    def holding(self, folder: str) -> list[str]:
        """Files whose tests run whenever the package builds; one with a build constraint may hold none here."""
        return [
            path.as_posix()
            for path in self._files(folder)
            if _TESTS.search(text := self._text(path)) and not _CONSTRAINT.search(text)
        ]

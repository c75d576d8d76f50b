"""What `cargo test` prints (both streams in their order), for there is no stable machine format.

libtest keeps what tests print to itself, so that a line of theirs does not look like a result.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from surefoot.suite.formats.parsed import LINE, Parsed, Place, broken, numbered, result
from surefoot.toml_files import parse_toml, table
from surefoot.values import Frame, ReportState, TestOutcome, TestResult

_TARGET: Final = re.compile(
    r"^ +Running (?:unittests )?(\S+)(?: \(.*?([^/\\]+)-[0-9a-f]+(?:\.exe)?\))?$"
)
_DOCS: Final = re.compile(r"^ +Doc-tests (\S+)$")
_HEAD: Final = re.compile(r"^running (\d+) tests?$")
_TEST: Final = re.compile(
    r"^test (.+?)(?: - should panic(?: - .*)?)? \.\.\. (ok|FAILED|ignored)(?:, (.*))?$"
)
_SAID: Final = re.compile(r"^---- (.+) stdout ----$")
_SUM: Final = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;")
_BUILD: Final = re.compile(r"^error(?:\[E\d+\])?: .*$", re.MULTILINE)
_UNBUILT: Final = re.compile(r"^error: could not compile `([^`\n]+)`", re.MULTILINE)
_ROOT: Final = re.compile(
    r"tests/[^/]+(?:/main)?\.rs|src/(?:lib|main)\.rs|src/bin/[^/]+(?:/main)?\.rs"
)
"""Where cargo looks for programs that hold tests."""
_ATTRIBUTE: Final = re.compile(r"#\[\s*(?:\w+::)*\w*test\w*\s*[\](]|\b(?:proptest|quickcheck)!")
_CONSTRAINT: Final = re.compile(r"^#!\[cfg\(", re.MULTILINE)
_DOC_LINE: Final = re.compile(r" \(line \d+\)")
_PANIC: Final = re.compile(r"panicked at ([^:\n]+):(\d+):\d+:\n")
_OUTCOMES: Final = {
    "ok": TestOutcome.PASSED,
    "FAILED": TestOutcome.FAILED,
    "ignored": TestOutcome.SKIPPED,
}
_FAILURES: Final = "failures:"


@dataclass(slots=True, kw_only=True)
class _Target:
    """One test program."""

    file: str
    crate: str
    planned: int | None = None
    begun: int = 0
    """How often it says that its tests begin."""
    summed: tuple[int, int, int] | None = None
    tests: list[tuple[str, str, str]] = field(default_factory=list)
    """Name, outcome, why it was ignored."""
    said: dict[str, list[str]] = field(default_factory=dict)


def parse(text: bytes, place: Place) -> Parsed:
    """A whole report: each program ran as many tests as it announced, and its last line counts the same."""
    plain = text.decode("utf-8", "replace")
    targets = _targets(plain.splitlines())
    if not targets:
        error = _BUILD.search(plain)
        if error is None:
            return broken(ReportState.UNPARSABLE, "no report of `cargo test`")
        why = f"it does not build: {error[0]}"
        return broken(ReportState.COLLECTION_ERROR, why, _unbuilt(plain[error.start() :], place))
    results: list[TestResult] = []
    for target in targets:
        if why := _unfinished(target):
            return broken(ReportState.CRASHED, f"{target.file or target.crate}: {why}", results)
        results += _results(target, place)
    return Parsed(results=numbered(results))


def _unbuilt(said: str, place: Place) -> list[TestResult]:
    """The test files of packages that do not build, each as one that cannot be collected.

    All of a package, not only those that are named: cargo ends at the first that does not build, and runs none.
    """
    message = said.partition("\n")[0]
    names = _UNBUILT.findall(said)
    folders = [
        p.parent
        for p in place.files
        if p.name == "Cargo.toml"
        and table(_manifest(p.parent, place), "package").get("name") in names
    ]
    return [
        result(path.as_posix(), TestOutcome.ERROR, message=message, detail=said)
        for folder in folders
        for path in _roots(folder, place)
    ]


def _roots(folder: PurePosixPath, place: Place) -> list[PurePosixPath]:
    """The files of a package that the ids of its tests begin with; one with a condition may hold none here."""
    sources = [p for p in place.files if p.suffix == ".rs" and p.is_relative_to(folder)]
    roots = [p for p in sources if _ROOT.fullmatch(p.relative_to(folder).as_posix())]
    found = []
    for root in roots:
        # Modules beside `lib.rs` and `main.rs` are the library's, where there is one.
        library = root.with_name("lib.rs")
        whole = root.stem in {"lib", "main"} and (root == library or library not in roots)
        parts = [p for p in sources if whole and p.is_relative_to(root.parent) and p not in roots]
        texts = [place.text(p) for p in (root, *parts)]
        if any(map(_ATTRIBUTE.search, texts)) and not _CONSTRAINT.search(texts[0]):
            found.append(root)
    return found


def _targets(lines: Sequence[str]) -> list[_Target]:
    found: list[_Target] = []
    said: list[str] | None = None
    for line in (each[:LINE] for each in lines):
        if match := _TARGET.match(line):
            found.append(_Target(file=match[1], crate=match[2] or ""))
            said = None
        elif match := _DOCS.match(line):
            found.append(_Target(file="", crate=match[1]))
            said = None
        elif found:
            if _HEAD.match(line) and _is_counted(found[-1]):
                found.append(_Target(file="", crate=found[-1].crate))
            said = _sort_in(found[-1], line, said)
    return found


def _is_counted(target: _Target) -> bool:
    """Whether these are documentation tests to their end: those that cannot share a program run after the others."""
    return not target.file and target.summed is not None


def _sort_in(target: _Target, line: str, said: list[str] | None) -> list[str] | None:
    """Take one line of a program's output; gives the failure's text that the next lines belong to."""
    if match := _SAID.match(line):
        return target.said.setdefault(match[1], [])
    if match := _SUM.match(line):
        target.summed = (int(match[1]), int(match[2]), int(match[3]))
        return None
    if said is not None and line != _FAILURES:
        said.append(line)
        return said
    if match := _HEAD.match(line):
        target.planned = int(match[1])
        target.begun += 1
    elif match := _TEST.match(line):
        target.tests.append((match[1], match[2], match[3] or ""))
    return None


def _unfinished(target: _Target) -> str:
    if target.planned is None or target.summed is None:
        return "it ended before it said how its tests went"
    if target.begun > 1:
        # What ends in the middle of a line swallows the name of the next program, whose tests would count as its own.
        return "it ended in the middle of a line, before it said how its tests went"
    outcomes = [o for _, o, _ in target.tests]
    counted = (outcomes.count("ok"), outcomes.count("FAILED"), outcomes.count("ignored"))
    if len(outcomes) != target.planned or counted != target.summed:
        return f"{target.planned} tests are announced, {len(outcomes)} reported"
    return ""


def _results(target: _Target, place: Place) -> list[TestResult]:
    folder = _folder(target, place)
    found = []
    for name, outcome, why in target.tests:
        file, test = target.file, name
        if not target.file:
            file, _, test = name.partition(" - ")
            test = "doc " + _DOC_LINE.sub("", test)
        path = (folder / file).as_posix()
        said = "\n".join(target.said.get(name, ())).strip()
        panic = _PANIC.search(said)
        message = why or (said[panic.end() :] if panic else said).partition("\nstack backtrace:")[0]
        frames: tuple[Frame, ...] = ()
        if panic:
            frames = (Frame(path=place.relative(panic[1]), line=int(panic[2]), function=name),)
        found.append(
            result(
                f"{path}::{test}", _OUTCOMES[outcome], message=message, detail=said, frames=frames
            )
        )
    return found


def _folder(target: _Target, place: Place) -> PurePosixPath:
    """The package of a program: cargo names files relative to it, and crates by the package's name."""
    manifests = [p for p in place.files if p.name == "Cargo.toml"]
    holding = [
        m.parent
        for m in manifests
        if not target.file or PurePosixPath(m.parent, target.file) in place.files
    ]
    if len(holding) > 1:
        named = [f for f in holding if target.crate in {_crate(f, place), "main"}]
        holding = named or holding
    return holding[0] if holding else PurePosixPath()


def _crate(folder: PurePosixPath, place: Place) -> str:
    manifest = _manifest(folder, place)
    name = table(manifest, "lib").get("name") or table(manifest, "package").get("name", "")
    return str(name).replace("-", "_")


def _manifest(folder: PurePosixPath, place: Place) -> Mapping[str, object]:
    return parse_toml(place.text(folder / "Cargo.toml"))

"""What the anti-gaming rules say of honest changes: this repository's own commits, and releases that fixed bugs.

    python -m bench.honest [--first N] [--show]

A change is looked at twice. As it is: an accusation (a rule that no flag lifts) is a false alarm. And the part of it that a
run may make without asking, which is its product files and its new tests: there every finding is a false alarm.
What is printed beside is no alarm: that a change touches existing tests, or configuration that gates read, or adds a
suppression, is so, and is what a run has to ask for.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Final

from bench.patients.catalogue import PATIENTS
from bench.patients.stage import unpacked
from surefoot.findings import gaming
from surefoot.findings.gaming.configuration import is_gate_file
from surefoot.findings.gaming.reviewer import flag_of
from surefoot.suite.integrity import suspicious
from surefoot.suite.paths import is_test_path
from surefoot.values import Finding

ROOT: Final = Path(__file__).resolve().parent.parent
COMMITS: Final = Path(__file__).with_name("honest_commits.txt")
MOST_ALARMS: Final = 2
_TRUE: Final = "added-suppression"
"""Says what is so in product files, too."""

Contents = Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One honest change."""

    name: str
    contents: Contents
    tests: Mapping[str, str]
    """Tests that it leaves alone."""

    @property
    def alone(self) -> Contents:
        """The part that needs no flag: product files, and tests that are new."""
        return {
            path: texts
            for path, texts in self.contents.items()
            if not is_gate_file(path) and not (is_test_path(path) and texts[0] is not None)
        }


def commits() -> Iterator[Change]:
    """This repository's own, by the pinned list."""
    for line in COMMITS.read_text("utf-8").split("\n"):
        commit = line.partition(" ")[0]
        if commit:
            if not _is_here(commit):
                sys.exit(f"this clone has no commit {line!r}; it is shallow, or the list is stale")
            listed = _git("diff-tree", "-r", "--no-commit-id", "--name-only", commit).splitlines()
            contents = {p: (_blob(f"{commit}^", p), _blob(commit, p)) for p in listed}
            yield Change(name=line[:70], contents=contents, tests=_kept_tests(commit, listed))


def _kept_tests(commit: str, changed: Sequence[str]) -> dict[str, str]:
    """Unit tests as they stood, which is where answers are written out."""
    listed = _git("ls-tree", "-r", "--name-only", commit, "tests/unit").splitlines()
    texts = {p: _blob(commit, p) for p in listed if p.endswith(".py") and p not in changed}
    return {path: text for path, text in texts.items() if text is not None}


def releases(folder: Path) -> Iterator[Change]:
    """From the release with the bug to the one that fixed it, of each package of the patients once."""
    pairs = {(p.package, p.buggy.version): p for p in PATIENTS}
    for (package, version), patient in sorted(pairs.items()):
        place = folder / f"{package}-{version}"
        before = _texts(unpacked(package, patient.buggy, place / "before"))
        after = _texts(unpacked(package, patient.fixed, place / "after"))
        changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
        yield Change(
            name=f"{package} {version} -> {patient.fixed.version}",
            contents={p: (before.get(p), after.get(p)) for p in changed},
            tests={p: t for p, t in after.items() if is_test_path(p) and p not in changed},
        )


def _texts(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text("utf-8", "replace")
        for path in sorted(root.rglob("*.py"))
    }


def alarms(change: Change, whole: Sequence[Finding]) -> list[Finding]:
    """Findings that the change does not deserve; `whole` are those of the change as it is."""
    accused = [f for f in whole if flag_of(f.rule) is None]
    known = {f.fingerprint for f in accused}
    part = change.alone
    alone = whole if part == change.contents else told(change, part)
    return [*accused, *(f for f in alone if f.fingerprint not in known and f.rule != _TRUE)]


def told(change: Change, contents: Contents) -> tuple[Finding, ...]:
    """What the rules say of some of its files."""
    tests = [p for p in contents if is_test_path(p)]
    return gaming(dict(contents), test_paths=tests, test_texts=change.tests)


def runner_marks(change: Change) -> list[str]:
    """What the rule on the test runner says of the product files; such a change waits for a person."""
    return [
        f"{path}: {mark}"
        for path, (before, after) in sorted(change.alone.items())
        if after is not None and path.endswith(".py") and not is_test_path(path)
        for mark in suspicious(before, after)
    ]


def _is_here(commit: str) -> bool:
    argv = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(argv, cwd=ROOT, check=False, capture_output=True).returncode == 0


def _git(*argv: str) -> str:
    done = subprocess.run(["git", *argv], cwd=ROOT, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


@cache
def _reader() -> subprocess.Popen[bytes]:
    """One process reads all; it ends when this one closes its input."""
    argv = ["git", "cat-file", "--batch"]
    return subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _blob(commit: str, path: str) -> str | None:
    reader = _reader()
    assert reader.stdin is not None
    assert reader.stdout is not None
    reader.stdin.write(f"{commit}:{path}\n".encode())
    reader.stdin.flush()
    head = reader.stdout.readline().split()
    if len(head) != 3 or head[1] != b"blob":
        return None
    data = reader.stdout.read(int(head[2]) + 1)[:-1]
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; 0 when there are fewer false alarms than the bound."""
    parser = argparse.ArgumentParser(prog="python -m bench.honest", description=__doc__)
    parser.add_argument("--first", type=int, help="only so many of them")
    parser.add_argument("--show", action="store_true", help="also what asks for a flag, by rule")
    options = parser.parse_args(argv)
    looked, asked, false, waits = 0, Counter[str](), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        changes = chain(releases(Path(folder)), commits())
        for change in islice(changes, options.first):
            looked += 1
            whole = told(change, change.contents)
            for finding in alarms(change, whole):
                false += 1
                print(
                    f"{change.name}\n    {finding.rule} {finding.file}:{finding.line} {finding.message}"
                )
            asked.update({f.rule for f in whole if flag_of(f.rule)})
            waits += bool(runner_marks(change))
    print(f"{looked} honest changes, {false} false alarms; {waits} reach for what runs tests")
    if options.show:
        for rule, count in asked.most_common():
            print(f"{count:>5} changes with {rule} (needs {flag_of(rule)})")
    return 0 if false <= MOST_ALARMS else 1


if __name__ == "__main__":
    sys.exit(main())

"""Which tests a change can reach (SPEC C9): a guess that saves time, and decides nothing.

A change that is understood reaches the tests whose files depend on a changed file, and of those that were watched only
the ones that ran something of it. Whatever is not understood reaches everything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from surefoot.kernel.imports import Imports
from surefoot.values import FileChange, TestReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What there is to know about a change."""

    files: Sequence[FileChange]
    before: Imports
    after: Imports
    bodies_only: frozenset[str] = frozenset()
    """Changed files that do the same as before when they are imported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """The tests that a change can reach."""

    tests: tuple[str, ...] | None
    """Ids of the base, sorted; None is all of them."""
    reason: str

    def holds(self, test_id: str) -> bool:
        """Whether a test is among them."""
        return self.tests is None or test_id in self.tests


def impacted(
    change: Change,
    tests: Sequence[str],
    *,
    reach: Mapping[str, frozenset[str]],
    is_control: Callable[[str], bool],
    is_test: Callable[[str], bool],
) -> Impact:
    """The tests of the base that a change can reach; `reach` is as from `Suite.watch` on the base."""
    files = frozenset(test.partition("::")[0] for test in tests)
    for file in change.files:
        alone = change.before.dependents([file.path]) | change.after.dependents([file.path])
        fresh = file.status == "A" and is_test(file.path)
        if is_control(file.path) or not file.path.endswith(".py"):
            return Impact(tests=None, reason=f"{file.path} may matter to every test")
        if len(alone) == 1 and file.path not in files and not fresh:
            return Impact(
                tests=None, reason=f"nobody imports {file.path}, so who uses it is unknown"
            )
    return _reached(change, tests, reach)


def _reached(change: Change, tests: Sequence[str], reach: Mapping[str, frozenset[str]]) -> Impact:
    paths = frozenset(file.path for file in change.files)
    hidden = change.before.opaque("dynamic", "process") | change.after.opaque("dynamic", "process")
    touched = change.before.dependents(paths | hidden) | change.after.dependents(paths | hidden)
    processes = change.before.opaque("process") | change.after.opaque("process")
    unwatched = change.before.dependents(processes) | change.after.dependents(processes)
    narrow = paths <= change.bodies_only and not paths & reach.get("", frozenset())
    chosen: list[str] = []
    for test in tests:
        file = test.partition("::")[0]
        if file not in change.before or file in paths:
            chosen.append(test)
        elif file in touched:
            watched = reach.get(test) if narrow and file not in unwatched else None
            if watched is None or watched & paths:
                chosen.append(test)
    how = "coverage and imports" if narrow and reach else "imports"
    told = f"{len(chosen)} of {len(tests)} tests by {how}"
    return Impact(tests=tuple(sorted(chosen)), reason=told)


def missed(impact: Impact, before: TestReport, after: TestReport) -> tuple[str, ...]:
    """Tests outside of the guess whose outcome changed: each is a wrong guess."""
    was = {r.test_id: r.outcome for r in before.results}
    return tuple(
        sorted(
            r.test_id
            for r in after.results
            if was.get(r.test_id, r.outcome) is not r.outcome and not impact.holds(r.test_id)
        )
    )

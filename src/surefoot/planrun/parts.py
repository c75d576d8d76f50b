"""The end of a slice and of a milestone: tests of the merged tree as it is (SPEC C9)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from surefoot.assembly import Session
from surefoot.decisions.assigned import AUDIT, tests_of
from surefoot.decisions.plan_rule import ALL_TESTS
from surefoot.decisions.planning import expand
from surefoot.events.plans import PartVerified
from surefoot.events.work import CommandRan
from surefoot.gitops.workspace import GitWorkspace
from surefoot.kernel import evidence
from surefoot.kernel.levels import Extent, Level, checks
from surefoot.kernel.proof import Prover
from surefoot.planrun.course import Course, Part
from surefoot.plans import PlannedUnit
from surefoot.suite import mounts, sees
from surefoot.values import Command, CommitId, TestReport, TreeId

_ASKED_ANYWAY: Final = frozenset({AUDIT, ALL_TESTS})
"""As verifications they mean what the level asks of its own accord; inside the fence there is no repository to audit."""


VERIFICATION: Final = "verification"
"""What records call a plan's own command."""

Ended: TypeAlias = Callable[[Sequence[str], TreeId], Iterable[tuple[str, int | None]]]
"""Commands on a tree, each with its exit code; None where it was ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A part, and the tree into which the work of its units was merged."""

    part: Part
    units: Sequence[PlannedUnit]
    base: TreeId
    tree: TreeId
    commit: CommitId | None

    @property
    def level(self) -> Literal["slice", "milestone"]:
        """How far it is looked at."""
        return "milestone" if self.part.milestone else "slice"


def judged(merged: Merged, prover: Prover, ended: Ended) -> PartVerified:
    """What the level asks for, by the types of the part's units, and the units' own tests and commands."""
    units, level, base, tree = merged.units, Level(merged.level), merged.base, merged.tree
    asked = checks(level, (u.unit_type for u in units))
    before, flaky = prover.baseline(base)
    wanted = tuple(dict.fromkeys(t for u in units for t in tests_of(u, before.collected)))
    whole = asked.tests is Extent.ALL or not wanted
    named = None if whole else wanted
    report, event = prover.tests(tree, merged.level, named)
    surprising = set(report.failing) - set(before.failing) - flaky
    flaky |= prover.flaky(tree, report, surprising, named, base=base)
    against = [*_missing(wanted, report, flaky)]
    if whole:
        changed = prover.rewritten(prover.workspace.diff(base, tree), before, report)
        proof = evidence.base_tests(before, report, flaky, (event,), rewritten=changed)
        against += [] if proof.passed else [proof.after]
        prover.check_guess(level, base, tree, report)
    against += _findings(prover, asked.audit, base, tree)
    if not merged.part.milestone:
        lines = dict.fromkeys(v for u in units for v in u.verification)
        commands = [v for v in lines if v not in {*wanted, *_ASKED_ANYWAY}]
        codes = ended(commands, tree) if commands else ()
        against += [f"`{line}` ended with {code}" for line, code in codes if code != 0]
    return PartVerified(
        part=merged.part.name,
        level=merged.level,
        tree=tree,
        commit=merged.commit,
        passed=not against,
        reason="; ".join(against) or f"{len(report.passing)} tests pass",
        tests=wanted,
        report=event,
    )


def _findings(prover: Prover, extent: Extent, base: TreeId, tree: TreeId) -> Iterator[str]:
    """What the merged work has brought and blocks."""
    if extent is Extent.NONE:
        return
    before, after = prover.findings(base), prover.findings(tree)
    for finding in evidence.added_findings(before.blocking, after.blocking):
        yield f"{finding.file}:{finding.line} {finding.message}"
    if quiet := evidence.silent(before, after):
        yield f"no answer from {evidence.names(quiet)} after the change"


class Parts:
    """Verifies slices and milestones in the plan run's own thread."""

    def __init__(
        self, session: Session, workspace: GitWorkspace, prover: Prover, course: Course
    ) -> None:
        self._session, self._workspace = session, workspace
        self._prover, self._course = prover, course

    def verify(self, part: Part, commit: CommitId, tree: TreeId, base: TreeId) -> PartVerified:
        """Judge a part on the merged tree; recorded."""
        units = [self._course.unit(u) for u in part.units]
        merged = Merged(part=part, units=units, base=base, tree=tree, commit=commit)
        verified = judged(merged, self._prover, self._ended)
        self._session.journal.record(verified)
        return verified

    def _ended(self, commands: Sequence[str], tree: TreeId) -> Iterator[tuple[str, int | None]]:
        """The plan's own commands, inside the fence, on a checkout of the tree."""
        parts, journal = self._session.parts, self._session.journal
        env, reads = sees(parts.plan)
        with self._workspace.checkout(tree) as root:
            for line in commands:
                command = Command(
                    argv=("/bin/sh", "-c", line),
                    cwd=root,
                    env=env,
                    reads=reads,
                    writes=(root,),
                    binds=mounts(parts.plan.carry, self._session.project.root, root),
                )
                result = parts.processes.run(command)
                journal.record(
                    CommandRan(
                        tool=VERIFICATION,
                        argv=command.argv,
                        exit_code=result.exit_code,
                        stdout=journal.put(result.stdout),
                        stderr=journal.put(result.stderr),
                        wall_s=result.wall_s,
                        sandbox=parts.processes.level,
                    )
                )
                yield line, result.exit_code


def _missing(wanted: tuple[str, ...], report: TestReport, flaky: frozenset[str]) -> Iterator[str]:
    passing = set(report.passing) | flaky
    for name in wanted:
        found = expand(name, report.collected)
        if not found:
            yield f"{name} is not there ({report.state})"
        yield from (f"{t} does not pass" for t in found if t not in passing)

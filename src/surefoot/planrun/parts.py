"""The end of a slice and of a milestone: tests of the merged tree as it is (SPEC C9)."""

from collections.abc import Iterator, Sequence
from typing import Final

from surefoot.assembly import Session
from surefoot.decisions.assigned import tests_of
from surefoot.decisions.plan_rule import ALL_TESTS
from surefoot.decisions.planning import expand
from surefoot.events.plans import PartVerified
from surefoot.events.work import CommandRan
from surefoot.gitops.workspace import GitWorkspace
from surefoot.kernel import evidence
from surefoot.kernel.levels import Extent, Level, checks
from surefoot.kernel.proof import Prover
from surefoot.planrun.course import Course, Part
from surefoot.suite import mounts, sees
from surefoot.values import Command, CommitId, TestReport, TreeId

_ASKED_ANYWAY: Final = frozenset({"surefoot audit", ALL_TESTS})
"""As verifications they mean what the level asks of its own accord; inside the fence there is no repository to audit."""


class Parts:
    """Verifies slices and milestones in the plan run's own thread."""

    def __init__(
        self, session: Session, workspace: GitWorkspace, prover: Prover, course: Course
    ) -> None:
        self._session, self._workspace = session, workspace
        self._prover, self._course = prover, course

    def verify(self, part: Part, commit: CommitId, tree: TreeId, base: TreeId) -> PartVerified:
        """What the level asks for, by the types of the part's units, and the units' own tests and commands; recorded."""
        units = [self._course.unit(u) for u in part.units]
        level = Level.MILESTONE if part.milestone else Level.SLICE
        asked = checks(level, (u.unit_type for u in units))
        before, flaky = self._prover.baseline(base)
        wanted = tuple(dict.fromkeys(t for u in units for t in tests_of(u, before.collected)))
        whole = asked.tests is Extent.ALL or not wanted
        named = None if whole else wanted
        report, event = self._prover.tests(tree, "milestone" if part.milestone else "slice", named)
        surprising = set(report.failing) - set(before.failing) - flaky
        flaky |= self._prover.flaky(tree, report, surprising, named, base=base)
        against = [*_missing(wanted, report, flaky)]
        if whole:
            changed = self._prover.rewritten(self._workspace.diff(base, tree), before, report)
            proof = evidence.base_tests(before, report, flaky, (event,), rewritten=changed)
            against += [] if proof.passed else [proof.after]
            self._prover.check_guess(level, base, tree, report)
        against += self._findings(asked.audit, base, tree)
        if not part.milestone:
            entries = dict.fromkeys(v for u in units for v in u.verification)
            asked_for = {*wanted, *_ASKED_ANYWAY}
            against += self._failing_commands([v for v in entries if v not in asked_for], tree)
        verified = PartVerified(
            part=part.name,
            level="milestone" if part.milestone else "slice",
            tree=tree,
            commit=commit,
            passed=not against,
            reason="; ".join(against) or f"{len(report.passing)} tests pass",
            tests=wanted,
            report=event,
        )
        self._session.journal.record(verified)
        return verified

    def _findings(self, extent: Extent, base: TreeId, tree: TreeId) -> Iterator[str]:
        """What the merged work has brought and blocks."""
        if extent is Extent.NONE:
            return
        before, after = self._prover.findings(base), self._prover.findings(tree)
        for finding in evidence.added_findings(before.blocking, after.blocking):
            yield f"{finding.file}:{finding.line} {finding.message}"
        if quiet := evidence.silent(before, after):
            yield f"no answer from {evidence.names(quiet)} after the change"

    def _failing_commands(self, commands: Sequence[str], tree: TreeId) -> Iterator[str]:
        """The plan's own commands, inside the fence, on a checkout of the tree."""
        if not commands:
            return
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
                        tool="verification",
                        argv=command.argv,
                        exit_code=result.exit_code,
                        stdout=journal.put(result.stdout),
                        stderr=journal.put(result.stderr),
                        wall_s=result.wall_s,
                        sandbox=parts.processes.level,
                    )
                )
                if result.exit_code != 0:
                    yield f"`{line}` ended with {result.exit_code}"


def _missing(wanted: tuple[str, ...], report: TestReport, flaky: frozenset[str]) -> Iterator[str]:
    passing = set(report.passing) | flaky
    for name in wanted:
        found = expand(name, report.collected)
        if not found:
            yield f"{name} is not there ({report.state})"
        yield from (f"{t} does not pass" for t in found if t not in passing)

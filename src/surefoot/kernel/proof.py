"""Which test runs prove a tree, and what they prove.

Tests are always run in a fresh process on a scratch checkout of an exact tree. A tree is judged by the base's own
tests: existing tests and everything that steers the runner are put back to the base's copy before the run.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from surefoot.codec import canonical, decode
from surefoot.events.classes import TestPurpose
from surefoot.events.work import (
    AuditorFinished,
    FactLearned,
    ImpactChecked,
    MutantsTried,
    TestsWatched,
)
from surefoot.judgements import Mutant
from surefoot.kernel import evidence
from surefoot.kernel.examples import Examples, WriteExamples
from surefoot.kernel.guess import EARLY_FROM_S, Guesser, Reach, is_worth, is_worth_watching
from surefoot.kernel.impact import Impact, missed
from surefoot.kernel.imports import Imports
from surefoot.kernel.journal import Journal
from surefoot.kernel.levels import LEVELS_VERSION, Extent, Level, checks
from surefoot.kernel.memory import lacks_memory
from surefoot.kernel.ports import Suite, Trees
from surefoot.kernel.rewritten import both_of, grown_in, rewritten, text_of
from surefoot.kernel.standing import examples_changed, is_test_by
from surefoot.kernel.steady import passing_s, steadied, unsteady
from surefoot.kernel.strength import Case, Meter, is_strong, of_new, unnoticed
from surefoot.values import (
    SETTLED,
    Audit,
    Diff,
    EventId,
    Evidence,
    Finding,
    ReportState,
    TestReport,
    TreeId,
    Unit,
)

_AGAIN = 2
"""How often a surprising failure is run again, alone and then as it was run, before it counts."""
MOST_AGAIN = 25
"""More failing tests than this are not re-run one by one: that many do not flake at once."""


ROOM = 2
"""What a test run that lacked time or memory gets the second time, as a multiple of the settings' limits."""


def may_be_chance(report: TestReport, suspects: Collection[str]) -> bool:
    """Whether it is asked which of some failing tests of a run fail by chance: that many do not at once."""
    return 0 < len(suspects) <= MOST_AGAIN and report.state in SETTLED


def _failing_in(report: TestReport) -> frozenset[str]:
    """What fails in a run that came to its end."""
    return frozenset(report.failing) if report.state in SETTLED else frozenset()


def _lacks_room(report: TestReport) -> bool:
    """Whether a run ended for want of time, or could not come to its end for want of memory."""
    if report.state is ReportState.TIMEOUT:
        return True
    said = "\n".join((report.output, report.reason, *(r.message for r in report.results)))
    return report.state is not ReportState.COMPLETE and lacks_memory(said, report.exit_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prover:
    """Runs what has to be run, once for each tree and purpose, and records it."""

    journal: Journal
    workspace: Trees
    suite: Suite
    audit: Callable[[Path], Audit]
    risk_flags: frozenset[str] = frozenset()
    """With `allow_test_changes` or `allow_ci_changes` the run's copy of such files counts, not the base's."""

    meter: Meter | None = None
    """Measures how strong the tests are; None: nobody asks."""
    strict: bool = False
    """A tree is proved only when the tests notice every mutant of its changed lines that is tried."""

    noticing: frozenset[str] = frozenset()
    """New tests that are known to notice what no other test does; they may pass on the base, too."""

    examples: WriteExamples | None = None
    """Makes tests of what the issue shows; None: nobody asks."""

    settled: dict[TreeId, frozenset[str]] = field(default_factory=dict)
    """Flaky tests of trees that were looked at before in this process."""
    examined: dict[TreeId, frozenset[str]] = field(default_factory=dict)
    """All that were looked at, flaky or not."""
    unsteady: dict[TreeId, frozenset[str]] = field(default_factory=dict)
    """Functions whose ids vary, by tree, likewise."""
    graphs: dict[TreeId, Imports] = field(default_factory=dict)
    """Imports of the bases that were looked at."""

    def tests(
        self, tree: TreeId, purpose: TestPurpose, tests: Sequence[str] | None = None
    ) -> tuple[TestReport, EventId]:
        """The report on `tree`; a recorded one is used again."""
        recorded = self.journal.tests(tree, purpose)
        if recorded is not None:
            return recorded
        with self.workspace.checkout(tree) as root:
            report = self.suite.run(root, tests)
            if purpose != "baseline" and _lacks_room(report):
                # Once with more room: it was enough for the base, so this is a busy machine, work that needs more, or an
                # endless loop.
                report = self.suite.run(root, tests, room=ROOM)
        return report, self.journal.record_tests(tree, purpose, report)

    def flaky(
        self,
        tree: TreeId,
        report: TestReport,
        suspects: Collection[str],
        asked: Sequence[str] | None = None,
        *,
        base: TreeId | None = None,
    ) -> frozenset[str]:
        """Which of `suspects`, failing in `report`, fail by chance.

        Such a test passes alone and also when the run that showed the failure is repeated, or fails when that run is
        repeated on the base, where it passed. One that only passes alone fails for what ran before it, which is no chance.

        Args:
            tree: What the report is on.
            report: The run that showed the failures.
            suspects: Tests of it.
            asked: What that run was asked for; None is the whole suite.
            base: The tree on which the suspects passed, where that is another one.
        """
        if not may_be_chance(report, suspects):
            return frozenset()
        return self._by_chance(tree, suspects, asked, base=base)

    def _by_chance(
        self,
        tree: TreeId,
        suspects: Collection[str],
        asked: Sequence[str] | None = None,
        *,
        base: TreeId | None = None,
    ) -> frozenset[str]:
        """As `flaky`, however many there are."""
        left = set(suspects) - self.examined.get(tree, frozenset())
        if not left:
            return self.settled[tree]
        alone = self._passing_again(tree, sorted(left), left)
        chancy = self._passing_again(tree, asked, alone)
        if base is not None and alone - chancy:
            with self.workspace.checkout(base) as root:
                chancy |= (alone - chancy) & _failing_in(self.suite.run(root, asked))
        for test_id in sorted(chancy):
            self.journal.record(FactLearned(topic="flaky", text=test_id, tree=tree))
        self.examined[tree] = self.examined.get(tree, frozenset()) | left
        self.settled[tree] = self.settled.get(tree, frozenset()) | chancy
        return self.settled[tree]

    def _passing_again(
        self, tree: TreeId, tests: Sequence[str] | None, suspects: Collection[str]
    ) -> frozenset[str]:
        """Those of `suspects` that pass when `tests` are run again, each time on a checkout that no test has touched."""
        passed: set[str] = set()
        for _ in range(_AGAIN):
            if passed >= set(suspects):
                break
            with self.workspace.checkout(tree) as root:
                again = self.suite.run(root, tests)
            if again.state in SETTLED:
                passed |= again.passed(suspects)
        return frozenset(passed)

    def baseline(self, tree: TreeId) -> tuple[TestReport, frozenset[str]]:
        """The whole suite on the base, and which of its failures are flaky."""
        report, _ = self.tests(tree, "baseline")
        state = self.journal.state
        if any(f.startswith("flaky-checked: ") for f in state.facts):
            return report, state.flaky.get(tree, frozenset())
        found = self.flaky(tree, report, report.failing)
        self.journal.record(
            FactLearned(topic="flaky-checked", text=f"{len(report.failing)} failing")
        )
        return report, found

    def chancy(self, base: TreeId, targets: Collection[str]) -> frozenset[str]:
        """Which tests that are to be mended fail by chance on the base: these are told apart however many fail there."""
        report, flaky = self.baseline(base)
        suspects = _failing_in(report) & set(targets)
        if suspects and not may_be_chance(report, report.failing):
            flaky |= self._by_chance(base, suspects)
        return flaky & set(targets)

    def loose(self, base: TreeId, before: TestReport, after: TestReport) -> frozenset[str]:
        """Test functions whose ids vary on the base itself; looked for only where ids are missing from `after`."""
        if set(before.collected) <= set(after.collected):
            return frozenset()
        if base in self.unsteady:
            return self.unsteady[base]
        with self.workspace.checkout(base) as root:
            found = unsteady(before, lambda: self.suite.run(root))
        for name in sorted(found):
            self.journal.record(FactLearned(topic="loose ids", text=name))
        self.unsteady[base] = found
        return found

    def findings(self, tree: TreeId) -> Audit:
        """All auditors on `tree`; recorded answers are used again.

        What the run's first audit accepted stays accepted: a run that is resumed elsewhere finds another baseline there.
        """
        audits = self.journal.state.audits
        recorded = audits.get(tree)
        if recorded is not None and len(recorded.audit.results) == recorded.of:
            return recorded.audit
        with self.workspace.checkout(tree) as root:
            found = self.audit(root)
        first = next(iter(audits.values()), None)
        if first is not None:
            found = replace(found, baseline=first.audit.baseline)
        self.journal.record_all(
            [
                AuditorFinished(
                    tree=tree, result=result, baseline=found.baseline, of=len(found.results)
                )
                for result in found.results
            ]
        )
        return found

    def turn_proofs(
        self, tree: TreeId, base: TreeId, unit: Unit, done: Sequence[Unit]
    ) -> tuple[Evidence, ...]:
        """All that a turn's tree has to show, for its unit; it must not undo what the units `done` have shown."""
        found = self.judge(tree, base, (unit, *done), "turn")
        if unit.findings or not failed(found):
            # Last, because it is the dearest; what it finds out is used again at the end of the run.
            audited = self.turn_audit(tree, base, unit)
            found += () if audited is None else (audited,)
        # Neither a fixer nor a merge can write the tests that are missing; the end of the run asks for them.
        late = unit.strategy in ("fixer", "merge")
        return found if late else self.with_strength(found, tree, base)

    def turn_audit(self, tree: TreeId, base: TreeId, unit: Unit) -> Evidence | None:
        """What the auditors hold against the tree that a turn of `unit` leaves; None where none is asked."""
        if unit.findings:
            return self.findings_gone(tree, base, unit.findings)
        asked = checks(Level.TURN, (unit.unit_type,)).audit is not Extent.NONE
        return self.changed_files(tree, base) if asked else None

    def with_strength(
        self, found: tuple[Evidence, ...], tree: TreeId, base: TreeId
    ) -> tuple[Evidence, ...]:
        """The proofs with the last one, where it is asked for: it is measured only when all others hold."""
        if not self.strict or failed(found):
            return found
        return (*found, evidence.test_strength(self.strength(tree, base)))

    def weak(self, tree: TreeId) -> tuple[Mutant, ...]:
        """The mutants that no test notices, where that alone is open for `tree`."""
        tried = self.journal.state.mutants.get(tree) if self.strict else None
        return () if tried is None else unnoticed(tried)

    def is_firmer(self, start: TreeId, tree: TreeId) -> bool:
        """Whether only the strength of the tests is open for `tree`, and less of it than for `start`."""
        now, was = self.journal.state.mutants.get(tree), self.journal.state.mutants.get(start)
        if not self.strict or now is None or tree == start:
            return False
        if was is None or is_strong(was):  # the work of this unit was not shown before
            return True
        return len(unnoticed(now)) < len(unnoticed(was))

    def around(
        self, start: TreeId, after: TreeId, base: TreeId
    ) -> tuple[TestReport, TestReport | None, EventId | None]:
        """The unit's tests before a turn and after it, with the event of the latter; none when nothing changed."""
        baseline, _ = self.baseline(base)
        earlier = self.journal.tests(start, "turn")
        before = earlier[0] if earlier else baseline
        if after == start:
            return before, None, None
        judged = self.judged(after, base)
        ran = self.journal.tests(judged, "turn") or self.journal.tests(judged, "impacted")
        return (before, *ran) if ran else (before, None, None)

    def judge(
        self, tree: TreeId, base: TreeId, units: Sequence[Unit], purpose: TestPurpose
    ) -> tuple[Evidence, ...]:
        """Everything that speaks for or against `tree` as the answer to `units`."""
        diff = self.workspace.diff(base, tree)
        guarded = self.guarded(diff)
        proofs = [evidence.protected_files(diff, guarded, (), examples=self._examples(diff))]
        judged = self.workspace.overlay(tree, base, guarded)
        before, flaky = self.baseline(base)
        early = checks(Level.TURN, (u.unit_type for u in units)).tests is Extent.IMPACTED
        guessing = purpose == "turn" and early
        impact = self._worthy_guess(judged, base, before) if guessing else None
        if impact is not None:
            refusal = self._early(judged, before, flaky, impact)
            if refusal is not None:
                return (*proofs, refusal)
        after, event = self.tests(judged, purpose)
        if impact is not None:
            self._check(Level.TURN, impact, judged, before, after)
        loose = self.loose(base, before, after)
        before, after = steadied(before, loose), steadied(after, loose)
        surprising = (set(after.failing) & set(before.passing)) - flaky
        flaky |= self.flaky(judged, after, surprising, base=base)
        changed = self.rewritten(diff, before, after)
        proofs.append(evidence.base_tests(before, after, flaky, (event,), rewritten=changed))
        if targets := targets_of(units):
            proofs.append(
                evidence.target_tests(targets, before, after, (event,), edited=diff.paths)
            )
        fresh = self.new_tests(diff, before, after)
        if fresh or any(not u.failing and not u.findings for u in units):
            report, falsified = self._falsify(tree, base, diff)
            on_base = steadied(report, loose)
            noticing = self._noticing(tree, base, evidence.idle(fresh, on_base), proofs)
            proofs.append(
                evidence.new_tests(fresh, on_base, after, (falsified, event), noticing=noticing)
            )
        brought = self._brought(judged, base, diff, fresh)
        without = self.workspace.overlay(judged, base, brought) if brought else judged
        if brought and not failed(proofs):
            proofs.append(self._apart(without, diff, targets, changed))
        if self.examples is not None and not failed(proofs):
            proofs += Examples(
                journal=self.journal, trees=self.workspace, suite=self.suite, write=self.examples
            ).hold(units, base, without)
        return tuple(proofs)

    def _brought(
        self, judged: TreeId, base: TreeId, diff: Diff, fresh: Collection[str]
    ) -> list[str]:
        """Changed files that are tests' alone; a new module of a folder named `testing` may be the product's."""
        grown = self._grown(diff)
        unclear = grown - {t.partition("::")[0] for t in fresh}
        return sorted(grown - self.of_product(judged, base, unclear))

    def of_product(self, tree: TreeId, base: TreeId, paths: Collection[str]) -> frozenset[str]:
        """Those of `paths`, tests by their names, that the product imports.

        Never one beside the base's tests or below them: only where tests run can it be had by another name, such as that
        of a module of the product.
        """
        found = self.guesser.of_product(base, tree, paths)
        if not found:
            return found
        files = {PurePosixPath(t.partition("::")[0]) for t in self._collected(base)}
        of_tests = {f.parent for f in files if self.suite.is_test_path(str(f.parent / "x.py"))}
        return frozenset(p for p in found if of_tests.isdisjoint(PurePosixPath(p).parents))

    def _apart(
        self, without: TreeId, diff: Diff, targets: Sequence[str], changed: Collection[str]
    ) -> Evidence:
        """The base's tests once more where the new ones are not: a test file may change the product for all beside it."""
        base = diff.before
        before, flaky = self.baseline(base)
        after, event = self.tests(without, "apart")
        loose = self.loose(base, before, after)
        before, after = steadied(before, loose), steadied(after, loose)
        surprising = (set(after.failing) & {*before.passing, *targets}) - flaky
        flaky |= self.flaky(without, after, surprising, base=base)
        return evidence.apart(
            before, after, targets, flaky, (event,), rewritten=changed, edited=diff.paths
        )

    def _noticing(
        self, tree: TreeId, base: TreeId, idle: Sequence[str], proofs: Sequence[Evidence]
    ) -> frozenset[str]:
        """Which new tests that pass on the base too notice a mutant that no other test does; a unit's run has shown some."""
        shown = (self.noticing | self.journal.state.plan.noticing) & set(idle)
        left = [t for t in idle if t not in shown]
        if not self.strict or not left or failed(proofs):
            return shown
        tried = self.strength(tree, base, left)
        return shown | of_new(left, tried) if tried else shown

    # --- guesses, which save time and never let anything pass ---------------------------------------

    @property
    def guesser(self) -> Guesser:
        """What guesses for this run's trees."""
        return Guesser(workspace=self.workspace, suite=self.suite, graphs=self.graphs)

    def check_guess(self, level: Level, base: TreeId, tree: TreeId, after: TestReport) -> None:
        """Hold the guess for the change from `base` to `tree` against a whole run on `tree`; the record names misses."""
        before, _ = self.baseline(base)
        impact = self.guesser.impact(base, tree, before.collected, self._reach(base))
        self._check(level, impact, tree, before, after)

    def _check(
        self, level: Level, impact: Impact, tree: TreeId, before: TestReport, after: TestReport
    ) -> None:
        flaky = self.settled.get(tree, frozenset())
        checked = ImpactChecked(
            level=level.value,
            tree=tree,
            selected=len(before.collected if impact.tests is None else impact.tests),
            total=len(before.collected),
            missed=tuple(t for t in missed(impact, before, after) if t not in flaky),
            reason=impact.reason,
            levels=LEVELS_VERSION,
        )
        self.journal.record(checked)

    def _worthy_guess(self, judged: TreeId, base: TreeId, before: TestReport) -> Impact | None:
        """The tests to run first, when they are few enough; from the second turn on, all may be watched to find them."""
        if before.wall_s < EARLY_FROM_S:
            return None
        impact = self.guesser.impact(base, judged, before.collected, self._reach(base))
        known = base in self.journal.state.reach or not self.journal.state.turns_closed
        if not known and is_worth_watching(impact, before):
            self._watch(base)
            impact = self.guesser.impact(base, judged, before.collected, self._reach(base))
        return impact if is_worth(impact, before) else None

    def _early(
        self, judged: TreeId, before: TestReport, flaky: frozenset[str], impact: Impact
    ) -> Evidence | None:
        some, event = self.tests(judged, "impacted", impact.tests)
        refusal = evidence.early_tests(before, some, flaky, (event,))
        if refusal is None:
            return None
        suspects = (set(some.failing) & set(before.passing)) - flaky
        flaky |= self.flaky(judged, some, suspects, impact.tests)
        return evidence.early_tests(before, some, flaky, (event,))

    def _reach(self, base: TreeId) -> Reach:
        recorded = self.journal.state.reach.get(base)
        return (
            {}
            if recorded is None
            else decode(dict[str, frozenset[str]], self.journal.get(recorded))
        )

    def _watch(self, base: TreeId) -> None:
        reach = self.guesser.watch(base)
        blob = self.journal.put(canonical({test: sorted(files) for test, files in reach.items()}))
        self.journal.record(TestsWatched(tree=base, count=len(reach), reach=blob))

    def changed_files(self, tree: TreeId, base: TreeId) -> Evidence:
        """What lint, types and security say of the files that changed."""
        paths = self.workspace.diff(base, tree).paths
        return evidence.changed_files(paths, self.findings(base), self.findings(tree))

    def strength(
        self, tree: TreeId, base: TreeId, apart: Sequence[str] = ()
    ) -> MutantsTried | None:
        """What the tests make of mutants of the lines that changed; a recorded answer is used again.

        Args:
            tree: What is judged.
            base: What it changed.
            apart: New tests that pass on the base too; each has to notice something by itself.
        """
        recorded = self.journal.state.mutants.get(tree)
        if recorded is not None or self.meter is None:
            return recorded
        measured = self.meter.measure(self.strength_case(tree, base, apart), self.workspace)
        self.journal.record(measured)
        return measured

    def strength_case(self, tree: TreeId, base: TreeId, apart: Sequence[str] = ()) -> Case:
        """What such a measurement rests on: the change, and the passing tests of the run that decided on it."""
        diff, judged = self.workspace.diff(base, tree), self.judged(tree, base)
        is_test = self.is_test(base)
        ran = self.journal.tests(judged, "base-tests") or self.journal.tests(judged, "turn")
        usual_s = passing_s(ran[0], self.loose(base, self.baseline(base)[0], ran[0])) if ran else {}
        chancy = self.settled.get(judged, frozenset())
        impact = self.guesser.impact(base, judged, sorted(usual_s), {})
        targets = {t for u in self.journal.state.units.values() for t in u.unit.failing}
        reached = [t for t in usual_s if impact.holds(t) and t not in {*chancy, *apart}]
        return Case(
            tree=tree,
            judged=judged,
            texts={
                p: (self._text(diff.before, p), self._text(diff.after, p))
                for p in diff.paths
                if not is_test(p) and not self.suite.is_control_path(p)
            },
            tests=tuple(sorted(reached, key=lambda t: (t not in targets, usual_s[t], t))),
            apart=tuple(t for t in apart if t in usual_s),
            usual_s=usual_s,
            seed=self.journal.state.opened.seed if self.journal.state.opened else 0,
        )

    def judged(self, tree: TreeId, base: TreeId) -> TreeId:
        """`tree` with everything that the base decides on as the base has it."""
        return self.workspace.overlay(tree, base, self.guarded(self.workspace.diff(base, tree)))

    def seen(self, tree: TreeId, base: TreeId) -> tuple[TestReport, frozenset[str]]:
        """The deciding run as the proofs took it, and which of its failures are none of the change's doing.

        A test file that the base could not collect either is no failure of the change.
        """
        before, flaky = self.baseline(base)
        judged = self.judged(tree, base)
        after, _ = self.tests(judged, "base-tests")
        loose = self.loose(base, before, after)
        flaky |= self.settled.get(judged, frozenset())
        if evidence.is_whole(after, before):
            after = replace(after, state=ReportState.COMPLETE)
        return steadied(after, loose), frozenset(steadied(before, loose).failing) | flaky

    def findings_gone(self, tree: TreeId, base: TreeId, targets: Sequence[Finding]) -> Evidence:
        """Whether the findings are gone from `tree` and nothing new came."""
        before, after = self.findings(base), self.findings(tree)
        between = self.journal.state.audits.values()
        seen = {f.fingerprint for recorded in between for f in recorded.audit.findings}
        return evidence.findings_gone(targets, before, after, (), seen=seen)

    def fewer_findings(self, start: TreeId, tree: TreeId, targets: Sequence[Finding]) -> bool:
        """Whether `tree` has strictly fewer findings of these kinds than `start`, and nothing new."""
        return bool(targets) and evidence.fewer_findings(
            targets, self.findings(start), self.findings(tree)
        )

    def guarded(self, diff: Diff) -> tuple[str, ...]:
        """Changed paths that the base decides on: its tests, and all that steers runner and gates."""
        tests, flags = self._tests_of_base(diff), self.risk_flags
        return tuple(
            p
            for p in diff.paths
            if (self.suite.is_control_path(p) and "allow_ci_changes" not in flags)
            or (p in tests and "allow_test_changes" not in flags)
        )

    def steering(self, diff: Diff) -> tuple[str, ...]:
        """Changed paths that decide what passes, whatever flags allow: tests of the base, and what steers runner and gates."""
        tests = self._tests_of_base(diff)
        return tuple(p for p in diff.paths if self.suite.is_control_path(p) or p in tests)

    def _tests_of_base(self, diff: Diff) -> frozenset[str]:
        """Changed paths whose tests no longer read as on the base: test files that are more than grown, and examples."""
        is_test, grown = self.is_test(diff.before), self._grown(diff)
        return self._examples(diff) | {p for p in diff.paths if is_test(p) and p not in grown}

    def _examples(self, diff: Diff) -> frozenset[str]:
        """Changed files that hold examples which the base collected, and hold them no longer as they were."""
        changed = examples_changed(self._collected(diff.before), self.contents(diff))
        return changed - self._grown(diff)

    def is_test(self, base: TreeId) -> Callable[[str], bool]:
        """Tells the files of a run from `base` that hold tests: by name, and where tests of the base stand in them."""
        return is_test_by(self.suite.is_test_path, self._collected(base))

    def _collected(self, base: TreeId) -> tuple[str, ...]:
        return self.tests(base, "baseline")[0].collected

    def rewritten(self, diff: Diff, before: TestReport, after: TestReport) -> frozenset[str]:
        """The very tests that the run was allowed to change, and did."""
        if "allow_test_changes" not in self.risk_flags:
            return frozenset()
        existing = {f.path for f in diff.files if f.status != "A"}
        is_test = self.is_test(diff.before)
        texts = {
            path: both
            for path, both in self.contents(diff).items()
            if path in existing and is_test(path)
        }
        return rewritten({*before.collected, *after.collected}, texts)

    def contents(self, diff: Diff) -> dict[str, tuple[str | None, str | None]]:
        """Text of each changed file before and after; None where it is not there or not text."""
        return {path: both_of(diff, path, self.workspace.read) for path in diff.paths}

    def texts(self, tree: TreeId, paths: Collection[str]) -> dict[str, str]:
        """Text of files of a tree, those left out that are not there or not text."""
        found = {path: self._text(tree, path) for path in sorted(paths)}
        return {path: text for path, text in found.items() if text is not None}

    def _text(self, tree: TreeId, path: str) -> str | None:
        return text_of(self.workspace.read(tree, path))

    def _grown(self, diff: Diff) -> frozenset[str]:
        """Test files that the change brought, or only added to."""
        return grown_in(diff, self.workspace.read, self.is_test(diff.before))

    def new_tests(self, diff: Diff, before: TestReport, after: TestReport) -> tuple[str, ...]:
        """Ids that only the result has, in test files that the run added or only added to."""
        added = self._grown(diff)
        known = set(before.collected)
        return tuple(t for t in after.collected if t not in known and t.split("::", 1)[0] in added)

    def _falsify(self, tree: TreeId, base: TreeId, diff: Diff) -> tuple[TestReport, EventId]:
        grown = sorted(self._grown(diff))
        return self.tests(self.workspace.overlay(base, tree, grown), "falsify")


def targets_of(units: Sequence[Unit]) -> list[str]:
    """The failing tests that units are to mend."""
    return sorted({t for unit in units for t in unit.failing})


def failed(proofs: Sequence[Evidence]) -> str:
    """Why the proofs do not hold, in words; empty when they do."""
    return "; ".join(f"{p.kind}: {p.after}" for p in proofs if not p.passed)

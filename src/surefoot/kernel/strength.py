"""How strong the tests are where a run changed something: its lines are mutated, and the tests meet the mutants.

Which mutants are tried, against which tests and in which order is a function of the change, the seed and a recorded test
run, so that anybody can derive it again. Time only bounds it, and what was not tried for want of it is said. A mutant
survives only by a run of all tests that can reach the change: in the trial worker where they take little time, else, and
where the worker gave no clear answer, in a fresh process. A failing test in the worker is enough to kill it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from surefoot.codec import digest, digest_of
from surefoot.errors import LedgerError, SurefootError
from surefoot.events.work import MutantsTried
from surefoot.judgements import Mutant, MutantEnd
from surefoot.kernel.ports import Clock, MutantDraft, Mutator, Suite, Trees, TrialWorker
from surefoot.values import SETTLED, Candidate, FileEdit, ReportState, TestReport, TreeId

MOST: Final = 12
TIME_S: Final = 120.0
WARM_S: Final = 10.0
"""What the tests that the worker runs may have taken in all in the recorded run, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is measured: a change, and the tests that hold it."""

    tree: TreeId
    judged: TreeId
    """The same with the base's own copy of everything that the base decides on."""
    texts: Mapping[str, tuple[str | None, str | None]]
    """Each changed file of the product before and after; None where it is not there or not text."""
    tests: tuple[str, ...]
    """Passing tests that can reach the change, in the order in which the worker is to run them."""
    apart: tuple[str, ...]
    """New tests that pass on the base too, and so have to show one by one that they notice something."""
    usual_s: Mapping[str, float]
    """How long each took in the recorded run."""
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The mutants that are to be tried."""

    possible: int
    drafts: tuple[MutantDraft, ...]
    unread: tuple[str, ...]


def choose(case: Case, mutator: Mutator, most: int) -> Chosen:
    """At most so many mutants of the changed lines: from every line some, before any line gives more."""
    possible: list[MutantDraft] = []
    unread: list[str] = []
    for path, (before, after) in sorted(case.texts.items()):
        reads = mutator.reads(path) if after is not None else None
        if reads:
            possible += mutator.drafts(path, before, after or "")
        elif reads is not None:
            unread.append(path)
    return Chosen(
        possible=len(possible),
        drafts=tuple(_spread(possible, case.seed))[:most],
        unread=tuple(unread),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """Tries mutants; what it found out is the caller's to record."""

    mutator: Mutator
    suite: Suite
    clock: Clock
    left_s: Callable[[], float] = lambda: float("inf")
    """Seconds that the run still has."""
    cut_at: Callable[[TreeId], int | None] = lambda _tree: None
    """After how many mutants the time was up in the run that is done again; None: by the clock."""
    most: int = MOST
    """Mutants of one change that are tried."""
    time_s: float = TIME_S
    """Longest time for all of them, wall-clock seconds."""

    def measure(self, case: Case, trees: Trees) -> MutantsTried:
        """What the tests make of the mutants; whatever keeps it from being found out is said and passes nothing."""
        chosen = choose(case, self.mutator, self.most)
        mutants: list[Mutant] = []
        problem, tests = _hopeless(case, chosen), case.tests
        if not problem:
            try:
                with self._trials(case, chosen, trees) as trials:
                    problem, tests = trials.problem, trials.tests
                    mutants += self._tried(case.tree, trials, chosen.drafts)
            except LedgerError:
                raise  # nothing may happen that cannot be recorded
            except SurefootError as error:
                problem = f"the mutants could not be tried: {error}"
        untried = len(chosen.drafts) - len(mutants)
        return MutantsTried(
            tree=case.tree,
            possible=chosen.possible,
            mutants=tuple(mutants),
            untried=untried,
            tests=len(tests),
            apart=case.apart,
            unread=chosen.unread,
            problem=problem or ("the time for it was up" if untried else ""),
            maker=self.mutator.maker,
        )

    def _tried(
        self, tree: TreeId, trials: "_Trials", drafts: Sequence[MutantDraft]
    ) -> Iterator[Mutant]:
        if trials.problem:
            return
        end_s = self.clock.monotonic() + min(self.time_s, self.left_s())
        cut = self.cut_at(tree)
        for number, draft in enumerate(drafts):
            if self.clock.monotonic() >= end_s or number == cut:
                return
            yield trials.of(draft)

    @contextmanager
    def _trials(self, case: Case, chosen: Chosen, trees: Trees) -> "Iterator[_Trials]":
        def fresh(edits: Sequence[FileEdit], tests: Sequence[str]) -> TestReport:
            with trees.checkout(case.judged) as root:
                for edit in edits:
                    (root / edit.path).write_bytes((edit.text or "").encode())
                return self.suite.run(root, tests)

        files = {draft.file: case.texts[draft.file][1] or "" for draft in chosen.drafts}
        idle = _candidate(
            [FileEdit(path=p, text=self.mutator.idle(p, text)) for p, text in files.items()]
        )
        with (
            trees.checkout(case.judged) as root,
            self.suite.worker(root, (*_quick(case.tests, case.usual_s), *case.apart)) as worker,
        ):
            yield _Trials(case, idle, worker, fresh)


Fresh = Callable[[Sequence[FileEdit], Sequence[str]], TestReport]
"""Runs tests on a changed copy of the tree in a process of their own."""


class _Trials:
    """One change's mutants, one after the other."""

    def __init__(self, case: Case, idle: Candidate, worker: TrialWorker, fresh: Fresh) -> None:
        """`idle` does nothing new: a test that fails on it looks at the text of the code, and could tell every mutant by that."""
        self._worker, self._fresh = worker, fresh
        self.tests, self.problem = case.tests, ""
        self._quick = _quick(self.tests, case.usual_s)
        self._warm = self._passes(idle, self._quick)
        if self._quick and not self._warm:
            report = fresh(idle.edits, self.tests)
            if report.state is not ReportState.COMPLETE:
                self.problem = (
                    f"the tests give no answer on a change that does nothing: {report.state}"
                )
            self.tests = tuple(t for t in self.tests if t not in report.failing)
            self._quick = _quick(self.tests, case.usual_s)
            self._warm = self._passes(idle, self._quick)
        self._apart = tuple(t for t in case.apart if self._passes(idle, (t,)))

    def _passes(self, candidate: Candidate, tests: tuple[str, ...]) -> bool:
        if not tests:
            return False
        report = self._worker.attempt(candidate, tests).report
        return report.state is ReportState.COMPLETE and not report.failing

    def _is_clear(self, report: TestReport) -> bool:
        """Whether what the worker saw of its tests says what all of them would."""
        if report.failing or report.state is ReportState.TIMEOUT:
            return True
        return report.state is ReportState.COMPLETE and self._quick == self.tests

    def of(self, draft: MutantDraft) -> Mutant:
        """What becomes of a mutant; only a run of all tests lets it survive."""
        candidate = _candidate([FileEdit(path=draft.file, text=draft.text)])
        report = self._worker.attempt(candidate, self._quick).report if self._warm else None
        if report is None or not self._is_clear(report):
            report = self._fresh(candidate.edits, self.tests) if self.tests else None
        ended, by = _judged(report)
        if ended == "survived":
            alone = (self._worker.attempt(candidate, (t,)).report for t in self._apart)
            by = tuple(t for t, r in zip(self._apart, alone, strict=True) if r.failing == (t,))
            ended = "killed" if by else "survived"
        return Mutant(
            file=draft.file,
            line=draft.line,
            operator=draft.operator,
            patch=draft.patch,
            ended=ended,
            by=by,
        )


def _candidate(edits: Sequence[FileEdit]) -> Candidate:
    return Candidate(
        candidate_id=digest_of(tuple(edits)),
        generator="mutant",
        edits=tuple(edits),
        description="a mutant",
    )


def _judged(report: TestReport | None) -> tuple[MutantEnd, tuple[str, ...]]:
    """How a mutant ended by a run of the tests; where there are none to run, it lives."""
    if report is None:
        return "survived", ()
    if report.state is ReportState.TIMEOUT:
        return "hangs", ()
    settled = report.state in SETTLED
    if settled and report.failing:
        return "killed", report.failing[:1]
    return ("survived" if report.state is ReportState.COMPLETE else "unclear"), ()


def _hopeless(case: Case, chosen: Chosen) -> str:
    """Why there is nothing to try."""
    if not chosen.drafts and chosen.unread:
        return f"only Python is mutated, and this is not: {', '.join(chosen.unread[:3])}"
    if not chosen.drafts:
        return "no mutant can be made of the lines that changed"
    return "" if case.tests or case.apart else "no passing test can reach the change"


def _quick(tests: Sequence[str], usual_s: Mapping[str, float]) -> tuple[str, ...]:
    """The first tests, which take little time in all."""
    chosen: list[str] = []
    sum_s = 0.0
    for test in tests:
        sum_s += usual_s.get(test, 0.0)
        if sum_s > WARM_S and chosen:
            break
        chosen.append(test)
    return tuple(chosen)


def _spread(drafts: Iterable[MutantDraft], seed: int) -> Iterator[MutantDraft]:
    """All drafts, one of every line, then another of every line, and so on; which line comes first is a matter of the seed."""
    by_line: dict[tuple[str, int], list[MutantDraft]] = {}
    for draft in drafts:
        by_line.setdefault((draft.file, draft.line), []).append(draft)
    order = sorted(by_line, key=lambda place: digest(f"{seed}\0{place[0]}\0{place[1]}".encode()))
    queues = [_varied(by_line[place]) for place in order]
    for turn in range(max(map(len, queues), default=0)):
        yield from (queue[turn] for queue in queues if turn < len(queue))


def _varied(drafts: Sequence[MutantDraft]) -> list[MutantDraft]:
    """Those of one line, one of each family before any family comes again."""
    often: Counter[str] = Counter()
    keyed = []
    for number, draft in enumerate(drafts):
        keyed.append((often[draft.operator], number, draft))
        often[draft.operator] += 1
    return [draft for _, _, draft in sorted(keyed, key=lambda k: k[:2])]


# --- what was found out, in words -----------------------------------------------------------------


def unnoticed(tried: MutantsTried) -> tuple[Mutant, ...]:
    """The mutants that the tests do not notice."""
    return tuple(m for m in tried.mutants if not m.is_noticed)


def is_strong(tried: MutantsTried) -> bool:
    """Whether every mutant was tried and noticed; nothing tried is nothing shown."""
    whole = not tried.problem and not tried.untried and not tried.unread
    return whole and bool(tried.mutants) and not unnoticed(tried)


def in_words(tried: MutantsTried) -> str:
    """What was found out, in a line."""
    said = [tried.problem] if tried.problem else []
    if tried.mutants:
        noticed = sum(m.is_noticed for m in tried.mutants)
        some = (
            f", of {tried.possible} that are possible"
            if tried.possible > len(tried.mutants)
            else ""
        )
        said.insert(
            0,
            f"{noticed} of {len(tried.mutants)} mutants noticed by {tried.tests + len(tried.apart)} tests{some}",
        )
    if tried.untried:
        said.append(f"{tried.untried} not tried")
    left = Counter(f"{m.file}:{m.line} {m.ended}" for m in unnoticed(tried))
    places = [f"{place} ({n} mutants)" if n > 1 else place for place, n in left.items()]
    said += [", ".join(places)] if places else []
    if tried.unread and tried.mutants:
        said.append(f"not measured: {', '.join(tried.unread[:3])}")
    return "; ".join(said)


def by_form(mutants: Iterable[Mutant]) -> tuple[tuple[Mutant, ...], ...]:
    """Mutants whose diffs differ only in the lines that come in, and that ended alike, together."""
    found: dict[tuple[str, ...], list[Mutant]] = {}
    for mutant in mutants:
        rest = (row for row in mutant.patch.splitlines() if not _comes_in(row))
        found.setdefault((mutant.ended, *rest), []).append(mutant)
    return tuple(map(tuple, found.values()))


def shown_together(alike: Sequence[Mutant]) -> str:
    """One diff of mutants of one form: where a diff has what comes in, that of each, with a row `or` between them."""
    rows = alike[0].patch.splitlines()
    end = max((n for n, row in enumerate(rows, 1) if _comes_in(row)), default=len(rows))
    others = [
        row
        for m in alike[1:]
        for row in ("or", *(row for row in m.patch.splitlines() if _comes_in(row)))
    ]
    return "\n".join([*rows[:end], *others, *rows[end:]])


def _comes_in(row: str) -> bool:
    return row.startswith("+") and not row.startswith("+++ ")


def of_new(tests: Collection[str], tried: MutantsTried) -> frozenset[str]:
    """Those of `tests` that notice some mutant."""
    return frozenset(t for m in tried.mutants for t in m.by if t in tests)

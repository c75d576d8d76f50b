"""Candidates meet the tests in the worker; what came out is kept and recorded.

Recorded one by one is what later steps or people can lean on: every candidate of the model, and each syntax-tree edit
that passed or came nearer. The others, hundreds that came no nearer, are recorded a hundred at a time as one list of what
each changed and what the tests said: a whole file for each would be the bulk of a ledger and say no more.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from surefoot.codec import canonical, digest, encode
from surefoot.events.work import CandidatesRejected, CandidateTried
from surefoot.execute.repair.candidates import UNCHANGED, mark
from surefoot.execute.repair.failure import closeness, first_failure, passed_all
from surefoot.execute.repair.gauge import Gauge, Reading
from surefoot.kernel.ports import Notebook, TrialWorker
from surefoot.values import Candidate, Digest, ReportState, TestReport, TestResult

PASSED = "passed the known tests"
CHOSEN = "chosen"
DISAGREES = "a fresh run disagrees"
REFUSED = "the review would refuse it"
_NEARER = 0.01
_LIST = 100
"""Rejected candidates in one record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What one candidate did."""

    candidate: Candidate
    passed: bool
    """All failing tests and the wider ones pass."""
    fixed: int
    """Failing tests that pass now, as far as they were run; with a gauge, checked calls that are right."""
    near: float
    """How near it came, 0..1."""
    message: str
    failure: TestResult | None = None
    """The first test that failed."""
    reading: Reading | None = None
    """What the checked calls gave, where there is a gauge."""

    @property
    def rank(self) -> tuple[int, float, float]:
        """Larger is better."""
        return (self.fixed, self.near, self.candidate.prior)

    @property
    def way(self) -> str:
        """What it did, the same for candidates that did the same."""
        return self.message if self.reading is None else " ".join(self.reading.words)


class Trials:
    """All trials of one turn."""

    def __init__(
        self,
        worker: TrialWorker,
        notebook: Notebook,
        *,
        failing: Sequence[str],
        wider: Sequence[str],
        known: Mapping[Digest, str],
    ) -> None:
        self._worker = worker
        self._notebook = notebook
        self.failing = tuple(failing)
        self.wider = tuple(wider)
        self._known = known
        self._seen: dict[str, Tried] = {}
        self._rejected: list[tuple[str, str]] = []
        self._unsettled = bool(wider)
        self.count = 0
        """Candidates run so far."""
        self.base = self._run(UNCHANGED)

    @property
    def passing(self) -> list[Tried]:
        """Candidates that passed, in the order in which they did."""
        return [t for t in self._seen.values() if t.passed]

    def seen(self, candidate: Candidate) -> Tried | None:
        """What an equal candidate did in this turn."""
        return self._seen.get(mark(candidate))

    def attempt(
        self,
        candidate: Candidate,
        gauge: Gauge | None = None,
        *,
        record: bool = False,
        what: str = "",
        refuse: Callable[[Candidate], str] | None = None,
    ) -> Tried | None:
        """Run a candidate unless the same idea was run before; None then.

        Args:
            candidate: The candidate.
            gauge: What to measure it with before the tests.
            record: Record it one by one whatever comes out.
            what: The search that it belongs to, for the list of the rejected.
            refuse: Says why a candidate need not meet the tests; nothing when it shall.
        """
        key = mark(candidate)
        blob = encode(candidate)
        if key in self._seen or self._done_with(digest(blob)):
            return None
        self.count += 1
        why = refuse(candidate) if refuse is not None else ""
        if why:
            tried = Tried(candidate=candidate, passed=False, fixed=0, near=0.0, message=why)
        else:
            tried = self._run(candidate) if gauge is None else self._measure(candidate, gauge)
        self._seen[key] = tried
        if record or tried.passed or self.nearer(tried, gauge):
            self._record(tried, blob)
        else:
            self._reject(candidate, tried.message, what)
        return tried

    def look(self, candidate: Candidate, what: str) -> bool:
        """Whether what is no candidate passes: an edit that asks how much the known tests hold. `what` names the question."""
        self.count += 1
        tried = self._run(candidate)
        self._reject(candidate, tried.message, what)
        return tried.passed

    def nearer(self, tried: Tried, gauge: Gauge | None) -> bool:
        """Whether it came nearer than the unchanged code, or fails in another way where that breaks down at once."""
        base = gauge.base if gauge is not None else None
        if base is None or tried.reading is None:
            return tried.fixed > 0 or tried.near > self.base.near + _NEARER
        if all(word.startswith("!") for word in base.words):
            return tried.reading.words != base.words
        return tried.reading.exact > base.exact or tried.near > base.near + _NEARER

    def _reject(self, candidate: Candidate, message: str, what: str) -> None:
        self._rejected.append((candidate.description, message))
        if len(self._rejected) == _LIST:
            self.tell_rejected(what)

    def tell_rejected(self, what: str) -> None:
        """Record the candidates that came no nearer since the last such record."""
        if self._rejected:
            listing = self._notebook.put(canonical([list(pair) for pair in self._rejected]))
            count = len(self._rejected)
            self._notebook.record(CandidatesRejected(what=what, count=count, listing=listing))
            self._rejected.clear()

    def tell(self, candidate: Candidate, message: str, score: float) -> None:
        """Record what became of a candidate that passed."""
        tried = Tried(candidate=candidate, passed=True, fixed=0, near=1.0, message=message)
        self._record(tried, encode(candidate), score)

    def _done_with(self, blob: Digest) -> bool:
        """Whether an earlier turn is done with a candidate; one that only passed there may be looked at again."""
        message = self._known.get(blob)
        return message is not None and message != PASSED

    def _measure(self, candidate: Candidate, gauge: Gauge) -> Tried:
        """The gauge first; the tests only for what looks better than the unchanged code."""
        reading = gauge.read(candidate)
        base = gauge.base
        if reading is None or base is None:
            message = "the function cannot be called"
            return Tried(candidate=candidate, passed=False, fixed=0, near=0.0, message=message)
        tried = Tried(
            candidate=candidate,
            passed=False,
            fixed=reading.exact,
            near=reading.near,
            message=f"{reading.exact} of {gauge.total} checked calls are right",
            reading=reading,
        )
        if reading.exact <= base.exact:
            return tried
        run = self._run(candidate)
        return Tried(
            candidate=candidate,
            passed=run.passed,
            fixed=reading.exact,
            near=run.near if run.passed else reading.near,
            message=run.message,
            failure=run.failure,
            reading=reading,
        )

    def _run(self, candidate: Candidate) -> Tried:
        report = self._worker.attempt(candidate, self.failing).report
        if passed_all(report, self.failing):
            return self._wider(candidate)
        failure = first_failure(report)
        return Tried(
            candidate=candidate,
            passed=False,
            fixed=len(report.passed(self.failing)),
            near=closeness(failure) if report.state is ReportState.COMPLETE else 0.0,
            message=_said(report, failure),
            failure=failure,
        )

    def _wider(self, candidate: Candidate) -> Tried:
        failure, message, passed = None, PASSED, True
        if self.wider:
            report = self._worker.attempt(candidate, self.wider).report
            passed = passed_all(report, self.wider)
            if not passed and self._settle():
                return self._wider(candidate)
            failure = first_failure(report)
            message = PASSED if passed else f"breaks {_said(report, failure)}"
        return Tried(
            candidate=candidate,
            passed=passed,
            fixed=len(self.failing),
            near=1.0 if passed else 0.9,
            message=message,
            failure=failure,
        )

    def _settle(self) -> bool:
        """Leave out wider tests that the unchanged code does not pass in the worker either; whether there are any.

        All tests are run in a fresh process before anything is taken.
        """
        if not self._unsettled:
            return False
        self._unsettled = False
        good = set(self._worker.attempt(UNCHANGED, self.wider).report.passing)
        kept = tuple(t for t in self.wider if t in good)
        left_out, self.wider = len(self.wider) - len(kept), kept
        return left_out > 0

    def _record(self, tried: Tried, blob: bytes, score: float | None = None) -> None:
        self._notebook.record(
            CandidateTried(
                candidate=self._notebook.put(blob),
                generator=tried.candidate.generator,
                passed=tried.passed,
                fixed=tried.fixed,
                broken=int(tried.message.startswith("breaks ")),
                score=round(tried.near if score is None else score, 3),
                message=tried.message,
            )
        )


def _said(report: TestReport, failure: TestResult | None) -> str:
    if failure is None:
        return f"{report.state.value}: {report.reason}"
    first = failure.message.strip().partition("\n")[0]
    return f"{failure.test_id}: {first}"[:300]


def refused(tried: Mapping[Digest, str]) -> dict[Digest, str]:
    """Those candidates of earlier turns that passed their tests and were refused for something else."""
    return {d: m for d, m in tried.items() if m.startswith((CHOSEN, DISAGREES, REFUSED))}

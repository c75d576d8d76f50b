"""How near a candidate comes, from one trial: all calls that the known tests check, each with what it gave.

A test stops at its first failing assertion and a trial at its first failing test, so a change that mends one of two faults
often looks like one that mends nothing. Where tests compare calls with literals, the calls are run by a probe instead and
every value is seen. Only what looks better than the unchanged code goes on to the real tests; they alone decide. A call
stands without its test there: without what a fixture or an earlier statement made, and in less time. Where the failing
tests saw something else of the unchanged code, the gauge is of no use, and they are run for every candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.execute.repair.candidates import UNCHANGED
from surefoot.execute.repair.failure import compared, likeness
from surefoot.execute.repair.probe import (
    RAISED,
    STUCK,
    Probe,
    Words,
    expected_value,
    shown,
    shown_value,
    words_of,
)
from surefoot.kernel.ports import TrialWorker
from surefoot.values import Candidate, TestResult

_RAISED = 0.05
_TIMEOUT = "Timeout"
"""What the failure of a test that was stopped is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the checked calls gave."""

    words: Words
    exact: int
    """Calls that gave what is asked for."""
    near: float
    """Mean likeness of all, 0..1."""


class Gauge:
    """Measures candidates of one function; `failing` is what its failing tests say of the unchanged code."""

    def __init__(
        self, worker: TrialWorker, probe: Probe, failing: Sequence[TestResult] = ()
    ) -> None:
        self._worker = worker
        self._probe = probe
        self._failing = failing
        self._expected = [expected_value(c) for c in probe.checked]
        self._base = self.read(UNCHANGED)

    @property
    def useful(self) -> bool:
        """Whether the unchanged code gives a wrong value for some checked call, and that is what its tests saw."""
        if self._base is None or self._base.exact == len(self._expected):
            return False
        pairs = zip(self._base.words, self._expected, strict=True)
        wrong = [(word, asked) for word, asked in pairs if shown_value(word) != asked]
        said = [s for f in self._failing if (s := _is_seen(f.message, wrong)) is not None]
        return any(said) or not said

    @property
    def total(self) -> int:
        """Number of checked calls."""
        return len(self._expected)

    @property
    def base(self) -> Reading | None:
        """What the unchanged code gives."""
        return self._base

    def read(self, candidate: Candidate) -> Reading | None:
        """One trial; None when the function cannot even be called."""
        test = self._probe.test("checked")
        words = words_of(self._worker.attempt(candidate, (test,)).report.result(test))
        if words is None or len(words) != len(self._expected):
            return None
        scores = [_score(w, e) for w, e in zip(words, self._expected, strict=True)]
        exact = sum(s == 1.0 for s in scores)
        return Reading(words=words, exact=exact, near=sum(scores) / max(1, len(scores)))

    def told(self, reading: Reading) -> tuple[str, ...]:
        """The wrong calls of a reading for a prompt: what each gave and what is asked for."""
        found = []
        for word, (example, _), expected in zip(
            reading.words, self._probe.checked, self._expected, strict=True
        ):
            got = shown_value(word)
            if got != expected:
                gave = f"gave `{got}`" if got is not None else _failed(word)
                found.append(f"`{example.call}` {gave}, expected `{example.expected}`")
        return tuple(found)


def _score(word: str, expected: str) -> float:
    got = shown_value(word)
    if got is None:
        return _RAISED if word.startswith("!") else 0.0
    return 1.0 if got == expected else 0.1 + 0.85 * likeness(got, expected)


def _is_seen(message: str, wrong: Sequence[tuple[str, str]]) -> bool | None:
    """Whether a failure tells of one of the wrong words, each with what is asked for; None where that cannot be said."""
    values = compared(message)
    if values is not None:
        pair = {shown(v) for v in values}
        told = [{shown_value(word), asked} == pair for word, asked in wrong if asked in pair]
        return any(told) if told else None
    if not all(word.startswith((RAISED, STUCK)) for word, _ in wrong):
        return None
    names = (_TIMEOUT if word == STUCK else word.removeprefix(RAISED) for word, _ in wrong)
    return any(name in message for name in names)


def _failed(word: str) -> str:
    return f"raised {word[1:]}" if word.startswith("!") else "did not end"

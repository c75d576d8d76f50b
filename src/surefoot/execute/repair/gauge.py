"""How near a candidate comes, from one trial: all calls that the known tests check, each with what it gave.

A test stops at its first failing assertion and a trial at its first failing test, so a change that mends one of two faults
often looks like one that mends nothing. Where tests compare calls with literals, the calls are run by a probe instead and
every value is seen. Only what looks better than the unchanged code goes on to the real tests; they alone decide.
"""

from dataclasses import dataclass

from surefoot.execute.repair.candidates import UNCHANGED
from surefoot.execute.repair.failure import likeness
from surefoot.execute.repair.probe import (
    Probe,
    Words,
    expected_value,
    shown_value,
    words_of,
)
from surefoot.kernel.ports import TrialWorker
from surefoot.values import Candidate

_RAISED = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the checked calls gave."""

    words: Words
    exact: int
    """Calls that gave what is asked for."""
    near: float
    """Mean likeness of all, 0..1."""


class Gauge:
    """Measures candidates of one function."""

    def __init__(self, worker: TrialWorker, probe: Probe) -> None:
        self._worker = worker
        self._probe = probe
        self._expected = [expected_value(c) for c in probe.checked]
        self._base = self.read(UNCHANGED)

    @property
    def useful(self) -> bool:
        """Whether the unchanged code gives a wrong value for some checked call."""
        return self._base is not None and self._base.exact < len(self._expected)

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


def _failed(word: str) -> str:
    return f"raised {word[1:]}" if word.startswith("!") else "did not end"

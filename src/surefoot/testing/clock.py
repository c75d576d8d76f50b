"""Time and identity that a test sets."""

from datetime import UTC, datetime, timedelta

from surefoot.values import RunId


class FakeClock:
    """A clock that stands still unless told; `step_s` lets every reading of `now` move it on."""

    def __init__(
        self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC), *, step_s: float = 0.0
    ) -> None:
        self._start = start
        self._elapsed_s = 0.0
        self._step_s = step_s

    def now(self) -> datetime:
        """The start plus what went by."""
        present = self._start + timedelta(seconds=self._elapsed_s)
        self._elapsed_s += self._step_s
        return present

    def monotonic(self) -> float:
        """Seconds since the start."""
        return self._elapsed_s

    def sleep(self, seconds: float) -> None:
        """Let time go by at once."""
        self._elapsed_s += max(0.0, seconds)

    def advance(self, seconds: float) -> None:
        """Let time go by."""
        self._elapsed_s += seconds


class CountingIds:
    """Run ids that count: `20260101-000000-0001`, then `…-0002`."""

    def __init__(self) -> None:
        self._count = 0

    def run_id(self, now: datetime) -> RunId:
        """The next one."""
        self._count += 1
        return RunId(f"{now:%Y%m%d-%H%M%S}-{self._count:04d}")

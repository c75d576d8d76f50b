"""The real clock and the real ids."""

import secrets
import time
from datetime import UTC, datetime

from surefoot.values import RunId


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        """The present, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait; ctrl-C ends it."""
        time.sleep(max(0.0, seconds))


class RandomIds:
    """Run ids that sort by time and do not meet."""

    def run_id(self, now: datetime) -> RunId:
        """E.g. `20261121-093000-3f9c`."""
        return RunId(f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}")

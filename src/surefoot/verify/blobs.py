"""What events say of their blobs is what the blobs say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from surefoot.codec import decode, difference, digest_of, encode, plain
from surefoot.decisions.redacted import MARK
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import PlanRevised
from surefoot.events.work import TestsRan, ToolFinished, ran
from surefoot.kernel.state import RunState
from surefoot.values import Digest, TestReport, ToolOutcome
from surefoot.verify.record import Reader


def digests_of(events: Sequence[Recorded]) -> Iterator[tuple[Recorded, str, Digest]]:
    """Each blob that an event names, with the field: every field that is typed `Digest`."""
    for recorded in events:
        for item in fields(recorded.event):
            if item.type in (Digest, Digest | None):
                found = getattr(recorded.event, item.name)
                if found is not None:
                    yield recorded, item.name, found


@dataclass(frozen=True, slots=True, kw_only=True)
class BlobCheck:
    """The fields that repeat a blob's content do so."""

    get: Reader

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`."""
        del state
        event = recorded.event
        if isinstance(event, TestsRan):
            report = decode(TestReport, self.get(event.report))
            derived = ran(event.tree, event.purpose, report, event.report)
            return difference(plain(event), plain(derived))
        if isinstance(event, ToolFinished):
            outcome = decode(ToolOutcome, self.get(event.outcome))
            said = replace(
                event, ok=outcome.ok, params_valid=outcome.fits, exit_code=outcome.exit_code
            )
            return difference(plain(event), plain(said))
        if isinstance(event, PlanRevised) and not MARK.search(encode(event).decode()):
            return difference(plain(event), plain(replace(event, plan_hash=digest_of(event.plan))))
        return ""

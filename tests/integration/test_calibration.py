"""What became of decisions: rates by class of work, the ten metrics, and the release gate that reads them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from surefoot.artifacts import CallFacts, Interface, VersionId
from surefoot.codec import digest
from surefoot.events.orchestration import TurnClosed
from surefoot.events.work import ArtifactStored, ArtifactUsed
from surefoot.kernel.journal import Journal
from surefoot.kernel.selection import Rollout
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1, ReleaseLimits
from surefoot.registry import Follower, Registry, calibration, metrics, readiness
from surefoot.registry.queries import MOST_CALLS
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Classification, TreeId, TurnId, UnitId

V1 = SOLVER_PROMOTION_V1.version


class Shop:
    """Tools by name, used in one run after the other, without a disk for the ledger."""

    def __init__(self, folder: Path) -> None:
        ledger, clock = MemoryLedger(clock=FakeClock(step_s=1.0)), FakeClock()
        self.registry = Registry(folder / "lifecycle.db", ledger.get)
        follower = Follower(self.registry, Rollout())
        self.journal = Journal(ledger, clock, follower.follow)

    def use(
        self,
        name: str,
        calls: str,
        *,
        content: str = "1",
        capability: str = "plain",
        keys: tuple[str, ...] = (),
    ) -> VersionId:
        """Store a version, call it (`.` good, `x` failed), and end the turn well."""
        tool, _, method = name.partition(".")
        version = VersionId(
            interface=Interface(kind="tool", name=tool, method=method),
            artifact=digest(f"{name} {content}".encode()),
        )
        if not self.registry.known(version):
            self.journal.record(ArtifactStored(version=version, capability=capability))
        turn = TurnId("t1")
        for number, outcome in enumerate(calls):
            if number == 1:
                self._end(turn)
            facts = CallFacts(
                session=f"task-{number % 2}",
                ok=outcome == ".",
                contract=outcome == ".",
                writes=keys,
            )
            self.journal.record(
                ArtifactUsed(version=version, call=facts, chosen="latest"), turn=turn
            )
        return version

    def _end(self, turn: TurnId) -> None:
        closed = TurnClosed(
            unit_id=UnitId("u"),
            number=1,
            ended_as="noop",
            tree=TreeId("7e" * 20),
            commit=None,
            classification=Classification.PROGRESS,
            outcome="pass",
            reason="",
        )
        self.journal.record(closed, turn=turn)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(tmp_path)
    yield opened
    opened.registry.close()


def test_a_class_that_the_policy_does_not_fit_is_reported(shop: Shop) -> None:
    """Thirty judged decisions and more than twice the rate of all; what is below either is not."""
    for number in range(15):
        # Promoted, then three failures in a row; degraded, then all good: wrong both times.
        shop.use(f"odd{number}.run", "." * 10 + "xxx" + "." * 20, capability="odd")
    for number in range(20):
        shop.use(f"plain{number}.run", "." * 30)
    found = calibration(shop.registry, "tool", V1)
    assert (found.promotions.mistaken, found.promotions.judged) == (15, 35)
    assert (found.holds.mistaken, found.holds.judged) == (15, 15)
    odd, plain = found.classes
    assert (odd.capability, odd.decisions, odd.is_reported) == ("odd", 30, True)
    assert odd.multiplier == pytest.approx(35 / 15)
    assert (plain.decisions, plain.is_reported) == (20, False)
    assert metrics(shop.registry, "tool", V1).class_misfit == pytest.approx(35 / 15)

    def gate() -> dict[str, bool]:
        return {
            r.name: r.met for r in readiness(shop.registry, "tool", ReleaseLimits()).requirements
        }

    assert {name for name, met in gate().items() if not met} == {
        "domains",
        "false-promotions",
        "false-holds",
        "class-misfit",
    }
    laxer = ReleaseLimits(max_class_misfit=3.0, max_false_promotions=0.5, max_false_holds=1.0)
    missing = readiness(shop.registry, "tool", laxer).missing
    assert [r.name for r in missing] == ["domains"]


def test_the_ten_metrics_of_a_small_history(shop: Shop) -> None:
    """One tool that stays, one that falls, and a challenger that agrees less with its sibling than the incumbent."""
    shop.use("notes.list", "." * 12, keys=("notes",))
    shop.use("notes.add", "." * 12, keys=("notes",))
    shop.use("notes.add", "." * 11 + "x" + "." * 20, content="2", keys=("notes", "index"))
    shop.use("fallen.run", "." * 10 + "xxx")
    told = metrics(shop.registry, "tool", V1)
    assert told.promotion_attempts >= 4
    assert told.promotion_success_rate == round(4 / told.promotion_attempts, 4)
    assert told.degraded_after_promotion_rate == 0.25
    assert told.fallback_frequency == 0.0
    assert told.median_time_to_durable_s == pytest.approx(12, abs=3)
    assert told.contract_pass_rate_delta == 0.0
    assert told.coherence_delta == -0.5
    assert told.false_promotion_rate == pytest.approx(1 / 2)
    assert told.false_hold_rate is None
    assert told.class_misfit is None
    nothing = metrics(shop.registry, "tool", "another")
    assert (nothing.promotion_attempts, nothing.promotion_success_rate) == (0, None)


def test_a_hold_before_a_degrade_was_right(shop: Shop) -> None:
    """A version that is held back and then degraded is never called again: else only the holds that were wrong would be judged."""
    shop.use("held.run", ".........x" + "." * 5 + "xx")
    shop.use("kept.run", ".........x" + "." * 21)
    found = calibration(shop.registry, "tool", V1)
    assert (found.holds.mistaken, found.holds.judged) == (1, 2)


def test_a_scorecard_is_read_on_from_where_it_was_read(shop: Shop, tmp_path: Path) -> None:
    """What another process added counts, what was rolled back does not, and no more is held than is kept."""
    version = shop.use("logs.errors", "..x")
    with contextlib.closing(Registry(tmp_path / "lifecycle.db", lambda _: b"")) as other:
        assert [call.ok for call in other.card(version).recent] == [True, True, False]
        shop.use("logs.errors", "x.")
        assert [call.ok for call in other.card(version).recent] == [True, True, False, False, True]
        before = shop.registry.card(version)
        with contextlib.suppress(KeyboardInterrupt), shop.registry.transaction():
            shop.use("logs.errors", "xxx")
            assert shop.registry.card(version).calls == 8
            raise KeyboardInterrupt
        assert shop.registry.card(version) == other.card(version) == before
        shop.use("logs.errors", "." * MOST_CALLS)
        assert other.card(version) == shop.registry.card(version)
        assert {call.ok for call in other.card(version).recent} == {True}
        assert len(other.card(version).recent) == MOST_CALLS

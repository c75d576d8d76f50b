"""The forged tools of a repository on its disk, chosen by their life cycle; and those of a recorded run."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from surefoot.artifacts import Interface, LifecycleState, VersionId
from surefoot.codec import canonical, decode, digest
from surefoot.errors import UsageError
from surefoot.events.envelope import Event
from surefoot.events.policy import PromotionDecided
from surefoot.events.work import ArtifactUsed, ToolFinished, ToolsOffered
from surefoot.kernel.ports import Listed, Offer
from surefoot.kernel.promotion import tally
from surefoot.kernel.selection import Choice, Reason, Rollout
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1
from surefoot.ledger.blobs import BlobStore
from surefoot.registry import Registry
from surefoot.toolbox.forged import KIND, StateFolder
from surefoot.values import Digest

_SILENT: Final = frozenset({"model", "cost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPlaces:
    """Where a repository's forged tools are, below `.surefoot/toolbox`."""

    root: Path

    @property
    def artifacts(self) -> BlobStore:
        """Contents, each under its digest."""
        return BlobStore(self.root / "artifacts")

    @property
    def state(self) -> StateFolder:
        """What tools keep."""
        return StateFolder(self.root / "state")


class RepositoryShelf:
    """The `Shelf` port over registry and disk."""

    def __init__(self, places: ToolPlaces, registry: Registry, rollout: Rollout) -> None:
        self._artifacts, self._state = places.artifacts, places.state
        self._registry, self._rollout = registry, rollout

    def offer(self, most: int, *, first: Sequence[Interface] = ()) -> Offer:
        """As the port says: the most trusted first, then those that succeed most."""
        ranked = self._registry.ranked(KIND, most + len(first))
        asked = [*first, *(i for i in ranked if i not in first)]
        listed = [found for i in asked if (found := self._listed(i)) is not None][:most]
        kept: dict[str, Mapping[str, object]] = {}
        for name in {found.version.interface.name for found in listed}:
            with suppress(UsageError):  # damaged: a call says so, and the turn has other tools
                kept[name] = self.kept(name)
        return Offer(
            listed=tuple(listed),
            kept={name: canonical(state).decode() for name, state in kept.items() if state},
        )

    def is_stale(self, offer: Offer, interface: Interface) -> bool:
        """As the port says."""
        then = next((o for o in offer.listed if o.version.interface == interface), None)
        return self._now(interface) != (None if then is None else (then.version, then.state))

    def choose(self, interface: Interface, *, without: Collection[Digest] = ()) -> Choice | None:
        """As the port says."""
        if not self._registry.is_there:  # nothing was ever stored here
            return None
        return self._registry.choose(interface, self._rollout, without=without)

    def artifact(self, artifact: Digest) -> bytes:
        """As the port says."""
        return self._artifacts.get(artifact)

    def store(self, data: bytes) -> Digest:
        """As the port says."""
        return self._artifacts.put(data)

    def kept(self, name: str) -> Mapping[str, object]:
        """As the port says."""
        return self._state.get(name)

    def keep(self, name: str, writes: Mapping[str, object]) -> None:
        """As the port says."""
        self._state.keep(name, writes)

    def _listed(self, interface: Interface) -> Listed | None:
        now = self._now(interface)
        if now is None:
            return None
        version, state = now
        return Listed(version=version, state=state, note=self._note(version))

    def _now(self, interface: Interface) -> tuple[VersionId, LifecycleState] | None:
        """The version that serves, and its state."""
        choice = self.choose(interface)
        if choice is None:
            return None
        return choice.version, self._registry.standing(choice.version).state

    def _note(self, version: VersionId) -> str:
        """State, policy and scorecard in a line; what is degraded says why to be careful."""
        standing = self._registry.standing(version)
        policy = standing.policy or SOLVER_PROMOTION_V1.version
        seen = tally(self._registry.card(version).window(SOLVER_PROMOTION_V1.medium_window))
        worked = (
            f"{seen.successes} of {seen.calls} calls worked" if seen.calls else "not called yet"
        )
        told = [standing.state.value, policy, worked]
        faults = sum(seen.faults.values())
        if faults:
            told.append(f"{faults} faults")
        if standing.state is LifecycleState.DEGRADED:
            told.append("careful: it failed too often, so check what it says")
        return ", ".join(told)


class TapedShelf:
    """The `Shelf` port from the record of a run alone: the offers that it had, and the versions that served it."""

    def __init__(
        self, ahead: Callable[[], Iterator[Event]], get: Callable[[Digest], bytes]
    ) -> None:
        """`ahead` gives what the record still holds, `get` its blobs."""
        self._ahead, self._get = ahead, get
        self._offer = Offer(listed=())
        self._stored: dict[Digest, bytes] = {}
        self._kept: dict[str, Mapping[str, object]] = {}

    def offer(self, most: int, *, first: Sequence[Interface] = ()) -> Offer:
        """As the port says: the offer that the run had at this place."""
        del most, first
        event = self._next()
        if isinstance(event, ToolsOffered):
            self._offer = decode(Offer, self._get(event.offer))
            self._kept = {
                name: decode(dict[str, object], state.encode())
                for name, state in self._offer.kept.items()
            }
        return self._offer

    def is_stale(self, offer: Offer, interface: Interface) -> bool:
        """As the port says."""
        del offer, interface
        return isinstance(self._next(), ToolsOffered)

    def choose(self, interface: Interface, *, without: Collection[Digest] = ()) -> Choice | None:
        """As the port says: the version that the record has next, and the one that ran beside it."""
        del without
        used = [e for e in self._of_this_call() if e.version.interface == interface]
        trial = next((e.version for e in used if e.chosen == "trial"), None)
        for event in used:
            if event.chosen != "trial":
                return Choice(
                    version=event.version, reason=cast("Reason", event.chosen), trial=trial
                )
        # Arguments that did not fit: nothing ran.
        listed = (o.version for o in self._offer.listed if o.version.interface == interface)
        version = next(listed, None)
        return None if version is None else Choice(version=version, reason="latest")

    def artifact(self, artifact: Digest) -> bytes:
        """As the port says."""
        return self._stored.get(artifact) or self._get(artifact)

    def store(self, data: bytes) -> Digest:
        """As the port says; nothing of it stays."""
        found = digest(data)
        self._stored[found] = data
        return found

    def kept(self, name: str) -> Mapping[str, object]:
        """As the port says."""
        return self._kept.get(name, {})

    def keep(self, name: str, writes: Mapping[str, object]) -> None:
        """As the port says; nothing of it stays."""
        self._kept[name] = {**self.kept(name), **writes}

    def _next(self) -> Event | None:
        """What the run recorded next, but for models and decisions of the life cycle."""
        return next(
            (
                event
                for event in self._ahead()
                if event.event_class not in _SILENT and not isinstance(event, PromotionDecided)
            ),
            None,
        )

    def _of_this_call(self) -> Iterator[ArtifactUsed]:
        for event in self._ahead():
            if isinstance(event, ToolFinished):
                return
            if isinstance(event, ArtifactUsed):
                yield event

"""A shelf in memory on which the latest version serves: for tests, and for what runs without a repository."""

from collections.abc import Collection, Mapping, Sequence

from surefoot.artifacts import Interface, LifecycleState, VersionId
from surefoot.codec import canonical, digest
from surefoot.errors import LedgerError
from surefoot.kernel.ports import Listed, Offer
from surefoot.kernel.selection import Choice
from surefoot.toolbox.forged import unpack
from surefoot.values import Digest


class MemoryShelf:
    """The `Shelf` port without a life cycle."""

    def __init__(self) -> None:
        self._contents: dict[Digest, bytes] = {}
        self._versions: dict[Interface, list[VersionId]] = {}
        self._kept: dict[str, dict[str, object]] = {}

    def offer(self, most: int, *, first: Sequence[Interface] = ()) -> Offer:
        """As the port says: `first`, then what was stored last."""
        others = [i for i in reversed(self._versions) if i not in first]
        shown = [i for i in (*first, *others) if i in self._versions][:most]
        return Offer(
            listed=tuple(self._listed(interface) for interface in shown),
            kept={
                i.name: canonical(self._kept[i.name]).decode()
                for i in shown
                if i.name in self._kept
            },
        )

    def is_stale(self, offer: Offer, interface: Interface) -> bool:
        """As the port says."""
        return self._listed(interface) not in offer.listed

    def choose(self, interface: Interface, *, without: Collection[Digest] = ()) -> Choice | None:
        """As the port says: the latest."""
        usable = [v for v in self._versions.get(interface, ()) if v.artifact not in without]
        return Choice(version=usable[-1], reason="latest") if usable else None

    def artifact(self, artifact: Digest) -> bytes:
        """As the port says."""
        try:
            return self._contents[artifact]
        except KeyError:
            raise LedgerError(f"no artifact {artifact}; store it first") from None

    def store(self, data: bytes) -> Digest:
        """As the port says."""
        found = digest(data)
        self._contents[found] = data
        interface = unpack(data).interface
        version = VersionId(interface=interface, artifact=found)
        known = [v for v in self._versions.pop(interface, ()) if v != version]
        self._versions[interface] = [*known, version]
        return found

    def kept(self, name: str) -> Mapping[str, object]:
        """As the port says."""
        return self._kept.get(name, {})

    def keep(self, name: str, writes: Mapping[str, object]) -> None:
        """As the port says."""
        if writes:
            self._kept.setdefault(name, {}).update(writes)

    def _listed(self, interface: Interface) -> Listed:
        return Listed(
            version=self._versions[interface][-1], state=LifecycleState.CANDIDATE, note="candidate"
        )

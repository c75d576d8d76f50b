"""What operators do with forged tools and their promotion policy. Every act is a plan first; carried out, it is audited.

Acts go into the repository's own ledger, and the projection follows from it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from surefoot.artifacts import Interface, OperatorAct, VersionId
from surefoot.codec import decode, digest, encode
from surefoot.errors import UsageError
from surefoot.events.envelope import Event
from surefoot.events.policy import EnforcementApproved, LifecycleForced, PromotionPolicySet
from surefoot.events.work import ArtifactStored
from surefoot.kernel.promotion import force
from surefoot.kernel.selection import Rollout
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1, PromotionPolicy
from surefoot.project import Project
from surefoot.registry import (
    DecisionRow,
    Metrics,
    Readiness,
    Registry,
    VersionRow,
    metrics,
    readiness,
)
from surefoot.system import SystemClock
from surefoot.upkeep import TOOL, limits_of, open_registry, own_ledger, rollout_of

UNCLASSIFIED: Final = "unclassified"
"""Capability class of a tool that says none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Whoever does something, why, and whether it is to be done or only planned."""

    who: str
    reason: str
    apply: bool
    environ: Mapping[str, str] = field(repr=False)
    """Whose secrets are kept out of the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A version, whether it would serve the next call, and by what it is judged."""

    row: VersionRow
    serves: bool
    policy: PromotionPolicy
    """In force for its class of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InForce:
    """What decides at present."""

    rollout: Rollout
    policy: PromotionPolicy
    profiles: tuple[tuple[str, PromotionPolicy], ...]
    """Of capability classes with a policy of their own."""
    known: tuple[PromotionPolicy, ...]
    """Versions that can be put in force."""
    readiness: Readiness


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What is read of a stored tool, whatever else it holds."""

    name: str
    method: str
    capability: str = UNCLASSIFIED


def listing(project: Project, name: str | None = None) -> tuple[Listed, ...]:
    """All versions, or those of one tool or method, in the order in which they came."""
    with open_registry(project) as registry:
        rollout, _ = rollout_of(project.settings.tools, registry)
        rows = [r for r in registry.versions(TOOL) if _is_meant(r.standing.version, name)]
        serving = {
            choice.version
            for interface in {r.standing.version.interface for r in rows}
            if (choice := registry.choose(interface, rollout)) is not None
        }
        return tuple(
            Listed(
                row=r,
                serves=r.standing.version in serving,
                policy=registry.policy(r.capability),
            )
            for r in rows
        )


def decisions(project: Project, name: str | None = None) -> tuple[DecisionRow, ...]:
    """What the policy decided, oldest first."""
    with open_registry(project) as registry:
        return tuple(d for d in registry.decisions(TOOL) if _is_meant(d.version, name))


def all_metrics(project: Project) -> tuple[Metrics, ...]:
    """The ten metrics, a set for every version of the policy that decided something or is in force."""
    with open_registry(project) as registry:
        used = {d.policy for d in registry.decisions(TOOL)} | {registry.policy().version}
        return tuple(metrics(registry, TOOL, version) for version in sorted(used))


def in_force(project: Project) -> InForce:
    """The policy, its profiles, the flags, and what enforcement waits for."""
    with open_registry(project) as registry:
        rollout, _ = rollout_of(project.settings.tools, registry)
        classes = sorted({c for _, c, _ in registry.policies() if c is not None})
        return InForce(
            rollout=rollout,
            policy=registry.policy(),
            profiles=tuple((c, registry.policy(c)) for c in classes),
            known=tuple(_known(project, registry).values()),
            readiness=readiness(registry, TOOL, limits_of(project.settings.tools)),
        )


def move(project: Project, name: str, act: OperatorAct, how: Act) -> LifecycleForced:
    """Promote, demote or disable a version; the event that was, or would be, recorded.

    Raises:
        UsageError: No version, or more than one, is meant; its state has no such step; no reason is given.
    """
    with _acting(project, how) as acting:
        found = _one(acting.registry, name)
        standing = found.standing
        after, _ = force(
            standing,
            acting.registry.line(standing.version.interface),
            act,
            calls=found.card.calls,
            policy=acting.registry.policy(found.capability),
        )
        event = LifecycleForced(
            version=standing.version,
            act=act,
            before=standing.state,
            after=after.state,
            reason=how.reason,
            who=how.who,
        )
        acting.record((event,))
    return event


def migrate(project: Project, how: Act) -> tuple[VersionId, ...]:
    """Give stored tools without a life cycle one: in probation, with a compatibility mark."""
    with _acting(project, how) as acting:
        found = [
            ArtifactStored(
                version=VersionId(
                    interface=Interface(kind=TOOL, name=kept.name, method=kept.method),
                    artifact=digest(data),
                ),
                capability=kept.capability,
                compatibility=True,
            )
            for data, kept in _stored(project)
        ]
        new = [e for e in found if not acting.registry.known(e.version)]
        acting.record(new)
    return tuple(e.version for e in new)


def set_policy(project: Project, version: str, capability: str | None, how: Act) -> PromotionPolicy:
    """Put a version of the policy in force: for all, or as the profile of one capability class.

    Raises:
        UsageError: Nobody knows that version, or it was in force with other constants.
    """
    with _acting(project, how) as acting:
        known = _known(project, acting.registry)
        if version not in known:
            raise UsageError(
                f"no promotion policy is called {version!r}; there are {', '.join(known)}; "
                "add it to surefoot.toml as [[tools.policy]]"
            )
        acting.put_in_force(known[version], capability)
    return known[version]


def roll_back(project: Project, capability: str | None, how: Act) -> PromotionPolicy:
    """Put the policy back in force that was before the present one.

    Raises:
        UsageError: There was none before.
    """
    with _acting(project, how) as acting:
        past = [p for p, c, _ in acting.registry.policies() if c == capability]
        if not past:
            what = "the policy" if capability is None else f"a policy for {capability!r}"
            raise UsageError(f"{what} was never changed; `tools policy set` changes it")
        base = SOLVER_PROMOTION_V1 if capability is None else acting.registry.policy()
        earlier = [p for p in (base, *past) if p.version != past[-1].version]
        if not earlier:
            raise UsageError(f"only {past[-1].version} was ever in force there")
        acting.put_in_force(earlier[-1], capability)
    return earlier[-1]


def approve_enforcement(project: Project, how: Act) -> Readiness:
    """Let enforcement begin although something that it waits for is not there; what goes wrong later stops it again."""
    with _acting(project, how) as acting:
        found = readiness(acting.registry, TOOL, limits_of(project.settings.tools))
        if found.refused:
            names = tuple(r.gap for r in found.refused)
            acting.record((EnforcementApproved(missing=names, reason=how.reason, who=how.who),))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Acting:
    """An act under way."""

    project: Project
    registry: Registry
    how: Act

    def record(self, events: Iterable[Event], blobs: Iterable[bytes] = ()) -> None:
        """Audit the act and fold it in, when it is to be done."""
        events = tuple(events)
        if not (self.how.apply and events):
            return
        self.project.prepare()
        with own_ledger(self.project, SystemClock(), self.how.environ) as ledger:
            for data in blobs:
                ledger.put(data)
            self.registry.fold(ledger.append_all(events))

    def put_in_force(self, policy: PromotionPolicy, capability: str | None) -> None:
        """Record a policy with all its constants, so that it can be put back however the settings change."""
        data = encode(policy)
        event = PromotionPolicySet(
            version=policy.version,
            policy=digest(data),
            capability=capability,
            reason=self.how.reason,
            who=self.how.who,
        )
        self.record((event,), (data,))


@contextmanager
def _acting(project: Project, how: Act) -> Iterator[_Acting]:
    if not how.reason.strip():
        raise UsageError("--reason is empty; say why, because it is all that a later reader has")
    with open_registry(project) as registry:
        yield _Acting(project=project, registry=registry, how=how)


def _known(project: Project, registry: Registry) -> dict[str, PromotionPolicy]:
    """Built in, recorded, and written in the settings; a version that was in force is what it was."""
    past = {p.version: p for p, _, _ in registry.policies()}
    written = {p.version: PromotionPolicy(**p.model_dump()) for p in project.settings.tools.policy}
    for version in past.keys() & written.keys():
        if past[version] != written[version]:
            raise UsageError(
                f"{version} was in force with other constants; a changed policy needs another name"
            )
    return {SOLVER_PROMOTION_V1.version: SOLVER_PROMOTION_V1, **past, **written}


def _stored(project: Project) -> Iterator[tuple[bytes, _Kept]]:
    """Tools on the disk; what is no whole blob, or no tool, is none."""
    folder = project.folder / "toolbox" / "artifacts"
    for path in sorted(folder.glob("??/*")):
        data = path.read_bytes()
        if digest(data) != path.name:
            continue
        try:
            yield data, decode(_Kept, data)
        except ValueError:
            continue


def _one(registry: Registry, name: str) -> VersionRow:
    rows = [r for r in registry.versions(TOOL) if _is_meant(r.standing.version, name)]
    if len(rows) != 1:
        told = ", ".join(str(r.standing.version) for r in rows[:5])
        raise UsageError(
            f"{name!r} names {len(rows)} versions{': ' + told if told else ''}; "
            "name one as tool.method@artifact; `surefoot tools list` shows them"
        )
    return rows[0]


def _is_meant(version: VersionId, name: str | None) -> bool:
    """`tool`, `tool.method` or `tool.method@artifact`, of which the beginning is enough."""
    if name is None:
        return True
    interface, _, artifact = name.partition("@")
    named = interface in {version.interface.name, str(version.interface)}
    return named and version.artifact.startswith(artifact)

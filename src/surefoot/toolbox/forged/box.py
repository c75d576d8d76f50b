"""A toolbox with forged tools beside the given ones: offered, called and forged in one turn, each call on record.

The offer a model is shown changes only when another version serves, or one has another standing: counts alone would
change the head of every prompt. A call is served by the version that the shelf chooses at that moment.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from surefoot.artifacts import CallFacts, Fault, Interface, LifecycleState, VersionId
from surefoot.codec import canonical, encode
from surefoot.errors import LedgerError, SandboxError, UsageError
from surefoot.events.work import ArtifactStored, ArtifactUsed, ToolsOffered
from surefoot.kernel.ports import Clock, Notebook, Offer, Shelf, Toolbox, Workspace
from surefoot.toolbox.bounds import clean, clip
from surefoot.toolbox.box import Box
from surefoot.toolbox.forged.artifact import Artifact, pack, unpack
from surefoot.toolbox.forged.contract import Judged, judge, wrong_arguments
from surefoot.toolbox.forged.forge import SPEC, Forge
from surefoot.toolbox.forged.runner import Runner
from surefoot.toolbox.specs import failed
from surefoot.values import Digest, ToolCall, ToolOutcome, ToolSpec

MOST_OFFERED: Final = 12
_OFFERED_CHARACTERS: Final = 6_000
"""Of all forged tools in a prompt, about 2,000 tokens."""
_FILES_SHOWN: Final = 5
_NOT_THE_TOOLS: Final = (SandboxError, UsageError, OSError)
"""No fence, damaged state, a full disk: a call fails by them, and no scorecard counts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What forged tools are made, kept and run with."""

    shelf: Shelf
    runner: Runner
    notebook: Notebook
    clock: Clock
    session: str
    """What the run is for, as in `CallFacts.session`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    """What serves one call."""

    artifact: Artifact
    version: VersionId
    chosen: str
    trial: VersionId | None


class ForgingBox:
    """The `Toolbox` port; lives for one turn."""

    def __init__(self, base: Toolbox, shop: Workshop) -> None:
        self._base, self._shop = base, shop
        self._forge = Box((_ForgeTool(self, Forge(shop.runner)),), redact=shop.runner.redact)
        self._own: list[Interface] = []
        self._offered: dict[str, ToolSpec] = {}
        self._offer = Offer(listed=())
        self._misfits: dict[str, int] = {}
        self._broken: set[tuple[Digest, str]] = set()
        """Calls that failed in this turn."""
        self._refresh()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """As `Toolbox.specs`: the given tools, `forge`, and the forged ones, the best first."""
        return (*self._base.specs, *self._forge.specs, *self._offered.values())

    def call(self, call: ToolCall, workspace: Workspace) -> ToolOutcome:
        """As `Toolbox.call`."""
        if call.tool in self._offered:
            outcome, hide = self._use(call, workspace), self._shop.runner.redact
            return replace(
                outcome,
                output=clip(hide(clean(outcome.output))),
                error=clip(hide(clean(outcome.error))),
            )
        box = self._forge if call.tool == SPEC.name else self._base
        return box.call(call, workspace)

    def keep(self, artifact: Artifact) -> ToolOutcome:
        """Store a version that was checked; it can be called from now on."""
        name = f"{artifact.name}.{artifact.method}"
        if name in {spec.name for spec in self._base.specs}:
            return failed(f"there is a tool {name} already; take another name")
        digest = self._shop.shelf.store(pack(artifact))
        version = VersionId(interface=artifact.interface, artifact=digest)
        self._shop.notebook.record(ArtifactStored(version=version, capability=artifact.capability))
        if artifact.interface not in self._own:
            self._own.append(artifact.interface)
        self._misfits.pop(name, None)
        self._refresh()
        return ToolOutcome(ok=True, output=f"kept as {version}; {self._served_by(name, digest)}")

    def _served_by(self, name: str, digest: Digest) -> str:
        spec = self._offered.get(name)
        if spec is None:
            return f"no version of {name} may serve now"
        if spec.artifact == digest:
            return f"call it as `{name}`, e.g. {spec.example}"
        return (
            f"`{name}` is still served by version {str(spec.artifact)[:12]} ({spec.note}); "
            "the new one runs beside it until it has proved itself"
        )

    # --- what is offered -------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Take the shelf's offer; it is on record where it is not the one before."""
        offer = self._shop.shelf.offer(MOST_OFFERED, first=tuple(self._own))
        if _standing(offer) == _standing(self._offer):
            return
        self._offer, self._offered = offer, dict(self._shown(offer))
        blob = self._shop.notebook.put(encode(offer))
        self._shop.notebook.record(ToolsOffered(offer=blob, count=len(self._offered)))

    def _refresh_if_stale(self, interface: Interface) -> None:
        if self._shop.shelf.is_stale(self._offer, interface):
            self._refresh()

    def _shown(self, offer: Offer) -> Sequence[tuple[str, ToolSpec]]:
        """What of an offer fits into a prompt, is whole on the disk, and has a name that no given tool has by now."""
        found, left = [], _OFFERED_CHARACTERS
        taken = {spec.name for spec in self._base.specs}
        for listed in offer.listed:
            artifact = self._load(listed.version)
            if artifact is None:
                continue
            spec = artifact.spec(artifact=listed.version.artifact, note=listed.note)
            if spec.name in taken:
                continue
            left -= len(spec.name) + len(spec.purpose) + len(spec.example) + len(spec.note)
            if left < 0:
                break
            found.append((spec.name, spec))
        return found

    def _load(self, version: VersionId) -> Artifact | None:
        """The content of a version, which the record then holds too; None when it is damaged or another tool's."""
        try:
            artifact = unpack(self._shop.shelf.artifact(version.artifact))
        except (LedgerError, UsageError):
            return None
        if artifact.interface != version.interface:
            return None
        self._shop.notebook.put(pack(artifact))
        return artifact

    # --- calls -----------------------------------------------------------------------------------

    def _use(self, call: ToolCall, workspace: Workspace) -> ToolOutcome:
        arguments = _object(call.parameters)
        if arguments is None:
            told = f"{call.tool}: the parameters must be a JSON object"
            return replace(failed(told), fits=False)
        served = self._serving(self._interface(call.tool))
        if served is None:
            return failed(f"no version of {call.tool} may serve now; work without it")
        wrong = wrong_arguments(served.artifact, arguments)
        if wrong:
            return self._unfit(call, served, wrong)
        self._misfits.pop(call.tool, None)
        try:
            judged = self._run(served.artifact, served.version, served.chosen, call, workspace)
            self._try_beside(served, call, workspace)
            if judged.ok:
                self._shop.shelf.keep(served.artifact.name, judged.writes)
        except _NOT_THE_TOOLS as error:
            return failed(f"{call.tool}: {error}")
        self._refresh_if_stale(served.version.interface)
        return _outcome(call.tool, judged)

    def _try_beside(self, served: _Served, call: ToolCall, workspace: Workspace) -> None:
        """Run the challenger on the same arguments; its answer goes to nobody."""
        challenger = None if served.trial is None else self._load(served.trial)
        if served.trial is None or challenger is None:
            return
        if not wrong_arguments(challenger, json.loads(call.parameters)):
            with suppress(*_NOT_THE_TOOLS):
                self._run(challenger, served.trial, "trial", call, workspace)

    def _interface(self, name: str) -> Interface:
        listed = self._offer.listed
        return next(o.version.interface for o in listed if str(o.version.interface) == name)

    def _serving(self, interface: Interface) -> _Served | None:
        """The version that the shelf chooses; one that is damaged is passed over."""
        damaged: set[Digest] = set()
        while (choice := self._shop.shelf.choose(interface, without=damaged)) is not None:
            artifact = self._load(choice.version)
            if artifact is not None:
                return _Served(
                    artifact=artifact,
                    version=choice.version,
                    chosen=choice.reason,
                    trial=choice.trial,
                )
            damaged.add(choice.version.artifact)
        return None

    def _unfit(self, call: ToolCall, served: _Served, wrong: str) -> ToolOutcome:
        """Arguments that do not fit: the tool has not run. Twice in a row, and the guard's tries are used up."""
        self._misfits[call.tool] = self._misfits.get(call.tool, 0) + 1
        if self._misfits[call.tool] > 1:
            facts = CallFacts(
                session=self._shop.session, ok=False, faults=(Fault.GUARDRAIL_EXHAUSTED,)
            )
            self._shop.notebook.record(
                ArtifactUsed(version=served.version, call=facts, chosen=served.chosen)
            )
            self._refresh_if_stale(served.version.interface)
        return replace(failed(wrong), fits=False)

    def _run(
        self,
        artifact: Artifact,
        version: VersionId,
        chosen: str,
        call: ToolCall,
        workspace: Workspace,
    ) -> Judged:
        """Make one call with one version, and put on record what it did."""
        shop, began = self._shop, self._shop.clock.monotonic()
        judged = judge(
            artifact,
            shop.runner,
            json.loads(call.parameters),
            root=workspace.path,
            state=shop.shelf.kept(artifact.name) if artifact.state else {},
        )
        faults = judged.faults
        failing = (version.artifact, call.parameters)
        if not judged.ok and failing in self._broken and not faults:
            faults = (Fault.OUTCOME_EXHAUSTED,)
        if not judged.ok:
            self._broken.add(failing)
        shop.notebook.record(
            ArtifactUsed(
                version=version,
                call=CallFacts(
                    session=shop.session,
                    ok=judged.ok,
                    contract=judged.contract,
                    faults=faults,
                    reads=judged.reads,
                    writes=tuple(sorted(judged.writes)),
                ),
                chosen=chosen,
                sources=judged.opened,
                wall_s=round(shop.clock.monotonic() - began, 3),
            )
        )
        return judged


def _standing(offer: Offer) -> frozenset[tuple[VersionId, LifecycleState]]:
    return frozenset((listed.version, listed.state) for listed in offer.listed)


def _object(parameters: str) -> dict[str, object] | None:
    try:
        found: object = json.loads(parameters)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _outcome(name: str, judged: Judged) -> ToolOutcome:
    if not judged.ok:
        return failed(f"{name}: {judged.error}")
    files = judged.opened[:_FILES_SHOWN]
    more = f" and {len(judged.opened) - len(files)} more" if len(judged.opened) > len(files) else ""
    origin = f"\nrests on {', '.join(files)}{more}" if files else ""
    return ToolOutcome(ok=True, output=f"{canonical(judged.result).decode()}{origin}")


class _ForgeTool:
    """`forge` itself, behind the same validation as every tool."""

    def __init__(self, box: ForgingBox, forge: Forge) -> None:
        self._box, self._forge = box, forge

    @property
    def spec(self) -> ToolSpec:
        """As `Tool.spec`."""
        return SPEC

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        """As `Tool.run`."""
        del workspace
        made = self._forge.make(parameters)
        return failed(f"not kept: {made}") if isinstance(made, str) else self._box.keep(made)

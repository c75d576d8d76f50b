"""Who may be asked in a run, and who judges it: settings, catalogue, credentials and providers' terms put together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from surefoot.errors import ModelUnavailableError, SettingsError
from surefoot.models import open_model
from surefoot.models.catalogue import Card, Catalogue, load_catalogue
from surefoot.models.registry import AUTO, Access, check_spec, host_of, is_local
from surefoot.models.select import (
    WINDOW,
    Denial,
    RoutingPolicy,
    Rules,
    Standing,
    needs_of,
    select,
)
from surefoot.policy.cloud import CloudIdentity, find_identity, is_cloud
from surefoot.policy.credentials import find_credential, own_server_key, variable_of
from surefoot.policy.judges import PinnedChain, pinned_chain
from surefoot.policy.terms import Route, load_terms
from surefoot.policy.terms_file import Protocol
from surefoot.settings import ModelSettings
from surefoot.vocabulary import Classification, Complexity, Profile, UnitType

if TYPE_CHECKING:  # the events are a tenth of a second to load, and looking models up needs none
    from surefoot.events.orchestration import TurnClosed
    from surefoot.kernel.ports import Model
    from surefoot.values import CallForm, CallRecord

Role: TypeAlias = Literal["works", "judges"]
_WORKED: Final = frozenset({Classification.PROGRESS, Classification.COMPLETE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A model that a run would ask, or that the user named for it and that may not be asked."""

    model: str
    roles: tuple[Role, ...]
    denial: Denial | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineup:
    """What a run's models are made from; the same for its whole life."""

    model: str
    """As after `--model`."""
    base_url: str | None
    """Of a server of the user's own, for `model` alone; stands before its card's."""
    judges: str | None
    profile: Profile
    settings: ModelSettings
    environ: Mapping[str, str] = field(repr=False)
    cache: Path
    calls: "Mapping[str, CallRecord]" = field(default_factory=dict)
    """By model, what came of the tool calls that earlier runs asked it for."""
    catalogue: Catalogue = field(init=False)
    """The shipped one with the settings' corrections."""

    def __post_init__(self) -> None:
        corrected = load_catalogue().corrected(self.settings.card)
        object.__setattr__(self, "catalogue", corrected)

    def routing(self, history: "Sequence[TurnClosed]" = ()) -> RoutingPolicy:
        """What the router goes by."""
        auto = self.model == AUTO
        catalogue = self.catalogue
        names = list(catalogue.cards) if auto else [self.model]
        names += [name for name in self.settings.use if name not in names]
        rules = Rules(
            allow=self.settings.allow,
            deny=self.settings.deny,
            pin="first" if auto else self.settings.pin,
            pinned=None if auto else self.model,
            outside=self.denial,
        )
        return RoutingPolicy(
            cards=tuple(catalogue.card(name) for name in names),
            rules=rules,
            profile=self.profile,
            history=outcomes(history),
        )

    def judging(self) -> PinnedChain:
        """Who judges; no score, history or profile has a say."""
        return pinned_chain(
            self.judges,
            lambda name: self._has_key(name.partition("/")[0]) and self._left_out(name) is None,
        )

    def parts(self) -> tuple[Part, ...]:
        """Whom a run that starts now would ask for a fix, in its order, then whom for judging; a model stands here once.

        What the user named and what may not be asked is here, too; of what `auto` found, only who may.
        """
        policy = self.routing()
        needs = needs_of(UnitType.FIX, Complexity.MEDIUM)
        standing = Standing(profile=policy.profile)
        selection = select(needs, policy.cards, policy.rules, standing)
        named = {self.model, *self.settings.use}
        denials = {d.model: d for d in selection.denied if d.model in named}
        working = [s.card.name for s in selection.chain] + list(denials)
        judging = self.judging().models
        by_role: tuple[tuple[Role, Sequence[str]], ...] = (("works", working), ("judges", judging))
        return tuple(
            Part(
                model=name,
                roles=tuple(role for role, names in by_role if name in names),
                denial=denials.get(name),
            )
            for name in dict.fromkeys((*working, *judging))
        )

    def open(self, name: str) -> "Model":
        """The model behind a name; nothing is called yet.

        Raises:
            SettingsError: There is no such model.
            ModelUnavailableError: It lacks something, or its provider's terms forbid the way to it.
        """
        check_spec(name)
        card = self.catalogue.card(name)
        denial = self.denial(card)
        if denial is not None:
            raise ModelUnavailableError(f"`{name}` may not be asked: {denial.reason}")
        cloud = self._cloud(card)
        access = Access(
            base_url=self._base_url(card),
            api_key=self._secret(card),
            host=cloud.host if cloud else None,
            region=cloud.region if cloud else None,
            stream=self.settings.stream,
            reply_s=self.settings.reply_s,
        )
        form, _ = self.calling(card)
        card = replace(card, tools=form == "native")
        return open_model(name, access=access, card=card, cache=self.cache)

    def calling(self, card: Card) -> "tuple[CallForm, str]":
        """In which form a run begins to ask a model for tool calls, and why: card, terms, then earlier runs."""
        if not card.tools:
            return "text", "its card says that it has no native tool calls"
        # Who may not be asked at all needs no word about tools.
        if not is_local(card.name) and self.denial(card) is None:
            denial = self._terms_denial(card, tools=True)
            if denial is not None:
                return "text", denial.reason
        from surefoot.kernel.calls import choose  # noqa: PLC0415  # of use to who opens a model

        return choose(native_tools=True, record=self.calls.get(card.name, {}))

    def open_judge(self, name: str) -> "Model":
        """The same; one that cannot be had is a model that says so when it is asked, so that the next judge is."""
        check_spec(name)
        # Loaded with the first judge that is opened: who only looks models up asks none.
        from surefoot.models.unavailable import UnavailableModel  # noqa: PLC0415

        if (why := self._left_out(name)) is not None:
            return UnavailableModel(name, why)
        try:
            return self.open(name)
        except ModelUnavailableError as error:
            return UnavailableModel(name, str(error))

    def denial(self, card: Card) -> Denial | None:
        """What its name, credentials and terms have against asking a model."""
        if is_local(card.name):
            return None
        try:
            check_spec(card.name)
        except SettingsError as error:
            return Denial(model=card.name, rule="name", reason=str(error))
        try:
            return self._hosted_denial(card)
        except SettingsError as error:
            return Denial(model=card.name, rule="credential", reason=str(error))

    def _hosted_denial(self, card: Card) -> Denial | None:
        secret, own_server = self._secret(card), self._base_url(card) is not None
        cloud = self._cloud(card)
        if secret is None and not own_server and not cloud and card.provider not in _KEYLESS:
            wanted = " or ".join(variable_of(card.provider))
            return Denial(
                model=card.name,
                rule="credential",
                reason=f"there is no key in {wanted}; set it, or name a server of your own with --base-url "
                "or base_url in [[models.card]]",
            )
        return self._terms_denial(card)

    def _terms_denial(self, card: Card, *, tools: bool = False) -> Denial | None:
        """What the provider's terms have against the way to a model, and against giving it tools on that way."""
        secret, base_url, cloud = self._secret(card), self._base_url(card), self._cloud(card)
        host = cloud.host if cloud else host_of(card.name, base_url)
        own_server = base_url is not None
        terms = load_terms()
        provider = (terms.provider_at(host) or _OWN_SERVER) if own_server else card.provider
        route = Route(
            provider=provider,
            model=card.name.partition("/")[2],
            auth="cloud-identity" if cloud and not secret else terms.auth_of(provider, secret),
            protocol=_protocol(card.name),
            host=host,
            tools=tools,
        )
        verdict = terms.check_credential(route, secret)
        if verdict.allowed:
            return None
        return Denial(model=card.name, rule=verdict.rule, reason=verdict.text)

    def _base_url(self, card: Card) -> str | None:
        asked = self.base_url if card.name == self.model else None
        return asked or card.base_url

    def _secret(self, card: Card) -> str | None:
        if self._base_url(card) is not None:
            return own_server_key(self.environ)
        if is_local(card.name):
            return None
        cloud = self._cloud(card)
        return cloud.secret if cloud else self._key(card.provider)

    def _cloud(self, card: Card) -> CloudIdentity | None:
        """What a cloud's own models are asked with; None where a key, or a server of the user's own, is all."""
        if self._base_url(card) is not None or not is_cloud(card.provider):
            return None
        return find_identity(card.provider, self.environ)

    def _key(self, provider: str) -> str | None:
        found = find_credential(provider, self.environ)
        return found.secret if found else None

    def _left_out(self, name: str) -> str | None:
        """What the settings' lists of names have against a judge; who judges here, without a key, needs no list to have it."""
        if any(fnmatchcase(name, pattern) for pattern in self.settings.deny):
            return "[models] deny has it"
        allow = self.settings.allow
        if allow and not is_local(name) and not any(fnmatchcase(name, p) for p in allow):
            return "[models] allow does not have it"
        return None

    def _has_key(self, provider: str) -> bool:
        try:
            return self._key(provider) is not None
        except SettingsError:
            return True  # it stays in the chain, where it says what is wrong with its key


_OWN_SERVER: Final = "own-server"
_KEYLESS: Final = frozenset({"ollama", "ollama_chat"})
"""Providers that are servers on this machine unless a base URL says otherwise."""


def _protocol(name: str) -> Protocol:
    return "openai-chat" if name.partition("/")[0] in ("openai", "kimi-coding") else "litellm"


def outcomes(turns: "Sequence[TurnClosed]") -> dict[tuple[str, UnitType], tuple[bool, ...]]:
    """Whether turns worked, by model and kind of unit; a turn that a fault ended says nothing of the model's work."""
    found: dict[tuple[str, UnitType], tuple[bool, ...]] = {}
    for turn in turns:
        if turn.fault is None and turn.unit_type is not None and turn.model:
            key = (turn.model, turn.unit_type)
            # Progress that a gate refused was rolled back: nothing is left of it.
            worked = turn.classification in _WORKED and turn.outcome == "pass"
            found[key] = (*found.get(key, ()), worked)[-WINDOW:]
    return found

"""What a provider's terms allow, decided before a prompt leaves (SPEC C8).

The rules are data, `terms.toml`; this module reads them once and is pure afterwards. A verdict is allowed or denied, there
is no third. A denial is one sentence that says what was refused and how to mend it; no sentence ever holds a credential.

A server on loopback is nobody's provider: whatever the route calls it, it is judged as `local`.
The questions are asked in a fixed order (names, credential, protocol, host, model, tools), and the first denial is the verdict.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.resources import files
from ipaddress import ip_address
from typing import Final, Literal, NoReturn, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from surefoot.errors import SettingsError

AuthMode: TypeAlias = Literal["api-key", "subscription-token", "cloud-identity", "none"]
Protocol: TypeAlias = Literal["openai-chat", "anthropic-messages", "litellm", "in-process"]

_FILE: Final = "terms.toml"
_LOCAL: Final = "local"
_UNKNOWN: Final = "unknown"
_OWN: Final = "surefoot"
_HOSTS: Final = 256
"""So many answers are kept of the question that every model of a long list comes with."""
_PROVIDER: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_HOST: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")
_IN_WORDS: Final[Mapping[AuthMode, str]] = {
    "api-key": "an API key",
    "subscription-token": "a subscription token",
    "cloud-identity": "a cloud identity",
    "none": "a call without a credential",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One way to ask a model."""

    provider: str
    model: str
    """With or without the provider's own prefix (`openai/gpt-5` or `gpt-5`)."""
    auth: AuthMode
    protocol: Protocol
    host: str | None
    """The host alone, as `urlsplit(url).hostname` gives it; None is a model inside this process."""
    tools: bool = False
    """Tool definitions go along with the prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsVerdict:
    """Whether a route may be taken, and by which rule."""

    allowed: bool
    rule: str
    """`provider/rule`, e.g. `anthropic/subscription-bound`; `registry/…` and `unknown/…` are the registry's own."""
    text: str
    """One sentence; for a denial with the mend."""
    registry: str
    """Version of the registry that decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsRule:
    """Where a rule comes from."""

    rule: str
    source: str
    """URL of the page that it was read on; `surefoot` for a rule of our own."""
    date: date
    """Day of the reading."""
    note: str


# --- the file -------------------------------------------------------------------------------------


class _Part(BaseModel):
    # Only the whole file is read, so only its schema is made.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class _Sourced(_Part):
    source: str
    date: date
    note: str = ""

    @model_validator(mode="after")
    def _has_a_source(self) -> "_Sourced":
        if self.source != _OWN and not re.fullmatch(r"https://\S+", self.source):
            raise ValueError(f"the source {self.source!r} is neither an https URL nor {_OWN!r}")
        if self.source == _OWN and not self.note:
            raise ValueError("a rule of our own says so in its note")
        return self


class _Auth(_Sourced):
    accepts: tuple[AuthMode, ...]
    mend: str


class _Protocols(_Sourced):
    accepts: tuple[Protocol, ...]


class _Hosts(_Sourced):
    accepts: tuple[str, ...]
    others: Literal["never", "keyless", "any"]

    def has(self, host: str) -> bool:
        return any(_host_pattern(one).fullmatch(host) for one in self.accepts)


class _Tools(_Sourced):
    over: tuple[Protocol, ...]


class _Models(_Sourced):
    id: str
    text: str
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    over: tuple[Protocol, ...] = ()
    """The protocols that the rule is for; empty is all."""


class _Bound(_Sourced):
    id: str
    text: str
    pattern: re.Pattern[str] | None = None
    everywhere: bool = False

    def fits(self, secret: str) -> bool:
        return self.pattern is not None and self.pattern.fullmatch(secret) is not None


class _Terms(_Part):
    name: str
    aliases: tuple[str, ...] = ()
    key_forms: tuple[re.Pattern[str], ...] = ()
    auth: _Auth
    protocols: _Protocols
    hosts: _Hosts
    tools: _Tools
    models: tuple[_Models, ...] = ()
    bound: tuple[_Bound, ...] = ()

    def issues(self, secret: str) -> bool:
        return any(form.fullmatch(secret) for form in self.key_forms)

    def sourced(self) -> Iterator[tuple[str, _Sourced]]:
        yield from (("auth", self.auth), ("protocols", self.protocols))
        yield from (("hosts", self.hosts), ("tools", self.tools))
        yield from ((one.id, one) for one in self.models)
        yield from ((one.id, one) for one in self.bound)


class _File(_Part):
    version: str
    providers: Mapping[str, _Terms]
    unknown: _Terms

    @model_validator(mode="after")
    def _is_whole(self) -> "_File":
        names = [n for key, terms in self.providers.items() for n in (key, *terms.aliases)]
        wrong = sorted({n for n in names if names.count(n) > 1 or not _PROVIDER.fullmatch(n)})
        if wrong or {_UNKNOWN, "registry"} & set(names):
            raise ValueError(f"a name is taken twice, reserved or not one: {wrong or names!r}")
        if _LOCAL not in self.providers:
            raise ValueError(f"there is no provider {_LOCAL!r}")
        for key, terms in (*self.providers.items(), (_UNKNOWN, self.unknown)):
            ids = [rule for rule, _ in terms.sourced()]
            if len(ids) != len(set(ids)):
                raise ValueError(f"two rules of {key!r} have the same id")
        return self


@cache
def _host_pattern(glob: str) -> re.Pattern[str]:
    # A star is a part of one label: `*.example.com` is never `a.b.example.com`, and no star spans a dot.
    return re.compile(re.escape(glob).replace(r"\*", "[a-z0-9-]+"))


# --- the registry ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A route with its names normalised and the terms that it is judged by."""

    route: Route
    rules: str
    """The name that rule ids begin with."""
    model: str
    host: str | None
    terms: _Terms


class TermsRegistry:
    """The provider terms of one version."""

    def __init__(self, content: _File) -> None:
        self._content = content
        self._names = {
            name: key for key, terms in content.providers.items() for name in (key, *terms.aliases)
        }

    @property
    def version(self) -> str:
        """The registry's version, as verdicts hold it."""
        return self._content.version

    def rules(self) -> Mapping[str, TermsRule]:
        """Every rule that came from the file, by its id, with its source."""
        tables = (*self._content.providers.items(), (_UNKNOWN, self._content.unknown))
        found = (
            TermsRule(rule=f"{key}/{rule}", source=one.source, date=one.date, note=one.note)
            for key, terms in tables
            for rule, one in terms.sourced()
        )
        return {one.rule: one for one in found}

    def check(self, route: Route) -> TermsVerdict:
        """Whether the route may be taken, by what it says of itself."""
        host = None if route.host is None else _plain_host(route.host)
        provider = self._canonical(route.provider)
        if verdict := self._malformed(route, provider, host):
            return verdict
        here = host is not None and _is_loopback(host)
        rules, terms = self._rules_of(_LOCAL if here else provider)
        model = self._bare_model(route.model, provider)
        case = _Case(route=route, rules=rules, model=model, host=host, terms=terms)
        for question in self._questions():
            if verdict := question(case):
                return verdict
        return self._admitted(case)

    def check_credential(self, route: Route, secret: str | None) -> TermsVerdict:
        """Whether the route may be taken with this very secret, whose own form decides over `route.auth`.

        Without a secret the route stands as a cloud identity if it says so, and as `none` otherwise.
        """
        if secret is None and route.auth == "cloud-identity":
            return self.check(route)
        auth, bound = self._form(route.provider, secret)
        if bound is not None and bound[0] not in self._taking_subscriptions(route.provider):
            return self._verdict(f"{bound[0]}/{bound[1].id}", bound[1].text)
        return self._foreign(route, secret) or self.check(replace(route, auth=auth))

    def auth_of(self, provider: str, secret: str | None) -> AuthMode:
        """What kind of credential this is, from its own form; no secret or a blank one is `none`."""
        return self._form(provider, secret)[0]

    def provider_at(self, host: str) -> str | None:
        """Whose host this is: a provider of the registry, `local` for loopback, None for nobody that it knows."""
        plain = _plain_host(host)
        if _is_loopback(plain):
            return _LOCAL
        providers = self._content.providers.items()
        return next((key for key, terms in providers if terms.hosts.has(plain)), None)

    # --- who is who ---

    def _canonical(self, provider: str) -> str:
        plain = provider.strip().lower().replace("_", "-")
        return self._names.get(plain, plain)

    def _bare_model(self, model: str, provider: str) -> str:
        head, slash, tail = model.lower().partition("/")
        return tail if slash and self._canonical(head) == provider else model.lower()

    def _rules_of(self, provider: str) -> tuple[str, _Terms]:
        """The name that rule ids begin with, and the terms."""
        terms = self._content.providers.get(provider)
        return (_UNKNOWN, self._content.unknown) if terms is None else (provider, terms)

    def _form(
        self, provider: str, secret: str | None
    ) -> tuple[AuthMode, tuple[str, _Bound] | None]:
        bare = "" if secret is None else _bare_secret(secret)
        if not bare:
            return "none", None
        own, terms = self._rules_of(self._canonical(provider))
        rules = [(own, rule) for rule in terms.bound]
        rules += [
            (key, rule)
            for key, others in self._content.providers.items()
            for rule in others.bound
            if rule.everywhere
        ]
        found = next((one for one in rules if one[1].fits(bare)), None)
        return ("api-key" if found is None else "subscription-token"), found

    def _taking_subscriptions(self, provider: str) -> tuple[str, ...]:
        key, terms = self._rules_of(self._canonical(provider))
        return (key,) if "subscription-token" in terms.auth.accepts else ()

    def _foreign(self, route: Route, secret: str | None) -> TermsVerdict | None:
        if secret is None or route.host is None or _is_loopback(_plain_host(route.host)):
            return None
        bare = _bare_secret(secret)
        providers = self._content.providers.items()
        issuer = next((key for key, terms in providers if terms.issues(bare)), None)
        if issuer in {None, self._canonical(route.provider)}:
            return None
        return self._verdict(
            "registry/foreign-key",
            f"the credential given for {route.provider!r} has the form of one of the provider {issuer!r} and is not "
            f"sent elsewhere; set a key of {route.provider!r}, or name the provider {issuer!r}",
        )

    # --- the questions, in their order ---

    def _questions(self) -> tuple[Callable[[_Case], TermsVerdict | None], ...]:
        return (
            self._ask_auth,
            self._ask_protocol,
            self._ask_place,
            self._ask_host,
            self._ask_models,
            self._ask_tools,
        )

    def _malformed(self, route: Route, provider: str, host: str | None) -> TermsVerdict | None:
        if not _PROVIDER.fullmatch(provider):
            return self._verdict(
                "registry/provider",
                f"{route.provider!r} is not a provider's name; give one of letters, digits, dots and dashes",
            )
        if not route.model.strip() or not route.model.isprintable():
            return self._verdict(
                "registry/model", f"{route.model!r} is not a model's name; name the model to ask"
            )
        if host is not None and not (_is_address(host) or _HOST.fullmatch(host)):
            return self._verdict(
                "registry/host",
                # It may hold a user and a password, so it is not repeated.
                "what was given as the host is none; give the host alone, without scheme, user, port and path",
            )
        return None

    def _ask_auth(self, case: _Case) -> TermsVerdict | None:
        auth, terms = case.route.auth, case.terms
        if auth in terms.auth.accepts:
            return None
        if auth == "subscription-token" and terms.bound:
            return self._verdict(f"{case.rules}/{terms.bound[0].id}", terms.bound[0].text)
        return self._verdict(
            f"{case.rules}/auth", f"{terms.name} does not take {_IN_WORDS[auth]}; {terms.auth.mend}"
        )

    def _ask_protocol(self, case: _Case) -> TermsVerdict | None:
        if case.route.protocol in case.terms.protocols.accepts:
            return None
        return self._verdict(
            f"{case.rules}/protocols",
            f"{case.terms.name} is not asked over {case.route.protocol}; "
            f"use {' or '.join(case.terms.protocols.accepts)}",
        )

    def _ask_place(self, case: _Case) -> TermsVerdict | None:
        if (case.host is None) == (case.route.protocol == "in-process"):
            return None
        mend = (
            f"name the host that is asked over {case.route.protocol}"
            if case.host is None
            else f"name the protocol that {case.host} speaks"
        )
        return self._verdict(
            "registry/place",
            f"only a model inside this process is asked in-process, without a host; {mend}",
        )

    def _ask_host(self, case: _Case) -> TermsVerdict | None:
        host, hosts = case.host, case.terms.hosts
        if host is None or (case.rules == _LOCAL and _is_loopback(host)):
            return None
        keyless = case.route.auth == "none"
        if hosts.has(host):
            if not keyless:
                return None
            return self._verdict(
                f"{case.rules}/auth", f"{host} answers with a key only; {case.terms.auth.mend}"
            )
        if hosts.others == "never" or (hosts.others == "keyless" and not keyless):
            accepted = " or ".join(hosts.accepts) or "a server on loopback"
            return self._verdict(
                f"{case.rules}/hosts",
                f"what is meant for {case.terms.name} is not sent to {host!r}; use {accepted}, "
                "or give the server a provider's name of its own",
            )
        owner = self.provider_at(host)
        if owner is None:
            return None
        return self._verdict(
            "registry/known-host",
            f"{host!r} is a host of {self._content.providers[owner].name}; name the provider {owner!r}",
        )

    def _ask_models(self, case: _Case) -> TermsVerdict | None:
        for rule in case.terms.models:
            if rule.over and case.route.protocol not in rule.over:
                continue
            if _fits(case.model, rule.deny) or not _fits(case.model, rule.allow):
                return self._verdict(
                    f"{case.rules}/{rule.id}", f"{case.route.model!r} is refused: {rule.text}"
                )
        return None

    def _ask_tools(self, case: _Case) -> TermsVerdict | None:
        if not case.route.tools or case.route.protocol in case.terms.tools.over:
            return None
        return self._verdict(
            f"{case.rules}/tools",
            f"{case.terms.name} is given no tools over {case.route.protocol}; "
            f"ask without tools, or over {' or '.join(case.terms.tools.over)}",
        )

    def _admitted(self, case: _Case) -> TermsVerdict:
        place = "in this process" if case.host is None else f"at {case.host}"
        how = f"{_IN_WORDS[case.route.auth]} over {case.route.protocol} {place}"
        text = f"{case.terms.name} takes {how}"
        if case.rules == _UNKNOWN:
            text = (
                f"{case.route.provider!r} is not in the registry {self.version}, its own terms are the user's to know; "
                f"it is admitted with {how}"
            )
        return self._verdict(f"{case.rules}/admitted", text, allowed=True)

    def _verdict(self, rule: str, text: str, *, allowed: bool = False) -> TermsVerdict:
        return TermsVerdict(allowed=allowed, rule=rule, text=text, registry=self.version)


@cache
def load_terms() -> TermsRegistry:
    """The registry of this package, read once.

    Raises:
        SettingsError: The file is missing or broken, which is a broken installation.
    """
    try:
        text = files("surefoot.policy").joinpath(_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        _broken(type(error).__name__)
    return parse_terms(text)


def parse_terms(text: str) -> TermsRegistry:
    """The registry that a TOML text holds; `SettingsError` names the place that is wrong."""
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _broken(str(error))
    try:
        return TermsRegistry(_File.model_validate(plain))
    except ValidationError as error:
        first = error.errors()[0]
        _broken(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}")


def _broken(what: str) -> NoReturn:
    raise SettingsError(
        f"the provider terms ({_FILE}) cannot be used: {what}; install Surefoot anew"
    ) from None


# --- small questions ------------------------------------------------------------------------------


def _bare_secret(secret: str) -> str:
    return secret.strip().removeprefix("Bearer ").strip()


def _plain_host(host: str) -> str:
    return host.lower().removeprefix("[").removesuffix("]").removesuffix(".")


@lru_cache(maxsize=_HOSTS)
def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _fits(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)

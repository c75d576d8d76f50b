"""What a provider's terms allow, decided before a prompt leaves (SPEC C8).

The rules are data, `terms.toml`; this module reads them once and is pure afterwards. A verdict is allowed or denied, there
is no third. A denial is one sentence that says what was refused and how to mend it; no sentence ever holds a credential.

A server on loopback is nobody's provider: whatever the route calls it, it is judged as `local`.
The questions are asked in a fixed order (names, credential, protocol, host, model, tools), and the first denial is the verdict.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from ipaddress import ip_address
from typing import Final

from surefoot.policy.terms_file import (
    LOCAL,
    PROVIDER_NAME,
    UNKNOWN,
    AuthMode,
    Bound,
    Protocol,
    ProviderTerms,
    TermsFile,
    load_file,
    parse_file,
)

_HOSTS: Final = 256
"""So many answers are kept of the question that every model of a long list comes with."""
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
    unconfirmed: str
    """What of it could not be found again on that page; empty when all was."""


# --- the registry ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A route with its names normalised and the terms that it is judged by."""

    route: Route
    rules: str
    """The name that rule ids begin with."""
    model: str
    host: str | None
    terms: ProviderTerms


class TermsRegistry:
    """The provider terms of one version."""

    def __init__(self, content: TermsFile) -> None:
        self._content = content
        self._names = {
            name: key for key, terms in content.providers.items() for name in (key, *terms.aliases)
        }
        self._unconfirmed = {
            f"{key}/{rule}": one.unconfirmed
            for key, terms in self._tables()
            for rule, one in terms.sourced()
            if one.unconfirmed
        }

    @property
    def version(self) -> str:
        """The registry's version, as verdicts hold it."""
        return self._content.version

    def rules(self) -> Mapping[str, TermsRule]:
        """Every rule that came from the file, by its id, with its source."""
        found = (
            TermsRule(
                rule=f"{key}/{rule}",
                source=one.source,
                date=one.date,
                note=one.note,
                unconfirmed=one.unconfirmed,
            )
            for key, terms in self._tables()
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
        rules, terms = self._rules_of(LOCAL if here else provider)
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
            return LOCAL
        providers = self._content.providers.items()
        return next((key for key, terms in providers if terms.hosts.has(plain)), None)

    # --- who is who ---

    def _tables(self) -> tuple[tuple[str, ProviderTerms], ...]:
        return (*self._content.providers.items(), (UNKNOWN, self._content.unknown))

    def _canonical(self, provider: str) -> str:
        plain = provider.strip().lower().replace("_", "-")
        return self._names.get(plain, plain)

    def _bare_model(self, model: str, provider: str) -> str:
        head, slash, tail = model.lower().partition("/")
        return tail if slash and self._canonical(head) == provider else model.lower()

    def _rules_of(self, provider: str) -> tuple[str, ProviderTerms]:
        """The name that rule ids begin with, and the terms."""
        terms = self._content.providers.get(provider)
        return (UNKNOWN, self._content.unknown) if terms is None else (provider, terms)

    def _form(self, provider: str, secret: str | None) -> tuple[AuthMode, tuple[str, Bound] | None]:
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
        if not PROVIDER_NAME.fullmatch(provider):
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
        if host is None or (case.rules == LOCAL and _is_loopback(host)):
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
        if case.rules == UNKNOWN:
            text = (
                f"{case.route.provider!r} is not in the registry {self.version}, its own terms are the user's to know; "
                f"it is admitted with {how}"
            )
        return self._verdict(f"{case.rules}/admitted", text, allowed=True)

    def _verdict(self, rule: str, text: str, *, allowed: bool = False) -> TermsVerdict:
        if not allowed and rule in self._unconfirmed:
            text = f"{text} (of this rule, {self._unconfirmed[rule]})"
        return TermsVerdict(allowed=allowed, rule=rule, text=text, registry=self.version)


@cache
def load_terms() -> TermsRegistry:
    """The registry of this package, read once.

    Raises:
        SettingsError: The file is missing or broken, which is a broken installation.
    """
    return TermsRegistry(load_file())


def parse_terms(text: str) -> TermsRegistry:
    """The registry that a TOML text holds; `SettingsError` names the place that is wrong."""
    return TermsRegistry(parse_file(text))


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

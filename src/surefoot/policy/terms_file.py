"""The file of the provider terms, `terms.toml`: its form, and how it is read."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Final, Literal, NoReturn, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from surefoot.errors import SettingsError

AuthMode: TypeAlias = Literal["api-key", "subscription-token", "cloud-identity", "none"]
Protocol: TypeAlias = Literal["openai-chat", "anthropic-messages", "litellm", "in-process"]

LOCAL: Final = "local"
UNKNOWN: Final = "unknown"
PROVIDER_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_FILE: Final = "terms.toml"
_OWN: Final = "surefoot"


class _Part(BaseModel):
    # Only the whole file is read, so only its schema is made.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Sourced(_Part):
    """A rule that says where it comes from."""

    source: str
    date: date
    note: str = ""
    unconfirmed: str = ""
    """What of the rule could not be found again on its page."""

    @model_validator(mode="after")
    def _has_a_source(self) -> "Sourced":
        if self.source != _OWN and not re.fullmatch(r"https://\S+", self.source):
            raise ValueError(f"the source {self.source!r} is neither an https URL nor {_OWN!r}")
        if self.source == _OWN and not self.note:
            raise ValueError("a rule of our own says so in its note")
        if self.source == _OWN and self.unconfirmed:
            raise ValueError("a rule of our own has no page that it could be confirmed by")
        return self


class Auth(Sourced):
    """Which credentials are taken."""

    accepts: tuple[AuthMode, ...]
    mend: str


class Protocols(Sourced):
    """Over which protocols it is asked."""

    accepts: tuple[Protocol, ...]


class Hosts(Sourced):
    """Where it is asked."""

    accepts: tuple[str, ...]
    others: Literal["never", "keyless", "any"]

    def has(self, host: str) -> bool:
        """Whether the host is one of the provider's own."""
        return any(_is_host(host, one) for one in self.accepts)


class Tools(Sourced):
    """Over which protocols tools go along."""

    over: tuple[Protocol, ...]


class Models(Sourced):
    """Which models may be asked."""

    id: str
    text: str
    allow: tuple[str, ...] = ("*",)
    deny: tuple[str, ...] = ()
    over: tuple[Protocol, ...] = ()
    """The protocols that the rule is for; empty is all."""


class Bound(Sourced):
    """A credential that terms bind to another client, by its form."""

    id: str
    text: str
    pattern: re.Pattern[str] | None = None
    everywhere: bool = False

    def fits(self, secret: str) -> bool:
        """Whether a secret has the form."""
        return self.pattern is not None and self.pattern.fullmatch(secret) is not None


class ProviderTerms(_Part):
    """All rules of one provider."""

    name: str
    aliases: tuple[str, ...] = ()
    key_forms: tuple[re.Pattern[str], ...] = ()
    auth: Auth
    protocols: Protocols
    hosts: Hosts
    tools: Tools
    models: tuple[Models, ...] = ()
    bound: tuple[Bound, ...] = ()

    def issues(self, secret: str) -> bool:
        """Whether a secret has the form of the provider's own keys."""
        return any(form.fullmatch(secret) for form in self.key_forms)

    def sourced(self) -> Iterator[tuple[str, Sourced]]:
        """Every rule by its id."""
        yield from (("auth", self.auth), ("protocols", self.protocols))
        yield from (("hosts", self.hosts), ("tools", self.tools))
        yield from ((one.id, one) for one in self.models)
        yield from ((one.id, one) for one in self.bound)


class TermsFile(_Part):
    """The whole file."""

    version: str
    providers: Mapping[str, ProviderTerms]
    unknown: ProviderTerms

    @model_validator(mode="after")
    def _is_whole(self) -> "TermsFile":
        names = [n for key, terms in self.providers.items() for n in (key, *terms.aliases)]
        wrong = sorted({n for n in names if names.count(n) > 1 or not PROVIDER_NAME.fullmatch(n)})
        if wrong or {UNKNOWN, "registry"} & set(names):
            raise ValueError(f"a name is taken twice, reserved or not one: {wrong or names!r}")
        if LOCAL not in self.providers:
            raise ValueError(f"there is no provider {LOCAL!r}")
        for key, terms in (*self.providers.items(), (UNKNOWN, self.unknown)):
            ids = [rule for rule, _ in terms.sourced()]
            if len(ids) != len(set(ids)):
                raise ValueError(f"two rules of {key!r} have the same id")
        return self


def load_file() -> TermsFile:
    """The file of this package, read once.

    Raises:
        SettingsError: The file is missing or broken, which is a broken installation.
    """
    try:
        text = files("surefoot.policy").joinpath(_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        _broken(type(error).__name__)
    return parse_file(text)


def parse_file(text: str) -> TermsFile:
    """What a TOML text holds; `SettingsError` names the place that is wrong."""
    try:
        plain = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        _broken(str(error))
    try:
        return TermsFile.model_validate(plain)
    except ValidationError as error:
        first = error.errors()[0]
        _broken(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}")


def _broken(what: str) -> NoReturn:
    raise SettingsError(
        f"the provider terms ({_FILE}) cannot be used: {what}; install Surefoot anew"
    ) from None


def _is_host(host: str, glob: str) -> bool:
    return _host_pattern(glob).fullmatch(host) is not None if "*" in glob else host == glob


@cache
def _host_pattern(glob: str) -> re.Pattern[str]:
    # A star is a part of one label: `*.example.com` is never `a.b.example.com`, and no star spans a dot.
    return re.compile(re.escape(glob).replace(r"\*", "[a-z0-9-]+"))

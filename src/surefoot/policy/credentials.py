"""Where credentials come from: the environment, or the user's key ring; never the repository (SPEC C8).

The key ring is asked only when the environment has nothing and `SUREFOOT_KEYRING=1` is set. Its library is `keyring`, if it
is installed. No error and no representation of a value here holds a secret.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Final, Protocol, cast

from surefoot.errors import SettingsError

OWN_SERVER_KEY: Final = "SUREFOOT_API_KEY"
"""Sent to a server named by a base URL; a provider's own key only ever goes to that provider."""
_SERVICE: Final = "surefoot"
_SWITCH: Final = "SUREFOOT_KEYRING"
_ALIASES: Final[Mapping[str, str]] = {"gemini": "google"}
_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "google": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "kimi-coding": ("KIMI_CODING_API_KEY", "KIMI_API_KEY"),
}
"""Where a provider has other names than its own."""
_SECRET: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A secret and where it was found."""

    provider: str
    """As the registry names it: `google` for `gemini`."""
    source: str
    """The variable's name, or `keyring:surefoot/<provider>`."""
    secret: str = field(repr=False)


class _KeyRing(Protocol):
    def get_password(self, service_name: str, username: str, /) -> str | None: ...


def variable_of(provider: str) -> tuple[str, ...]:
    """The environment variables that are looked at for a provider, in their order.

    Raises:
        SettingsError: The name has no letter or digit to make a variable of.
    """
    name = _plain(provider)
    if name in _VARIABLES:
        return _VARIABLES[name]
    stem = re.sub(r"[^A-Z0-9]", "_", name.upper())
    if not stem.strip("_"):
        raise SettingsError(f"{provider!r} is no provider's name; give one of letters and digits")
    return (f"{stem}_API_KEY",)


def find_credential(provider: str, environ: Mapping[str, str]) -> Credential | None:
    """The credential of a provider, or None; a blank value is none.

    Raises:
        SettingsError: A value holds what no credential holds, or the key ring cannot be read.
    """
    name = _plain(provider)
    for variable in variable_of(provider):
        if found := credential_in(name, variable, environ):
            return found
    if environ.get(_SWITCH) != "1":
        return None
    return _credential(name, f"keyring:{_SERVICE}/{name}", _from_key_ring(name))


def credential_in(provider: str, variable: str, environ: Mapping[str, str]) -> Credential | None:
    """What one variable holds, or None; a blank value is none.

    Raises:
        SettingsError: The value holds what no credential holds.
    """
    return _credential(provider, variable, environ.get(variable))


def own_server_key(environ: Mapping[str, str]) -> str | None:
    """The key of a server of the user's own, which is no provider's.

    Raises:
        SettingsError: The value holds what no credential holds.
    """
    found = credential_in("own-server", OWN_SERVER_KEY, environ)
    return found.secret if found else None


def _plain(provider: str) -> str:
    name = provider.strip().lower().replace("_", "-")
    return _ALIASES.get(name, name)


def _credential(provider: str, source: str, value: str | None) -> Credential | None:
    if value is None or not value.strip():
        return None
    if not _SECRET.fullmatch(value):
        raise SettingsError(
            f"{source} holds a space, a line break or another character that no credential has; set it anew"
        )
    return Credential(provider=provider, source=source, secret=value)


def _from_key_ring(provider: str) -> str | None:
    try:
        ring = cast("_KeyRing", import_module("keyring"))
    except ImportError:
        return None
    try:
        return ring.get_password(_SERVICE, provider)
    except Exception as error:  # noqa: BLE001  # whatever the desktop's key ring raises; its text might hold anything
        kind = type(error).__name__
    raise SettingsError(
        f"the key ring could not be read ({kind}); unlock it, or unset {_SWITCH} and use the environment"
    )

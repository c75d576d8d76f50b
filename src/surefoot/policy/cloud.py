"""Providers whose credential is no single key: which variables they need, and what is missing (SPEC C8).

Only what was set for the purpose counts: a role that the machine itself has is not looked for, so that no address inside a
network is asked who we are.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from surefoot.errors import SettingsError
from surefoot.policy.credentials import OWN_SERVER_KEY, credential_in

_BEDROCK: Final = "bedrock"
BEDROCK_KEY: Final = "AWS_BEARER_TOKEN_BEDROCK"
"""The one name here that does not say by its end that it holds a secret."""
_KEY_PAIR: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
_PROFILE: Final = "AWS_PROFILE"
_REGIONS: Final = ("AWS_REGION_NAME", "AWS_REGION", "AWS_DEFAULT_REGION")
_REGION: Final = re.compile(r"[a-z]{2,8}(-[a-z]{2,12})+-\d{1,2}")
_NOT_TAKEN: Final[Mapping[str, str]] = {
    "vertex_ai": "Vertex AI takes application default credentials only, which Surefoot does not use; "
    "name `gemini/NAME` with a key in GEMINI_API_KEY",
    "sagemaker": "SageMaker's endpoints are not asked by Surefoot; name `bedrock/NAME`",
}
_SAME: Final = {"vertex_ai_beta": "vertex_ai", "sagemaker_chat": "sagemaker"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudIdentity:
    """What a call to a cloud's models is made with."""

    source: str
    """The variables that it was found in."""
    region: str
    host: str
    """The only host that is asked."""
    secret: str | None = field(default=None, repr=False)
    """A key that goes along; None where the request is signed by what the variables name."""


def is_cloud(provider: str) -> bool:
    """Whether the provider's credential is no single key."""
    return _SAME.get(provider, provider) in {_BEDROCK, *_NOT_TAKEN}


def find_identity(provider: str, environ: Mapping[str, str]) -> CloudIdentity:
    """What there is to ask a cloud's models with.

    Raises:
        SettingsError: Something is missing, which is named, or the provider cannot be asked that way at all.
    """
    reason = _NOT_TAKEN.get(_SAME.get(provider, provider))
    if reason is not None:
        raise SettingsError(f"{reason}, or a server of your own that speaks for it with --base-url")
    source, secret = _aws(environ)
    region = _region(environ)
    return CloudIdentity(
        source=source,
        region=region,
        host=f"bedrock-runtime.{region}.amazonaws.com",
        secret=secret,
    )


def _aws(environ: Mapping[str, str]) -> tuple[str, str | None]:
    """Where the credential is, and a key that goes along; in the order that the client library takes them."""
    key = credential_in(_BEDROCK, BEDROCK_KEY, environ)
    if key is not None:
        return BEDROCK_KEY, key.secret
    there = [name for name in _KEY_PAIR if credential_in(_BEDROCK, name, environ) is not None]
    if len(there) == len(_KEY_PAIR):
        return " and ".join(_KEY_PAIR), None
    if there:
        (missing,) = set(_KEY_PAIR) - set(there)
        raise SettingsError(f"{there[0]} is set and {missing} is not; set both, or {BEDROCK_KEY}")
    if environ.get(_PROFILE, "").strip():
        return _PROFILE, None
    raise SettingsError(
        f"there is no credential in {BEDROCK_KEY}, in {' and '.join(_KEY_PAIR)}, or in {_PROFILE}; set one of them, "
        f"or name a server of your own with --base-url (and its key in {OWN_SERVER_KEY})"
    )


def _region(environ: Mapping[str, str]) -> str:
    name = next((name for name in _REGIONS if environ.get(name, "").strip()), None)
    if name is None:
        raise SettingsError(
            "Amazon Bedrock is asked in a region, and none is named; set AWS_REGION"
        )
    region = environ[name].strip()
    if not _REGION.fullmatch(region):
        raise SettingsError(
            f"{name} holds {region!r}, which is no region; set one like eu-central-1"
        )
    return region

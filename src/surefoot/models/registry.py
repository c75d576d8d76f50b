"""From what a user writes after `--model` to a model; the heavy parts are imported when they are asked for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from surefoot.errors import ModelUnavailableError, SettingsError, UsageError
from surefoot.models.address import is_here, is_loopback, why_no_server

if TYPE_CHECKING:
    from surefoot.kernel.ports import Model
    from surefoot.models.catalogue import Card
    from surefoot.models.openai_chat import Price

EMBEDDED: Final = "embedded"
AUTO: Final = "auto"
"""As a model's name: choose from all that the catalogue knows and the user has credentials for."""
_SCRIPTED: Final = "scripted:"
_ENDPOINTS: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com/v1",
    "kimi-coding": "https://api.kimi.com/coding/v1",
}
"""Providers whose OpenAI-compatible endpoint is asked directly; all others go through LiteLLM."""
_HOSTS: Final[Mapping[str, str]] = {
    "anthropic": "api.anthropic.com",
    "deepseek": "api.deepseek.com",
    "gemini": "generativelanguage.googleapis.com",
    "google": "generativelanguage.googleapis.com",
    "mistral": "api.mistral.ai",
    "moonshot": "api.moonshot.ai",
    "ollama": "localhost",
    "ollama_chat": "localhost",
    "openrouter": "openrouter.ai",
}
_FORMS: Final = (
    "`embedded`, `auto`, `PROVIDER/NAME` such as `openai/NAME` (with --base-url for a server of your own), "
    "or `scripted:FILE`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model that can be named without further settings."""

    spec: str
    ready: bool
    detail: str
    """What it is, or what is missing and how to mend that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The way to a hosted model."""

    base_url: str | None = None
    """Of a server of the user's own; the provider's when None."""
    api_key: str | None = field(default=None, repr=False)
    """Sent to that server only."""
    host: str | None = None
    """The only host that may be asked, where the provider's name does not tell it."""
    region: str | None = None
    """Of a cloud."""
    stream: bool = False
    """Ask for the answer piece by piece, where the way to the model can; a server that falls silent is noticed sooner."""
    reply_s: float = 600.0
    """Longest time for one whole reply."""


def open_model(spec: str, *, access: Access, card: "Card", cache: Path) -> "Model":
    """The model behind a spec; nothing is called or started yet.

    Args:
        spec: `embedded`, `PROVIDER/NAME`, or `scripted:FILE`.
        access: The way to a hosted one.
        card: What is known of it: its context, and its price.
        cache: The user's cache folder.

    Raises:
        SettingsError: The spec is none of these, or does not go with the other settings.
        ModelUnavailableError: What the model needs is not installed, not pulled, or has no key.
    """
    if spec == EMBEDDED:
        return _embedded(cache)
    if spec.startswith(_SCRIPTED) and spec != _SCRIPTED:
        from surefoot.models.scripted import load_scripted  # noqa: PLC0415

        return load_scripted(Path(spec.removeprefix(_SCRIPTED)), name=spec)
    check_spec(spec)
    _check_server(access.base_url)
    if spec.partition("/")[0] in _ENDPOINTS:
        return _openai_chat(spec, access, card)
    return _hosted(spec, access, card)


def check_spec(spec: str) -> None:
    """Refuse what can be no model's name.

    Raises:
        SettingsError: The spec is none of the forms.
    """
    if spec == AUTO:
        raise SettingsError(
            f"`{AUTO}` chooses who works, so it stands after --model or in [run] model alone; name a model here"
        )
    provider, _, name = spec.partition("/")
    hosted = bool(provider and name) and not re.search(r"\s", spec)
    scripted = spec.startswith(_SCRIPTED) and spec != _SCRIPTED
    if not (hosted or scripted or spec == EMBEDDED):
        raise SettingsError(f"there is no model {spec!r}; accepted are {_FORMS}")


def check_address(spec: str, base_url: str | None) -> None:
    """Refuse an address, as typed, that would have no effect, or is none.

    Raises:
        UsageError: The model is one of this machine, or is yet to be chosen.
        SettingsError: It is no address of a server, or holds a credential.
    """
    if base_url is not None and (spec == AUTO or is_local(spec)):
        raise UsageError(
            f"--base-url is the address of a PROVIDER/NAME, and the model is `{spec}`; "
            "name the one that listens there with --model, or leave --base-url out"
        )
    _check_server(base_url)


def _check_server(base_url: str | None) -> None:
    """Refuse what is no address; a credential in one would stand in every message that names it."""
    problem = why_no_server(base_url) if base_url is not None else None
    if problem is not None:
        shown = "" if "@" in str(base_url) else f" {base_url!r}"
        raise SettingsError(f"the base URL{shown} cannot be used: {problem}")


def host_of(spec: str, base_url: str | None) -> str:
    """The host that a hosted model's prompts go to; a provider's own name where only LiteLLM knows its host."""
    provider = spec.partition("/")[0]
    url = base_url or _ENDPOINTS.get(provider)
    if url is not None:
        return urlsplit(url).hostname or url
    return _HOSTS.get(provider, provider)


def is_local(spec: str) -> bool:
    """Whether the model runs inside this machine by what the spec alone says: no key, no price, no network."""
    return spec == EMBEDDED or spec.startswith(_SCRIPTED)


def known_models(cache: Path) -> tuple[KnownModel, ...]:
    """The models that need no further settings; looks at files only."""
    from surefoot.models.host import INSTALL_MEND  # noqa: PLC0415
    from surefoot.models.weights import QWEN, find  # noqa: PLC0415

    there = _folder(cache) / QWEN.file_name
    missing = []
    if find_spec("xllamacpp") is None:
        missing.append(f"xllamacpp is not installed; {INSTALL_MEND}")
    if find(_folder(cache)) is None and not there.is_file():
        missing.append(f"{QWEN.file_name} is not there; fetch it with `surefoot models pull`")
    detail = "; ".join(missing) or f"{QWEN.file_name} ({QWEN.licence})"
    return (KnownModel(spec=EMBEDDED, ready=not missing, detail=detail),)


def _folder(cache: Path) -> Path:
    return cache / "models"


def _embedded(cache: Path) -> "Model":
    from surefoot.models.embedded import EmbeddedModel  # noqa: PLC0415
    from surefoot.models.weights import QWEN, find, verify  # noqa: PLC0415

    path = find(_folder(cache))
    if path is None:
        path = _folder(cache) / QWEN.file_name
        # Put there by hand, or by a version without stamps: read it once. A missing file is the model's to report.
        if path.is_file() and not verify(path):
            raise ModelUnavailableError(
                f"{str(path)!r} is not the file that it should be (size or SHA-256 differ); "
                "replace it with `surefoot models pull`"
            )
    return EmbeddedModel(path, cache)


def _openai_chat(spec: str, access: Access, card: "Card") -> "Model":
    from surefoot.models.openai_chat import ChatServer, OpenAIChat  # noqa: PLC0415

    provider, _, name = spec.partition("/")
    if access.base_url is None and not access.api_key:
        raise ModelUnavailableError(
            f"`{spec}` needs a key in {provider.upper().replace('-', '_')}_API_KEY, "
            "or --base-url for a server of your own"
        )
    url = access.base_url or _ENDPOINTS[provider]
    # The servers that people run on their own machine give log-probabilities or ignore that, and some go on with a prefill;
    # hosted ones answer one or the other with an error.
    local = is_here(url)
    server = ChatServer(
        base_url=url,
        api_key=access.api_key,
        continues_prefill=None if local else False,
        logprobs=local,
        reply_s=access.reply_s,
    )
    return OpenAIChat(
        name,
        server,
        context_tokens=card.context_tokens,
        native_tools=card.tools,
        price=None if access.base_url and not card.listed else _price(card),
        label=spec,
    )


def _hosted(spec: str, access: Access, card: "Card") -> "Model":
    from surefoot.models.hosted import HostedModel  # noqa: PLC0415
    from surefoot.models.openai_chat import Price  # noqa: PLC0415

    host = access.host or host_of(spec, access.base_url)
    return HostedModel(
        spec,
        api_key=access.api_key,
        base_url=access.base_url,
        context_tokens=card.context_tokens,
        native_tools=card.tools,
        # A server on this machine costs nothing unless somebody says so.
        price=_price(card) if card.listed or not is_loopback(host) else Price(),
        host=host if "." in host or is_loopback(host) else None,
        region=access.region,
        stream=access.stream,
        reply_s=access.reply_s,
    )


def _price(card: "Card") -> "Price":
    from surefoot.models.openai_chat import Price  # noqa: PLC0415

    return Price(prompt_usd=card.prompt_usd, completion_usd=card.completion_usd)

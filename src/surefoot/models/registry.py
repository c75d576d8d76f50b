"""From what a user writes after `--model` to a model; the heavy parts are imported when they are asked for."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from surefoot.errors import ModelUnavailableError, SettingsError
from surefoot.kernel.ports import Model

EMBEDDED: Final = "embedded"
_OPENAI: Final = "openai/"
_SCRIPTED: Final = "scripted:"
_OPENAI_URL: Final = "https://api.openai.com/v1"
_FORMS: Final = (
    "`embedded`, `openai/NAME` (with --base-url for a server of your own), or `scripted:FILE`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """A model that can be named without further settings."""

    spec: str
    ready: bool
    detail: str
    """What it is, or what is missing and how to mend that."""


def open_model(spec: str, *, base_url: str | None, api_key: str | None, cache: Path) -> Model:
    """The model behind a spec; nothing is called or started yet.

    Args:
        spec: `embedded`, `openai/NAME`, or `scripted:FILE`.
        base_url: Of an OpenAI-compatible server; OpenAI's own when None.
        api_key: Sent to that server only.
        cache: The user's cache folder.

    Raises:
        SettingsError: The spec is none of these, or does not go with the other settings.
        ModelUnavailableError: What the model needs is not installed, not pulled, or has no key.
    """
    if spec == EMBEDDED:
        return _embedded(cache)
    if spec.startswith(_OPENAI) and spec != _OPENAI:
        return _openai(spec.removeprefix(_OPENAI), base_url, api_key)
    if spec.startswith(_SCRIPTED) and spec != _SCRIPTED:
        from surefoot.models.scripted import load_scripted  # noqa: PLC0415

        return load_scripted(Path(spec.removeprefix(_SCRIPTED)), name=spec)
    raise SettingsError(f"there is no model {spec!r}; accepted are {_FORMS}")


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


def _embedded(cache: Path) -> Model:
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


def _openai(name: str, base_url: str | None, api_key: str | None) -> Model:
    from surefoot.models.openai_chat import ChatServer, OpenAIChat, is_loopback  # noqa: PLC0415

    if base_url is None and not api_key:
        raise ModelUnavailableError(
            f"`openai/{name}` needs a key in OPENAI_API_KEY, or --base-url for a server of your own"
        )
    url = base_url or _OPENAI_URL
    # The servers that people run on their own machine (llama.cpp, Ollama, LM Studio) can do both or ignore it; hosted ones
    # answer one or the other with an error.
    local = is_loopback(urlsplit(url).hostname or "")
    server = ChatServer(base_url=url, api_key=api_key, continues_prefill=local, logprobs=local)
    return OpenAIChat(name, server)

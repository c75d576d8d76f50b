"""Models: the embedded one, OpenAI-compatible endpoints, scripted ones, and the weights."""

from surefoot.models.registry import Access, KnownModel, is_local, known_models, open_model
from surefoot.models.weights import pull

__all__ = ["Access", "KnownModel", "is_local", "known_models", "open_model", "pull"]

"""Models: the embedded one, OpenAI-compatible endpoints, scripted ones, and the weights."""

from surefoot.models.registry import KnownModel, is_local, known_models, open_model
from surefoot.models.weights import pull

__all__ = ["KnownModel", "is_local", "known_models", "open_model", "pull"]

"""The embedded model, as the product runs it."""

from functools import cache

from bench.paths import cache_dir, model_path
from surefoot.kernel.ports import Model
from surefoot.models.embedded import EmbeddedModel


@cache
def embedded() -> Model:
    """One client for the whole process; it shares the host with the runs that it measures."""
    return EmbeddedModel(model_path(), cache_dir() / "host")

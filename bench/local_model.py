"""The embedded model, as the product runs it."""

from functools import cache

from platformdirs import user_cache_path

from surefoot.kernel.ports import Model
from surefoot.models import open_model


@cache
def embedded() -> Model:
    """One client for the whole process; it shares the host with the runs that it is compared with."""
    return open_model("embedded", base_url=None, api_key=None, cache=user_cache_path("surefoot"))

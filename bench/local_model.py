"""The embedded model, as the product runs it."""

from functools import cache

from platformdirs import user_cache_path

from surefoot.kernel.ports import Model
from surefoot.models.catalogue import load_catalogue
from surefoot.models.registry import Access, open_model


@cache
def embedded() -> Model:
    """One client for the whole process; it shares the host with the runs that it is compared with."""
    card = load_catalogue().card("embedded")
    return open_model("embedded", access=Access(), card=card, cache=user_cache_path("surefoot"))

"""The embedded model, as the product runs it."""

from functools import cache

from platformdirs import user_cache_path

from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import Model
from surefoot.models.catalogue import load_catalogue
from surefoot.models.registry import Access, open_model
from surefoot.system import SystemClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Ceilings


@cache
def embedded() -> Model:
    """One client for the whole process; it shares the host with the runs that it is compared with."""
    card = load_catalogue().card("embedded")
    return open_model("embedded", access=Access(), card=card, cache=user_cache_path("surefoot"))


def metered() -> tuple[MeteredModel, Journal]:
    """The model as decisions ask it, without a ceiling that matters, and the journal in memory that it records to."""
    clock = SystemClock()
    journal = Journal(MemoryLedger(), clock)
    ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1)
    return MeteredModel(embedded(), journal, ceilings, clock), journal

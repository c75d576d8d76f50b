"""Plain syntax-tree edits of a unit, written back as text edits so that the rest of the file keeps its form."""

from surefoot.execute.repair.mutate.all import mutations, ranked_mutations, unit_text
from surefoot.execute.repair.mutate.direction import turned
from surefoot.execute.repair.mutate.site import Mutation, Site, site_of

__all__ = ["Mutation", "Site", "mutations", "ranked_mutations", "site_of", "turned", "unit_text"]

"""What a prompt says about a whole repository: its symbols, ranked by relevance, within a budget; and of one file, all."""

from surefoot.context.outline import outline
from surefoot.context.repository_map import RepositoryMap

__all__ = ["RepositoryMap", "outline"]

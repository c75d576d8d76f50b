"""What a prompt says about a whole repository: its symbols, ranked by relevance, within a budget."""

from surefoot.context.repository_map import RepositoryMap

__all__ = ["RepositoryMap"]

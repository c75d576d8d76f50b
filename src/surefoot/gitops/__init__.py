"""Git: the run's own worktree, atomic turns, acceptance, garbage collection (SPEC C6, promises 2 and 3).

Here stands what is needed to look at a repository; what works in one is had from its own module.
"""

from surefoot.gitops.git import Git, check_git
from surefoot.gitops.repository import Repository

__all__ = ["Git", "Repository", "check_git"]

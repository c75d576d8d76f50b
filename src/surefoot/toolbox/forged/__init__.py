"""Tools that the executor wrote itself: functions with a contract, kept by content, run in the sandbox (SPEC D2)."""

from surefoot.toolbox.forged.artifact import KIND, Artifact, Example, pack, unpack
from surefoot.toolbox.forged.box import ForgingBox, Workshop
from surefoot.toolbox.forged.runner import Runner
from surefoot.toolbox.forged.state import StateFolder

__all__ = [
    "KIND",
    "Artifact",
    "Example",
    "ForgingBox",
    "Runner",
    "StateFolder",
    "Workshop",
    "pack",
    "unpack",
]

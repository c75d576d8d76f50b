"""The six gates of a turn: each decides, from recorded facts only (SPEC C5)."""

from surefoot.gates.six import (
    ArtifactGate,
    CloseoutGate,
    ExecutionGate,
    InputGate,
    PolicyGate,
    VerificationGate,
    default_gates,
)

__all__ = [
    "ArtifactGate",
    "CloseoutGate",
    "ExecutionGate",
    "InputGate",
    "PolicyGate",
    "VerificationGate",
    "default_gates",
]

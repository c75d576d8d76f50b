"""The fence around everything of the project that is executed."""

from surefoot.sandbox.conformance import ProbeResult, conformance, quick_conformance
from surefoot.sandbox.probe import Backend, SandboxReport, open_processes, probe
from surefoot.sandbox.processes import FencedProcesses, FencedWorker

__all__ = [
    "Backend",
    "FencedProcesses",
    "FencedWorker",
    "ProbeResult",
    "SandboxReport",
    "conformance",
    "open_processes",
    "probe",
    "quick_conformance",
]

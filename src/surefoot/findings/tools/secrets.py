"""Secrets by detect-secrets, without its network checks.

Run through a program of our own rather than its command line: that one forks a pool, which needs shared memory that a
sandbox may not give, and takes the file names as arguments. Only detectors of one vendor's token format, of private
keys and of passwords in URLs are on: those of entropy and of the word "password" cry at every hash and every test,
and a critical finding must be worth waking for. A project that keeps a `.secrets.baseline` has chosen its own detectors
and has looked at what they found: both are taken from it.
"""

import json
from pathlib import Path
from typing import Final

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from surefoot.findings.process import Answer, Probe, Toolchain, UnreadableOutputError, run_probe
from surefoot.findings.raw import Raw
from surefoot.findings.tree import own_files
from surefoot.kernel.ports import Processes
from surefoot.plain_files import read_plain
from surefoot.values import AuditorResult, AuditorState, ProcessResult

_MEND: Final = "install it beside Surefoot: pip install 'surefoot[audit]'"
_BASELINE: Final = ".secrets.baseline"
_LARGEST: Final = 1024**2
"""Files above this hold data; detect-secrets reads by line with a dozen patterns, at a few MB a second."""
_LEFT_OFF: Final = (
    "Base64HighEntropyString",
    "HexHighEntropyString",
    "KeywordDetector",
    "IPPublicDetector",
)

_PROGRAM: Final = """
import json, re, sys
from pathlib import Path
from detect_secrets.core.secrets_collection import SecretsCollection
from detect_secrets.settings import default_settings, get_plugins, transient_settings

def patterns():
    for plugin in get_plugins():
        for pattern in plugin.denylist:
            yield re.compile(pattern.pattern, pattern.flags | re.MULTILINE)

def may_hold_one(name):
    try:
        text = Path(name).read_text("utf-8", "replace")
    except OSError:
        return True
    return any(pattern.search(text) for pattern in quick)

job = json.load(sys.stdin)
found = SecretsCollection()
chosen = job["settings"]
if chosen is None:
    with default_settings() as settings:
        chosen = settings.json()
    chosen["plugins_used"] = [p for p in chosen["plugins_used"] if p["name"] not in job["off"]]
with transient_settings(chosen):
    quick = list(patterns()) if job["settings"] is None else []
    for name in job["files"]:
        if not quick or not name.endswith(tuple(job["plain"])) or may_hold_one(name):
            found.scan_file(name)
print(json.dumps([
    {
        "type": s.type,
        "file": name.encode("utf-8", "backslashreplace").decode(),
        "line": s.line_number,
        "hash": s.secret_hash,
    }
    for name, s in found
]))
"""
"""Looks through a whole file with the detectors' patterns before it is scanned by line, which is twenty times slower."""
_PLAIN: Final = (
    *(
        ".py",
        ".pyi",
        ".js",
        ".mjs",
        ".jsx",
        ".ts",
        ".tsx",
        ".go",
        ".rs",
        ".java",
        ".kt",
        ".c",
        ".h",
    ),
    *(".cc", ".cpp", ".hpp", ".cs", ".rb", ".php", ".sh", ".sql", ".html", ".css", ".md", ".rst"),
    *(".json", ".csv", ".svg", ".txt", ".lock"),
)
"""Files that are read as they stand; others may be settings, of which the scan also reads the values by key."""


class _Secret(BaseModel):
    type: str
    file: str
    line: int
    hash: str


class _Known(BaseModel):
    hashed_secret: str


class _Baseline(BaseModel):
    plugins_used: list[dict[str, str | float | bool | None]] = Field(min_length=1)
    filters_used: list[dict[str, str | int | float | bool | list[str] | None]] = []
    results: dict[str, list[_Known]] = {}


_SECRETS: Final = TypeAdapter(list[_Secret])


class SecretsAuditor:
    """Finds credentials in any text file of the project; the finding never holds the credential."""

    def __init__(self, processes: Processes, toolchain: Toolchain) -> None:
        self._processes, self._toolchain = processes, toolchain

    @property
    def tool(self) -> str:
        """Always `secrets`."""
        return "secrets"

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`."""
        try:
            baseline = _read_baseline(root)
        except ValidationError as error:
            return self._unread(error.errors(include_url=False)[0]["msg"])
        except OSError as error:  # too large, or not to be opened
            return self._unread(str(error.strerror))
        files = [f for f in own_files(root) if f != _BASELINE and _is_small(root / f)]
        settings = None if baseline is None else baseline.model_dump(exclude={"results"})
        # Escaped, so that a file name that is not UTF-8 reaches the other side as it is.
        job = json.dumps(
            {"files": files, "off": _LEFT_OFF, "plain": _PLAIN, "settings": settings}
        ).encode()
        probe = Probe(
            tool=self.tool,
            argv=self._toolchain.program(_PROGRAM),
            stdin=job,
            reads=self._toolchain.reads,
            limits=self._toolchain.limits,
            exit_codes=frozenset({0}),
            module="detect_secrets",
            mend=_MEND,
        )
        known = _known(baseline)
        return run_probe(self._processes, probe, root, lambda result: _read(result, known))

    def _unread(self, why: str) -> AuditorResult:
        return AuditorResult(
            tool=self.tool,
            state=AuditorState.BROKEN,
            message=f"{_BASELINE} cannot be read: {why}; make it anew with detect-secrets scan",
        )


def _read_baseline(root: Path) -> _Baseline | None:
    path = root / _BASELINE
    return _Baseline.model_validate_json(read_plain(path)) if path.is_file() else None


def _known(baseline: _Baseline | None) -> frozenset[tuple[str, str]]:
    results = {} if baseline is None else baseline.results
    return frozenset(
        (file, known.hashed_secret) for file, all_ in results.items() for known in all_
    )


def _is_small(path: Path) -> bool:
    return path.stat().st_size <= _LARGEST


def _read(result: ProcessResult, known: frozenset[tuple[str, str]]) -> Answer:
    try:
        found = _SECRETS.validate_json(result.stdout)
    except ValidationError as error:
        raise UnreadableOutputError(str(error.errors(include_url=False)[0])) from error
    return Answer(raws=tuple(_raw(s) for s in found if (s.file, s.hash) not in known))


def _raw(secret: _Secret) -> Raw:
    return Raw(
        rule=secret.type.lower().replace(" ", "-"),
        file=secret.file,
        line=secret.line,
        column=1,
        message=f"{secret.type} in the repository",
        remediation="revoke it with its issuer, take it out of the file, and read it from the environment",
        # The line holds the secret, so neither the evidence nor the fingerprint may be made of it.
        identity=secret.hash,
        evidence="",
    )

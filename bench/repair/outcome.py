"""What came out of one case, remembered by hash of code and case."""

import fcntl
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeAlias

import surefoot
from bench.meter import LIMIT_S, Used
from bench.paths import cache_dir
from bench.repair import cases
from bench.repair.records import all_outcomes
from surefoot.codec import decode, digest_of, encode

Who: TypeAlias = Literal["surefoot", "script"]
EVERYBODY: Final[tuple[Who, ...]] = ("surefoot", "script")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What somebody made of a case, before it is graded."""

    claimed: bool
    """It says that the work is complete, within the limit."""
    status: str
    reason: str
    solution: str
    """`solution.py` at the end."""
    used: Used
    idle_s: float
    wall_s: float
    selected: str = ""
    """What Surefoot's last selection among candidates says of its reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An attempt and what the grading checks say of it."""

    key: str
    who: Who
    case_id: str
    attempt: Attempt
    failed_checks: tuple[int, ...]
    """Places in the case's `hidden`; judged only when the attempt claims to be complete."""

    @property
    def solved(self) -> bool:
        """Complete, and all checks pass."""
        return self.attempt.claimed and not self.failed_checks

    @property
    def false_success(self) -> bool:
        """Complete, and a check fails."""
        return self.attempt.claimed and bool(self.failed_checks)


DECIDING: Final = ("decisions", "execute", "gates", "models", "solver", "suite")
"""Parts of the package that find, judge and choose candidates; the others carry them."""
ASIDE: Final = (
    "execute/agent",
    "decisions/clarification.py",
    "decisions/failure_triage.py",
    "decisions/plan_draft.py",
    "decisions/plan_rule.py",
    "decisions/roundtable.py",
    "decisions/tool_call.py",
    "decisions/tool_result.py",
)
"""Work step by step or by a plan, which no case is."""


@cache
def product_hash() -> str:
    """Of the code that decides how a case ends, as it stands on disk."""
    root = Path(surefoot.__file__).parent
    digest = sha256()
    for path in sorted(p for part in DECIDING for p in (root / part).rglob("*.py")):
        if any(path.is_relative_to(root / part) for part in ASIDE):
            continue
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def bench_hash(name: str) -> str:
    """Of the module here that works on cases in somebody's name, and of what it may use."""
    here = Path(__file__)
    parts = (here.with_name(name), here.parent.with_name("meter.py"))
    return sha256(b"".join(p.read_bytes() for p in parts)).hexdigest()[:16]


def key_of(case: cases.Case, who: Who) -> str:
    """Changes with the code that works on the case, with the case, and with the limit."""
    code = bench_hash("greedy.py" if case.kind == "parameters" else "baseline.py")
    if who == "surefoot":
        code = bench_hash("agent.py") + product_hash()
    return sha256(f"{who} {code} {digest_of(case)} {LIMIT_S}".encode()).hexdigest()


def _file() -> Path:
    return cache_dir() / "repair" / "outcomes.jsonl"


def recall(keys: Iterable[str]) -> dict[str, Outcome]:
    """Outcomes that are known already, by key: those of this machine, and recorded ones of the script."""
    wanted = set(keys)
    lines = [*all_outcomes()]
    if _file().exists():
        lines += _file().read_bytes().splitlines()
    known = (decode(Outcome, line) for line in lines if line.endswith(b"}"))
    return {o.key: o for o in known if o.key in wanted}


def remember(outcome: Outcome) -> None:
    """Add one; several benchmarks may do so at once."""
    _file().parent.mkdir(parents=True, exist_ok=True)
    with _file().open("ab") as out:
        fcntl.flock(out, fcntl.LOCK_EX)
        out.write(encode(outcome) + b"\n")

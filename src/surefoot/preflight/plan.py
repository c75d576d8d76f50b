"""One plan against the code: its six inputs, its integration contracts, the routes that it claims."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from surefoot.preflight.claims import claims_in
from surefoot.preflight.code import Code
from surefoot.preflight.contracts import contracts_in
from surefoot.preflight.inputs import check_inputs
from surefoot.preflight.integration import ContractCheck
from surefoot.preflight.markdown import blocks
from surefoot.preflight.parity import check_parity, take_inventory
from surefoot.preflight.problems import Problem

CHECKS: Final = ("integration", "routes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """What was looked at, and what is wrong."""

    contracts: int
    routes: int
    """Routes that the plan claims; 0 when they were not checked."""
    problems: tuple[Problem, ...]


def check_plan(
    file: str,
    text: str,
    code: Code,
    *,
    checks: Collection[str] = CHECKS,
    is_commit: Callable[[str], bool],
) -> Preflight:
    """Hold a plan against the code. `file` is its path in the repository, `is_commit` knows the repository's commits."""
    parts = blocks(text)
    problems = list(check_inputs(parts, code, file, is_commit))
    contracts = contracts_in(parts)
    if "integration" in checks:
        check = ContractCheck(code, file)
        problems += [p for contract in contracts.found for p in check.check(contract)]
        if not contracts.found and not contracts.none_because:
            problems.append(
                Problem(
                    rule="missing-contract",
                    file=file,
                    line=1,
                    message="the plan has no integration contract",
                    mend="add one for each boundary, or `None: why` under a heading `Integration Contracts`",
                )
            )
    claimed = len(claims_in(text, (), is_markdown=True)) if "routes" in checks else 0
    if claimed:
        problems += check_parity(file, text, take_inventory(code), only_routes=True).problems
    problems.sort(key=lambda p: (p.line, p.rule, p.message))
    return Preflight(
        contracts=len(contracts.found), routes=claimed, problems=tuple(dict.fromkeys(problems))
    )

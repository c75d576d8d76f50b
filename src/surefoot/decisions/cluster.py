"""Group findings by the domain in which their cause lies (SPEC B7), so that a round works on one cause at a time."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from surefoot.values import Finding, Severity

Category: TypeAlias = Literal["typing", "lint", "tests", "integration", "policy", "security"]

_DOMAINS: Final[tuple[Category, ...]] = (
    "security",
    "integration",
    "tests",
    "typing",
    "policy",
    "lint",
)
"""Order at equal severity: a fix in an earlier domain often settles findings of a later one."""

_BORDER: Final = re.compile(
    r"\b(?:ImportError|ModuleNotFoundError|cannot import name|fixture '.+' not found"
    r"|(?:missing|unexpected|takes) .*\b(?:positional|keyword) arguments?"
    r"|module '.+' has no attribute)"
)
"""Ways in which a test says that two modules do not fit together, rather than that one computes a wrong thing."""
_CANNOT_RUN: Final = re.compile(r"\b(?:SyntaxError|IndentationError|TabError|NameError)\b")
"""A test that fails like this has the cause that the linter names."""

_RANK: Final[Mapping[Severity, int]] = {severity: n for n, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Findings of one domain, in the order file, line."""

    domain: Category
    findings: tuple[Finding, ...]

    @property
    def severity(self) -> Severity:
        """The worst among them."""
        return min((f.severity for f in self.findings), key=_RANK.__getitem__)

    @property
    def files(self) -> tuple[str, ...]:
        """Files that they point to, sorted."""
        return tuple(sorted({f.file for f in self.findings if f.file}))

    @property
    def rules(self) -> tuple[tuple[str, str], ...]:
        """(tool, rule) pairs among them, sorted: what one mechanical fix can work on."""
        return tuple(sorted({(f.tool, f.rule) for f in self.findings}))


def domain_of(finding: Finding) -> Category:
    """Where the cause of a finding lies, which may differ from the tool that saw it."""
    if finding.tool != "tests":
        return finding.category
    if _BORDER.search(finding.message):
        return "integration"
    return "lint" if _CANNOT_RUN.search(finding.message) else "tests"


def clusters(findings: Iterable[Finding]) -> tuple[Cluster, ...]:
    """The findings by domain, the worst cluster first."""
    by_domain: dict[Category, list[Finding]] = {}
    for finding in findings:
        by_domain.setdefault(domain_of(finding), []).append(finding)
    made = (
        Cluster(
            domain=domain,
            findings=tuple(
                sorted(members, key=lambda f: (f.file, f.line, f.column, f.tool, f.rule))
            ),
        )
        for domain, members in by_domain.items()
    )
    return tuple(sorted(made, key=lambda c: (_RANK[c.severity], _DOMAINS.index(c.domain))))

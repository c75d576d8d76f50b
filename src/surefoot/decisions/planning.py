"""Planning by rule: from issue, failing tests and findings to units, each with one PlanIR (SPEC E2).

A unit is only made where something can prove it: failing tests, findings, or a reproducing test that is still to be
written. A failing test belongs to an issue when the issue names it, or names code that its failure runs through;
failing tests that have nothing to do with the issue are left alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from keyword import kwlist
from typing import Final, Literal

from surefoot.codec import canonical, encode
from surefoot.decisions.cluster import clusters
from surefoot.decisions.complexity import COMPLEXITY, ComplexityQuestion, files_named, without_model
from surefoot.decisions.plan_ir import targets
from surefoot.decisions.signature import ruled
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Notebook
from surefoot.values import (
    BLOCKING,
    Audit,
    Complexity,
    Finding,
    Issue,
    PlanIR,
    PlanStep,
    StepIntent,
    TestReport,
    TestResult,
    Unit,
    UnitId,
    UnitType,
)

POLICY_BUNDLE = "planning/2"

# Words that are code: in backticks, called, dotted, with an underscore, or with an inner capital.
_CODE_WORD = re.compile(
    r"`([^`\n]{2,80})`|\b([A-Za-z_]\w*)(?=\()|\b([A-Za-z_]\w*(?:\.\w+)+)|\b(\w+_\w+)\b|\b([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)\b"
)
_FIRST_WORDS: Final[Mapping[UnitType, frozenset[str]]] = {
    UnitType.FEATURE: frozenset(
        [
            "add",
            "allow",
            "create",
            "extend",
            "feature",
            "implement",
            "introduce",
            "provide",
            "support",
        ]
    ),
    UnitType.REFACTOR: frozenset(
        [
            "clean",
            "deduplicate",
            "extract",
            "inline",
            "merge",
            "move",
            "refactor",
            "rename",
            "reorganise",
            "reorganize",
            "simplify",
            "split",
        ]
    ),
    UnitType.TEST: frozenset(("cover", "test", "tests")),
    UnitType.DOCS: frozenset(("describe", "document")),
}
_NAME = re.compile(r"[A-Za-z_]\w+")
_COMMON = frozenset(
    [
        *kwlist,
        "self",
        "cls",
        "test",
        "tests",
        "py",
        "print",
        "python",
        "error",
    ]
)


Strategy = Literal["repair", "fixer", "agent"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Which strategy works on what; findings are the fixer's."""

    fix: Strategy = "repair"
    """Something that is wrong: failing tests, or an issue that says so."""
    feature: Strategy = "agent"
    """Something that is missing from code that the issue names."""
    change: Strategy = "agent"
    """Everything else: other features, refactorings, tests, documents."""
    hard: Strategy | None = None
    """Blocking findings that no mechanical fix mends; None: they are left to a person."""

    def of(self, kind: UnitType, issue: Issue) -> Strategy:
        """The strategy for one kind of unit."""
        if kind is UnitType.FIX:
            return self.fix
        named = kind is UnitType.FEATURE and code_words(issue.text)
        return self.feature if named else self.change


class RulePlanner:
    """The `Planner` port by rule; `can_fix` says which findings have a deterministic mend."""

    def __init__(self, can_fix: Callable[[Finding], bool], ways: Ways | None = None) -> None:
        self._can_fix, self._ways = can_fix, ways or Ways()

    def plan(
        self,
        issue: Issue,
        baseline: TestReport,
        audit: Audit,
        files: Sequence[str],
        notebook: Notebook,
        *,
        earlier: Sequence[Unit] = (),
    ) -> tuple[Unit, ...] | str:
        """The units of this round, or why there is nothing that a run could prove."""
        units: tuple[Unit, ...] | str
        if issue.source == "test":
            units = _for_tests(issue, baseline, self._ways)
        elif issue.source == "sarif":
            units = _for_sarif(issue, audit)
        elif issue.source == "audit":
            units = _AuditRound(issue, audit, self._can_fix, self._ways, earlier).units(baseline)
        else:
            units = (_for_text(issue, baseline, self._ways),)
        if not isinstance(units, str):
            units = tuple(_sized(unit, files, notebook) for unit in units)
        notebook.record(
            Decided(
                decision="planning",
                inputs=notebook.put(encode(issue)),
                output=notebook.put(
                    canonical({"reason": units})
                    if isinstance(units, str)
                    else b"[" + b",".join(encode(unit) for unit in units) + b"]"
                ),
                decided_by="rule",
                policy_bundle=POLICY_BUNDLE,
            )
        )
        return units


def code_words(text: str) -> frozenset[str]:
    """The names of code that a text mentions."""
    found: set[str] = set()
    for match in _CODE_WORD.finditer(text):
        for group in match.groups():
            if group:
                found.update(_NAME.findall(group))
    return frozenset(found - _COMMON)


def related(issue: Issue, result: TestResult) -> bool:
    """Whether a failing test shows what an issue is about."""
    name = result.test_id.rsplit("::", 1)[-1].split("[", 1)[0]
    if result.test_id in issue.text or re.search(rf"\b{re.escape(name)}\b", issue.text):
        return True
    words = code_words(issue.text)
    ran = {frame.function for frame in result.frames}
    told = set(_NAME.findall(f"{result.message}\n{result.detail}"))
    return bool(words & (ran | told))


def kind_of(issue: Issue) -> UnitType:
    """What kind of work an issue asks for, by the first words of its title; a fix when they say nothing else."""
    first = re.match(r"[\W\d_]*(?:feature(?: request)?:\s*)?([A-Za-z]+)", issue.title)
    word = first[1].lower() if first else ""
    return next((kind for kind, words in _FIRST_WORDS.items() if word in words), UnitType.FIX)


def _for_tests(issue: Issue, baseline: TestReport, ways: Ways) -> tuple[Unit, ...] | str:
    failing, collected = set(baseline.failing), set(baseline.collected)
    wanted = [t for name in issue.tests for t in expand(name, baseline.collected)]
    missing = [n for n in issue.tests if not expand(n, baseline.collected)]
    if missing:
        return f"{missing[0]} is not among the {len(collected)} tests of HEAD; commit it first"
    green = [t for t in wanted if t not in failing]
    if green == wanted:
        return f"{green[0]} passes already on HEAD; there is nothing to fix"
    return (
        _unit("fix-1", UnitType.FIX, ways.fix, issue, tuple(t for t in wanted if t in failing)),
    )


def expand(name: str, collected: Sequence[str]) -> list[str]:
    """A test id, all parameters of one, or all tests of a file or class; the file where nothing of it could be collected."""
    prefixes, file = (f"{name}[", f"{name}::"), name.partition("::")[0]
    found = [t for t in collected if t == name or t.startswith(prefixes)]
    return found or [t for t in collected if t == file]


def _for_text(issue: Issue, baseline: TestReport, ways: Ways) -> Unit:
    bad = [r for r in baseline.results if r.test_id in set(baseline.failing)]
    targets = tuple(sorted(r.test_id for r in bad if related(issue, r)))
    kind = UnitType.FIX if targets else kind_of(issue)
    return _unit(f"{kind}-1", kind, ways.of(kind, issue), issue, targets)


def _for_sarif(issue: Issue, audit: Audit) -> tuple[Unit, ...] | str:
    """Units for the given findings that an auditor here sees too: only those can be shown to be gone."""
    if not issue.findings:
        return "the SARIF file holds no findings"
    seen = {(f.rule, f.file, f.line): f for f in audit.findings}
    seen |= {("", f.fingerprint, 0): f for f in audit.findings}
    found: dict[str, Finding] = {}
    for given in issue.findings:
        match = seen.get(("", given.fingerprint, 0)) or seen.get(
            (given.rule, given.file, given.line)
        )
        if match is None:
            where = f"{given.rule} in {given.file}:{given.line}"
            return (
                f"{where} is not found by any auditor here, so nothing could show that it is gone"
            )
        found[match.fingerprint] = match
    return _by_cause(issue, tuple(found.values()))


def _by_cause(issue: Issue, findings: Sequence[Finding]) -> tuple[Unit, ...]:
    return tuple(
        _unit(f"fix-{cluster.domain}", UnitType.FIX, "fixer", issue, (), cluster.findings)
        for cluster in clusters(findings)
    )


@dataclass(frozen=True, slots=True)
class _AuditRound:
    """One round of a run that was given nothing: what the audit tells, without what earlier rounds have tried."""

    issue: Issue
    audit: Audit
    can_fix: Callable[[Finding], bool]
    ways: Ways
    earlier: Sequence[Unit]

    def units(self, baseline: TestReport) -> tuple[Unit, ...] | str:
        """Failing tests, then cluster after cluster, the worst first.

        Of each: what can be mended without a model, and what blocks and is left to one. The rest is only reported.
        """
        seen = {t for unit in self.earlier for t in unit.failing}
        failing = tuple(t for t in baseline.failing if t not in seen)
        made: list[Unit] = []
        if failing:
            made.append(self._unit("fix-tests", self.ways.fix, failing, ()))
        others = [f for f in self.audit.findings if f.category != "tests"]
        for cluster in clusters(others):
            mendable, hard = self._split(cluster.findings)
            if mendable:
                made.append(self._unit(f"fix-{cluster.domain}", "fixer", (), mendable))
            if hard and self.ways.hard:
                made.append(self._unit(f"solve-{cluster.domain}", self.ways.hard, (), hard))
        return tuple(made) or self._nothing(others)

    def _split(
        self, findings: Sequence[Finding]
    ) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
        """What a mechanical fix may mend, and what blocks and needs more; none of them tried that way before."""
        tried = {(f.fingerprint, u.strategy) for u in self.earlier for f in u.findings}
        mendable = tuple(
            f for f in findings if self.can_fix(f) and (f.fingerprint, "fixer") not in tried
        )
        hard = tuple(
            f
            for f in findings
            if f not in mendable
            and f.severity in BLOCKING
            and (f.fingerprint, self.ways.hard) not in tried
        )
        return mendable, hard

    def _nothing(self, findings: Sequence[Finding]) -> str:
        blocking = [f for f in findings if f.severity in BLOCKING]
        if not blocking:
            return f"{len(findings)} findings, none blocking, and none that can be mended without a model"
        first = blocking[0]
        place = f"{first.file}:{first.line} {first.tool} {first.rule}: {first.message}"
        return f"{len(blocking)} blocking findings that no safe fix mends; a person has to: {place}"

    def _unit(
        self,
        name: str,
        way: Strategy,
        failing: tuple[str, ...],
        findings: tuple[Finding, ...],
    ) -> Unit:
        # Rounds after the first name their units apart.
        taken = {unit.unit_id for unit in self.earlier}
        number = next(n for n in range(1, len(taken) + 2) if _numbered(name, n) not in taken)
        return _unit(_numbered(name, number), UnitType.FIX, way, self.issue, failing, findings)


def _numbered(name: str, number: int) -> UnitId:
    return UnitId(name if number == 1 else f"{name}-{number}")


def _unit(
    name: str,
    kind: UnitType,
    strategy: Strategy,
    issue: Issue,
    failing: tuple[str, ...],
    findings: tuple[Finding, ...] = (),
) -> Unit:
    return Unit(
        unit_id=UnitId(name),
        unit_type=kind,
        strategy=strategy,
        issue=issue,
        plan=ruled_plan(issue, failing, findings),
        failing=failing,
        findings=findings,
    )


def _sized(unit: Unit, files: Sequence[str], notebook: Notebook) -> Unit:
    """The unit with its plan as complex as it is classified, its change aimed at the files that are told."""
    told = {f.file for f in unit.findings}
    named = files_named(unit.issue.text, files)
    aimed = tuple(path for path in files if path in told) if told else named
    size = ruled(
        COMPLEXITY,
        ComplexityQuestion(
            repository="",
            issue=unit.issue.text,
            files=len(files),
            files_named=aimed,
            failing=len(unit.failing),
        ),
        notebook,
        without_model,
    )
    steps = tuple(
        replace(step, target_files=targets(aimed)) if step.intent is StepIntent.MODIFY else step
        for step in unit.plan.steps
    )
    return replace(
        unit, plan=replace(unit.plan, complexity=Complexity(size.complexity), steps=steps)
    )


def ruled_plan(issue: Issue, failing: tuple[str, ...], findings: tuple[Finding, ...]) -> PlanIR:
    """The PlanIR without a model, before anybody judged how complex it is: see it fail, change it, verify it."""
    if findings:
        shown, verify = f"{len(findings)} findings are gone and nothing new came", "surefoot audit"
    elif failing:
        shown, verify = f"these tests pass: {', '.join(failing[:5])}", " ".join(failing[:5])
    else:
        shown, verify = "a new test fails on the base and passes on the result", "the new test"
    harmless = "all tests that passed on the base pass on the result"
    steps = (
        PlanStep(
            step_id="reproduce",
            description="see the problem fail, and where",
            intent=StepIntent.INVESTIGATE,
            acceptance=("the failure is seen on the base",),
        ),
        PlanStep(
            step_id="change",
            description=f"mend it: {issue.title}",
            intent=StepIntent.MODIFY,
            depends_on=("reproduce",),
            acceptance=(shown,),
            rollback="the turn's start tree",
        ),
        PlanStep(
            step_id="verify",
            description="run the base's own tests on the result",
            intent=StepIntent.VERIFY,
            depends_on=("change",),
            acceptance=(harmless,),
        ),
    )
    return PlanIR(
        analysis=issue.title,
        steps=steps,
        verification=(verify, "the whole test suite"),
        complexity=Complexity.MEDIUM,
        confidence=0.9 if failing or findings else 0.5,
        risk_factors=() if failing or findings else ("no test shows the problem yet",),
    )

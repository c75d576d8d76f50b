"""What a run says at its end: for people as Markdown, for programs as one JSON object. Pure: a fold of the ledger."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import (
    PhaseChanged,
    ReviewGiven,
    RunAccepted,
    RunRejected,
    SelfFeedback,
    TurnClosed,
)
from surefoot.events.policy import RoundVerified, SandboxEnforced
from surefoot.events.work import (
    CandidatesRejected,
    CandidateTried,
    FactLearned,
    GitStage,
    ImpactChecked,
    MutantsTried,
    TestsRan,
)
from surefoot.kernel.state import RunState, fold
from surefoot.kernel.strength import by_form, in_words, is_strong, shown_together, unnoticed
from surefoot.values import CommitId, Diff, Evidence, ReportState, RunStatus, Severity

SUMMARY_SCHEMA = 1


class EvidenceSummary(TypedDict):
    """One proof."""

    kind: str
    command: str
    before: str
    after: str
    passed: bool


class MutantSummary(TypedDict):
    """A mutant that the tests do not notice."""

    file: str
    line: int
    operator: str
    ended: str
    patch: str


class StrengthSummary(TypedDict):
    """What the tests made of mutants of the lines that changed."""

    strong: bool
    told: str
    possible: int
    tried: int
    noticed: int
    untried: int
    tests: int
    unread: list[str]
    problem: str
    unnoticed: list[MutantSummary]


class Summary(TypedDict):
    """The object that `--json` prints; `docs/reference/summary.md` documents it."""

    schema: int
    run_id: str
    status: str
    reason: str
    repo: str
    base: str
    branch: str
    commit: str | None
    not_accepted: NotRequired[str]
    """Why `--accept` was refused."""
    files: list[str]
    evidence: list[EvidenceSummary]
    strength: NotRequired[StrengthSummary]
    """Missing where nobody asked."""
    turns: int
    model_calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost_usd: float
    wall_s: float
    report: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A run's ledger, folded for telling."""

    run_id: str
    state: RunState
    evidence: tuple[Evidence, ...]
    turns: tuple[TurnClosed, ...]
    guesses: tuple[ImpactChecked, ...]
    reviews: tuple[ReviewGiven, ...]
    """Of the last time that the work was reviewed."""
    candidates: int
    sandbox: str
    flips: int
    chancy: tuple[str, ...]
    """Tests that were found to fail by chance, and so were not counted where they failed."""
    baseline: TestsRan | None
    """How the tests went on the base."""
    ending: str
    """`accepted as …`, `rejected`, or empty."""
    accepted: CommitId | None
    """The commit on the user's branch that the work became."""
    unpushed: str
    """Why the last push of its branch did not arrive; empty when it did, or none was made."""


def read_story(run_id: str, events: Sequence[Recorded]) -> Story:
    """What the events of a run add up to."""
    evidence: tuple[Evidence, ...] = ()
    sandbox, ending, unpushed = "", "", ""
    accepted: CommitId | None = None
    for recorded in events:
        event = recorded.event
        if isinstance(event, RoundVerified):
            evidence = event.evidence
        elif isinstance(event, SandboxEnforced):
            sandbox = f"{event.level} ({event.detail})" if event.detail else str(event.level)
        elif isinstance(event, GitStage) and event.stage == "publish":
            unpushed = event.error
        elif isinstance(event, RunAccepted):
            ending, accepted = f"accepted as {event.commit} on {event.branch}", event.commit
        elif isinstance(event, RunRejected):
            ending = f"rejected: {event.reason}" if event.reason else "rejected"
    plain = [r.event for r in events]
    return Story(
        run_id=run_id,
        state=fold(events),
        evidence=evidence,
        turns=tuple(e for e in plain if isinstance(e, TurnClosed)),
        guesses=tuple(e for e in plain if isinstance(e, ImpactChecked)),
        reviews=_last_reviews(plain),
        candidates=sum(isinstance(e, CandidateTried) for e in plain)
        + sum(e.count for e in plain if isinstance(e, CandidatesRejected)),
        sandbox=sandbox,
        baseline=next(
            (e for e in plain if isinstance(e, TestsRan) and e.purpose == "baseline"), None
        ),
        chancy=tuple(
            sorted({e.text for e in plain if isinstance(e, FactLearned) and e.topic == "flaky"})
        ),
        flips=sum(isinstance(e, SelfFeedback) for e in plain),
        ending=ending,
        accepted=accepted,
        unpushed=unpushed,
    )


def _last_reviews(events: Sequence[Event]) -> tuple[ReviewGiven, ...]:
    begun = [n for n, e in enumerate(events) if isinstance(e, PhaseChanged) and e.after == "review"]
    return tuple(e for e in events[begun[-1] :] if isinstance(e, ReviewGiven)) if begun else ()


def summarise_run(story: Story, files: Sequence[str], report: str) -> Summary:
    """The JSON object of a run."""
    state = story.state
    opened, usage = state.opened, state.spend.usage
    commits = [t.commit for t in story.turns if t.commit]
    summary = Summary(
        schema=SUMMARY_SCHEMA,
        run_id=story.run_id,
        status=(state.status or RunStatus.PAUSED).value,
        reason=state.reason,
        repo=opened.repo if opened else "",
        base=opened.base if opened else "",
        branch=f"refs/heads/surefoot/{story.run_id}",
        commit=story.accepted or (commits[-1] if commits else None),
        files=list(files),
        evidence=[
            EvidenceSummary(
                kind=e.kind, command=e.command, before=e.before, after=e.after, passed=e.passed
            )
            for e in story.evidence
        ],
        turns=state.turns_closed,
        model_calls=state.spend.model_calls,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        cost_usd=round(usage.cost_usd, 6),
        wall_s=round(state.earlier_s, 3),
        report=report,
    )
    tried = strength_of(story.state)
    if tried is not None:
        summary["strength"] = strength_summary(tried)
    return summary


def strength_of(state: RunState) -> MutantsTried | None:
    """What mutants of the tree showed that the run ended with; None where nobody asked."""
    return None if state.head_tree is None else state.mutants.get(state.head_tree)


def strength_summary(tried: MutantsTried) -> StrengthSummary:
    """The same for programs."""
    left = unnoticed(tried)
    return StrengthSummary(
        strong=is_strong(tried),
        told=in_words(tried),
        possible=tried.possible,
        tried=len(tried.mutants),
        noticed=len(tried.mutants) - len(left),
        untried=tried.untried,
        tests=tried.tests,
        unread=list(tried.unread),
        problem=tried.problem,
        unnoticed=[
            MutantSummary(
                file=m.file, line=m.line, operator=m.operator, ended=m.ended, patch=m.patch
            )
            for m in left
        ],
    )


def render_report(story: Story, diff: Diff | None, redact: Callable[[str], str]) -> str:
    """The report: what was wrong, what changed, the evidence, the cost, and what to do next.

    `redact` hides secrets in the diff; the ledger, which the rest comes from, holds none.
    """
    state = story.state
    opened = state.opened
    title = opened.issue.title if opened else story.run_id
    status = state.status or RunStatus.PAUSED
    lines = [f"# {title}", "", f"**{status.value}**: {state.reason}", ""]
    lines += _found(story) if status is RunStatus.REPORTED else _wrong(state)
    lines += _changed(diff, status, redact)
    lines += _evidence(story)
    lines += _chancy(story)
    lines += _strength(state)
    lines += _waived(story)
    lines += _units(state)
    lines += _turns(story)
    lines += impact_lines(story.guesses)
    lines += _cost(story)
    lines += _next(story, status)
    # Titles, file names and messages are other people's words: none of them begins a line of the report.
    return "\n".join(line.replace("\n", " ") for line in lines).rstrip() + "\n"


def _found(story: Story) -> list[str]:
    """What a run that only looked has seen: how the tests went, and what the auditors say."""
    lines = ["## What was found", ""]
    ran, opened = story.baseline, story.state.opened
    if ran is not None:
        told = f"{ran.passed} passed, {ran.failed} failed of {ran.collected}"
        how = "" if ran.state == ReportState.COMPLETE else f" [{ran.state}]"
        lines += [f"Tests: {told}{how}, by `{_cell(' '.join(ran.command))[:300]}`.", ""]
    seen = story.state.audits.get(opened.base_tree) if opened else None
    if seen is None:
        return lines if ran is not None else []
    worst = list(Severity)
    findings = sorted(seen.audit.findings, key=lambda f: (worst.index(f.severity), f.file, f.line))
    lines += [f"Findings: {len(findings) or 'none'}.", ""]
    lines += [f"- {f.severity}: {f.file}:{f.line} {f.message} ({f.rule})" for f in findings[:20]]
    if len(findings) > 20:  # noqa: PLR2004
        lines += [f"- and {len(findings) - 20} more, see `surefoot audit`"]
    lines += [f"- {r.tool} gave no answer: {r.message}" for r in seen.audit.broken]
    return [*lines, ""] if lines[-1] else lines


def _wrong(state: RunState) -> list[str]:
    failing = [t for unit in state.units.values() for t in unit.unit.failing]
    findings = [f for unit in state.units.values() for f in unit.unit.findings]
    if not failing and not findings:
        return []
    lines = ["## What was wrong", ""]
    lines += [f"- `{test}` failed" for test in failing[:20]]
    lines += [f"- {f.file}:{f.line} {f.message} ({f.rule})" for f in findings[:20]]
    more = len(failing) + len(findings) - min(len(failing), 20) - min(len(findings), 20)
    return [*lines, *([f"- and {more} more"] if more else []), ""]


def _changed(diff: Diff | None, status: RunStatus, redact: Callable[[str], str]) -> list[str]:
    if diff is None or not diff.files:
        return ["## What changed", "", "Nothing.", ""]
    word = "What changed" if status is RunStatus.COMPLETE else "What was kept so far"
    # Git knows of no redaction, and the lines beside a change are the user's.
    return [f"## {word}", "", *_fenced(redact(diff.patch).rstrip()), ""]


def _fenced(patch: str) -> list[str]:
    """A patch as a block that nothing in it can end: a fence of its own may stand in a line of it."""
    longest = max(map(len, re.findall("`+", patch)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}diff", *patch.split("\n"), fence]


def _evidence(story: Story) -> list[str]:
    if not story.evidence:
        return []
    lines = ["## Evidence", "", "| | proof | before | after |", "|---|---|---|---|"]
    lines += [
        f"| {'✓' if e.passed else '✗'} | {e.kind} | {_cell(e.before)} | {_cell(e.after)} |"
        for e in story.evidence
    ]
    commands = sorted({e.command for e in story.evidence if e.command})
    return [*lines, "", "Commands:", "", *[f"- `{_cell(c)[:300]}`" for c in commands], ""]


def _chancy(story: Story) -> list[str]:
    """Failures that were not held against the work."""
    if not story.chancy:
        return []
    told = "They failed and passed on one tree, as repeated runs show; where they failed, that did not count."
    return ["## Flaky tests", "", told, "", *[f"- `{_cell(t)}`" for t in story.chancy], ""]


def _waived(story: Story) -> list[str]:
    """What a reviewer let pass without having looked at all of it."""
    waived = [r.review.reason for r in story.reviews if r.review.verdict == "WAIVER"]
    return (
        ["## Waived by a reviewer", "", *[f"- {reason}" for reason in waived], ""] if waived else []
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _strength(state: RunState) -> list[str]:
    """Which wrong changes of the changed lines no test would notice."""
    tried = strength_of(state)
    if tried is None:
        return []
    lines = ["## Strength of the tests", "", f"{_capital(in_words(tried))}.", ""]
    for alike in by_form(unnoticed(tried)):
        first, each = alike[0], f", each of {len(alike)}," if len(alike) > 1 else ""
        why = "passes every test" if first.ended == "survived" else "gave no clear answer"
        lines += [f"A wrong `{first.file}:{first.line}`{each} {why}:", ""]
        lines += [*_fenced(shown_together(alike)), ""]
    return lines


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _units(state: RunState) -> list[str]:
    """The runs of a plan's units."""
    if not state.plan.children:
        return []
    told = [
        f"- {child.begun.unit_id}, run `{run}`: "
        + (f"{child.ended.status}: {child.ended.reason}" if child.ended else "not ended")
        for run, child in state.plan.children.items()
    ]
    return ["## Units", "", *told, ""]


def _turns(story: Story) -> list[str]:
    if not story.turns:
        return []
    lines = ["## Turns", ""]
    lines += [
        f"{t.number}. {t.unit_id}: {t.classification or t.outcome}, {t.ended_as}: {t.reason}"
        for t in story.turns
    ]
    return [*lines, ""]


def impact_lines(guesses: Sequence[ImpactChecked]) -> list[str]:
    """How good the guesses were which tests a change can reach; nothing when none was made."""
    if not guesses:
        return []
    missed = sorted({test for guess in guesses for test in guess.missed})
    selected, total = sum(g.selected for g in guesses), sum(g.total for g in guesses)
    lines = [
        "## Impact analysis",
        "",
        (
            f"{len(guesses)} guesses, held against whole runs: {selected} of {total} tests "
            f"selected, {len(missed)} missed."
        ),
    ]
    lines += [f"- `{test}` changed its outcome and was not selected" for test in missed[:20]]
    return [*lines, *([f"- and {len(missed) - 20} more"] if len(missed) > 20 else []), ""]  # noqa: PLR2004


def _cost(story: Story) -> list[str]:
    spend = story.state.spend
    usage = spend.usage
    opened = story.state.opened
    tried = f"{story.candidates} candidates tried, " if story.candidates else ""
    return [
        "## Cost",
        "",
        (
            f"{spend.model_calls} model calls ({opened.model if opened else '-'}), "
            f"{usage.prompt_tokens} prompt tokens ({usage.cached_tokens} cached), "
            f"{usage.completion_tokens} completion tokens, {usage.cost_usd:.4f} USD, "
            f"{tried}{story.state.earlier_s:.1f} s."
        ),
        f"Sandbox: {story.sandbox or 'not used'}.",
        *([f"Its branch was not pushed: {story.unpushed}."] if story.unpushed else []),
        "",
    ]


def _next(story: Story, status: RunStatus) -> list[str]:
    if story.ending:
        return [f"This run was {story.ending}.", ""]
    run = story.run_id
    if story.state.opened is None:
        return ["It was killed before it began; `surefoot gc` removes it.", ""]
    told = {
        RunStatus.COMPLETE: f"Take it: `surefoot accept {run}`. Throw it away: `surefoot reject {run}`.",
        RunStatus.PAUSED: f"Go on: `surefoot resume {run}`.",
        RunStatus.BUDGET: (
            f"Go on with more of what was spent: `surefoot resume {run}` with --time-limit, "
            "--budget-tokens, --budget-usd or --max-iterations."
        ),
        RunStatus.CANCELLED: f"Go on: `surefoot resume {run}`.",
    }.get(status, f"See why: `surefoot explain {run}`.")
    return [told, ""]

"""Done is computed (promise 1): from test reports and trees to evidence, purely.

Every function takes recorded facts and returns an `Evidence` that passed or not. A report that is not `complete`
proves nothing, so it never passes. No model and no prose is consulted.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from surefoot.events.work import MutantsTried
from surefoot.kernel.strength import in_words, is_strong
from surefoot.values import (
    SETTLED,
    Audit,
    Diff,
    EventId,
    Evidence,
    Finding,
    ReportState,
    TestOutcome,
    TestReport,
)

STRENGTH: Final = "test-strength"
_UNBROKEN: Final = (
    TestOutcome.PASSED,
    TestOutcome.XFAILED,
    TestOutcome.XPASSED,
    TestOutcome.SKIPPED,
)
"""What a change may leave a test as that was no failure; that a pass stays one is asked for beside it."""


def _line(report: TestReport) -> str:
    unread = _uncollected(report)
    if report.state is not ReportState.COMPLETE and not unread:
        why = f": {report.reason}" if report.state is ReportState.TIMEOUT and report.reason else ""
        return f"unusable test run ({report.state}){why}"
    told = f"{len(report.passing)} passed, {len(report.failing)} failed of {len(report.collected)}"
    return f"{told}; cannot be collected: {names(unread)}" if unread else told


def names(ids: Iterable[str], most: int = 3) -> str:
    """The first of them, in order, and how many more there are."""
    listed = sorted(ids)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def places(findings: Iterable[Finding]) -> str:
    """Where the first of them are and what they say, and how many more there are."""
    told = {f"{f.file}:{f.line} {f.tool} {f.rule}: {f.message}" for f in findings}
    return names(told)


def is_whole(after: TestReport, before: TestReport) -> bool:
    """Whether a run says what there is to say: it is complete, or only files were not collected that `before` could not collect either.

    What such files hold is unknown before and after; all other tests have run, and count.
    """
    if after.state is ReportState.COMPLETE:
        return True
    same = after.state is before.state is ReportState.COLLECTION_ERROR
    return same and _uncollected(after) <= _uncollected(before)


def _uncollected(report: TestReport) -> set[str]:
    """Files that could not be collected; they are in the report by their paths."""
    if report.state is not ReportState.COLLECTION_ERROR:
        return set()
    return {
        r.test_id
        for r in report.results
        if r.outcome is TestOutcome.ERROR and "::" not in r.test_id
    }


def _files(ids: Iterable[str]) -> set[str]:
    """The files that ids begin with; of a runner that names none the ids themselves."""
    return {test_id.partition("::")[0] for test_id in ids}


def target_tests(
    targets: Collection[str],
    before: TestReport,
    after: TestReport,
    events: tuple[EventId, ...],
    *,
    edited: Collection[str] = (),
) -> Evidence:
    """The named tests failed on the base and pass on the result, each by its id.

    A file that could not be collected on the base counts by the tests that it holds, unless it is one of the `edited`: then
    nobody knows what the base's own would have said.
    """
    failing = set(before.failing)
    read_now = after.passed(_uncollected(before) - set(edited))
    unproven = [t for t in targets if t not in failing]
    passing = {*after.passing, *read_now}
    still = [t for t in targets if t not in passing]
    usable = is_whole(after, before)
    passed = bool(targets) and usable and not unproven and not still
    if not targets:
        told = "no test shows the problem, so nothing can show that it is gone"
    elif unproven:
        told = f"not seen failing on the base: {names(unproven)}"
    elif still:
        told = f"not passing: {names(still)} ({_line(after)})"
    elif not usable:
        told = _line(after)
    else:
        told = f"passed: {names(targets)}"
    return Evidence(
        kind="failing-tests",
        command=" ".join(after.command),
        before=f"failed: {names(targets)}" if targets else "none named",
        after=told,
        passed=passed,
        events=events,
    )


def base_tests(
    before: TestReport,
    after: TestReport,
    exempt: Collection[str],
    events: tuple[EventId, ...],
    *,
    rewritten: Collection[str] = (),
) -> Evidence:
    """The base's own tests, run from the base's copy on the result: none lost, none broken, none new to fail.

    `exempt` fail by chance. `rewritten` are tests that the run may change, and did, new ones beside them included: they may
    be gone or be skipped, and may not fail.
    """
    ids_before, ids_after = set(before.collected), set(after.collected)
    may_go = {*exempt, *rewritten}
    read_now = _uncollected(before) & _files(t for t in ids_after if "::" in t)
    lost = ids_before - ids_after - may_go - read_now
    good = {r.test_id for r in before.results if r.outcome in _UNBROKEN}
    outcomes = {r.test_id: r.outcome for r in after.results}
    was = {r.test_id: r.outcome for r in before.results}
    # What the base could not collect it could not pass either, be it that a file beside it kept it from being built.
    fresh = before.state is not ReportState.COLLECTION_ERROR
    known = _files(ids_before) - _uncollected(before)
    new = {t for t in ids_after - ids_before if fresh or t in rewritten or _files([t]) <= known}
    broken = {
        t
        for t in (good | new) & ids_after
        if outcomes[t] not in _UNBROKEN
        or (
            was.get(t) is TestOutcome.PASSED
            and outcomes[t] is not TestOutcome.PASSED
            and t not in rewritten
        )
    } - set(exempt)
    usable = is_whole(after, before)
    passed = usable and not lost and not broken and len(ids_after) >= len(ids_before) - len(may_go)
    told = _line(after)
    always = set(after.failing) & set(before.failing)
    if usable and always:
        told += f"; failing before, too: {names(always)}"
    if lost:
        told += f"; no longer collected: {names(lost)}"
    if broken:
        told += f"; broken: {names(broken)}"
    return Evidence(
        kind="base-tests",
        command=" ".join(after.command),
        before=_line(before),
        after=told,
        passed=passed,
        events=events,
    )


def apart(
    before: TestReport,
    after: TestReport,
    targets: Collection[str],
    exempt: Collection[str],
    events: tuple[EventId, ...],
    *,
    rewritten: Collection[str] = (),
    edited: Collection[str] = (),
) -> Evidence:
    """The base's own tests and the named ones, where no new test is there that could make them pass.

    `exempt` and `rewritten` as in `base_tests`, `edited` as in `target_tests`.
    """
    proofs = [base_tests(before, after, exempt, events, rewritten=rewritten)]
    if targets:
        proofs.append(target_tests(targets, before, after, events, edited=edited))
    against = next((p for p in proofs if not p.passed), proofs[0])
    return replace(against, kind="tests-apart", before=proofs[0].before)


def idle(new_ids: Iterable[str], on_base: TestReport) -> list[str]:
    """New tests that do not fail on the base, and so show nothing.

    A test file that the base cannot even import or build, because it uses what only the result has, fails as a whole; a
    test of it that passed all the same did run.
    """
    failed, passed = set(on_base.failing), set(on_base.passing)
    return [t for t in new_ids if t in passed or not {t, t.partition("::")[0]} & failed]


def early_tests(
    before: TestReport, some: TestReport, exempt: Collection[str], events: tuple[EventId, ...]
) -> Evidence | None:
    """Tests of the base that the change broke, from a run of only some of them; None when it broke none of those."""
    if some.state is not ReportState.COMPLETE:
        return None
    broken = (set(some.failing) & set(before.passing)) - set(exempt)
    if not broken:
        return None
    return Evidence(
        kind="base-tests",
        command=" ".join(before.command),
        before=_line(before),
        after=f"broken: {names(broken)}, of the {len(some.collected)} tests that the change can reach",
        passed=False,
        events=events,
    )


def changed_files(paths: Collection[str], before: Audit, after: Audit) -> Evidence:
    """No auditor says anything blocking of a changed file that it did not say of the base, and none fell silent."""
    new = [f for f in added_findings(before.blocking, after.blocking) if f.file in paths]
    quiet = silent(before, after)
    told = "nothing new" if not new else f"new: {places(new)}"
    if quiet:
        told += f"; no answer from {names(quiet)}"
    return Evidence(
        kind="changed-files",
        command="surefoot audit",
        before=f"{len(before.blocking)} blocking findings",
        after=told,
        passed=not new and not quiet,
    )


def new_tests(
    new_ids: Collection[str],
    on_base: TestReport,
    on_result: TestReport,
    events: tuple[EventId, ...],
    *,
    noticing: Collection[str] = (),
) -> Evidence:
    """Each new test fails on the base tree and passes on the result; one that does not proves nothing.

    Those in `noticing` need not: they fail on a mutant of the result that no other test notices.
    """
    theatrical = [t for t in idle(new_ids, on_base) if t not in noticing]
    failed, passed_now = set(new_ids) - set(theatrical), set(on_result.passing)
    not_passing = [t for t in new_ids if t not in passed_now]
    usable = on_base.state in SETTLED and is_whole(on_result, on_base)
    told = (
        f"passed: {names(new_ids)}"
        if new_ids
        else "there is none, and nothing else shows the change"
    )
    if not usable:
        told = f"on the base: {_line(on_base)}; on the result: {_line(on_result)}"
    elif theatrical:
        told = f"passes without the change: {names(theatrical)}"
    elif not_passing:
        told = f"not passing: {names(not_passing)}"
    return Evidence(
        kind="new-tests",
        command=" ".join(on_result.command),
        before=f"failed on the base: {names(failed)}",
        after=told,
        passed=bool(new_ids) and usable and not theatrical and not not_passing,
        events=events,
    )


def test_strength(tried: MutantsTried | None) -> Evidence:
    """Every mutant of the changed lines that was chosen was tried, and a test noticed it."""
    return Evidence(
        kind=STRENGTH,
        command="surefoot replay",
        before=f"{tried.possible} mutants of the changed lines are possible" if tried else "",
        after=in_words(tried) if tried else "not measured",
        passed=tried is not None and is_strong(tried),
    )


def only_strength(proofs: Iterable[Evidence]) -> bool:
    """Whether nothing stands against a tree but the strength of its tests."""
    against = [p for p in proofs if not p.passed]
    return bool(against) and all(p.kind == STRENGTH for p in against)


def protected_files(
    diff: Diff,
    guarded: Collection[str],
    announced: Collection[str],
    *,
    examples: Collection[str] = (),
) -> Evidence:
    """No existing test, no CI and no tool configuration changed that was not announced and allowed.

    `examples` are those of the guarded files in which only the examples are guarded.
    """
    touched = sorted((set(diff.paths) & set(guarded)) - set(announced))
    texts = set(touched) & set(examples)
    why = f" (examples that are tests read otherwise in {names(texts)})" if texts else ""
    return Evidence(
        kind="protected-files",
        command=f"git diff --name-only {diff.before} {diff.after}",
        before="tests, CI and tool configuration as on the base",
        after=f"changed: {names(touched)}{why}" if touched else "unchanged",
        passed=not touched,
    )


def findings_gone(
    targets: Collection[Finding],
    before: Audit,
    after: Audit,
    events: tuple[EventId, ...],
    *,
    seen: Collection[str] = (),
) -> Evidence:
    """The named findings were seen and are gone, nothing new came, and every auditor that answered did so again.

    `seen` are fingerprints of the trees in between, which a later round is about.
    """
    left = {f.fingerprint for f in after.findings}
    known = {f.fingerprint for f in before.findings}
    still = [f for f in targets if f.fingerprint in left]
    unseen = [f for f in targets if f.fingerprint not in known and f.fingerprint not in seen]
    still += _hidden([f for f in targets if f.fingerprint in known - left], before, after)
    new = added_findings(before.findings, after.findings)
    quiet = silent(before, after)
    told = f"{len(after.findings)} findings"
    if quiet:
        told += f"; no answer from {names(quiet)}"
    if new:
        told += f"; new: {places(new)}"
    if still:
        told += f"; still there: {places(still)}"
    if unseen:
        told += f"; not seen on the base: {places(unseen)}"
    return Evidence(
        kind="findings",
        command="surefoot audit",
        before=f"{len(before.findings)} findings, {len(targets)} to mend",
        after=told,
        passed=bool(targets) and not still and not unseen and not new and not quiet,
        events=events,
    )


def _hidden(gone: Collection[Finding], before: Audit, after: Audit) -> list[Finding]:
    """Findings whose fingerprint is gone though there are as many of their kind: their lines only read otherwise."""
    was, now = (Counter(map(_kind, audit.findings)) for audit in (before, after))
    fewer = Counter(map(_kind, gone))
    return [f for f in gone if now[_kind(f)] > was[_kind(f)] - fewer[_kind(f)]]


def _kind(finding: Finding) -> tuple[str, str, str]:
    return finding.tool, finding.rule, finding.file


def silent(before: Audit, after: Audit) -> set[str]:
    """Auditors that answered before and do not any more."""
    answered = {r.tool for r in before.results} - {r.tool for r in before.broken}
    return answered - ({r.tool for r in after.results} - {r.tool for r in after.broken})


def fewer_findings(targets: Collection[Finding], before: Audit, after: Audit) -> bool:
    """Whether there are strictly fewer findings of the kinds of `targets`, none new, and no auditor fell silent."""
    kinds = set(map(_kind, targets))
    was, now = (sum(_kind(f) in kinds for f in audit.findings) for audit in (before, after))
    new = added_findings(before.findings, after.findings)
    return now < was and not new and not silent(before, after)


def added_findings(before: Iterable[Finding], after: Iterable[Finding]) -> list[Finding]:
    """Findings of `after` beyond the number that `before` has of the same tool and rule in the same file.

    Fingerprints alone would call a finding new whose line was only edited.
    """
    left = Counter(map(_kind, before))
    new: list[Finding] = []
    for finding in after:
        key = _kind(finding)
        if left[key] > 0:
            left[key] -= 1
        else:
            new.append(finding)
    return new


def improves(before: TestReport, after: TestReport) -> bool:
    """Whether the failing set shrank and nothing new fails (SPEC E4): what a kept turn must show."""
    if not is_whole(after, before):
        return False
    was, now = set(before.failing), set(after.failing)
    there = {*after.collected, *after.passed(was)}
    return now < was and set(before.collected) <= there

"""What a benchmark prints."""

import difflib
import math
import statistics
from collections.abc import Sequence

from bench.repair.cases import Case
from bench.repair.grade import grade
from bench.repair.outcome import Outcome

HEADER = (
    f"{'who':<9} {'cases':>5} {'solved':>13} {'false successes (95 % interval)':>33} "
    f"{'not complete':>12} {'median s':>8} {'calls':>6} {'tokens in':>9} {'cached':>8} {'out':>8}"
)


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a share; (0, 1) of nothing."""
    if of == 0:
        return 0.0, 1.0
    z = 1.959964
    share = hits / of
    middle = share + z * z / (2 * of)
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, (middle - spread) / (1 + z * z / of)), min(
        1.0, (middle + spread) / (1 + z * z / of)
    )


def row(who: str, outcomes: Sequence[Outcome]) -> str:
    """One line of the table."""
    solved = sum(o.solved for o in outcomes)
    false = sum(o.false_success for o in outcomes)
    claimed = solved + false
    low, high = wilson(false, claimed)
    used = [o.attempt.used for o in outcomes]
    share = f"{solved} ({solved / len(outcomes):.0%})" if outcomes else "0"
    median = statistics.median(o.attempt.idle_s for o in outcomes) if outcomes else 0.0
    wrong = f"{false} of {claimed} ({low:.1%} to {high:.1%})"
    return (
        f"{who:<9} {len(outcomes):>5} {share:>13} {wrong:>33} "
        f"{len(outcomes) - claimed:>12} {median:>8.1f} {sum(u.model_calls for u in used):>6} "
        f"{sum(u.prompt_tokens for u in used):>9} {sum(u.cached_tokens for u in used):>8} "
        f"{sum(u.completion_tokens for u in used):>8}"
    )


def ratio(ours: Sequence[Outcome], theirs: Sequence[Outcome]) -> str:
    """How many more Surefoot solves, on the cases that both have done."""
    both = {o.case_id for o in ours} & {o.case_id for o in theirs}
    mine = sum(o.solved for o in ours if o.case_id in both)
    script = sum(o.solved for o in theirs if o.case_id in both)
    text = f"{mine / script:.2f}" if script else "-"
    return f"solved by surefoot / by the script on {len(both)} cases: {mine} / {script} = {text}"


def false_success(case: Case, outcome: Outcome) -> str:
    """One false success for a person to look at: the change, and the checks that it fails."""
    diff = difflib.unified_diff(
        case.solution.splitlines(),
        outcome.attempt.solution.splitlines(),
        "buggy",
        "answer",
        lineterm="",
    )
    verdicts = grade(outcome.attempt.solution, case.entry, case.hidden)
    lines = ["=" * 80, f"{outcome.who} {case.case_id} ({case.task_id}, {case.origin})", *diff]
    lines += [f"selected: {outcome.attempt.selected}"] if outcome.attempt.selected else []
    for place in outcome.failed_checks:
        check, seen = case.hidden[place], verdicts[place]
        lines.append(f"fails: {check.source}\n  got: {seen.got}")
    visible = [check.source for check in case.visible]
    return "\n".join([*lines, "visible:", *(f"  {source}" for source in visible)])

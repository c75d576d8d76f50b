"""What a program does with runs (SPEC B13): starts several, waits for them, chooses among them, sums them up, answers them.

Each is made of what the commands use: a run is `app.start`, a choice is the roundtable, an answer is a line of the ledger.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from surefoot.app import new_run_id, start
from surefoot.assembly import Surroundings, open_ledger, policy_of
from surefoot.codec import decode, digest, encode
from surefoot.decisions.roundtable import RULES, Agreement, Juror, Option, held
from surefoot.errors import LedgerError, SurefootError, UsageError
from surefoot.events.orchestration import AnswerGiven
from surefoot.execute import Weights
from surefoot.gitops.reading import publish_ledger_head
from surefoot.kernel.journal import Journal
from surefoot.ledger.blobs import BlobStore
from surefoot.planrun.interrupt import OneAtATime, Stop, interruptible
from surefoot.project import Project
from surefoot.reading import Outcome, look_up, outcome, read_story_of
from surefoot.request import Request, frozen_of
from surefoot.upkeep import own_ledger
from surefoot.values import (
    Diff,
    Digest,
    FileEdit,
    RunId,
    RunStatus,
    TreeId,
    Usage,
)

_SHORTEST: Final = 8
"""Digits of a hash that name a diff."""


# --- several runs --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawned:
    """Runs that go on in threads of this process."""

    runs: tuple[RunId, ...]
    """In the order of their requests."""
    results: Mapping[RunId, Future[Outcome]]
    stop: Stop
    """Set, it cancels them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """How a run that was spawned stands."""

    run_id: RunId
    outcome: Outcome | None
    """None while it goes on, and where it could not begin."""
    error: str = ""
    """Why it could not begin, or broke; its ledger, if there is one, keeps what it had done."""
    refusal: SurefootError | None = None
    """The same as it was raised; None, too, where it was interrupted before it began."""


def spawn_runs(
    project: Project, requests: Sequence[Request], around: Surroundings, *, jobs: int = 2
) -> Spawned:
    """Start a run for each request, `jobs` of them at a time, each in a worktree of its own; returns at once.

    A person is asked by one of them at a time.

    Raises:
        UsageError: There is nothing to start, or no job to start it.
    """
    if not requests or jobs < 1:
        raise UsageError(f"{len(requests)} requests and {jobs} jobs start no run; give one of each")
    stop, person = Stop(), OneAtATime(around.person)
    pool = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="run")
    results: dict[RunId, Future[Outcome]] = {}
    for request in requests:
        run_id = new_run_id(project, around, results)
        own = interruptible(around, stop, person)
        results[run_id] = pool.submit(start, project, request, own, run_id=run_id)
    pool.shutdown(wait=False)
    return Spawned(runs=tuple(results), results=results, stop=stop)


def await_runs(spawned: Spawned, timeout_s: float | None = None) -> tuple[Awaited, ...]:
    """Wait until every run has come to a stop, or the time is over; how each stands, in the order of the requests.

    Ctrl-C, which comes to the thread that waits, cancels them all; they can be resumed.
    """
    try:
        wait(spawned.results.values(), timeout=timeout_s)
    except KeyboardInterrupt:
        spawned.stop.set()
        wait(spawned.results.values())
    return tuple(_awaited(run_id, spawned.results[run_id]) for run_id in spawned.runs)


def _awaited(run_id: RunId, result: Future[Outcome]) -> Awaited:
    if not result.done():
        return Awaited(run_id=run_id, outcome=None)
    error = result.exception()
    if error is None:
        return Awaited(run_id=run_id, outcome=result.result())
    if isinstance(error, SurefootError):
        return Awaited(run_id=run_id, outcome=None, error=str(error), refusal=error)
    if isinstance(error, KeyboardInterrupt):
        return Awaited(run_id=run_id, outcome=None, error="interrupted before it began")
    raise error


# --- their results -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Several runs taken together."""

    by_status: Mapping[RunStatus, tuple[RunId, ...]]
    files: Mapping[str, tuple[RunId, ...]]
    """Which of them changed a file."""
    usage: Usage
    model_calls: int
    pending: tuple["Pending", ...]
    """What they wait for."""

    @property
    def overlaps(self) -> tuple[str, ...]:
        """Files that more than one of them changed: at most one of those is accepted as it is."""
        return tuple(path for path, runs in self.files.items() if len(runs) > 1)

    @property
    def is_complete(self) -> bool:
        """Whether there are runs and every one of them is complete."""
        return set(self.by_status) == {RunStatus.COMPLETE}


def consolidate_results(project: Project, run_ids: Sequence[RunId]) -> Results:
    """What several runs that have stopped come to in all, from their ledgers.

    Raises:
        UsageError: There is no such run.
    """
    statuses: defaultdict[RunStatus, list[RunId]] = defaultdict(list)
    files: defaultdict[str, list[RunId]] = defaultdict(list)
    usage, calls, waiting = Usage(), 0, []
    for run_id in run_ids:
        _exists(project, run_id)
        story, diff = look_up(project, run_id)
        statuses[outcome(project, run_id).status].append(run_id)
        for path in diff.paths if diff else ():
            files[path].append(run_id)
        usage += story.state.spend.usage
        calls += story.state.spend.model_calls
        waiting.append(pending_gate(project, run_id))
    return Results(
        by_status={status: tuple(runs) for status, runs in statuses.items()},
        files={path: tuple(files[path]) for path in sorted(files)},
        usage=usage,
        model_calls=calls,
        pending=tuple(p for p in waiting if p is not None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a roundtable came to."""

    run_id: RunId | None
    """None: no run is complete, or the reviewers did not agree."""
    agreement: Agreement
    same: tuple[RunId, ...] = field(default=())
    """Other runs that made the very same change."""


def run_roundtable(
    project: Project,
    run_ids: Sequence[RunId],
    around: Surroundings,
    jurors: Sequence[Juror] = RULES,
) -> Choice:
    """Let reviewers choose one of several runs that worked on the same commit; only complete ones stand (SPEC B7).

    Nothing is accepted or rejected. What they were shown and how they voted stands in the repository's own ledger.

    Raises:
        UsageError: There is no such run, or they began from different commits.
    """
    made: defaultdict[TreeId, list[RunId]] = defaultdict(list)
    diffs: dict[TreeId, Diff] = {}
    bases = set()
    for run_id in run_ids:
        _exists(project, run_id)
        story, diff = look_up(project, run_id)
        bases.add(story.state.opened.base if story.state.opened else "")
        if story.state.status is RunStatus.COMPLETE and diff is not None:
            made[diff.after].append(run_id)
            diffs[diff.after] = diff
    if len(bases) > 1:
        raise UsageError("these runs began from different commits, so their changes do not compare")
    if not made:
        return Choice(run_id=None, agreement=Agreement(choice=None))
    total = sum(map(len, made.values()))
    options = {
        tree: _option(project, runs[0], diffs[tree], share=len(runs) / total)
        for tree, runs in made.items()
    }
    with own_ledger(project, around.clock, around.environ) as ledger:
        found = held(tuple(options.values()), jurors, Journal(ledger, around.clock))
    chosen = next((t for t, o in options.items() if o.candidate_id == found.choice), None)
    if chosen is None:
        return Choice(run_id=None, agreement=found)
    return Choice(run_id=made[chosen][0], agreement=found, same=tuple(made[chosen][1:]))


def _option(project: Project, run_id: RunId, diff: Diff, *, share: float) -> Option:
    """A complete run as reviewers see it; how many runs came to the same change speaks for it."""
    frozen = frozen_of(project, run_id)
    edits = [FileEdit(path=f.path, text=None if f.status == "D" else "") for f in diff.files]
    counted = Counter(
        line[:1] for line in diff.patch.splitlines() if not line.startswith(("+++", "---"))
    )
    most = policy_of(project, frozen).resolve().ceilings.max_files
    return Option(
        candidate_id=Digest(digest(encode(diff))),
        description=f"{frozen.model}: {', '.join(diff.paths)}",
        score=Weights(**frozen.settings.score.model_dump()).score(1.0, edits, most),
        lines=counted["+"] + counted["-"],
        prior=share,
    )


# --- what they ask -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """What a paused run waits for."""

    run_id: RunId
    """The run that asks; of a plan's run it may be a unit's."""
    question: str
    why: str
    approval: bool
    """A yes or no is asked for, else words."""
    diff: Digest | None
    """Names what is to be approved."""
    change: Diff | None
    """The same, to be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a person says to it."""

    who: str
    approve: bool = False
    diff: str = ""
    """Of an approval: the hash of the diff that was looked at, or at least its first eight digits."""
    text: str = ""


def pending_gate(project: Project, run_id: RunId) -> Pending | None:
    """What a paused run, or the run of one of its units, waits for; None when nobody's word is waited for."""
    _exists(project, run_id)
    state = read_story_of(project, run_id).state
    asked = state.asked
    if state.status is RunStatus.PAUSED and asked is not None:
        blob = None if asked.diff is None else BlobStore(project.blobs).get(asked.diff)
        return Pending(
            run_id=run_id,
            question=asked.question,
            why=asked.why,
            approval=asked.approval,
            diff=asked.diff,
            change=None if blob is None else decode(Diff, blob),
        )
    for child in state.plan.children:
        if project.ledger_file(child).is_file() and (found := pending_gate(project, child)):
            return found
    return None


def respond_to_gate(
    project: Project, run_id: RunId, response: Response, around: Surroundings
) -> Pending:
    """Answer what a paused run waits for; `resume` then goes on with that. Returns what was answered.

    An approval has to name the diff that was looked at, and holds for no other: where the resumed run comes to another
    one, it asks again. Unknown text approves nothing.

    Raises:
        UsageError: Nobody is asked, the diff is not the one that is asked about, or something of the answer is missing.
    """
    pending = pending_gate(project, run_id)
    if pending is None:
        raise UsageError(
            f"run {run_id} asks nobody; `surefoot explain {run_id}` tells how it stands"
        )
    _check(pending, response)
    with _recording(project, pending.run_id, around) as journal:
        journal.record(
            AnswerGiven(
                question=pending.question,
                diff=pending.diff,
                approved=response.approve,
                text=response.text.strip() or ("yes" if response.approve else "no"),
                who=response.who,
            )
        )
    return pending


def _check(pending: Pending, response: Response) -> None:
    if not response.who.strip():
        raise UsageError("an answer names who gives it")
    if not pending.approval:
        if response.approve or not response.text.strip():
            raise UsageError(f"words are asked for, not a yes: {pending.question}")
        return
    if not response.approve:
        return
    given = response.diff.strip().lower()
    if pending.diff is not None and not (
        len(given) >= _SHORTEST and pending.diff.startswith(given)
    ):
        raise UsageError(
            f"the diff that is asked about is {pending.diff}, not {given!r}; "
            f"look at it and name it, with at least {_SHORTEST} digits"
        )


@contextmanager
def _recording(project: Project, run_id: RunId, around: Surroundings) -> Iterator[Journal]:
    """The ledger of a run that rests, whose new head the repository keeps afterwards."""
    with open_ledger(project, run_id, around) as ledger:
        journal = Journal(ledger, around.clock)
        if journal.state.status is not RunStatus.PAUSED:
            raise LedgerError(f"run {run_id} was taken up again by somebody else")
        yield journal
        publish_ledger_head(project.repository, run_id, journal.head, project.home)


def _exists(project: Project, run_id: RunId) -> None:
    if not project.ledger_file(run_id).is_file():
        raise UsageError(f"there is no run {run_id} here")

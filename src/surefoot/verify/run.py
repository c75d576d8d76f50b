"""`verify`: the first difference between what a run's ledger says and what can be derived, read or hashed again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from surefoot import __version__
from surefoot.assembly import Surroundings, rule_reviewers
from surefoot.documents import SUMMARY
from surefoot.errors import GitError, LedgerError, RepositoryError, UsageError
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import RunAccepted, RunOpened, RunRejected
from surefoot.events.plans import ChildEnded
from surefoot.events.work import AuditorFinished, FactLearned, GitStage, TestsRan
from surefoot.execute.mutants import PythonMutator
from surefoot.gitops.history import RecordedTrees
from surefoot.gitops.reading import ledger_head, text_files, tree_exists
from surefoot.kernel.state import RunState, apply, fold
from surefoot.kernel.whole import noticing
from surefoot.ledger import read_events, verify_chain
from surefoot.ledger.blobs import BlobStore
from surefoot.preflight import SyntaxCritic
from surefoot.project import Project, scratch_folder
from surefoot.reading import run_diff
from surefoot.report import read_story
from surefoot.request import Frozen, thaw
from surefoot.suite import is_test_path
from surefoot.values import RunId, TreeId
from surefoot.verify.blobs import BlobCheck, digests_of
from surefoot.verify.commits import Stands, git_fault, stands_of
from surefoot.verify.course import CourseCheck, WholeCheck
from surefoot.verify.documents import check_documents
from surefoot.verify.parts import PartCheck
from surefoot.verify.planning import GateCheck, plan_fault
from surefoot.verify.record import Check, Proofs, Reader
from surefoot.verify.rerun import Again, run_again
from surefoot.verify.rounds import RoundCheck
from surefoot.verify.spending import SpendCheck
from surefoot.verify.strength import StrengthCheck
from surefoot.verify.turns import TurnCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What `verify` found."""

    fault: str | None
    """The first difference, in words, with line and field; None when everything is as recorded."""
    events: int = 0
    commits: int = 0
    blobs: int = 0
    head: str = ""
    """Hash of the ledger's last line: kept elsewhere, it is what a forger cannot reach."""
    reran: int = 0
    """Tests that were run again, each with the outcome that is recorded."""
    notes: tuple[str, ...] = ()
    """What could not be looked at, and why."""


def verify_run(
    project: Project,
    run_id: RunId,
    *,
    head: str | None = None,
    around: Surroundings | None = None,
) -> Verdict:
    """Hold a run against itself, without a model and, unless `around` is given to do it in, without running anything.

    `head` is a hash of one of its ledger's lines that was kept elsewhere. With `around` the deciding test suites are run
    again in the sandbox.

    Raises:
        UsageError: There is no such run.
        SandboxError: Tests are to be run again, and no sandbox holds here.
        EnvironmentBrokenError: Git does not run, or there is no space for what is made on the way.
    """
    path = project.ledger_file(run_id)
    if not path.is_file():
        raise UsageError(f"run {run_id} has no ledger at {path}; name another run, or its bundle")
    broken = verify_chain(path)
    if broken is not None:
        return Verdict(fault=str(broken))
    events = tuple(read_events(path))
    with scratch_folder(project) as scratch:
        try:
            own = _Verifier(project, run_id, events, scratch).verdict(head, around)
        except RepositoryError as error:  # refs of the run that say nothing
            return Verdict(fault=str(error))
    for child in _children(events):
        if own.fault is None:
            own = _with_child(project, run_id, child, own, around)
    return own


def _children(events: Sequence[Recorded]) -> tuple[ChildEnded, ...]:
    """The runs of a plan's units as they ended last; their heads are part of the plan run's own chain."""
    if any(isinstance(e.event, RunRejected) for e in events):
        return ()
    ended = {e.event.run: e.event for e in events if isinstance(e.event, ChildEnded)}
    return tuple(child for child in ended.values() if child.ledger_head)


def _with_child(
    project: Project, run_id: RunId, child: ChildEnded, so_far: Verdict, around: Surroundings | None
) -> Verdict:
    """The verdict on a plan's run with that on one of its units."""
    path = project.ledger_file(child.run)
    if not path.exists():
        told = f"the ledger of unit {child.unit_id}, run {child.run}, is missing"
        return replace(so_far, fault=told)
    own = verify_run(project, child.run, around=around)
    events = tuple(read_events(path)) if own.fault is None else ()
    opened = next((e.event for e in events if isinstance(e.event, RunOpened)), None)
    fault = own.fault
    if fault is None and all(recorded.hash != child.ledger_head for recorded in events):
        fault = f"its ledger has no line {child.ledger_head[:12]}, which its plan's run knows"
    if fault is None and (opened is None or opened.parent != run_id):
        fault = "it does not say that it belongs to this plan's run"
    if fault is None:
        fault = _noticing_fault(child, events)
    who = f"unit {child.unit_id}, run {child.run}"
    return Verdict(
        fault=None if fault is None else f"{who}: {fault}",
        events=so_far.events + own.events,
        commits=so_far.commits + own.commits,
        blobs=so_far.blobs + own.blobs,
        head=so_far.head,
        reran=so_far.reran + own.reran,
        notes=(*so_far.notes, *(f"{who}: {note}" for note in own.notes)),
    )


def _noticing_fault(child: ChildEnded, events: Sequence[Recorded]) -> str | None:
    """What a plan's run says of a unit's tests, held against that unit's ledger as it was then."""
    ends = next(n for n, recorded in enumerate(events, 1) if recorded.hash == child.ledger_head)
    shown = noticing(fold(events[:ends]))
    if shown == child.noticing:
        return None
    return f"child.ended.noticing was {child.noticing!r}, is {shown!r}"


class _Verifier:
    """One verification."""

    def __init__(
        self, project: Project, run_id: RunId, events: Sequence[Recorded], scratch: Path
    ) -> None:
        self._project, self._run_id, self._events = project, run_id, events
        self._scratch = scratch
        self._get: Reader = BlobStore(project.blobs).get
        self._notes: list[str] = []
        self._stands = stands_of(events)

    def verdict(self, head: str | None, around: Surroundings | None) -> Verdict:
        stands = self._stands
        if stands is None:
            return Verdict(fault="line 1: a run begins with run.opened")
        fault = self._anchors(stands, head) or self._blobs() or self._settings()
        if self._opened().planning:  # it has no worktree, no commit and no turn
            fault = fault or self._planned()
        else:
            fault = (
                fault
                or (None if stands.rejected else self._git(stands))
                or self._walked(stands)
                or self._documents(stands)
            )
        again = Again()
        if fault is None and around is not None and not stands.rejected:
            again = run_again(self._project, self._events, self._frozen(), self._get, around)
            self._notes += [again.note] if again.note else []
        fault = fault or again.fault
        recorded_by = self._opened().version
        if fault is not None and recorded_by != __version__:
            fault += (
                f" (recorded by Surefoot {recorded_by}, verified by {__version__}, whose words may differ; "
                "verify it with the former)"
            )
        return Verdict(
            fault=fault,
            reran=again.tests,
            events=len(self._events),
            commits=0 if stands.rejected else len(stands.turns),
            blobs=len({digest for _, _, digest in digests_of(self._events)}),
            head=self._events[-1].hash,
            notes=tuple(self._notes),
        )

    # --- anchors ---------------------------------------------------------------------------------

    def _anchors(self, stands: Stands, head: str | None) -> str | None:
        """Whether the ledger goes on at least to the lines whose hashes are kept outside of it."""
        hashes = {recorded.hash: number for number, recorded in enumerate(self._events, 1)}
        if head is not None and head not in hashes:
            return f"no line of the ledger has the hash {head!r} that was given"
        kept = ledger_head(self._project.repository, self._run_id)
        if kept is None:
            if stands.at_rest and not stands.rejected and self._is_finished():
                return f"refs/surefoot/{self._run_id}/ledger is missing"
            self._notes.append("the repository keeps no hash of the ledger to hold it against")
            return None
        if kept not in hashes:
            return (
                f"the ledger ends at line {len(self._events)}, but none of its lines has the hash {kept[:12]} that "
                "the repository keeps: lines are missing at its end, or were written anew"
            )
        after = self._events[hashes[kept] :]
        return _unanchored(after) if stands.at_rest and self._is_finished() else None

    def _is_finished(self) -> bool:
        """Whether the run was let go of in peace: a kill between its last line and the refs leaves it without its summary."""
        return (self._project.runs / self._run_id / SUMMARY).exists()

    # --- what events name ------------------------------------------------------------------------

    def _blobs(self) -> str | None:
        seen = set()
        for recorded, name, digest in digests_of(self._events):
            if digest not in seen:
                seen.add(digest)
                try:
                    self._get(digest)
                except LedgerError as error:
                    return f"{_place(recorded)}: {name}: {error}"
        return None

    def _settings(self) -> str | None:
        try:
            self._frozen()
        except ValueError as error:
            return f"{_place(self._events[0])}: settings: {error}"
        return None

    def _git(self, stands: Stands) -> str | None:
        action = self._frozen().settings.git.turn_action
        return git_fault(self._project.repository, self._run_id, stands, action)

    def _documents(self, stands: Stands) -> str | None:
        folder = self._project.runs / self._run_id
        story = read_story(self._run_id, self._events)
        diff = None if stands.rejected else run_diff(self._project, story)
        found = check_documents(folder, self._events, diff, rejected=stands.rejected)
        if found.note:
            self._notes.append(found.note)
        return found.fault

    def _planned(self) -> str | None:
        """A planning: its events, and the documents that it ended with."""
        repository, tree = self._project.repository, self._opened().base_tree
        files = text_files(repository, tree) if tree_exists(repository, tree) else None
        if files is None:
            self._notes.append(
                f"git no longer has the tree {tree[:12]} that was planned on, so the plan gate was not asked again"
            )
        fault = self._walk([*self._plain_checks(), GateCheck(get=self._get, files=files)])
        return (
            fault or plan_fault(self._project.plans / self._run_id, self._events, self._get) or None
        )

    # --- what events say -------------------------------------------------------------------------

    def _walked(self, stands: Stands) -> str | None:
        """Every event against every check, in order."""
        trees = RecordedTrees(self._project.repository, self._scratch, len(stands.base))
        frozen = self._frozen()
        proofs = Proofs(run_id=self._run_id, get=self._get, trees=trees, strict=frozen.strict)
        present = self._present(stands)
        turns = TurnCheck(
            get=self._get,
            proofs=proofs,
            trees=trees,
            is_there=present,
            unsandboxed=frozen.request.unsandboxed,
            noop_characters=frozen.settings.solver.noop_characters,
        )
        strength = StrengthCheck(
            proofs=proofs,
            mutator=PythonMutator(),
            most=frozen.mutants or 0,
            is_there=present,
        )
        checks = [*self._plain_checks(), turns]
        if not stands.rejected:
            checks.append(strength)
            asks = frozen.request.assignment is None
            checks.append(WholeCheck(proofs=proofs, reviewers=rule_reviewers(), asks=asks))
            critic = SyntaxCritic(is_test_path)
            checks.append(RoundCheck(proofs=proofs, trees=trees, critic=critic, is_there=present))
            checks.append(PartCheck(request=frozen.request, get=self._get, proofs=proofs))
        try:
            fault = self._walk(checks)
        finally:
            trees.close()
        if stands.rejected:
            self._notes.append(
                "the run was rejected, so its commits are gone and nothing that rests on them was derived again"
            )
        elif strength.foreign:
            self._notes.append(
                f"the mutants were made by {', '.join(sorted(strength.foreign))}, so they were not made again"
            )
        if turns.underived and not stands.rejected:
            self._notes.append(
                f"{turns.underived} turns that were put back: git no longer has what they had done, "
                "so the gates that look at it were not evaluated again"
            )
        return fault

    def _plain_checks(self) -> list[Check]:
        """Those that need the ledger and its blobs alone."""
        return [
            CourseCheck(frozen=self._frozen(), get=self._get),
            BlobCheck(get=self._get),
            SpendCheck(get=self._get),
        ]

    def _frozen(self) -> Frozen:
        return thaw(self._get(self._opened().settings))

    def _opened(self) -> RunOpened:
        opened = self._events[0].event
        assert isinstance(opened, RunOpened)  # noqa: S101  # else there were no stands
        return opened

    def _walk(self, checks: Sequence[Check]) -> str | None:
        state = RunState()
        for recorded in self._events:
            try:
                told = next((t for check in checks if (t := check.look(state, recorded))), "")
            except (GitError, LedgerError, ValueError) as error:
                told = str(error)
            if told:
                return f"{_place(recorded)}: {told}"
            state = apply(state, recorded)
        return None

    def _present(self, stands: Stands) -> Mapping[TreeId, bool]:
        """Which of the trees that turns had made can still be read."""
        staged = {
            r.event.tree
            for r in self._events
            if isinstance(r.event, GitStage) and r.event.stage == "stage" and r.event.tree
        }
        repository = self._project.repository
        return {t: not stands.rejected and tree_exists(repository, t) for t in staged}


def _place(recorded: Recorded) -> str:
    number = recorded.event_id.rpartition(":")[2]
    return f"line {number} ({recorded.event.kind})"


def _unanchored(after: Sequence[Recorded]) -> str | None:
    """What follows the kept hash of a run that rests can only be an `accept` that was cut off before it kept its own."""
    begun = False
    for recorded in after:
        event = recorded.event
        begun = begun or (isinstance(event, FactLearned) and event.topic == "accept")
        proving = begun and isinstance(event, TestsRan | FactLearned | AuditorFinished)
        if not (proving or isinstance(event, RunAccepted)):
            return f"{_place(recorded)}: it comes after the last line that the repository keeps the hash of"
    return None

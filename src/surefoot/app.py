"""What a face of Surefoot can ask for: a run started or resumed, an audit. How a run stands is in `reading`."""

import shlex
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import replace

from surefoot import __version__
from surefoot.assembly import (
    Driver,
    Parts,
    Session,
    Surroundings,
    auditors_of,
    drive,
    live_cast,
    open_ledger,
    parts_of,
    policy_of,
    suite_of,
    tried_processes,
)
from surefoot.codec import encode
from surefoot.documents import SUMMARY, documents_of
from surefoot.errors import SettingsError, UsageError
from surefoot.events.orchestration import RunOpened, RunResumed
from surefoot.events.policy import PolicyWarning
from surefoot.findings import (
    BASELINE_NAME,
    NoTests,
    TestsAuditor,
    read_baseline,
    redacted,
    run_audit,
)
from surefoot.gitops.accept import Result
from surefoot.gitops.collect import remove_worktree
from surefoot.gitops.reading import (
    RepositoryTrees,
    publish_ledger_head,
    tree_checkout,
    uncommitted,
    untracked,
)
from surefoot.gitops.workspace import open_workspace, refuse_workspace, reopen_workspace
from surefoot.kernel import evidence
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Auditor
from surefoot.kernel.proof import Prover, failed
from surefoot.kernel.summary import unusable
from surefoot.kernel.whole import noticing, proofs_elsewhere
from surefoot.ledger import read_events
from surefoot.policy import read_mode
from surefoot.project import Project, scratch_folder
from surefoot.reading import Outcome, hiding, opened_of, outcome_of, read_story_of, run_diff
from surefoot.report import Story, Summary, read_story, summarise_run
from surefoot.request import Frozen, Request, thaw
from surefoot.suite import CommandPlan, SuitePlan
from surefoot.upkeep import Lifecycle, open_lifecycle, redactor_of
from surefoot.values import (
    RESUMABLE,
    SETTLED,
    Audit,
    Issue,
    RunId,
    RunStatus,
    TreeId,
)


def start(
    project: Project,
    request: Request,
    around: Surroundings,
    *,
    driver: Driver = drive,
    run_id: RunId | None = None,
) -> Outcome:
    """Open a run, under an id of its own unless one is given, and drive it to its first stop.

    Raises:
        LockedError: The repository is locked.
        UsageError: A run of that id was begun before.
        RepositoryError: No branch of the user's is checked out, or one lies where those of runs need a folder.
        SurefootError: Something is missing; nothing was changed.
    """
    if request.assignment is None:  # a unit goes to the branch of its plan run
        project.repository.require_branch()
    project.require_unlocked()
    run_id = run_id or new_run_id(project, around)
    refuse_workspace(project.repository, run_id, home=project.home)
    frozen = Frozen(settings=project.settings, request=request, trusted=not project.untrusted)
    with scratch_folder(project) as scratch:
        cast = live_cast(project, frozen, around, run_id)
        parts = parts_of(project, frozen, around, scratch, cast)
        project.prepare()
        with (
            open_ledger(project, run_id, around) as ledger,
            open_lifecycle(project, frozen.settings.tools, ledger) as lifecycle,
        ):
            journal = Journal(ledger, around.clock, lifecycle.follow)
            if journal.state.opened is not None:
                raise UsageError(f"run {run_id} exists already; resume it, or give another id")
            journal.record(opening(project, frozen, journal))
            _tell_refusal(journal, lifecycle)
            for warning in _warnings(project, frozen, parts):
                journal.record(warning)
            with open_workspace(
                project.repository,
                run_id,
                home=project.home,
                carry=untracked(project.repository, project.repository.tree, parts.plan.carry),
                action=frozen.settings.git.turn_action,
            ) as workspace:
                session = Session(
                    project=project,
                    run_id=run_id,
                    frozen=frozen,
                    parts=parts,
                    journal=journal,
                    around=around,
                    lifecycle=lifecycle,
                )
                driver(session, workspace)
            return finish(project, run_id, journal)


def _warnings(project: Project, frozen: Frozen, parts: Parts) -> Iterator[PolicyWarning]:
    """What a run does not heed of what it finds, and why."""
    if project.untrusted:
        told = f"{', '.join(project.untrusted)} have no effect until `surefoot trust`"
        yield PolicyWarning(rule="untrusted-settings", what=told)
    for told in parts.plan.refused if isinstance(parts.plan, SuitePlan) else ():
        yield PolicyWarning(rule="environment", what=told)
    if project.repository.dirty and (left := uncommitted(project.repository)):
        told = f"{evidence.names(left)}: not committed, so not part of the run"
        yield PolicyWarning(rule="uncommitted", what=told)
    for told in read_mode(frozen.mode)[1]:
        yield PolicyWarning(rule="mode", what=told)


def new_run_id(project: Project, around: Surroundings, taken: Collection[RunId] = ()) -> RunId:
    """An id that no run of the project has, and that is none of `taken`: those of one second are so few that they may meet."""
    while True:
        run_id = around.ids.run_id(around.clock.now())
        if run_id not in taken and not project.ledger_file(run_id).exists():
            return run_id


def resume(
    project: Project,
    run_id: RunId,
    around: Surroundings,
    larger: Request | None = None,
    *,
    driver: Driver = drive,
) -> Outcome:
    """Take up a run that was paused, cancelled, out of budget, or killed.

    `larger` may raise its ceilings, and name another model or another address of the same.

    Raises:
        UsageError: The run has ended for good, or from the checkout as it is now its tests would be run in another way.
        RepositoryError: The user has the run's branch checked out.
    """
    project.repository.refuse_branch_of(run_id)
    project.require_unlocked()
    with (
        open_ledger(project, run_id, around) as ledger,
        # Flags as they are now: a kill switch holds for a run that was begun before it.
        open_lifecycle(project, project.settings.tools, ledger) as lifecycle,
    ):
        journal = Journal(ledger, around.clock, lifecycle.follow)
        opened = _require_begun(project, run_id, journal)
        status = journal.state.status
        if status is not None and status not in RESUMABLE:
            if not (project.runs / run_id / SUMMARY).exists():  # killed after its last event
                return finish(project, run_id, journal)
            raise UsageError(f"run {run_id} ended as {status}; only an unfinished run is resumed")
        before = thaw(journal.get(opened.settings))
        frozen = _with_larger(before, larger)
        with scratch_folder(project) as scratch:
            cast = live_cast(project, frozen, around, run_id)
            parts = parts_of(project, frozen, around, scratch, cast)
            _refuse_another_runner(journal, opened, parts.plan)
            project.prepare()
            (project.runs / run_id / SUMMARY).unlink(missing_ok=True)
            _tell_resumed(journal, before, frozen)
            _tell_refusal(journal, lifecycle)
            with reopen_workspace(
                project.repository,
                run_id,
                home=project.home,
                carry=untracked(project.repository, opened.base_tree, parts.plan.carry),
                head=journal.state.head_commit or opened.base,
                base=opened.base,
                branch=opened.branch,
                action=frozen.settings.git.turn_action,
            ) as workspace:
                session = Session(
                    project=project,
                    run_id=run_id,
                    frozen=frozen,
                    parts=parts,
                    journal=journal,
                    around=around,
                    lifecycle=lifecycle,
                )
                driver(session, workspace)
            return finish(project, run_id, journal)


def _require_begun(project: Project, run_id: RunId, journal: Journal) -> RunOpened:
    """What a run began with; refused where nobody can go on with it."""
    opened = journal.state.opened
    if opened is None:
        raise UsageError(f"run {run_id} was killed before it began; `surefoot gc` removes it")
    ending = read_story_of(project, run_id).ending
    if ending:
        raise UsageError(f"run {run_id} was {ending}; start a new one")
    return opened


def _refuse_another_runner(
    journal: Journal, opened: RunOpened, plan: SuitePlan | CommandPlan
) -> None:
    """How the tests are run is seen from the checkout; what one runner says is no evidence beside what another said."""
    ran = journal.tests(opened.base_tree, "baseline")
    branch = opened.branch.removeprefix("refs/heads/")
    # Another interpreter runs the same tests.
    words = slice(1, None) if isinstance(plan, SuitePlan) else slice(None)
    if ran is not None and ran[0].command[words] != plan.command[words]:
        raise UsageError(
            f"the run began with `{shlex.join(ran[0].command)}`, and the checkout as it is now would have its tests run by "
            f"`{shlex.join(plan.command)}`; check out {branch} as it was then, or reject the run and "
            "start a new one"
        )


def _tell_resumed(journal: Journal, before: Frozen, now: Frozen) -> None:
    """Note where the run goes on, and with which other settings and model."""
    turn = journal.state.turn
    moved = (now.model, now.base_url) != (before.model, before.base_url)
    journal.record(
        RunResumed(
            interrupted_turn=turn.turn_id if turn else None,
            settings=None if now == before else journal.put(encode(now)),
            model=now.model if moved else None,
        )
    )


def _tell_refusal(journal: Journal, lifecycle: Lifecycle) -> None:
    """Enforcement that was asked for and is not there yet is said, with what it waits for."""
    if lifecycle.refused:
        told = "; ".join(f"{r.name}: {r.told}" for r in lifecycle.refused)
        journal.record(PolicyWarning(rule="tools.enforcement", what=f"waits for {told}"))


def broken_off(
    project: Project, run_id: RunId, why: str, status: RunStatus = RunStatus.ERROR
) -> Summary | None:
    """The object of a run that was broken off; None when it had not begun. Writes nothing: the disk may be what broke.

    `status` is what it is told as, also where the run's own steps were over and only their documents were not. No end is
    recorded, since none of the lifecycle's is true of it: the run is what it would be after a kill.
    """
    path = project.ledger_file(run_id)
    events = tuple(read_events(path)) if path.exists() else ()
    if not events:
        return None
    story = read_story(run_id, events)
    opened, tree = story.state.opened, story.state.head_tree
    if opened is None or tree is None:
        return None
    with closing(RepositoryTrees(project.repository, project.scratch)) as trees:
        paths = trees.diff(opened.base_tree, tree).paths
    goes_on = f"run {run_id} is kept as it was then, and `surefoot resume {run_id}` goes on with it"
    return {
        **summarise_run(story, paths, str(project.runs / run_id / "report.md")),
        "status": status.value,
        "reason": f"{why}; {goes_on}",
    }


def audit(
    project: Project, around: Surroundings, *, unsandboxed: bool = False, anew: bool = False
) -> Audit:
    """Ask every auditor about HEAD, in a scratch checkout; nothing is written into the repository, and no secret is told.

    Anew: what was accepted before is not read, since a new baseline takes its place, and it may be broken.

    Raises:
        LockedError: The repository is locked.
        SettingsError: The baseline cannot be read.
    """
    project.require_unlocked()
    baseline = () if anew else read_baseline(project.root / BASELINE_NAME)
    with scratch_folder(project) as scratch:
        frozen = Frozen(
            settings=project.settings,
            request=Request(issue=Issue(source="audit"), unsandboxed=unsandboxed),
        )
        processes = tried_processes(scratch, unsandboxed=unsandboxed)
        plan: SuitePlan | CommandPlan | None = None
        try:
            plan, suite = suite_of(project, frozen.settings, processes, around, scratch)
            tests: Auditor = TestsAuditor(suite)
        except SettingsError as error:
            tests = NoTests(str(error))
        auditors = auditors_of(project, frozen, processes, plan, tests, around)
        tree = project.repository.tree
        with tree_checkout(project.repository, tree, scratch) as root:
            found = run_audit(auditors, root, baseline=baseline)
    return redacted(found, redactor_of(project, around.environ))


def checked_again(
    project: Project, story: Story, around: Surroundings, journal: Journal, result: Result
) -> str | None:
    """Hold a tree that is not the run's own (replayed, or edited by a hook) against what the branch holds now.

    It has to show there what the run had to show on its base, its tests' strength left out; what guards the work may not be
    changed by a hook where the run did not; the auditors may say nothing new of what differs. Returns the refusal.
    """
    frozen = thaw(journal.get(opened_of(story).settings))
    with (
        scratch_folder(project) as scratch,
        closing(RepositoryTrees(project.repository, scratch)) as trees,
    ):
        fenced = tried_processes(scratch, unsandboxed=frozen.request.unsandboxed)
        processes = around.processes(fenced)
        plan, suite = suite_of(project, frozen.settings, processes, around, scratch)
        auditors = auditors_of(project, frozen, processes, plan, None, around)
        baseline = read_baseline(project.root / BASELINE_NAME)
        own = trees.diff(result.onto, result.replayed).paths
        for path in trees.diff(result.replayed, result.tree).paths:
            if path not in own and (suite.is_test_path(path) or suite.is_control_path(path)):
                return f"{path} guards the work and was changed by something else than the run"
        prover = Prover(
            journal=journal,
            workspace=trees,
            suite=suite,
            audit=lambda root: run_audit(auditors, root, baseline=baseline),
            risk_flags=policy_of(project, frozen).resolve().risk_flags,
            noticing=frozenset(noticing(story.state)),
        )
        before, _ = prover.baseline(result.onto)
        if before.state not in SETTLED:
            return f"without the work, {unusable(before)}"
        proofs = proofs_elsewhere(story.state, prover, result.tree, result.onto)
    return failed(proofs) or None


def finish(project: Project, run_id: RunId, journal: Journal) -> Outcome:
    """Write report, findings and summary; a run that has ended for good gives its worktree back.

    The summary comes last and whole: where it is missing, a kill came before it, and `resume` does this again.
    """
    publish_ledger_head(project.repository, run_id, journal.head, project.home)
    folder = project.runs / run_id
    events = tuple(read_events(project.ledger_file(run_id)))
    story = read_story(run_id, events)
    diff = run_diff(project, story)
    result = outcome_of(project, story, diff)
    written = documents_of(events, diff, folder, hiding(project))
    for name, data in written.items():
        if name != SUMMARY:
            (folder / name).write_bytes(data)
    if result.status not in RESUMABLE:
        remove_worktree(project.repository, run_id, home=project.home)
    unfinished = folder / f"{SUMMARY}.new"
    unfinished.write_bytes(written[SUMMARY])
    unfinished.replace(folder / SUMMARY)
    return result


def opening(
    project: Project, frozen: Frozen, journal: Journal, *, planning: bool = False
) -> RunOpened:
    """The first event of a run, or of a planning."""
    repository = project.repository
    return RunOpened(
        issue=frozen.request.issue,
        mode=frozen.mode,
        model=frozen.model,
        repo=str(project.root),
        branch=repository.branch,
        base=repository.head,
        base_tree=TreeId(repository.tree),
        settings=journal.put(encode(frozen)),
        seed=frozen.request.seed if frozen.request.seed is not None else frozen.settings.run.seed,
        version=__version__,
        parent=frozen.request.assignment.parent if frozen.request.assignment else None,
        planning=planning,
    )


def _with_larger(frozen: Frozen, larger: Request | None) -> Frozen:
    if larger is None:
        return frozen
    names = ("max_iterations", "time_s", "cost_usd", "tokens")
    changes = {n: getattr(larger, n) for n in names if getattr(larger, n) is not None}
    if larger.model is not None:  # an address is that of the model that it was given for
        changes |= {"model": larger.model, "base_url": larger.base_url}
    elif larger.base_url is not None:
        changes |= {"base_url": larger.base_url}
    return replace(frozen, request=replace(frozen.request, **changes))

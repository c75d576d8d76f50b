"""The executor strategy `repair`: one turn is one round of reproduce, localise, search, select."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from surefoot.codec import digest
from surefoot.events.work import FactLearned
from surefoot.execute.repair.candidates import with_edits
from surefoot.execute.repair.evidence import Evidence, Probing, Witnesses, probe_for
from surefoot.execute.repair.ground import (
    Files,
    Ports,
    neighbour_tests,
    read_files,
    subjects_of,
    suspects_of,
    trace,
    wider_tests,
)
from surefoot.execute.repair.hunt import Case, Hunt
from surefoot.execute.repair.limits import RepairLimits
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.probe import Probe
from surefoot.execute.repair.reproduce import reproduce, write
from surefoot.execute.repair.select import Choice, Passing
from surefoot.execute.repair.trials import CHOSEN, DISAGREES, PASSED, REFUSED, Trials, refused
from surefoot.execute.source import parse
from surefoot.kernel.evidence import is_whole
from surefoot.kernel.ports import (
    Asker,
    Notebook,
    Suite,
    TrialWorker,
    TurnInput,
    TurnOutput,
    Workspace,
)
from surefoot.values import FileEdit, ModelFailure, TestReport, TestResult

_TURN_SEED = 100_003
_FRESH_TRIES = 3
_AGAIN = 5
"""Tests that are run again when they alone fail in the fresh run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Goal:
    """What must pass, and the new test that comes with the change when the issue had none."""

    failing: tuple[str, ...]
    added: tuple[FileEdit, ...] = ()
    guessed: bool = False
    """The model wrote the test."""
    anew: bool = False
    """It did, and no turn before had this one: what failed there says nothing here."""


class RepairExecutor:
    """Repairs failing tests in Python code; see `run_turn`."""

    def __init__(
        self, suite: Suite, limits: RepairLimits | None = None, max_files: int = 40
    ) -> None:
        self._suite = suite
        self._limits = limits or RepairLimits()
        self._max_files = max_files

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """One round; leaves either one change that passes everything known in the worktree, or nothing.

        A later turn looks at the next suspects with other seeds and never repeats what an earlier one is done with,
        unless the model wrote another test for it: then it begins anew, but for what was refused after its tests passed.
        """
        ports = Ports(
            task=task, suite=self._suite, workspace=workspace, asker=asker, notebook=notebook
        )
        return _Round(ports, self._limits, self._max_files).run()


class _Round:
    """One turn; lives as long as it."""

    def __init__(self, ports: Ports, limits: RepairLimits, max_files: int) -> None:
        self._ports = ports
        self._suite, self._task = ports.suite, ports.task
        self._workspace, self._notebook = ports.workspace, ports.notebook
        self._limits = limits
        self._max_files = max_files
        self._said: list[str] = []
        self._learned = self._task.learned
        self._actions = 0

    def run(self) -> TurnOutput:
        files = self._read(self._task.unit.failing)
        goal = self._goal(files)
        if isinstance(goal, ModelFailure):
            return self._output(failure=goal)
        if goal is None:
            return self._output()
        if goal.added:
            files = self._read_added(files, goal)
        with ExitStack() as stack:
            return self._search(goal, files, stack)

    # --- before the search -----------------------------------------------------------------------

    def _read(self, failing: Sequence[str]) -> Files:
        task = self._task
        return read_files(self._workspace, self._suite, task, failing, task.unit.writes)

    def _read_added(self, files: Files, goal: _Goal) -> Files:
        """The files with the new test among the tests."""
        tests = {e.path: s for e in goal.added if (s := parse(e.path, e.text or "")) is not None}
        subjects = subjects_of(tests, goal.failing, files.product.values())
        return Files(
            product=files.product,
            tests=tests,
            paths=files.paths,
            beside=files.tests,
            subjects=subjects,
        )

    def _goal(self, files: Files) -> _Goal | ModelFailure | None:
        """The unit's failing tests, or a new one for its issue."""
        if self._task.unit.failing:
            return _Goal(failing=self._task.unit.failing)
        if not self._task.unit.issue.text.strip():
            self._say("There is neither a failing test nor an issue to reproduce.")
            return None
        found = reproduce(self._ports, files)
        self._actions += 1
        if isinstance(found, ModelFailure):
            return found
        if found is None:
            self._learn(
                "not reproduced",
                "no test could be written that fails for the reason that the issue gives; a failing test helps, "
                "or what is called, what it gives and what it should give, or a stronger model",
            )
            return None
        ids = tuple(r.test_id for r in found.failing)
        self._learn(
            "reproduced",
            f"`{found.told[:80]}` fails, written by {found.how} as {ids[0]}: {found.failing[0].message[:200]}",
        )
        guessed = found.how == "model"
        mark = f"a test of the model's: {digest((found.edit.text or '').encode())}"
        anew = guessed and mark not in self._learned
        self._learned = (*self._learned, mark) if anew else self._learned
        return _Goal(failing=ids, added=(found.edit,), guessed=guessed, anew=anew)

    # --- the search ------------------------------------------------------------------------------

    def _search(self, goal: _Goal, files: Files, stack: ExitStack) -> TurnOutput:
        wider = wider_tests(self._task.baseline, goal.failing, files, self._limits.wider_s)
        neighbours = neighbour_tests(self._task.baseline, goal.failing)
        worker = self._worker(stack, goal.added, (*goal.failing, *wider, *neighbours))
        trials = Trials(
            worker,
            self._notebook,
            failing=goal.failing,
            wider=wider,
            known=refused(self._task.tried) if goal.anew else self._task.tried,
        )
        if trials.base.fixed == len(goal.failing):
            self._say(
                f"In the trial worker the failing tests pass unchanged: {trials.base.message}."
            )
            return self._output()
        failing = self._failing(goal, trials)
        coverage = trace(worker, files, goal.failing, wider)
        everybody = suspects_of(self._task, files, failing, coverage)
        # Another test of the model's is a first turn again.
        nth = 1 if goal.anew else self._task.number
        suspects = self._turns_share(everybody, nth)
        if not suspects:
            self._say("No code of the project could be found behind the failing tests.")
            return self._output()
        self._learn("suspects", ", ".join(f"{s.key} ({s.score:.2f})" for s in suspects))
        case = Case(
            files=files,
            suspects=suspects,
            failing=failing,
            issue=self._task.unit.issue.text,
            traced=coverage[0].values if coverage else (),
            seed=self._task.seed + _TURN_SEED * self._task.number,
            max_files=self._max_files,
            guessed=goal.guessed,
        )
        probing = self._probing(case, goal, stack)
        witnesses = Witnesses(
            probing=probing,
            worker=worker,
            failing=goal.failing,
            neighbours=neighbours,
        )
        evidence = Evidence(files, suspects, witnesses)
        hunt = Hunt(case, self._limits, trials, evidence, probing, self._ports)
        choice = hunt.run(edit=self._edits_again(len(everybody), nth))
        taken = self._settle(hunt, choice, goal, trials)
        self._actions += trials.count
        self._say(
            f"Tried {trials.count} candidates, {hunt.samples} of them asked of the model "
            f"({hunt.unusable} answers held no code); {len(trials.passing)} pass the known tests."
        )
        return self._output(failure=None if taken else hunt.failure, done=taken)

    def _worker(
        self, stack: ExitStack, added: Sequence[FileEdit], tests: Sequence[str]
    ) -> TrialWorker:
        """A worker on the turn's tree with some files added; closed with the turn."""
        root = stack.enter_context(self._workspace.checkout(self._task.tree))
        write(root, added)
        return stack.enter_context(self._suite.worker(root, tests))

    def _failing(self, goal: _Goal, trials: Trials) -> tuple[TestResult, ...]:
        """How the failing tests fail on this tree; the first as the worker saw it, the others as on the base."""
        first = trials.base.failure
        known = {r.test_id: r for r in self._task.baseline.results}
        if first is not None:
            known[first.test_id] = first
        return tuple(known[t] for t in goal.failing if t in known)

    def _turns_share(self, suspects: Sequence[Suspect], nth: int) -> tuple[Suspect, ...]:
        """The suspects of the `nth` turn: the next in each, from the first again when all had their turn."""
        if not suspects:
            return ()
        size = self._limits.suspects
        start = (nth - 1) * size % len(suspects)
        return tuple(suspects[start : start + size])

    def _edits_again(self, everybody: int, nth: int) -> bool:
        """Whether syntax-tree edits are tried: each suspect's once, and again where some passed and none was taken."""
        first_time = (nth - 1) * self._limits.suspects < everybody
        return first_time or PASSED in self._task.tried.values()

    def _probing(self, case: Case, goal: _Goal, stack: ExitStack) -> Probing:
        probes = {}
        for suspect in case.suspects:
            probe = probe_for(
                suspect,
                case.files,
                case.issue,
                failing=goal.failing,
                seed=self._task.seed,
                count=self._limits.inputs,
            )
            if probe is not None:
                probes[suspect.key] = probe

        def open_worker(probe: Probe) -> TrialWorker:
            file = FileEdit(path=probe.path, text=probe.text)
            return self._worker(stack, (*goal.added, file), probe.tests)

        return Probing(probes, open_worker, case.failing)

    # --- after the search ------------------------------------------------------------------------

    def _settle(self, hunt: Hunt, choice: Choice, goal: _Goal, trials: Trials) -> bool:
        """Hold the choice against all tests in a fresh process and put it into the worktree; the next best if it fails."""
        for _ in range(_FRESH_TRIES):
            if choice.taken is None:
                break
            taken = choice.taken
            complaint = self._fresh(taken, goal)
            told = f"{DISAGREES}: {complaint}" if complaint else self._refused(taken, goal)
            if not told:
                self._apply(taken, choice, goal, trials)
                return True
            trials.tell(taken.candidate, told, 0.0)
            choice = hunt.without(taken)
        self._learn("selection", choice.reason)
        return False

    def _fresh(self, taken: Passing, goal: _Goal) -> str | None:
        """What a fresh run of all tests holds against a candidate."""
        edits = (*taken.candidate.edits, *goal.added)
        with self._workspace.checkout(self._task.tree) as root:
            write(root, edits)
            report = self._suite.run(root)
            missing = self._missing(report, goal)
            whole = is_whole(report, self._task.baseline)
            if missing and whole and len(missing) <= _AGAIN:
                # A test that fails for another reason than the change is told apart by running it again.
                mended = self._suite.run(root, missing).passed(missing)
                missing = tuple(t for t in missing if t not in mended)
        if not whole:
            return f"{report.state.value}: {report.reason}"
        return f"{missing[0]} does not pass" if missing else None

    def _refused(self, taken: Passing, goal: _Goal) -> str:
        """What the review would hold against a candidate; empty when nothing."""
        self._workspace.apply(with_edits(taken.candidate, goal.added).edits)
        found = self._task.objections(self._workspace.snapshot())
        self._workspace.restore(self._task.tree)
        return f"{REFUSED}: {found[0].file}: {found[0].message}" if found else ""

    def _missing(self, report: TestReport, goal: _Goal) -> tuple[str, ...]:
        """Tests that must pass and do not."""
        wanted = {*self._task.baseline.passing, *goal.failing}
        return tuple(sorted(wanted - report.passed(wanted)))

    def _apply(self, taken: Passing, choice: Choice, goal: _Goal, trials: Trials) -> None:
        whole = with_edits(taken.candidate, goal.added)
        self._workspace.apply(whole.edits)
        trials.tell(taken.candidate, CHOSEN, choice.score)
        self._learn("selection", f"{taken.candidate.generator} taken: {choice.reason}")
        self._say(f"Changed {taken.candidate.description} ({taken.candidate.generator}).")

    # --- what is said ----------------------------------------------------------------------------

    def _learn(self, topic: str, text: str) -> None:
        self._notebook.record(FactLearned(topic=topic, text=text))
        self._say(f"{topic}: {text}.")

    def _say(self, sentence: str) -> None:
        self._said.append(sentence)

    def _output(self, *, failure: ModelFailure | None = None, done: bool = False) -> TurnOutput:
        return TurnOutput(
            transcript="\n".join(self._said),
            claim="done" if done else "none",
            effective_actions=self._actions,
            failure=failure,
            learned=self._learned,
        )

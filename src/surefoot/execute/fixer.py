"""The deterministic strategy: mend findings without a model, and keep only what the auditors and the tests confirm.

Findings are worked on by (tool, rule). Each way of mending is a candidate: it is written into the worktree, audited, and
kept when findings of the rule are gone and no (tool, rule, file) has more of them than before. Counts are compared, not
fingerprints: a line that was edited gives its other findings new fingerprints, and they are not new. At first only the
finding's own tool judges, and all auditors and the tests judge the sum; where they object, all is put back and each
candidate has to pass them all. A suppression is never written: no generator here writes one, and ruff is asked for
fixes, not for `--add-noqa`.
"""

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from surefoot.codec import digest, encode
from surefoot.decisions.roundtable import RULES, Juror, Option, held
from surefoot.events.work import CandidateTried
from surefoot.execute.fixes.aim import Aim, worsened
from surefoot.execute.fixes.catalogue import REWRITERS, candidate, parts_of, rewrites
from surefoot.execute.fixes.oldest import oldest_python
from surefoot.kernel.ports import (
    Asker,
    Auditor,
    Notebook,
    Processes,
    Suite,
    TurnInput,
    TurnOutput,
    Workspace,
)
from surefoot.kernel.standing import is_test_by
from surefoot.plans import covered
from surefoot.values import (
    AuditorResult,
    Candidate,
    Command,
    FileEdit,
    Finding,
    Limits,
    ReportState,
    Severity,
)

_TESTS: Final = "tests"
_CANDIDATES: Final = 2
"""Fewer of them are no choice."""
_RANK: Final[Mapping[Severity, int]] = {severity: n for n, severity in enumerate(Severity)}
_MIGRATION: Final = re.compile(r"(?:^|/)(?:migrations|alembic/versions)/")
_SAFE_FIX: Final = "(ruff --fix)"
"""How `RuffAuditor` marks a finding that ruff mends safely."""


Results: TypeAlias = Mapping[str, AuditorResult]
"""By tool."""


class Tools(Protocol):
    """How a Python tool is run (`surefoot.findings.Toolchain`)."""

    @property
    def reads(self) -> tuple[Path, ...]:
        """What its interpreter needs to read."""
        ...

    @property
    def limits(self) -> Limits:
        """What it may use."""
        ...

    def module(self, name: str, *arguments: str) -> tuple[str, ...]:
        """The argument list that runs it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Shares of a candidate's score (SPEC B7)."""

    passes: float = 0.5
    blast: float = 0.3
    reversible: float = 0.2

    def score(self, share: float, edits: Sequence[FileEdit], max_files: int) -> float:
        """Expected pass, smallness and reversibility.

        Args:
            share: Of what was to be mended, 0..1; 0 where something got worse.
            edits: What the candidate changes. Deletions and migrations count as not reversible.
            max_files: Files that the mode allows.
        """
        blast = min(1.0, len(edits) / max(max_files, 1))
        lasting = any(e.text is None or _MIGRATION.search(e.path) for e in edits)
        return self.passes * share + self.blast * (1 - blast) + self.reversible * (not lasting)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """What the auditors said of a candidate."""

    candidate: Candidate
    fixed: int
    broken: int
    score: float
    results: Results
    message: str


def can_fix(finding: Finding) -> bool:
    """Whether this strategy has any way to mend the finding; whether it holds is seen by trying."""
    return (finding.tool, finding.rule) in REWRITERS or finding.remediation.endswith(_SAFE_FIX)


class FixerExecutor:
    """Mends a unit's findings with ruff's safe fixes and syntax-tree edits.

    `auditors` are those that found them; one named `tests` is left to `suite`. Without a suite the tests are the
    kernel's alone to run, and one fix that breaks them costs the whole turn.
    """

    def __init__(
        self,
        processes: Processes,
        auditors: Sequence[Auditor],
        *,
        toolchain: Tools,
        suite: Suite | None = None,
        max_files: int = 40,
        parallel: int = 2,
        weights: Weights = Weights(),
        jurors: Sequence[Juror] = RULES,
    ) -> None:
        self._processes, self._toolchain, self._suite = processes, toolchain, suite
        self._auditors = tuple(a for a in auditors if a.tool != _TESTS)
        self._max_files, self._parallel = max_files, parallel
        self.weights, self.jurors = weights, tuple(jurors)

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Try the candidates of each rule, the worst severity first; kept edits stay in the worktree."""
        del asker  # needs no model
        turn = _Turn(self, task, workspace, notebook)
        turn.work(strictly=False)
        against = turn.objection() if turn.kept and not task.halted() else ""
        if against:
            turn.say(f"{against} with all fixes together; each is now tried against everything")
            turn.start_over()
            turn.work(strictly=True)
        if why := task.halted():
            turn.say(f"{why}: nothing further was tried")
        return turn.output()

    @property
    def tools(self) -> frozenset[str]:
        """Names of the auditors, tests left out."""
        return frozenset(auditor.tool for auditor in self._auditors)

    def ask_auditors(self, root: Path, tools: Collection[str]) -> Results:
        """What the auditors of these names say of the tree."""
        asked = [auditor for auditor in self._auditors if auditor.tool in tools]
        with ThreadPoolExecutor(max_workers=max(self._parallel, 1)) as pool:
            results = pool.map(lambda auditor: auditor.audit(root), asked)
            return {auditor.tool: result for auditor, result in zip(asked, results, strict=True)}

    @property
    def suite(self) -> Suite | None:
        """The project's tests, when they are run here."""
        return self._suite

    @property
    def max_files(self) -> int:
        """How many files one turn may change."""
        return self._max_files

    def ruff(self, root: Path, rule: str, texts: Mapping[str, str]) -> dict[str, str]:
        """Files as ruff's safe fixes of one rule leave them; those that it does not change are left out."""
        changed: dict[str, str] = {}
        for path, text in sorted(texts.items()):
            options = ("--fix-only", "--no-unsafe-fixes", "--no-cache", f"--select={rule}")
            name = f"--stdin-filename={path}"
            result = self._processes.run(
                Command(
                    argv=self._toolchain.module("ruff", "check", *options, name, "-"),
                    cwd=root,
                    env={"LC_ALL": "C.UTF-8", "NO_COLOR": "1"},
                    stdin=text.encode(),
                    reads=(root, *self._toolchain.reads),
                    limits=self._toolchain.limits,
                )
            )
            if result.exit_code == 0 and not result.truncated:
                fixed = result.stdout.decode("utf-8", "replace")
                # Nothing at all is rather a ruff that did not look than a file without content.
                if fixed and fixed != text:
                    changed[path] = fixed
        return changed


class _Turn:
    """One turn's state: the texts as they were and are, and what the auditors said last."""

    def __init__(
        self, fixer: FixerExecutor, task: TurnInput, workspace: Workspace, notebook: Notebook
    ) -> None:
        self._fixer, self._task = fixer, task
        self._workspace, self._notebook = workspace, notebook
        self._original: dict[str, str] = {}
        self._lines: list[str] = []
        self._tried = 0
        self.kept: list[Candidate] = []
        self._start = fixer.ask_auditors(workspace.path, fixer.tools)
        self._now = dict(self._start)
        self._fresh = set(self._now)
        self._aim = Aim(task.unit.findings, tuple(self._start.values()))
        self._oldest = oldest_python(workspace.path)
        self._changed: frozenset[str] = frozenset()
        """Files that earlier turns of the run have changed; they count against what it may change."""
        if task.tree != task.base_tree:
            self._changed = frozenset(workspace.diff(task.base_tree, task.tree).paths)

    def say(self, line: str) -> None:
        """Add to the transcript."""
        self._lines.append(line)

    def work(self, *, strictly: bool) -> None:
        """Go through the rules and keep the best candidate of each.

        A candidate is judged by the tool that told of the finding, and by every tool and the tests when `strictly`. Where no
        tool may be asked any more, what is kept so far is all there is.
        """
        for key in self._groups():
            if self._task.halted():
                break
            tools = self._fixer.tools if strictly else {key[0]}
            # A fix before may have mended or moved findings of this rule.
            self._see(tools)
            group = [f for f in self._left() if (f.tool, f.rule) == key]
            found = self._candidates(key, group)
            judged = self._judged(found, len(group), tools)
            if len(judged) < _CANDIDATES or all(j.message for j in judged):
                # One way alone, or none that holds in all files: what holds in one of them is something.
                parts = [part for whole in found for part in parts_of(whole)]
                judged += self._judged(self._untried(parts), len(group), tools)
            if group and not judged and not self._task.halted():
                self.say(f"{key[0]} {key[1]}: no mechanical fix for {len(group)} findings")
            good = [j for j in judged if not j.message]
            while good:
                best = self._agreed(good)
                if best is None or self._keep(best, strictly=strictly):
                    break
                good.remove(best)

    def _agreed(self, good: Sequence[_Judged]) -> _Judged | None:
        """The one that the roundtable agrees on, of those that mend the most: a part of a way is for when its whole fails."""
        most = max(j.fixed for j in good)
        standing = {j.candidate.candidate_id: j for j in good if j.fixed == most}
        options = [
            Option(
                candidate_id=key,
                description=f"{j.candidate.description} in {', '.join(e.path for e in j.candidate.edits)}",
                score=j.score,
                lines=sum(_lines_changed(self._read(e.path), e.text) for e in j.candidate.edits),
                prior=j.candidate.prior,
            )
            for key, j in standing.items()
        ]
        found = held(options, self._fixer.jurors, self._notebook)
        if found.choice is None:
            self.say("the reviewers did not agree on any of the fixes")
            return None
        return standing[found.choice]

    def objection(self) -> str:
        """What got worse since the turn's start, by all auditors and the tests; empty when nothing did."""
        self._see(self._fixer.tools)
        worse = worsened(tuple(self._start.values()), tuple(self._now.values()))
        if worse:
            return f"{worse[0]} got worse"
        return "" if self.tests_hold() else "the tests got worse"

    def _see(self, tools: Collection[str]) -> None:
        """Ask those of the tools that have not seen the tree as it is."""
        stale = set(tools) - self._fresh
        self._now |= self._fixer.ask_auditors(self._workspace.path, stale)
        self._fresh |= stale

    def _left(self) -> list[Finding]:
        return self._aim.left(tuple(self._now.values()))

    def tests_hold(self) -> bool:
        """Whether every test that passed on the base still passes; true where tests are not run here."""
        if self._fixer.suite is None or self._task.baseline.state is not ReportState.COMPLETE:
            return True
        report = self._fixer.suite.run(self._workspace.path)
        is_whole = report.state is ReportState.COMPLETE
        return is_whole and set(self._task.baseline.passing) <= set(report.passing)

    def start_over(self) -> None:
        """Put the files back as the turn found them."""
        self._write(self._original)
        self.kept, self._now, self._fresh = [], dict(self._start), set(self._start)

    def output(self) -> TurnOutput:
        """What the turn came to."""
        left = self._left()
        if self._aim.unseen:
            self.say(
                f"{self._aim.unseen} findings of the unit are not reported by any auditor here"
            )
        self.say(f"{len(self.kept)} fixes kept, {len(left)} findings left")
        is_done = self.kept and not left and not self._aim.unseen
        return TurnOutput(
            transcript="\n".join(self._lines),
            claim="done" if is_done else "none",
            effective_actions=self._tried,
        )

    def _groups(self) -> list[tuple[str, str]]:
        worst: dict[tuple[str, str], int] = {}
        for finding in self._left():
            key = (finding.tool, finding.rule)
            worst[key] = min(worst.get(key, len(_RANK)), _RANK[finding.severity])
        return sorted(worst, key=lambda key: (worst[key], key))

    def _candidates(self, key: tuple[str, str], group: Sequence[Finding]) -> list[Candidate]:
        chosen = [f for f in group if self._may_change(f.file)]
        files = {*self._changed, *(e.path for c in self.kept for e in c.edits)}
        for finding in chosen:
            if len(files) < self._fixer.max_files:
                files.add(finding.file)
        chosen = [f for f in chosen if f.file in files]
        texts = {f.file: text for f in chosen if (text := self._read(f.file)) is not None}
        found = rewrites(texts, chosen, self._task.mode, oldest=self._oldest)
        tool, rule = key
        if tool == "ruff" and texts:
            fixed = self._fixer.ruff(self._workspace.path, rule, texts)
            if fixed:
                found.insert(0, candidate("ruff", fixed, f"ruff's safe fix of {rule}", 0.9))
        return self._untried(found)

    def _untried(self, found: Sequence[Candidate]) -> list[Candidate]:
        return [c for c in found if not self._failed_before(c)]

    def _may_change(self, path: str) -> bool:
        """Product files that the unit allows; tests and what steers them need a flag that is not ours to weigh."""
        suite, allowed = self._fixer.suite, self._task.unit.writes
        if not path or (allowed and not covered(allowed, path)):
            return False
        if suite is None:
            return True
        is_test = is_test_by(suite.is_test_path, self._task.baseline.collected)
        return not (is_test(path) or suite.is_control_path(path))

    def _failed_before(self, new: Candidate) -> bool:
        # One that passed has an empty message; it may have been rolled back for another's fault.
        return any(self._task.tried.get(key) for key in (new.candidate_id, digest(encode(new))))

    def _judged(
        self, found: Sequence[Candidate], wanted: int, tools: Collection[str]
    ) -> list[_Judged]:
        return [self._judge(c, wanted, tools) for c in found if not self._task.halted()]

    def _judge(self, new: Candidate, wanted: int, tools: Collection[str]) -> _Judged:
        """Write the candidate, ask the tools, and put the tree back."""
        before = {e.path: self._read(e.path) or "" for e in new.edits}
        self._workspace.apply(new.edits)
        results = self._fixer.ask_auditors(self._workspace.path, tools)
        self._write(before)
        was = tuple(self._now[tool] for tool in results)
        now = tuple(results.values())
        worse = worsened(was, now)
        fixed = len(self._aim.left(was)) - len(self._aim.left(now))
        share = min(1.0, max(fixed, 0) / max(wanted, 1)) if not worse else 0.0
        message = f"worse: {', '.join(worse[:3])}" if worse else "" if fixed > 0 else "no effect"
        judged = _Judged(
            candidate=new,
            fixed=max(fixed, 0),
            broken=len(worse),
            score=self._fixer.weights.score(share, new.edits, self._fixer.max_files),
            results=results,
            message=message,
        )
        self._tried += 1
        self._record(judged, message)
        return judged

    def _record(self, judged: _Judged, message: str) -> None:
        new = judged.candidate
        self._notebook.record(
            CandidateTried(
                candidate=self._notebook.put(encode(new)),
                generator=new.generator,
                passed=not message,
                fixed=judged.fixed,
                broken=judged.broken,
                score=judged.score,
                message=message,
            )
        )
        self.say(
            f"{new.generator}: {new.description}: {message or f'{judged.fixed} findings gone'}"
        )

    def _keep(self, best: _Judged, *, strictly: bool) -> bool:
        before = {e.path: self._read(e.path) or "" for e in best.candidate.edits}
        self._workspace.apply(best.candidate.edits)
        if strictly and not self.tests_hold():
            self._write(before)
            self._record(best, "tests that passed on the base fail")
            return False
        for path, text in before.items():
            self._original.setdefault(path, text)
        self.kept.append(best.candidate)
        self._now |= best.results
        self._fresh = set(best.results)
        return True

    def _read(self, path: str) -> str | None:
        file = self._workspace.path / path
        if file.is_symlink() or not file.is_file():
            return None
        try:
            return file.read_bytes().decode()
        except (OSError, UnicodeDecodeError):
            return None

    def _write(self, texts: Mapping[str, str]) -> None:
        self._workspace.apply([FileEdit(path=path, text=text) for path, text in texts.items()])


def _lines_changed(before: str | None, after: str | None) -> int:
    old, new = (before or "").splitlines(), (after or "").splitlines()
    return sum(line[:1] in "+-" for line in difflib.ndiff(old, new))

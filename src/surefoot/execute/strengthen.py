"""Tests for changed lines whose mutants no test notices, when the work itself is done and shown (`--strict`).

By rule first: the function is called on inputs like those that tests, docstring and issue show; where the code and the
mutant give different values, what the code gives becomes an assertion. It holds the code to what it does now, and nothing
more: whether that is what was asked for, the issue's own tests say. Then the model is asked, one mutant at a time.
Whatever comes of it counts only when it passes on the code and fails on a mutant that nothing before it told apart.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, islice, product
from typing import Final

from surefoot.codec import digest_of
from surefoot.decisions.killing_test import KillingQuestion, propose_killer
from surefoot.events.work import FactLearned
from surefoot.execute.mutants import PythonMutator
from surefoot.execute.repair.candidates import UNCHANGED
from surefoot.execute.repair.evidence import examples_of
from surefoot.execute.repair.examples import Example, is_literal, literal
from surefoot.execute.repair.ground import Ports, read_files
from surefoot.execute.repair.inputs import Arguments, like
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.probe import Probe, Words, module_of, probe_of, shown_value, words_of
from surefoot.execute.repair.reproduce import new_test_path, write
from surefoot.execute.source import CodeUnit, Source, units
from surefoot.kernel.ports import (
    Asker,
    Executor,
    MutantDraft,
    Notebook,
    Suite,
    TrialWorker,
    TurnInput,
    TurnOutput,
    Workspace,
)
from surefoot.syntax import expression_of, tree_of
from surefoot.values import Candidate, FileEdit, ModelFailure, ReportState

_INPUTS: Final = 120
"""Generated inputs with so many arguments."""
_MIXED: Final = 32
_ASSERTIONS: Final = 6
"""Of one function."""
_ASKED: Final = 6
"""Mutants that the model is asked about in one turn."""
_TRIES: Final = 2
_WARMER: Final = 0.6
_LONG: Final = 70
_INEXACT: Final = re.compile(r"\d\.\d{6,}|\d{9,}|\de[-+]?\d")
"""A number of so many digits may have lost some on its way."""


class Strengthener:
    """An `Executor` that leaves all work to another one, until only the strength of the tests is missing."""

    def __init__(self, inner: Executor, suite: Suite, *, goes_on: bool) -> None:
        """`goes_on`: what no test can be found for in this way is left to the other executor, too."""
        self._inner, self._suite, self._goes_on = inner, suite, goes_on

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """As `Executor.run_turn`."""
        if not task.weak:
            return self._inner.run_turn(task, workspace, asker, notebook)
        ports = Ports(
            task=task, suite=self._suite, workspace=workspace, asker=asker, notebook=notebook
        )
        writing = _Writing(ports)
        edit = writing.run()
        if edit is None and self._goes_on:
            return self._inner.run_turn(task, workspace, asker, notebook)
        if edit is not None:
            workspace.apply((edit,))
        return TurnOutput(
            transcript="\n".join(writing.said),
            claim="none" if edit is None else "done",
            effective_actions=1,
            failure=writing.failure if edit is None else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """A mutant, and the unit that it stands in."""

    draft: MutantDraft
    unit: CodeUnit
    source: Source

    @property
    def candidate(self) -> Candidate:
        edits = (FileEdit(path=self.draft.file, text=self.draft.text),)
        return Candidate(
            candidate_id=digest_of(edits),
            generator="mutant",
            edits=edits,
            description=self.draft.operator,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """One test function that holds."""

    imports: str
    body: str
    kills: frozenset[str]
    """Patches of the mutants that it tells apart."""


class _Writing:
    """One turn."""

    def __init__(self, ports: Ports) -> None:
        self._p, task = ports, ports.task
        self.said: list[str] = []
        self.failure: ModelFailure | None = None
        self._files = read_files(ports.workspace, ports.suite, task, task.unit.failing, ())
        title = f"{task.unit.issue.title} holds"
        self._path = new_test_path(title, self._files.paths, ports.suite)

    def run(self) -> FileEdit | None:
        """A new test file that tells some of the mutants apart; None when there is none."""
        targets = list(self._targets())
        kept: list[_Written] = []
        for written in chain(self._by_rule(targets), self._by_model(targets, kept)):
            self._keep(written, kept)
        left = [t for t in targets if not _is_told(t, kept)]
        for target in left:
            self.said.append(f"No test was found for {target.draft.file}:{target.draft.line}.")
        if not kept:
            return None
        names = ", ".join(sorted({t.unit.name for t in targets if _is_told(t, kept)}))
        told = f"{len(targets) - len(left)} of {len(targets)} mutants of {names} are noticed now"
        self._p.notebook.record(FactLearned(topic="strengthened", text=told))
        self.said.append(f"{told}, by {self._path}.")
        return FileEdit(path=self._path, text=_file(kept))

    def _targets(self) -> Iterator[_Target]:
        """The mutants that no test notices, made again."""
        p, mutator = self._p, PythonMutator()
        for path in dict.fromkeys(m.file for m in p.task.weak):
            source = self._files.product.get(path)
            if source is None:
                continue
            before = p.workspace.read(p.task.base_tree, path)
            drafts = mutator.drafts(path, before.decode() if before else None, source.text)
            wanted = {m.patch for m in p.task.weak}
            for draft in drafts:
                unit = next((u for u in units(source) if _holds(u, draft.line)), None)
                if draft.patch in wanted and unit is not None:
                    yield _Target(draft=draft, unit=unit, source=source)

    def _keep(self, written: _Written, kept: list[_Written]) -> None:
        known = frozenset[str]().union(*(w.kills for w in kept))
        if written.kills - known:
            kept.append(written)

    def _worker(self, stack: ExitStack, edit: FileEdit, tests: Sequence[str]) -> TrialWorker:
        root = stack.enter_context(self._p.workspace.checkout(self._p.task.tree))
        write(root, (edit,))
        return stack.enter_context(self._p.suite.worker(root, tests))

    def _held(self, imports: str, body: str, targets: Sequence[_Target]) -> _Written | None:
        """A test function that passes on the code, with the mutants that it fails on."""
        written = _Written(imports=imports, body=body, kills=frozenset())
        test = f"{self._path}::{_name(body)}"
        with ExitStack() as stack:
            edit = FileEdit(path=self._path, text=_file([written]))
            worker = self._worker(stack, edit, (test,))
            report = worker.attempt(UNCHANGED).report
            if report.state is not ReportState.COMPLETE or report.failing:
                return None
            kills = frozenset(
                t.draft.patch for t in targets if worker.attempt(t.candidate).report.failing
            )
        return _Written(imports=imports, body=body, kills=kills) if kills else None

    # --- by rule ---------------------------------------------------------------------------------

    def _by_rule(self, targets: Sequence[_Target]) -> Iterator[_Written]:
        """One test a function, of assertions of what it gives."""
        for unit in dict.fromkeys(t.unit for t in targets if t.unit.class_name is None):
            mine = [t for t in targets if t.unit == unit]
            inputs = self._inputs(mine[0])
            chosen = self._telling(mine, inputs) if inputs else []
            calls = self._values(mine[0], chosen) if chosen else []
            if calls:
                rows = [
                    f"    assert {unit.name}({', '.join(map(repr, arguments))}) {_equals(value)}"
                    for arguments, value in calls
                ]
                name = re.sub(r"\W", "_", unit.name.strip("_"))
                body = "\n".join((f"def test_{name}_holds():", *rows))
                imports = f"from {self._module(unit.path)} import {unit.name}"
                held = self._held(imports, body, mine)
                if held is not None:
                    yield held

    def _inputs(self, target: _Target) -> tuple[Arguments, ...]:
        suspect = Suspect(path=target.unit.path, unit=target.unit, score=1.0, lines={})
        known = examples_of(suspect, self._files, self._p.task.unit.issue.text)
        seen = [a for e in known if (a := _positional(e, target.unit)) is not None]
        seen = list({repr(a): a for a in seen}.values())
        return (*seen, *_more(seen, self._p.task.seed))

    def _telling(self, targets: Sequence[_Target], inputs: Sequence[Arguments]) -> list[Arguments]:
        """Few inputs on which the code and the mutants give different values, one after the other."""
        with ExitStack() as stack:
            probe = self._probe(targets[0], inputs=inputs)
            worker = self._worker(stack, FileEdit(path=probe.path, text=probe.text), probe.tests)
            code = _ask(worker, UNCHANGED, probe, "behaviour")
            said = {t.draft.patch: _ask(worker, t.candidate, probe, "behaviour") for t in targets}
        left = {
            patch: {n for n, word in enumerate(code) if word[0] not in "!?" and word != words[n]}
            for patch, words in said.items()
            if len(words) == len(code)
        }
        chosen: list[Arguments] = []
        while any(left.values()) and len(chosen) < _ASSERTIONS:
            best = max(
                range(len(inputs)), key=lambda n: (sum(n in found for found in left.values()), -n)
            )
            chosen.append(inputs[best])
            left = {patch: found for patch, found in left.items() if best not in found}
        return chosen

    def _values(self, target: _Target, chosen: Sequence[Arguments]) -> list[tuple[Arguments, str]]:
        """What the code gives for these inputs, where that can be written down."""
        example = Example(call="", expected="None", origin="test")
        with ExitStack() as stack:
            probe = self._probe(target, checked=[(example, a) for a in chosen])
            worker = self._worker(stack, FileEdit(path=probe.path, text=probe.text), probe.tests)
            words = _ask(worker, UNCHANGED, probe, "checked")
        values = [shown_value(word) for word in words]
        return [
            (arguments, value)
            for arguments, value in zip(chosen, values, strict=False)
            if value is not None
            and len(value) < _LONG
            and is_literal(value)
            and not _INEXACT.search(value)
        ]

    def _probe(
        self,
        target: _Target,
        *,
        inputs: Sequence[Arguments] = (),
        checked: Sequence[tuple[Example, Arguments]] = (),
    ) -> Probe:
        return probe_of(
            self._module(target.unit.path),
            target.unit.qualname,
            self._path,
            inputs=inputs,
            checked=checked,
            examples=(),
        )

    def _module(self, path: str) -> str:
        return module_of(path, list(self._files.tests.values()), self._files.paths)

    # --- by the model ----------------------------------------------------------------------------

    def _by_model(self, targets: Sequence[_Target], kept: list[_Written]) -> Iterator[_Written]:
        """One test a mutant that nothing before it tells apart."""
        asked = 0
        for number, target in enumerate(targets):
            if _is_told(target, kept) or asked == _ASKED or self.failure is not None:
                continue
            asked += 1
            held = self._asked_for(target, number, targets)
            if held is not None:
                yield held

    def _asked_for(
        self, target: _Target, number: int, targets: Sequence[_Target]
    ) -> _Written | None:
        unit, module = target.unit, self._module(target.unit.path)
        imported = (unit.class_name or unit.name).partition(".")[0]
        for attempt in range(_TRIES):
            test = propose_killer(
                KillingQuestion(
                    module=module,
                    name=imported,
                    code=unit.text,
                    patch=target.draft.patch,
                    temperature=round(_WARMER * attempt, 2),
                    seed=self._p.task.seed + self._p.task.number + attempt,
                ),
                self._p.asker,
                self._p.notebook,
            )
            if isinstance(test, ModelFailure):
                self.failure = test
                return None
            if test is None or not _calls(test):
                continue
            body = re.sub(r"def (test\w*)\(", rf"def \1_{number + 1}(", test, count=1)
            held = self._held(f"from {module} import {imported}", body, targets)
            if held is not None and target.draft.patch in held.kills:
                return held
        return None


def _is_told(target: _Target, kept: Sequence[_Written]) -> bool:
    return any(target.draft.patch in w.kills for w in kept)


def _holds(unit: CodeUnit, line: int) -> bool:
    return unit.first_line <= line <= unit.last_line


def _ask(worker: TrialWorker, candidate: Candidate, probe: Probe, name: str) -> Words:
    """What a candidate does on the inputs; empty when that cannot be found out."""
    test = probe.test(name)
    return words_of(worker.attempt(candidate, (test,)).report.result(test)) or ()


def _positional(example: Example, unit: CodeUnit) -> Arguments | None:
    """An example's arguments in the order of the parameters; None when they are no literals, or leave one out."""
    call, tree = expression_of(example.call), tree_of(unit.text)
    if not isinstance(call, ast.Call) or tree is None or not tree.body:
        return None
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        return None
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
    given |= {k.arg: k.value for k in call.keywords if k.arg}
    wanted = names[: len(given)]
    if len(call.args) > len(names) or any(name not in given for name in wanted):
        return None
    try:
        return tuple(literal(given[name]) for name in wanted)
    except ValueError:
        return None


def _more(seen: Sequence[Arguments], seed: int) -> Iterator[Arguments]:
    """Inputs like those seen, of every length; those with all arguments mix what was seen at each place."""
    lengths = {len(arguments) for arguments in seen}
    for length in sorted(lengths):
        same = [arguments for arguments in seen if len(arguments) == length]
        if length == max(lengths):
            places = (
                {repr(a[place]): a[place] for a in seen if len(a) > place}.values()
                for place in range(length)
            )
            same = list(islice(product(*places), _MIXED))
        yield from like(same, seed=seed, count=_INPUTS)


def _equals(value: str) -> str:
    return f"is {value}" if value in {"True", "False", "None"} else f"== {value}"


def _calls(test: str) -> bool:
    """Whether a test looks at what code gives, and not at its text."""
    return "assert" in test and not re.search(
        r"\b(inspect|getsource|open|read_text|__code__)\b", test
    )


def _name(body: str) -> str:
    found = re.search(r"def (test\w*)\(", body)
    return found[1] if found else ""


def _file(tests: Sequence[_Written]) -> str:
    imports = "\n".join(dict.fromkeys(t.imports for t in tests))
    return f"{imports}\n\n\n" + "\n\n\n".join(t.body for t in tests) + "\n"

"""What speaks for the candidates that pass: who thought of them, and what they do on inputs that no test gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from surefoot.execute.repair.candidates import (
    changed_lines,
    mark,
    special_cases,
    told_literals,
)
from surefoot.execute.repair.examples import (
    Example,
    arguments_of,
    from_docstring,
    from_issue,
    from_tests,
)
from surefoot.execute.repair.ground import Files
from surefoot.execute.repair.inputs import like
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.probe import Probe, held, module_of, probe_of, shown_values, words_of
from surefoot.execute.repair.select import Passing, Words
from surefoot.execute.repair.trials import Tried
from surefoot.execute.source import Source, docstring_node, parse, unit_nodes
from surefoot.kernel.ports import TrialWorker
from surefoot.values import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What one candidate did on a probe; None where it did not get so far."""

    words: Words | None
    examples: tuple[bool, ...]


OpenWorker = Callable[[Probe], TrialWorker]
"""Opens a worker on the tree with a probe's file added; the caller closes it."""


def probe_for(
    suspect: Suspect, files: Files, issue: str, *, beside: str, seed: int, count: int
) -> Probe | None:
    """A probe of a suspect on inputs like those in tests, docstring and issue; None when none are known.

    Methods have none: their first argument is an object that no literal writes down.
    """
    unit = suspect.unit
    if unit is None or unit.class_name is not None:
        return None
    known = examples_of(suspect, files, issue)
    seen = [a for e in known if (a := arguments_of(e.call)) is not None]
    told = [e for e in known if e.origin != "test" and e.expected is not None]
    inputs = (*seen, *like(seen, seed=seed, count=count))
    if not inputs:
        return None
    pairs = [(e, a) for e in told if (a := arguments_of(e.call)) is not None]
    module = module_of(suspect.path, list(files.tests.values()), files.paths)
    return probe_of(module, unit.qualname, beside, inputs=inputs, examples=pairs)


def examples_of(suspect: Suspect, files: Files, issue: str) -> tuple[Example, ...]:
    """All examples of a suspect, one a call, those with a known value first choice."""
    unit = suspect.unit
    if unit is None:
        return ()
    source = files.product[suspect.path]
    doc = ""
    for other, node in unit_nodes(source):
        found = docstring_node(node) if other.first_line == unit.first_line else None
        if found is not None:
            doc = str(found.value)
    return (
        *from_docstring(doc, unit.name),
        *from_issue(issue, unit.name),
        *from_tests(files.tests.values(), unit.name),
    )


class Evidence:
    """The candidates that pass, as they come, with what speaks for each."""

    def __init__(
        self,
        files: Files,
        probes: Mapping[str, Probe],
        open_worker: OpenWorker,
        failing: Sequence[str],
    ) -> None:
        self._files = files
        self._probes = probes
        self._open = open_worker
        self._workers: dict[str, TrialWorker] = {}
        self._passing: dict[str, Passing] = {}
        names = frozenset(t.rpartition("::")[2].partition("[")[0] for t in failing)
        self._literals = told_literals(list(files.tests.values()), names)

    @property
    def passing(self) -> list[Passing]:
        """All of them, in the order in which they passed."""
        return list(self._passing.values())

    def add(self, tried: Tried, suspect: Suspect, *, sampled: bool) -> None:
        """Take in a candidate that passes, or that passed before and was thought of again."""
        key = mark(tried.candidate)
        known = self._passing.get(key)
        if known is None:
            known = self._new(tried.candidate, suspect)
        prior = tried.candidate.prior
        self._passing[key] = replace(
            known,
            samples=known.samples + sampled,
            edited=known.edited or not sampled,
            prior=max(known.prior, prior) if not sampled else known.prior,
        )

    def _new(self, candidate: Candidate, suspect: Suspect) -> Passing:
        behaviour = self._behaviour(candidate, suspect)
        before = self._files.product[suspect.path]
        after = _after(candidate, before)
        return Passing(
            candidate=candidate,
            samples=0,
            edited=False,
            prior=0.0,
            changed_lines=changed_lines(before.text, after.text if after else ""),
            changed_files=len(candidate.edits),
            words=behaviour.words,
            examples=behaviour.examples,
            special=special_cases(before, after, self._literals) if after else None,
        )

    def _behaviour(self, candidate: Candidate, suspect: Suspect) -> Behaviour:
        probe = self._probes.get(suspect.key)
        if probe is None:
            return Behaviour(words=None, examples=())
        worker = self._worker(suspect.key, probe)
        examples: tuple[bool, ...] = ()
        if probe.examples:
            said = _said(worker, candidate, probe.examples_held)
            examples = held(said) if said is not None else (False,) * len(probe.examples)
        return Behaviour(words=_said(worker, candidate, probe.behaviour), examples=examples)

    def values(self, candidate: Candidate, suspect: Suspect) -> tuple[str, ...]:
        """What a candidate gives for the first inputs of its probe, readable."""
        probe = self._probes.get(suspect.key)
        if probe is None:
            return ()
        said = _said(self._worker(suspect.key, probe), candidate, probe.shown)
        return shown_values(said) if said is not None else ()

    def _worker(self, key: str, probe: Probe) -> TrialWorker:
        if key not in self._workers:
            self._workers[key] = self._open(probe)
        return self._workers[key]


def _said(worker: TrialWorker, candidate: Candidate, test: str) -> Words | None:
    report = worker.attempt(candidate, (test,)).report
    return words_of(report.result(test))


def _after(candidate: Candidate, before: Source) -> Source | None:
    text = next((e.text for e in candidate.edits if e.path == before.path), None)
    return parse(before.path, text) if text is not None else None

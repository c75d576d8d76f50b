"""What speaks for the candidates that pass: who thought of them, and what they do on inputs that no test gives."""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from surefoot.execute.repair.candidates import (
    UNCHANGED,
    changed_lines,
    changed_words,
    mark,
    special_cases,
    told_literals,
)
from surefoot.execute.repair.examples import (
    Example,
    arguments_of,
    from_issue,
    from_tests,
    kind_of,
)
from surefoot.execute.repair.gauge import Gauge
from surefoot.execute.repair.graft import imported_by
from surefoot.execute.repair.ground import Files
from surefoot.execute.repair.inputs import (
    Arguments,
    holds_text,
    least_ones,
    like,
    small_ones,
    strange,
    unusual,
)
from surefoot.execute.repair.localise import Suspect, function_of
from surefoot.execute.repair.orders import speaks_of_rising
from surefoot.execute.repair.probe import (
    RAISED,
    STUCK,
    Checked,
    Probe,
    Words,
    first_broken,
    held,
    is_either,
    module_of,
    probe_of,
    probe_of_stories,
    words_of,
)
from surefoot.execute.repair.prose import promised
from surefoot.execute.repair.select import Passing
from surefoot.execute.repair.stories import Story, stories_of
from surefoot.execute.repair.trials import Tried
from surefoot.execute.repair.unread import idles, taken_in_vain
from surefoot.execute.source import (
    CodeUnit,
    Source,
    again_in,
    docstring_of,
    is_unwritten,
    node_of,
    parse,
)
from surefoot.kernel.ports import TrialWorker
from surefoot.values import Candidate, TestOutcome, TestResult

_ACCIDENTS: Final = frozenset(
    {
        "AttributeError", "IndexError", "KeyError", "NameError", "TypeError", "UnboundLocalError", "ZeroDivisionError",
    }
)  # fmt: skip
"""What code raises that nobody wrote a `raise` for."""
_OUT_OF_RANGE: Final = f"{RAISED}IndexError"
_OF_A_FORM: Final = "ValueError"
"""Likewise, but of a text: that may have a form which no caller gives."""
_A_STORY: Final = 4
"""Inputs for which a story stands: it runs what a test does, where an input is one call."""
OpenWorker = Callable[[Probe], TrialWorker]
"""Opens a worker on the turn's tree with a probe's file added; it is closed with the turn."""


def probe_for(
    suspect: Suspect, files: Files, issue: str, *, failing: Sequence[str], seed: int, count: int
) -> Probe | None:
    """A probe of a suspect on inputs like those in tests, docstring and issue; None when none are known.

    A method's first argument is an object that no literal writes down: its probe tells the stories of its tests, and so
    does that of a function that no text calls with literals.
    """
    unit, beside = suspect.unit, failing[0].partition("::")[0]
    if unit is None:
        return None
    known = examples_of(suspect, files, issue) if unit.class_name is None else ()
    seen = [a for e in known if (a := arguments_of(e.call)) is not None]
    texts = _texts_of(files.product[suspect.path])
    inputs = (*seen[:count], *like(seen, seed=seed, count=count, written=texts))
    if not inputs:
        stories = _stories(unit, files, failing, seed=seed, count=count // _A_STORY)
        return probe_of_stories(beside, stories) if stories else None
    # Without a body no code says yet which inputs it is for.
    written = not _is_unwritten(files.product[suspect.path], unit)
    odd = unusual(seen)
    told = [(e, a) for e in known if e.expected and (a := arguments_of(e.call)) is not None]
    checked = [pair for pair in told if pair[0].origin == "test"]
    shown = [pair for pair in told if pair[0].origin != "test"]
    return probe_of(
        module_of(suspect.path, list(files.tests.values()), files.paths),
        unit.qualname,
        beside,
        inputs=inputs,
        edges=small_ones(seen) if written else (*small_ones(seen), *odd),
        unusual=(*odd, *least_ones(seen)) if written else (),
        strange=(*strange(seen), *odd),
        written=written,
        rising=speaks_of_rising(docstring_of(node_of(files.product[suspect.path], unit))),
        checked=checked,
        examples=_of_kind(_apart(shown, checked), checked),
    )


def _stories(
    unit: CodeUnit, files: Files, failing: Sequence[str], *, seed: int, count: int
) -> tuple[Story, ...]:
    """Stories of tests that name a unit, else of those that name what the failing tests call."""
    sources = (*files.tests.values(), *files.beside.values())
    name = (unit.class_name or unit.name) if unit.name.startswith("__") else unit.name
    for names in ({name.rpartition(".")[2]}, files.subjects):
        stories = stories_of(sources, names, failing=failing, seed=seed, count=count)
        if stories:
            return stories
    return ()


def _apart(shown: Sequence[Checked], checked: Sequence[Checked]) -> list[Checked]:
    """Examples that no test checks already."""
    tested = {repr(arguments) for _, arguments in checked}
    return [pair for pair in shown if repr(pair[1]) not in tested]


def _of_kind(shown: Sequence[Checked], checked: Sequence[Checked]) -> list[Checked]:
    """Examples with a value of the kind that the function gives; where all tests expect one kind, another one is of something else.

    A docstring that writes `tri(3)` for the third number may well be one of a function that gives the first three.
    """
    tested = [kind for example, _ in checked if (kind := kind_of(example.expected))]
    if not tested[1:] or len({*tested}) > 1:
        return list(shown)
    return [pair for pair in shown if kind_of(pair[0].expected) in {tested[0], None}]


def examples_of(suspect: Suspect, files: Files, issue: str) -> tuple[Example, ...]:
    """All examples of a suspect, in tests, docstring and issue."""
    unit = suspect.unit
    if unit is None:
        return ()
    node = node_of(files.product[suspect.path], unit)
    told = promised(docstring_of(node), node) if node is not None else ()
    return (
        *from_tests(files.tests.values(), unit.name),
        # Beside the failing tests a function of the same name may be another one, so that only its inputs are of use.
        *(replace(e, expected=None) for e in from_tests(files.beside.values(), unit.name)),
        *told,
        *from_issue(issue, unit.name),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    """What a candidate owes on a generated input."""

    answer: bool = False
    """An answer: the unchanged code gives one. Where it is to be written yet, or gives the same whatever it is given, that
    says nothing, and one is due to every input like the known ones but texts, which may be of a form that nobody gives."""
    symptom: str | None = None
    """Not to fail like this: the unchanged code does, as on an input of a known test. What goes on with it has mended that
    input and not the fault. Of texts, again, none. But where a known call gives an empty one, nothing may reach beyond
    the end of another: a form that callers keep to would not have the empty text."""
    formless: bool
    """The input has no text."""

    @property
    def is_any(self) -> bool:
        """Whether there is a word for which something else would be due."""
        return self.answer or self.symptom is not None

    def asks(self, word: str) -> bool:
        """Whether something else than an accident is due where a candidate gives this word."""
        return self.answer or word == self.symptom


class Probing:
    """The probes of a turn's suspects, each with a worker that is opened when it is first needed.

    `failing` is what the failing tests say of the unchanged code.
    """

    def __init__(
        self,
        probes: Mapping[str, Probe],
        open_worker: OpenWorker,
        failing: Sequence[TestResult] = (),
    ) -> None:
        self._probes = probes
        self._open = open_worker
        self._failing = failing
        self._workers: dict[str, TrialWorker] = {}
        self._gauges: dict[str, Gauge] = {}
        self._unchanged: dict[str, Words | None] = {}
        self._as_before: dict[str, tuple[Words, Words]] = {}
        self._owed: dict[str, tuple[_Due, ...]] = {}

    def gauge(self, suspect: Suspect) -> Gauge | None:
        """Measures candidates of a suspect, where the tests check it with literals and it gives the wrong ones that they saw."""
        probe = self._probes.get(suspect.key)
        if probe is None or not probe.checked:
            return None
        if suspect.key not in self._gauges:
            self._gauges[suspect.key] = Gauge(
                self._worker(suspect.key, probe), probe, self._failing
            )
        gauge = self._gauges[suspect.key]
        return gauge if gauge.useful else None

    def has(self, suspect: Suspect) -> bool:
        """Whether inputs of a suspect are known, on which candidates can be run."""
        return suspect.key in self._probes

    def ask(self, candidate: Candidate, suspect: Suspect, name: str) -> Words | None:
        """What a candidate does on one test of its suspect's probe; None when that cannot be found out."""
        probe = self._probes.get(suspect.key)
        if probe is None:
            return None
        test = probe.test(name)
        report = self._worker(suspect.key, probe).attempt(candidate, (test,)).report
        return words_of(report.result(test))

    def behaviour(self, candidate: Candidate, suspect: Suspect) -> tuple[Words | None, Words]:
        """What a candidate does on the generated inputs, and on those edges apart that the unchanged code does not answer."""
        words = self.ask(candidate, suspect, "behaviour")
        if words is None:
            return None, ()
        counted = self._counted(suspect, len(words))
        apart = sorted({*range(len(words))} - {*counted})
        return tuple(words[n] for n in counted), tuple(words[n] for n in apart)

    def strange(self, candidate: Candidate, suspect: Suspect) -> Words:
        """What a candidate does on inputs that are not like those of tests, docstring and issue, or that perhaps nobody gives; empty when that is not known."""
        probe = self._probes.get(suspect.key)
        return (self.ask(candidate, suspect, "strange") if probe and probe.strange else None) or ()

    def unchanged(self, suspect: Suspect) -> tuple[Words, Words]:
        """What the unchanged code does where `Passing.words` and `Passing.apart` tell what a candidate does."""
        if suspect.key not in self._as_before:
            words, edges = self.behaviour(UNCHANGED, suspect)
            apart = (*edges, *self.strange(UNCHANGED, suspect))
            self._as_before[suspect.key] = words or (), apart
        return self._as_before[suspect.key]

    def all_of(self, candidate: Candidate, suspect: Suspect) -> tuple[Words | None, Words | None]:
        """What a candidate does on the generated inputs, and on such as perhaps nobody gives."""
        words, _ = self.behaviour(candidate, suspect)
        probe = self._probes.get(suspect.key)
        unusual = self.ask(candidate, suspect, "unusual") if probe and probe.unusual else None
        return words, unusual

    def inputs(self, suspect: Suspect) -> tuple[Arguments, ...]:
        """What the words of `behaviour` are about; empty where they tell stories."""
        probe = self._probes.get(suspect.key)
        if probe is None or not probe.inputs:
            return ()
        return tuple(probe.inputs[n] for n in self._counted(suspect, len(probe.inputs)))

    def _counted(self, suspect: Suspect, length: int) -> list[int]:
        """Which words of a behaviour of this length count; a candidate can forge a shorter one."""
        probe = self._probes[suspect.key]
        first_edge = min(length, len(probe.inputs) - probe.edges) if probe.edges else length
        before = self._before(suspect) if probe.edges and probe.written else None
        edges = range(first_edge, length) if before and len(before) == length else ()
        return [*range(first_edge), *(n for n in edges if before and _is_answer(before[n]))]

    def _before(self, suspect: Suspect) -> Words | None:
        """What the unchanged code does on the generated inputs; None when that cannot be found out."""
        if suspect.key not in self._unchanged:
            self._unchanged[suspect.key] = self.ask(UNCHANGED, suspect, "behaviour")
        return self._unchanged[suspect.key]

    def kept(self, words: Words | None, suspect: Suspect) -> float | None:
        """Share of the stories of passing tests in which a candidate does what the unchanged code does; None without any.

        One that the unchanged code cannot tell to its end says nothing of a candidate that cannot either.
        """
        probe = self._probes.get(suspect.key)
        if words is None or probe is None or not probe.steady:
            return None
        before = self._before(suspect)
        if before is None:
            return None
        told = [place for place in probe.steady if _is_answer(before[place])]
        same = sum(words[place] == before[place] for place in told)
        return same / len(told) if told else None

    def lost(self, words: Words | None, suspect: Suspect, raised: Collection[str]) -> float:
        """Share of the inputs to which an answer is due on which a candidate fails, and not by an exception that it raises itself, 0..1."""
        dues = self._dues(suspect)
        if words is None or len(words) != len(dues):
            return 0.0
        failing = sum(
            due.asks(word) and _is_accident(word, raised, formless=due.formless)
            for word, due in zip(words, dues, strict=True)
        )
        return failing / max(1, sum(due.is_any for due in dues))

    def _dues(self, suspect: Suspect) -> tuple[_Due, ...]:
        """Of each word of a behaviour that counts, what is due; empty where they tell stories, or nothing is known."""
        if suspect.key not in self._owed:
            self._owed[suspect.key] = tuple(self._told_dues(suspect))
        return self._owed[suspect.key]

    def _told_dues(self, suspect: Suspect) -> Iterator[_Due]:
        probe, before = self._probes.get(suspect.key), self._before(suspect)
        if probe is None or before is None or len(before) != len(probe.inputs):
            return
        places = self._counted(suspect, len(before))
        known = {repr(arguments) for _, arguments in probe.checked}
        told = {before[n] for n in places if _is_answer(before[n])}
        shown = {before[n] for n in places if repr(probe.inputs[n]) in known} - told
        first_edge = len(probe.inputs) - probe.edges
        empty = _empty_in([*probe.checked, *probe.examples])
        for n in places:
            formless, like_known = not holds_text(probe.inputs[n]), n < first_edge
            texts = _texts_in(probe.inputs[n]) if like_known else []
            symptom = _OUT_OF_RANGE if texts and empty.issuperset(texts) else None
            if not probe.written:
                yield _Due(answer=formless, symptom=symptom, formless=formless)
            elif before[n] in told:
                answer = len(told) > 1 or (formless and like_known)
                yield _Due(answer=answer, symptom=symptom, formless=formless)
            else:
                as_shown = before[n] if formless and before[n] in shown else symptom
                yield _Due(symptom=as_shown, formless=formless)

    def unlike(self, candidate: Candidate, suspect: Suspect) -> str | None:
        """What holds of all known results of a suspect and not of all of a candidate's, in words; None without such.

        Where nothing is written yet edges are asked, too: they are all that is unusual.
        """
        probe = self._probes.get(suspect.key)
        words = self.ask(candidate, suspect, "relations") if probe and probe.relations else None
        if probe is None or words is None:
            return None
        inputs = len(probe.inputs)
        counted = {*self._counted(suspect, inputs)} if probe.written else range(inputs)
        told = (w for n, w in enumerate(words) if n in counted or n >= inputs)
        return first_broken(tuple(told), probe.relations)

    def is_either(self, suspect: Suspect) -> bool:
        """Whether the known results of a suspect are yes and no."""
        probe = self._probes.get(suspect.key)
        return probe is not None and is_either(probe.checked)

    def held(self, candidate: Candidate, suspect: Suspect) -> tuple[bool, ...]:
        """Which examples of docstring and issue a candidate holds; none of them when that cannot be found out."""
        probe = self._probes.get(suspect.key)
        if probe is None or not probe.examples:
            return ()
        words = self.ask(candidate, suspect, "examples")
        return held(words) if words is not None else (False,) * len(probe.examples)

    def _worker(self, key: str, probe: Probe) -> TrialWorker:
        if key not in self._workers:
            self._workers[key] = self._open(probe)
        return self._workers[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnesses:
    """What is asked about every candidate that passes."""

    probing: Probing
    worker: TrialWorker
    failing: tuple[str, ...]
    neighbours: tuple[str, ...]
    """Other tests that fail on the base, which the unit does not ask for."""


class Evidence:
    """The candidates that pass, as they come, with what speaks for each."""

    def __init__(self, files: Files, suspects: Sequence[Suspect], witnesses: Witnesses) -> None:
        self._files = files
        self._suspects = suspects
        self._witnesses = witnesses
        self._passing: dict[str, Passing] = {}
        self.suspects: set[str] = set()
        """Keys of the suspects in which a passing candidate changes something."""
        names = frozenset(function_of(t)[1] for t in witnesses.failing)
        self._literals = told_literals(list(files.tests.values()), names)

    @property
    def passing(self) -> list[Passing]:
        """All of them, in the order in which they passed."""
        return list(self._passing.values())

    def add(self, tried: Tried, suspect: Suspect, *, sampled: bool, fresh: bool = False) -> None:
        """Take in a candidate that passes, or that passed before and was thought of again.

        Args:
            tried: The candidate.
            suspect: The one that it was thought of for.
            sampled: It is an answer of the model, and no edit.
            fresh: The answer was written without having seen the code.
        """
        key = mark(tried.candidate)
        known = self._passing.get(key)
        if known is None:
            known = self._new(tried.candidate, suspect)
        prior = tried.candidate.prior
        self.suspects.update(known.changed or {suspect.key})
        self._passing[key] = replace(
            known,
            samples=known.samples + sampled,
            fresh=known.fresh + fresh,
            heard=known.heard | {suspect.key} if sampled else known.heard,
            edited=known.edited or not sampled,
            prior=max(known.prior, prior) if not sampled else known.prior,
        )

    def add_part(self, tried: Tried, suspect: Suspect, whole: Tried) -> None:
        """Take in what is left of an answer without the changes that no known test asks for.

        Where it does the same it is only the smaller one to take. Else, and where that is not known, it is a rival that
        nobody gave as an answer.
        """
        key = mark(tried.candidate)
        if key in self._passing:
            return
        part = self._new(tried.candidate, suspect)
        rivals = not part.words or part.words != self._passing[mark(whole.candidate)].words
        prior = tried.candidate.prior if rivals else 0.0
        self._passing[key] = replace(part, edited=rivals, prior=prior)

    def add_told(self, tried: Tried, suspect: Suspect) -> None:
        """Take in what a candidate becomes by a word of the docstring; nobody has given it as an answer."""
        key = mark(tried.candidate)
        if key not in self._passing:
            self._passing[key] = self._new(tried.candidate, suspect)

    def _new(self, candidate: Candidate, suspect: Suspect) -> Passing:
        changed = changed_suspects(candidate, self._suspects, self._files.product)
        suspect = self._measured_by(candidate, changed) or suspect
        before = self._files.product[suspect.path]
        after = changed_source(candidate, before)
        probing = self._witnesses.probing
        files = self._changed_files(candidate)
        words, apart = probing.behaviour(candidate, suspect)
        unchanged, unchanged_apart = probing.unchanged(suspect)
        raises = raised_in(after) if after else frozenset()
        return Passing(
            candidate=candidate,
            measured=suspect.key,
            raises=raises,
            samples=0,
            edited=False,
            prior=0.0,
            changed_lines=sum(changed_lines(old.text, new.text) for old, new in files),
            changed_words=sum(changed_words(old.text, new.text) for old, new in files),
            changed_files=len(candidate.edits),
            changed=frozenset(s.key for s in changed),
            words=words,
            apart=(*apart, *probing.strange(candidate, suspect)),
            unchanged=unchanged,
            unchanged_apart=unchanged_apart,
            lost=probing.lost(words, suspect, raises),
            unwritten=_is_unwritten(before, suspect.unit),
            idle=bool(after and idles(before, after, suspect.unit)),
            unlike=probing.unlike(candidate, suspect),
            either=probing.is_either(suspect),
            kept=probing.kept(words, suspect),
            examples=probing.held(candidate, suspect),
            neighbours=self._neighbours(candidate),
            special=next(filter(None, self._against(files, suspect.unit)), None),
        )

    def _against(
        self, files: Sequence[tuple[Source, Source]], unit: CodeUnit | None
    ) -> Iterator[str | None]:
        """Why a candidate is never taken, whatever passes."""
        for before, after in files:
            yield special_cases(before, after, self._literals)
            vain = taken_in_vain(before, after, unit)
            yield f"the parameter {vain} is taken and not read" if vain else None

    def _changed_files(self, candidate: Candidate) -> list[tuple[Source, Source]]:
        """The files of the project that a candidate changes, before and after."""
        before = [s for e in candidate.edits if (s := self._files.product.get(e.path))]
        return [(s, after) for s in before if (after := changed_source(candidate, s))]

    def _measured_by(self, candidate: Candidate, changed: Sequence[Suspect]) -> Suspect | None:
        """The suspect on whose inputs a candidate is run: one that it changes, else one of a file that it changes."""
        paths = {e.path for e in candidate.edits}
        others = [s for s in self._suspects if s.path in paths]
        probed = [s for s in (*changed, *others) if self._witnesses.probing.has(s)]
        return next(iter((*probed, *changed)), None)

    def _neighbours(self, candidate: Candidate) -> tuple[bool, ...]:
        """Which other failing tests pass as well, which nobody asked for."""
        found = []
        for test in self._witnesses.neighbours:
            result = self._witnesses.worker.attempt(candidate, (test,)).report.result(test)
            found.append(result is not None and result.outcome is TestOutcome.PASSED)
        return tuple(found)


def _texts_in(arguments: Arguments) -> list[int]:
    """Which arguments are texts; none where another one holds some."""
    texts = [n for n, value in enumerate(arguments) if holds_text(value)]
    return texts if all(isinstance(arguments[n], str) for n in texts) else []


def _empty_in(known: Sequence[Checked]) -> frozenset[int]:
    """Which arguments of known calls are the empty text."""
    return frozenset(n for _, arguments in known for n in _texts_in(arguments) if not arguments[n])


def _is_accident(word: str, raised: Collection[str], *, formless: bool) -> bool:
    """Whether a word tells of an exception that none of these is; `formless` of an input without texts."""
    name = word.removeprefix(RAISED)
    return name not in raised and (name in _ACCIDENTS or (formless and name == _OF_A_FORM))


def _is_answer(word: str) -> bool:
    return not word.startswith((RAISED, STUCK))


def raised_in(source: Source) -> frozenset[str]:
    """Names of the exceptions that a file raises."""
    thrown = (n.exc for n in ast.walk(source.tree) if isinstance(n, ast.Raise))
    named = (e.func if isinstance(e, ast.Call) else e for e in thrown)
    return frozenset(
        e.attr if isinstance(e, ast.Attribute) else e.id
        for e in named
        if isinstance(e, ast.Attribute | ast.Name)
    )


def changed_suspects(
    candidate: Candidate, suspects: Sequence[Suspect], product: Mapping[str, Source]
) -> tuple[Suspect, ...]:
    """Those of the suspects whose code a candidate changes, or for which it imports what they read, in their order."""

    def is_changed(suspect: Suspect) -> bool:
        before = product[suspect.path]
        after = changed_source(candidate, before)
        if after is None:
            return False
        if _text_of(after, suspect) != _text_of(before, suspect):
            return True
        fresh = imported_by(after.tree.body) - imported_by(before.tree.body)
        return _reads(before, suspect, fresh)

    return tuple(s for s in suspects if is_changed(s))


def _reads(source: Source, suspect: Suspect, names: Collection[str]) -> bool:
    """Whether a suspect's function reads one of these names, annotations included."""
    node = node_of(source, suspect.unit)
    if node is None or not names:
        return False
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def _texts_of(source: Source) -> frozenset[str]:
    """Texts that stand in a file."""
    constants = (n for n in ast.walk(source.tree) if isinstance(n, ast.Constant))
    return frozenset(n.value for n in constants if isinstance(n.value, str))


def _is_unwritten(source: Source, unit: CodeUnit | None) -> bool:
    """Whether a unit has still to get its body."""
    node = node_of(source, unit)
    return node is not None and is_unwritten(node)


def _text_of(source: Source, suspect: Suspect) -> str | None:
    """The code of a suspect in a version of its file, a module's own statements without their layout; None when it is gone."""
    if suspect.unit is not None:
        unit = again_in(source, suspect.unit)
        return unit.text if unit is not None else None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return "\n".join(ast.unparse(n) for n in source.tree.body if not isinstance(n, kinds))


def changed_source(candidate: Candidate, before: Source) -> Source | None:
    """A file as a candidate has it; None where the candidate leaves it alone or it does not parse."""
    text = next((e.text for e in candidate.edits if e.path == before.path), None)
    return parse(before.path, text) if text is not None else None

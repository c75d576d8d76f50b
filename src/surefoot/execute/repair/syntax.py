"""The search over plain syntax-tree edits: single ones first, then further ones on those that came nearer."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from surefoot.execute.repair import equals, places
from surefoot.execute.repair.candidates import changed_places, from_mutations, with_files_of
from surefoot.execute.repair.evidence import Probing, changed_source
from surefoot.execute.repair.infilling import Infilling
from surefoot.execute.repair.limits import RepairLimits
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.mutate import Mutation, ranked_mutations, turned
from surefoot.execute.repair.probe import Words
from surefoot.execute.repair.select import Passing
from surefoot.execute.repair.trials import Trials, Tried
from surefoot.execute.repair.unread import idles
from surefoot.execute.repair.views import Shown
from surefoot.execute.source import CodeUnit, Source, again_in, node_of
from surefoot.syntax import docstring_node
from surefoot.values import Candidate

_MOST_FILLS = 3
_LIKELY_FILLS = 8
_REREAD = 4_000
"""Likeliest edits among which those of each line are sought: all of a function of usual size."""
_LEVELS = 2
"""Further edits on top of a first one: bugs of up to three places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """A suspect's function as a candidate leaves it."""

    candidate: Candidate
    source: Source
    """Its file."""
    shown: Shown
    kept: tuple[int, ...]
    """Lines of it, 0-based, that were there before."""
    behaviour: tuple[Words | None, Words | None]
    """What it does on the generated inputs, and on unusual ones."""

    def with_edit(self, mutation: Mutation) -> Candidate:
        """The candidate with one more edit of that file."""
        return with_files_of(from_mutations(self.source, (mutation,)), self.candidate)


class SyntaxSearch:
    """Edits of the suspects of one turn."""

    def __init__(
        self,
        product: Mapping[str, Source],
        trials: Trials,
        probing: Probing,
        limits: RepairLimits,
    ) -> None:
        self._product = product
        self._trials = trials
        self._probing = probing
        self._limits = limits
        self._near: list[tuple[Tried, Suspect]] = []
        self._fills: dict[str, tuple[Mutation, ...]] = {}
        self._unmet: list[tuple[int, Tried, Suspect]] = []
        """Those that pass and are not all that is asked for, each with how much of it they are."""
        self._whole: list[Tried] = []
        """Those that pass and are all of it."""

    def singles(self, suspect: Suspect, most: int) -> None:
        """The `most` likeliest single edits of a suspect."""
        source = self._product[suspect.path]
        ranked = itertools.islice(_ranked(source, suspect.unit, suspect), most)
        self._try_all([from_mutations(source, (m,)) for m in ranked], suspect, "single edits of")

    def fills(self, suspect: Suspect, lines: Sequence[Mutation]) -> list[Candidate]:
        """Lines that a model would write, one by one, then the likeliest of them two and three at a time; those that pass.

        However many edits pass. What passes is not tried again with more lines, of which nothing would be asked.
        """
        source = self._product[suspect.path]
        self._fills[suspect.key] = tuple(lines)
        passed: dict[frozenset[Mutation], Candidate] = {}
        for size in range(1, _MOST_FILLS + 1):
            among = lines if size == 1 else lines[:_LIKELY_FILLS]
            groups = [
                group
                for group in itertools.combinations(among, size)
                if not any(smaller <= frozenset(group) for smaller in passed)
            ]
            made = [from_mutations(source, group) for group in groups]
            self._try_all(made, suspect, "lines of a model in", capped=False)
            passed.update(
                (frozenset(group), candidate)
                for group, candidate in zip(groups, made, strict=True)
                if (tried := self._trials.seen(candidate)) is not None and tried.passed
            )
        return list(passed.values())

    @property
    def passing(self) -> bool:
        """Whether some edits pass, and not only lines of a model."""
        return self._edits_passing > 0

    @property
    def _edits_passing(self) -> int:
        return sum(t.candidate.generator.startswith("ast:") for t in self._trials.passing)

    def follow(self, levels: int = _LEVELS) -> None:
        """Up to so many further edits on top of those that mend a part of what fails; none of the others, which are far more."""
        least = 1
        for _ in range(levels):
            leads = [pair for pair in self._near if self._mended(pair) >= least]
            beam = self._beam(leads)[: self._limits.leads]
            if not beam:
                return
            least = 1 + max(self._mended(pair) for pair in beam)
            if self._build_on(beam):
                return

    def pairs(self, suspect: Suspect) -> None:
        """Two of the likeliest edits at once, for bugs of which neither half shows by itself; only while nothing is all that is asked for.

        Where they stand says little: a fault that ends the call hides from the tests the lines behind it.
        """
        if self._whole:
            return
        source = self._product[suspect.path]
        likely = (
            *self._fills.get(suspect.key, ()),
            *itertools.islice(
                ranked_mutations(source, suspect.unit, lambda m: m.weight), self._limits.paired
            ),
        )
        pairs = [pair for pair in itertools.combinations(likely, 2) if _apart(*pair)]
        likeliest = sorted(pairs, key=lambda pair: -pair[0].weight * pair[1].weight)
        made = [from_mutations(source, pair) for pair in likeliest[: self._limits.pairs]]
        least = max((count for count, _, _ in self._unmet), default=None)
        refuse = None if least is None else partial(self._falls_short, suspect, least)
        self._try_all(made, suspect, "pairs of edits of", refuse)

    def complete(self) -> None:
        """Further edits on those that pass, where none is all that is asked for: the tests ask for too little."""
        if self._whole:
            return
        ordered = sorted(self._unmet, key=lambda lead: (-lead[0], *(-x for x in lead[1].rank)))
        for count, tried, suspect in ordered[: self._limits.leads]:
            self._further(tried, suspect, partial(self._falls_short, suspect, count))
            if self._whole:
                return

    def slips(self, taken: Passing, shown: Shown, infilling: Infilling) -> list[Tried]:
        """What a candidate becomes with a line that it leaves as a model finds it far likelier; those that pass and do something else."""
        left = self._left(taken.candidate, shown)
        if left is None:
            return []
        told = f"lines that a model would write otherwise in {shown.suspect.key}"
        passing: dict[Mutation, Tried] = {}

        def counts(mutation: Mutation) -> bool:
            tried = self._try_once(left.with_edit(mutation), shown.suspect, told)
            if tried is None or not self._differs(tried.candidate, left):
                return False
            passing[mutation] = tried
            return True

        slips = infilling.slips(left.shown, left.source, self._loose(left), counts)
        return [passing[mutation] for mutation in slips]

    def told(self, taken: Passing, shown: Shown) -> list[Tried]:
        """What a candidate becomes where it gives of equals, or of several places that fit, another one than the docstring names; those that pass."""
        left, suspect = self._left(taken.candidate, shown), shown.suspect
        unit = left.shown.suspect.unit if left is not None else None
        node = node_of(left.source, unit) if left is not None and unit is not None else None
        doc = docstring_node(node) if node is not None else None
        if left is None or doc is None or taken.words is None:
            return []
        text, inputs = str(doc.value), self._probing.inputs(suspect)
        found = []
        if equals.meant(text):
            boundaries = (
                m for m in _ranked(left.source, unit, suspect) if _is_boundary(m, left.source.text)
            )
            for tried, words in self._read_so(
                left, suspect, boundaries, f"boundaries of {suspect.key}"
            ):
                if equals.prefers(text, inputs, taken.words, words):
                    found.append(tried)
        if places.meant(text):
            ways = turned(left.source, unit)
            for tried, words in self._read_so(left, suspect, ways, f"searches of {suspect.key}"):
                if places.prefers(text, taken.words, words):
                    found.append(tried)
        return found

    def _read_so(
        self, left: _Left, suspect: Suspect, mutations: Iterable[Mutation], told: str
    ) -> Iterator[tuple[Tried, Words]]:
        """What is left with each of some edits, as far as it passes, and what that does on the generated inputs."""
        for mutation in mutations:
            tried = self._try_once(left.with_edit(mutation), suspect, told)
            words = self._probing.behaviour(tried.candidate, suspect)[0] if tried else None
            if tried is not None and words is not None:
                yield tried, words

    def _try_once(self, candidate: Candidate, suspect: Suspect, told: str) -> Tried | None:
        """Its trial, which may have been made before; None where it does not pass."""
        gauge = self._probing.gauge(suspect)
        attempted = self._trials.attempt(candidate, gauge, record=True, what=told)
        tried = attempted or self._trials.seen(candidate)
        return tried if tried is not None and tried.passed else None

    def _left(self, taken: Candidate, shown: Shown) -> _Left | None:
        """The function that is shown as a candidate leaves it; None where it is gone."""
        suspect = shown.suspect
        source = changed_source(taken, self._product[suspect.path])
        unit = again_in(source, suspect.unit) if source is not None else None
        if source is None or unit is None:
            return None
        return _Left(
            candidate=taken,
            source=source,
            shown=replace(shown, suspect=replace(suspect, unit=unit), code=unit.text),
            kept=_kept_lines(shown.code, unit.text),
            behaviour=self._probing.all_of(taken, suspect),
        )

    def _differs(self, candidate: Candidate, left: _Left) -> bool:
        return self._probing.all_of(candidate, left.shown.suspect) != left.behaviour

    def _loose(self, left: _Left) -> tuple[int, ...]:
        """Lines that a candidate leaves, 0-based, of which some edit passes and does something else: no known test holds them."""
        suspect, unit = left.shown.suspect, left.shown.suspect.unit
        first = unit.first_line if unit is not None else 0
        by_line: dict[int, list[Mutation]] = {n: [] for n in left.kept}
        for mutation in itertools.islice(_ranked(left.source, unit, suspect), _REREAD):
            if mutation.line - first in by_line:
                by_line[mutation.line - first].append(mutation)
        told = f"edits of what is left of {suspect.key}"
        found: set[int] = set()
        # The likeliest of each line, then the second of each, and so on.
        turns = itertools.chain.from_iterable(itertools.zip_longest(*by_line.values()))
        for mutation in [m for m in turns if m is not None][: self._limits.reread]:
            if mutation.line - first in found:
                continue
            edit = left.with_edit(mutation)
            if self._trials.look(edit, told) and self._differs(edit, left):
                found.add(mutation.line - first)
        self._trials.tell_rejected(told)
        return tuple(sorted(found))[: self._limits.filled_lines]

    def deeper(self, suspects: Sequence[Suspect]) -> None:
        """Further edits on top of the best so far, level by level, until some candidate passes."""
        for _ in range(_LEVELS):
            near, self._near = self._beam(self._near), []
            if self._build_on(near[: self._limits.beam]) or self._across(near, suspects):
                return

    def _across(self, near: Sequence[tuple[Tried, Suspect]], suspects: Sequence[Suspect]) -> bool:
        """Edits of each other suspect on top of the nearest single ones, for two units at fault; whether some pass."""
        single = [pair for pair in near if not set("&+") & set(pair[0].candidate.generator)]
        for tried, suspect in single[: self._limits.crossed]:
            for other in suspects:
                if other.key != suspect.key:
                    self._further(tried, suspect, at=other)
                if self._trials.passing:
                    return True
        return False

    def _build_on(self, beam: Sequence[tuple[Tried, Suspect]]) -> bool:
        """Further edits on each until those on one of them pass; whether they do."""
        for tried, suspect in beam:
            self._further(tried, suspect)
            if self.passing:
                return True
        return False

    def _mended(self, pair: tuple[Tried, Suspect]) -> int:
        """Checked calls, or failing tests, that are right now and were wrong."""
        tried, suspect = pair
        gauge = self._probing.gauge(suspect)
        base = gauge.base if gauge is not None else None
        return tried.fixed - (self._trials.base.fixed if base is None else base.exact)

    def _further(
        self,
        tried: Tried,
        suspect: Suspect,
        refuse: Callable[[Candidate], str] | None = None,
        *,
        at: Suspect | None = None,
    ) -> None:
        """Edits on top of one; those that no test asks for are told as edits at once, which an answer has to agree with.

        They are edits of the suspect `at`, by default the one that the first edit is of, by whose calls all are measured.
        """
        place, most = at or suspect, self._limits.deeper if at is None else self._limits.across
        before = self._product[place.path]
        source = changed_source(tried.candidate, before) or before
        ranked = itertools.islice(_ranked(source, again_in(source, place.unit), place), most)
        sign = "+" if refuse is None else "&"
        further = [_stacked(tried.candidate, from_mutations(source, (m,)), sign) for m in ranked]
        self._try_all(further, suspect, "further edits of", refuse)

    def _try_all(
        self,
        candidates: Sequence[Candidate],
        suspect: Suspect,
        what: str,
        refuse: Callable[[Candidate], str] | None = None,
        *,
        capped: bool = True,
    ) -> None:
        gauge = self._probing.gauge(suspect)
        told = f"{what} {suspect.key}"
        for candidate in candidates:
            if self._full(passing=capped and refuse is None):
                break
            tried = self._trials.attempt(candidate, gauge, what=told, refuse=refuse)
            if tried is None:
                continue
            if tried.passed:
                met = self._met(candidate, suspect)
                if all(met):
                    self._whole.append(tried)
                else:
                    self._unmet.append((sum(met), tried, suspect))
            elif self._trials.nearer(tried, gauge):
                self._near.append((tried, suspect))
        self._trials.tell_rejected(told)

    def _falls_short(self, suspect: Suspect, least: int, candidate: Candidate) -> str:
        """Why a candidate is no more than what passes already; empty when it is."""
        met = sum(self._met(candidate, suspect))
        return "" if met > least else f"is {met} of what is asked for beside the tests"

    def _met(self, candidate: Candidate, suspect: Suspect) -> tuple[bool, ...]:
        """What is asked for beside the tests: the examples of docstring and issue, and that nothing lies idle."""
        before = self._product[suspect.path]
        after = changed_source(candidate, before)
        idle = after is not None and idles(before, after, suspect.unit)
        return (*self._probing.held(candidate, suspect), not idle)

    def _beam(self, near: Sequence[tuple[Tried, Suspect]]) -> Sequence[tuple[Tried, Suspect]]:
        """The nearest of each way of failing, then the second of each, and so on: one way may have a right and a wrong reason."""
        ordered = sorted(
            near,
            key=lambda pair: (*(-x for x in pair[0].rank), pair[0].candidate.candidate_id),
        )
        ways: dict[str, list[tuple[Tried, Suspect]]] = {}
        for tried, suspect in ordered:
            ways.setdefault(tried.way, []).append((tried, suspect))
        rounds = itertools.zip_longest(*ways.values())
        return [pair for row in rounds for pair in row if pair is not None]

    def _full(self, *, passing: bool) -> bool:
        """Whether no more edits are tried: there were too many, or, with `passing`, enough of them pass."""
        if self._trials.count >= self._limits.candidates:
            return True
        return passing and self._edits_passing >= self._limits.passing


def _is_boundary(mutation: Mutation, text: str) -> bool:
    """Whether it changes what a comparison says of equals, and nothing else."""
    if len(mutation.edits) != 1:
        return False
    (edit,) = mutation.edits
    return {text[edit.start : edit.end], edit.text} in ({"<", "<="}, {">", ">="})


def _ranked(source: Source, unit: CodeUnit | None, suspect: Suspect) -> Iterator[Mutation]:
    return ranked_mutations(source, unit, lambda m: m.weight * suspect.suspicion(m.line) ** 0.5)


def _kept_lines(before: str, after: str) -> tuple[int, ...]:
    """Lines of `after`, 0-based, that stand in `before`, too."""
    new = {n for first, last in changed_places(before, after) for n in range(first - 1, last)}
    return tuple(n for n in range(len(after.split("\n"))) if n not in new)


def _apart(one: Mutation, other: Mutation) -> bool:
    """Whether two edits change different characters, and do not both put something into the same place."""
    places = [(a, b) for a in one.edits for b in other.edits]
    return all(
        (a.end <= b.start or b.end <= a.start) and not a.start == a.end == b.start == b.end
        for a, b in places
    )


def _stacked(first: Candidate, second: Candidate, sign: str) -> Candidate:
    """The second candidate told as an edit on top of the first; each file as the later of them has it."""
    whole = with_files_of(second, first)
    under = first.generator.partition(":")[2]
    return Candidate(
        candidate_id=whole.candidate_id,
        generator=f"ast:{under}{sign}{second.generator.removeprefix('ast:')}",
        edits=whole.edits,
        description=f"{first.description}; {second.description}",
        prior=first.prior * second.prior,
    )

"""The search of one turn: cheap edits first, then the model in batches, until the evidence is enough or spent."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from surefoot.decisions.candidate_edit import EditProposal, EditView, propose_edits
from surefoot.execute.repair.candidates import (
    FILL,
    changed_places,
    from_code,
    from_parts,
    parts_of,
    with_files_of,
)
from surefoot.execute.repair.evidence import (
    Evidence,
    Probing,
    changed_source,
    changed_suspects,
)
from surefoot.execute.repair.failure import told
from surefoot.execute.repair.foretelling import Foretelling
from surefoot.execute.repair.graft import head_of
from surefoot.execute.repair.ground import Files, Ports
from surefoot.execute.repair.infilling import Infilling
from surefoot.execute.repair.limits import RepairLimits
from surefoot.execute.repair.localise import Suspect, context_of, values_in
from surefoot.execute.repair.probe import Words
from surefoot.execute.repair.select import Choice, Passing, Weights, choose
from surefoot.execute.repair.syntax import SyntaxSearch
from surefoot.execute.repair.trials import Trials, Tried
from surefoot.execute.repair.views import Asked, Attempt, Batch, Mask, Shown, questions_of
from surefoot.execute.source import (
    CodeUnit,
    Source,
    again_in,
    docstring_of,
    node_of,
    parse,
    replace_unit,
)
from surefoot.values import Candidate, Message, ModelFailure, TestResult

LARGE_CONTEXT = 30_000
"""Tokens from which on a model is shown whole files and asked less often."""
_SPEC_CHARACTERS = 60
_STATEMENT = re.compile(r"\s*(if|elif|while|for|return)\b")
_MASKED_LINES = 2
"""Of an edit, so that the model can be asked what belongs in the place of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is searched."""

    files: Files
    suspects: tuple[Suspect, ...]
    """Those of this turn, the likeliest first."""
    failing: tuple[TestResult, ...]
    issue: str
    traced: tuple[str, ...]
    """Values on the way through the first failing test."""
    seed: int
    max_files: int
    guessed: bool = False
    """The model wrote the failing test."""


@dataclass(slots=True)
class _ModelState:
    """How the conversation with the model stands."""

    asked: int = 0
    second_tries: int = 0
    """Those of the asked that said how an attempt failed."""
    votes: int = 0
    """Those that were asked when something passed already."""
    attempts: list[tuple[float, Attempt]] = field(default_factory=list)
    """Failed ones that were not told it yet, each with how near it came."""
    failure: ModelFailure | None = None
    exhausted: bool = False
    unusable: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    """Answers that do not pass, by key of the suspect whose text they are."""

    @property
    def plain(self) -> int:
        """Those that followed the first schedule."""
        return self.asked - self.second_tries - self.votes

    def second_tries_of(self, size: int, suspects: int) -> int:
        """How many of the next questions may be second tries: half of all, once every suspect was asked about."""
        if self.plain < suspects:
            return 0
        return min(size, max(0, (self.plain + size) // 2 - self.second_tries))


class Hunt:
    """One turn's search."""

    def __init__(
        self,
        case: Case,
        limits: RepairLimits,
        trials: Trials,
        evidence: Evidence,
        probing: Probing,
        ports: Ports,
    ) -> None:
        self._case = case
        self._limits = limits
        self._trials = trials
        self._evidence = evidence
        self._probing = probing
        self._asker = ports.asker
        self._task = ports.task
        self._notebook = ports.notebook
        self._search = SyntaxSearch(case.files.product, trials, probing, limits)
        self._model = _ModelState()
        self._weights = self._asked_for()
        self._shown = [
            s for s in (self._show(suspect) for suspect in case.suspects) if s is not None
        ]
        self._taken: set[str] = set()
        self._masked: dict[tuple[str, str], Candidate] = {}
        """The edit, which may change other units, too, by key of the suspect and its code as it was shown with it."""
        self._failures = self._tell_failures()
        self._foretelling = Foretelling(ports.asker, ports.notebook, limits.foretold)
        self._infilling = Infilling(ports.asker, ports.notebook)
        self._filled = False
        self._likely: dict[str, float | None] = {}
        """By id of a candidate, how much likelier than the unchanged code it is."""
        self._read: set[Words] = set()
        """Behaviours whose code was read once more before it is taken."""
        self._beyond: dict[str, Words] = {}
        """By id of a candidate that came of it, the behaviour that left a slip."""
        self._out: set[str] = set()
        """Ids of candidates that failed elsewhere."""
        self._told: set[str] = set()
        """Those of them that a word of the docstring made of it."""

    def _asked_for(self) -> Weights:
        """What selection asks for here. Of a test that the model wrote itself two answers of it are no word from elsewhere."""
        weights = self._limits.weights
        if self._is_large:
            weights = replace(weights, unaided=self._limits.large_unaided)
        return replace(weights, anew=weights.many) if self._case.guessed else weights

    @property
    def failure(self) -> ModelFailure | None:
        """Why the model gave nothing, when it did not answer at all."""
        return self._model.failure

    @property
    def samples(self) -> int:
        """Questions that were asked."""
        return self._model.asked

    @property
    def unusable(self) -> int:
        """Answers without code."""
        return self._model.unusable

    @property
    def _is_large(self) -> bool:
        return self._asker.context_tokens > LARGE_CONTEXT

    def run(self, *, edit: bool = True) -> Choice:
        """Search; the choice says what to take, if anything. Without `edit` only the model is asked."""
        if edit:
            self._singles()
        choice = self._weighed()
        if edit and self._is_unlikely(choice):
            self._fill()
            choice = self._weighed()
        deeper = edit
        while self._goes_on(choice):
            self._foretell(choice)
            self._ask(min(self._batch_size(choice), self._most - self._model.asked))
            if deeper and self._model.asked >= self._limits.before_deeper:
                deeper = False
                self._deeper()
            choice = self._read_again(self._weighed())
        if deeper and not self._evidence.passing:
            self._deeper()
            choice = self._read_again(self._weighed())
        return choice

    @property
    def _most(self) -> int:
        """Answers asked in all, as things stand."""
        most = self._limits.samples
        if self._is_large:
            most = min(most, self._limits.large_samples)
        if self._case.guessed and not self._evidence.passing:
            most = min(most, self._limits.guessed_samples)
        return most

    def _goes_on(self, choice: Choice) -> bool:
        if not self._shown or self._model.exhausted or self._model.failure is not None:
            return False
        if self._halted():
            return False
        if choice.taken is not None and self._asked_enough(choice):
            return False
        return self._model.asked < self._most

    def _asked_enough(self, choice: Choice) -> bool:
        """Whether so many answers were asked that what is chosen may be taken: fewer where all of them do what an edit does.

        Of a test that the model wrote itself its answers are no second word. Nor is one from the docstring of a line that it
        filled in: neither has seen what stood there, and what both leave out nobody has kept.
        """
        if self._model.asked >= self._limits.least_samples:
            return True
        said = choice.clusters[0].samples if self._may_agree(choice) else 0
        return min(self._model.asked, said) >= self._limits.unanimous

    def _may_agree(self, choice: Choice) -> bool:
        """Whether an edit of the unchanged code is what would be taken, and nobody has said anything else so far."""
        if self._case.guessed or choice.taken is None:
            return False
        best, *others = choice.clusters
        differ = self._model.unusable or self._model.missed or any(c.samples for c in others)
        if differ or not best.is_unanimous:
            return False
        return any(p.edited and not p.is_on_fill for p in best.members)

    def _halted(self) -> bool:
        """Whether the run's time is up, or somebody locked the repository: what is found so far is all there is."""
        return self._task.left_s() <= 0 or self._task.locked() is not None

    def without(self, taken: Passing) -> Choice:
        """What the evidence says when a candidate failed elsewhere; what is next is weighed and read like the first one."""
        self._out.add(taken.candidate.candidate_id)
        return self._read_again(self._weighed())

    def _choice(self) -> Choice:
        """What the evidence says now."""
        passing = [p for p in self._evidence.passing if p.candidate.candidate_id not in self._out]
        hits = [self._foretelling.hits(p) for p in passing]
        shared = frozenset[int].intersection(*hits) if hits[1:] else frozenset[int]()
        heard = [
            replace(
                p,
                foretold=len(hit - shared),
                likely=self._likely.get(p.candidate.candidate_id),
                beyond=self._beyond.get(p.candidate.candidate_id, ()),
            )
            for p, hit in zip(self._voiced(passing), hits, strict=True)
        ]
        return choose(heard, self._weights, self._case.max_files, missed=self._model.missed)

    def _voiced(self, passing: Sequence[Passing]) -> Iterator[Passing]:
        """All of them; what another one becomes by a word of the docstring has the voices of that: who spoke for it has said nothing of the difference."""
        for one in passing:
            own = one.candidate.candidate_id
            if own not in self._told:
                yield one
                continue
            same = [one, *(p for p in passing if p.words == self._beyond[own])]
            yield replace(
                one,
                samples=sum(p.samples for p in same),
                fresh=sum(p.fresh for p in same),
                heard=frozenset[str]().union(*(p.heard for p in same)),
            )

    def _weighed(self) -> Choice:
        """The choice, after the leading behaviours that one function's code decides have been weighed by a model that fills gaps."""
        choice = self._choice()
        if not self._asker.fills_gaps or self._halted():
            return choice
        leading = [group.members[0] for group in choice.clusters[: self._limits.weighed]]
        weighed = False
        for shown in self._shown:
            codes = {
                p.candidate.candidate_id: code
                for p in leading
                if p.candidate.candidate_id not in self._likely
                and p.changed == {shown.suspect.key}
                and (code := self._edited(shown, p)) is not None
            }
            gains = self._infilling.gains(shown, list(codes.values()))
            self._likely.update(zip(codes, gains, strict=True))
            weighed = weighed or bool(codes)
        return self._choice() if weighed else choice

    def _read_again(self, choice: Choice) -> Choice:
        """The choice, after the rest of the function that is to be taken was read: a second fault may stand in a line that no known test holds.

        Where a model that fills gaps finds such a line far likelier otherwise, and so written it passes and does
        something else, that is another candidate, and what leaves the line has it against itself. So has what gives of
        equals, or of several places that fit, another one than the docstring names.
        """
        taken = choice.taken
        if taken is None or taken.words is None or taken.words in self._read:
            return choice
        if not self._asked_enough(choice):
            return choice
        shown = next((s for s in self._shown if taken.changed == {s.suspect.key}), None)
        if shown is None or self._edited(shown, taken) is None or self._halted():
            return choice
        self._read.add(taken.words)
        told = self._search.told(taken, shown)
        for tried in told:
            self._evidence.add_told(tried, shown.suspect)
        slips = self._search.slips(taken, shown, self._infilling) if self._asker.fills_gaps else []
        for tried in slips:
            self._evidence.add(tried, shown.suspect, sampled=True)
        found = (*told, *slips)
        self._told.update(tried.candidate.candidate_id for tried in told)
        self._beyond.update((tried.candidate.candidate_id, taken.words) for tried in found)
        return self._weighed() if found else choice

    # --- syntax-tree edits -----------------------------------------------------------------------

    def _singles(self) -> None:
        """Edits of the unchanged code, step by step as long as the run has time; what passes is evidence in any case."""
        for step in self._steps():
            if self._halted():
                break
            step()
        self._take()

    def _steps(self) -> Iterator[Callable[[], None]]:
        """The parts of that search, each chosen after what the last one brought."""
        most = self._limits.first_order
        for suspect in self._case.suspects:
            yield partial(self._search.singles, suspect, most)
            most = max(most // 2, 1)
        if not self._trials.passing:
            yield self._fill
        if not self._trials.passing:
            yield self._search.follow
        elif not self._search.passing:
            # Of two faults a model has filled in both places, each by itself: what edits say there is another word.
            yield partial(self._search.follow, 1)
        for suspect in self._case.suspects[:1]:
            yield partial(self._search.pairs, suspect)
        yield self._search.complete

    def _is_unlikely(self, choice: Choice) -> bool:
        """Whether nothing that was weighed is clearly likelier than the unchanged code, which is wrong: then the right change is hardly among it."""
        passing = (p for group in choice.clusters for p in group.members)
        known = [p.likely for p in passing if p.likely is not None]
        return bool(known) and max(known) < self._limits.likely

    def _fill(self) -> None:
        """Lines that a model which fills gaps would write in their places; each that passes is an answer of it."""
        if not self._asker.fills_gaps or self._filled or self._halted():
            return
        self._filled = True
        for shown in self._shown[:1]:
            source = self._case.files.product[shown.suspect.path]
            lines = self._infilling.lines(shown, source, self._limits.filled_lines)
            for candidate in self._search.fills(shown.suspect, lines):
                if (tried := self._trials.seen(candidate)) is not None:
                    self._taken.add(str(candidate.candidate_id))
                    self._evidence.add(tried, shown.suspect, sampled=True)

    def _deeper(self) -> None:
        """Edits on top of edits; only while nothing passes."""
        if self._evidence.passing or self._halted():
            return
        self._search.deeper(self._case.suspects)
        self._take()

    def _take(self) -> None:
        """Passing edits become evidence, each once."""
        for tried in self._trials.passing:
            key, by = str(tried.candidate.candidate_id), tried.candidate.generator
            filled = by.startswith(f"model:{FILL}")
            if key not in self._taken and (filled or by.startswith("ast:")):
                self._taken.add(key)
                self._evidence.add(tried, self._changed(tried.candidate)[0], sampled=filled)

    def _changed(self, candidate: Candidate) -> tuple[Suspect, ...]:
        """The suspects that an edit changes, never none: of what stands beside them, such as a decorator, all of its file."""
        paths = {e.path for e in candidate.edits}
        return changed_suspects(candidate, self._case.suspects, self._case.files.product) or tuple(
            s for s in self._case.suspects if s.path in paths
        )

    # --- the model -------------------------------------------------------------------------------

    def _show(self, suspect: Suspect) -> Shown | None:
        unit = suspect.unit
        if unit is None:
            return None
        source = self._case.files.product[suspect.path]
        others = [s for p, s in self._case.files.product.items() if p != suspect.path]
        context = context_of(source, unit, others)
        if self._is_large:
            whole = source.text
            if self._tokens(whole) <= self._limits.file_share * self._asker.context_tokens:
                context = whole
        return Shown(
            suspect=suspect,
            name=unit.name,
            code=unit.text,
            context=context,
            documented=self._documented(suspect),
            values=values_in(suspect, self._case.traced, self._limits.told_values),
        )

    def _documented(self, suspect: Suspect) -> bool:
        """Whether the docstring says enough to write the function without its body."""
        if suspect.unit is None:
            return False
        node = node_of(self._case.files.product[suspect.path], suspect.unit)
        return len(docstring_of(node)) >= _SPEC_CHARACTERS

    def _tokens(self, text: str) -> int:
        return self._asker.count_tokens((Message(role="user", content=text),))

    def _batch_size(self, choice: Choice) -> int:
        """As many as are answered at once, but no more than may be enough."""
        few = self._limits.unanimous - self._model.asked
        size = max(1, self._asker.parallel)
        return min(size, few) if few > 0 and self._may_agree(choice) else size

    def _ask(self, size: int) -> None:
        attempts = sorted(self._model.attempts, key=lambda a: -a[0])
        voted = self._voted()
        asked = questions_of(
            Batch(
                shown=voted or self._shown,
                failures=self._failures,
                issue=self._case.issue,
                attempts=[a for _, a in attempts],
                first=self._model.votes if voted else self._model.plain,
                size=size,
                second_tries=self._model.second_tries_of(size, len(self._shown)),
                seed=self._case.seed,
                votes=bool(voted),
                # A large model is asked few questions, and can write the whole function without losing its way.
                masks={} if self._is_large else {s.suspect.key: self._masks(s) for s in voted},
                count_tokens=self._tokens,
                issue_characters=self._limits.issue_characters,
            )
        )
        questions = [a.question for a in asked]
        answered = propose_edits(questions, self._asker, self._notebook)
        self._model.asked += len(questions)
        told_of = {q.attempt for q in questions if q.attempt}
        self._model.second_tries += len(told_of)
        self._model.votes += len(questions) if voted else 0
        self._model.attempts = [a for a in attempts if a[1].code not in told_of]
        self._model.exhausted = answered.exhausted
        self._model.failure = answered.failure
        for about, proposal in zip(asked, answered.proposals, strict=False):
            self._meet(about, proposal)

    def _voted(self) -> list[Shown]:
        """Those in which a candidate that passes changes something."""
        return [s for s in self._shown if s.suspect.key in self._evidence.suspects]

    def _foretell(self, choice: Choice) -> None:
        """Hear the model on calls on which the leading behaviours of one function differ."""
        voted = self._voted()
        if len(voted) == 1 and len(self._evidence.suspects) == 1:
            inputs = self._probing.inputs(voted[0].suspect)
            self._foretelling.ask(choice, voted[0], "\n".join(self._failures[:1]), inputs)

    def _masks(self, shown: Shown) -> tuple[Mask, ...]:
        """The places in a suspect's code that edits, and lines of a model, which pass change, each with the rest as the edit has it, the likeliest first.

        What belongs in one place of an edit says nothing of its other places, so that where edits differ it is asked only
        of the places in which they do. An edit that is out of the choice says nothing either.
        """
        edits = [
            (passing, code)
            for group in self._choice().clusters
            for passing in group.members
            if (passing.edited or passing.is_filled)
            and (code := self._edited(shown, passing)) not in {None, shown.code}
        ]
        alike = _alike(shown.code, [code for _, code in edits])
        found: dict[str, tuple[float, Mask, Candidate]] = {}
        doing: dict[str, set[Words | None]] = {}
        whole: set[str] = set()
        for passing, code in edits:
            rows, places = code.split("\n"), changed_places(shown.code, code)
            for first, last in places:
                now = "\n".join(rows[first - 1 : last])
                if last - first >= _MASKED_LINES or (first, now) in alike:
                    continue
                around = "\n".join([*rows[: first - 1], "", *rows[last:]])
                again = passing.is_on_fill and now.strip() in self._infilling.written
                if again or around in self._infilling.around:
                    continue  # asked for already: the same question is no second voice
                doing.setdefault(around, set()).add(passing.words)
                whole.update([around] if len(places) == 1 or passing.beyond else [])
                if around not in found or found[around][0] < passing.prior:
                    opening = _opening(rows[first - 1], shown.code) if first == last else None
                    mask = Mask(code=code, lines=(first, last), opening=opening)
                    found[around] = passing.prior, mask, passing.candidate
        if len({passing.words for passing, _ in edits}) > 1:
            telling = {around for around, words in doing.items() if len(words) > 1} | whole
            found = {around: of for around, of in found.items() if around in telling}
        ranked = sorted(found.values(), key=lambda of: (-of[0], of[1].lines, of[1].code))
        key = shown.suspect.key
        self._masked.update(((key, mask.code), candidate) for _, mask, candidate in ranked)
        return tuple(mask for _, mask, _ in ranked)

    def _edited(self, shown: Shown, passing: Passing) -> str | None:
        """A suspect's code as a candidate has it; None where more than the body of it changed."""
        source = changed_source(passing.candidate, self._case.files.product[shown.suspect.path])
        unit = again_in(source, shown.suspect.unit) if source is not None else None
        if unit is None or head_of(unit.text) != head_of(shown.code):
            return None
        return unit.text

    def _meet(self, asked: Asked, proposal: EditProposal) -> None:
        """Try what a question brought."""
        shown, question = asked.shown, asked.question
        under = self._masked.get((shown.suspect.key, question.code)) or self._beside(shown)
        source = self._case.files.product[shown.suspect.path]
        if under is not None:
            source = _elsewhere(under, source, shown.suspect.unit)
        unit = again_in(source, shown.suspect.unit)
        if proposal.code is None or unit is None:
            self._model.unusable += 1
            return
        candidate = from_code(
            source,
            unit,
            proposal.code,
            imports=proposal.imports,
            helpers=proposal.helpers,
            generator=f"model:{question.view.value}",
            prior=0.5,
        )
        if candidate is None:
            self._model.unusable += 1
            return
        if under is not None:
            candidate = with_files_of(candidate, under)
        gauge = self._probing.gauge(shown.suspect)
        tried = self._trials.attempt(candidate, gauge, record=True) or self._trials.seen(candidate)
        if tried is not None and tried.passed:
            fresh = question.view is EditView.REWRITE
            self._evidence.add(tried, shown.suspect, sampled=True, fresh=fresh)
            self._take_parts(tried, shown.suspect)
            return
        self._model.missed[shown.suspect.key] += 1
        if tried is not None:
            self._remember(tried, proposal.code, shown.suspect)

    def _beside(self, shown: Shown) -> Candidate | None:
        """The likeliest edit that passes, where it changes the suspect and others: no answer for the suspect alone would pass."""
        passing = [p for group in self._choice().clusters for p in group.members if p.edited]
        best = max(passing, key=lambda p: p.prior, default=None)
        return best.candidate if best is not None and best.changed > {shown.suspect.key} else None

    def _take_parts(self, whole: Tried, suspect: Suspect) -> None:
        """Take back, one by one, those changes of an answer without which it passes as well: no test asks for them."""
        source = self._case.files.product[suspect.path]
        after = next((e.text for e in whole.candidate.edits if e.path == source.path), None)
        kept = parts_of(source.text, after or source.text)
        if after is None or len(kept) > self._limits.parts:
            return
        gauge, left = self._probing.gauge(suspect), None
        for part in kept:
            fewer = tuple(p for p in kept if p != part)
            candidate = from_parts(source, after, fewer, whole.candidate.prior) if fewer else None
            if candidate is None:
                continue
            tried = self._trials.attempt(candidate, gauge) or self._trials.seen(candidate)
            if tried is not None and tried.passed:
                kept, left = fewer, tried
        if left is not None:
            self._evidence.add_part(left, suspect, whole)

    def _remember(self, tried: Tried, code: str, suspect: Suspect) -> None:
        """Keep a failed answer with the exact reason, to be fed back; one that fails as the unchanged code does has none."""
        gauge = self._probing.gauge(suspect)
        base = gauge.base if gauge is not None else None
        if gauge is not None and base is not None and tried.reading is not None:
            wrong = gauge.told(tried.reading)
            if tried.reading.words == base.words or not wrong:
                return
            failure = "\n".join(_shortest_first(wrong)[: self._limits.told_calls])
        elif tried.failure is None or tried.message == self._trials.base.message:
            return
        else:
            failure = told(tried.failure, list(self._case.files.tests.values()))
        attempt = Attempt(suspect=suspect.key, code=code, failure=failure)
        if all(attempt.code != a.code for _, a in self._model.attempts):
            self._model.attempts.append((tried.fixed + tried.near, attempt))

    def _tell_failures(self) -> list[str]:
        """The failing checks with values: a few calls where the gauge knows them, else tests one by one."""
        for suspect in self._case.suspects[:1]:
            gauge = self._probing.gauge(suspect)
            if gauge is not None and gauge.base is not None:
                calls, few = _shortest_first(gauge.told(gauge.base)), self._limits.told_calls
                groups = [calls[n : n + few] for n in range(0, len(calls), few)]
                return ["\n".join(group) for group in groups]
        tests = list(self._case.files.tests.values())
        return sorted((told(r, tests) for r in self._case.failing), key=lambda t: (len(t), t))


def _elsewhere(candidate: Candidate, before: Source, unit: CodeUnit | None) -> Source:
    """A file as a candidate has it, but for one unit, which is as it was."""
    after = changed_source(candidate, before)
    now = again_in(after, unit) if after is not None else None
    if after is None or unit is None or now is None:
        return before
    return parse(before.path, replace_unit(after, now, unit.text)) or before


def _alike(before: str, codes: Sequence[str]) -> frozenset[tuple[int, str]]:
    """First line and text of what several codes all change alike, of which there is nothing to ask."""
    if not codes[1:]:
        return frozenset()
    changes = []
    for code in codes:
        rows = code.split("\n")
        places = changed_places(before, code)
        changes.append({(first, "\n".join(rows[first - 1 : last])) for first, last in places})
    return frozenset(set.intersection(*changes))


def _opening(row: str, code: str) -> str:
    """The word that a line's statement begins with, where a line of the unchanged code does too: it says nothing of an edit."""
    found = _STATEMENT.match(row)
    return found[1] if found is not None and f"{found[0]} " in code else ""


def _shortest_first(calls: Iterable[str]) -> list[str]:
    return sorted(calls, key=lambda call: (len(call), call))

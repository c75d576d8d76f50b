"""Which of several candidates that pass all known tests is taken, if any. Passing is not right.

Candidates are put together by what they do on generated inputs. Independent ideas that end in the same behaviour speak
for it: each sample of the model is one, a plain syntax-tree edit is another kind of one. A behaviour that too little
speaks for, beside others that pass as well, is not taken: an honest "not sure" is better than a wrong "done". Pure.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Final

from surefoot.execute.repair.candidates import FILL, mark
from surefoot.execute.repair.probe import GIVEN_UP, RAISED, STUCK, Words
from surefoot.values import Candidate

_NONE: Final[Mapping[str, int]] = MappingProxyType({})
_STEADY: Final = 0.9
"""Share of unchanged stories from which on a change counts as one that changes next to nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """How a candidate's score is put together (SPEC B7), and what selection asks for. All are settings."""

    expected_pass: float = 0.5
    blast_radius: float = 0.3
    reversibility: float = 0.2
    sample: float = 1.0
    """What one independent sample of the model speaks for a behaviour."""
    edit: float = 1.2
    """What the likeliest syntax-tree edit of a behaviour speaks for it, times its prior's root."""
    examples: float = 1.0
    """What holding all examples of docstring and issue adds."""
    kept: float = 0.8
    """What doing as before in nearly all stories of passing tests adds."""
    foretold: float = 0.8
    """What each value speaks for a behaviour that a model foretold for one of the calls on which behaviours differ."""
    likely: float = 3.0
    """What the likelihood of a behaviour's code, as a share of that of all that were weighed and of the unchanged code, speaks for it."""
    agreed: float = 0.9
    """Such a share from which on it is a word of the model for this very behaviour, as a sample is."""
    larger: float = 0.6
    """Least part of their weight that samples keep for a behaviour that takes a larger change than another one that passes."""
    rivals: float = 2.4
    """What all behaviours together speak against one that has samples, when nothing but a syntax-tree edit speaks for each."""
    doubt: float = 0.6
    """What speaks against every behaviour: the right one may not be among the candidates."""
    rewritten: float = 1.5
    """The same against one that answers alone have and that changes more than `wide` lines: many voices of one model can be one mistake."""
    missed: float = 0.05
    """What each answer that does not pass adds to that: of many that miss some hit the known tests by chance."""
    wide: int = 6
    """Lines up to which a change is one of a part."""
    unaided: int = 3
    """Voices that a behaviour needs which no single edit has, nor `agreed` of the likelihood: answers, and edits at once, which are one.

    Nor does the likelihood stand for them where a model filled a line in beside an edit, and twice `many` of its answers miss.
    Likewise answers for one that does not hold an example of docstring or issue.
    """
    heard: int = 2
    """Answers that a behaviour needs which has not `agreed` of the likelihood, where other answers fail, and `unaided` where it was weighed and all of them saw the code.

    Of many that miss one hits the known tests by chance, and so does one of many edits. Where the known results are yes
    and no, several do, and say the same elsewhere: there as many answers are needed as miss, unless `many` agree.
    """
    unmet: float = 3.0
    """What an example of docstring or issue that nobody holds adds to that; many voices say that it is a mistake of its own.

    So does an input that the unchanged code answers, and on which all that is left fails by accident, a name that the
    unchanged code reads, and that all that is left still has and reads nowhere, a condition that no argument decides, a statement that is cut off, and characters that the docstring names and nothing asks for any more, or that nothing asks for beside one that is told.
    """
    broken: float = 0.25
    """Share of the inputs to which an answer is due from which on a behaviour that fails on them is never taken: so many are no accident of how inputs are made."""
    need: float = 0.6
    """Share of all that was said that a behaviour needs to be taken, unless `many` agree."""
    many: int = 6
    """Answers that are enough by themselves, where some had not seen the code that is there and every other behaviour has half as many at most.

    Of many that miss a few pass by chance, but those do not agree with each other.
    """
    anew: int = 2
    """Answers that wrote the function without having seen its code from which on no such share is needed, with the likelihood or `unaided` voices, where no other one that wrote it anew passes.

    A mistake that they share has to be one that the known tests and the examples do not show, and that each of them made by itself.
    """
    ambiguous: int = 2
    """Other behaviours that pass from which on answers need `unaided` voices: tests that leave three open say little of any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passing:
    """A candidate that passes all known tests, with what else was found out about it."""

    candidate: Candidate
    samples: int
    """Independent model samples that gave this very code; 0 for a syntax-tree edit alone."""
    fresh: int = 0
    """Those of them that wrote the function without having seen its code."""
    edited: bool
    """A syntax-tree edit gave it."""
    prior: float
    """The likeliest generator's word, 0..1."""
    changed_lines: int
    changed_files: int
    words: Words | None
    """What it did on each generated input; None when that could not be found out."""
    examples: tuple[bool, ...]
    """Which examples of docstring and issue hold."""
    measured: str = ""
    """Key of the suspect on whose inputs and examples it was run; words of two of them say nothing of each other."""
    raises: frozenset[str] = frozenset()
    """Names of the exceptions that its file raises."""
    special: str | None
    """Why it is never taken: how it answers single test inputs by name, or what it takes and does not read; None else."""
    changed: frozenset[str] = frozenset()
    """The suspects whose code it changes."""
    heard: frozenset[str] = frozenset()
    """Those of them that the model was shown when it gave this very code."""
    changed_words: int = 0
    """Names, numbers and signs that it brings into the lines that it changes."""
    neighbours: tuple[bool, ...] = ()
    """Which tests that fail on the base and that nobody asked for pass as well."""
    lost: float = 0.0
    """Share of the generated inputs that the unchanged code answers on which it fails by accident, or as that does on one of a known test, 0..1."""
    unwritten: bool = False
    """What it changes was still to be written, so that no edit could have the same behaviour."""
    idle: bool = False
    """A name that the unchanged code reads is still there and read no more, constants alone decide a condition that was meant to be decided by something else, a statement is cut off, or characters that the docstring names are asked for no more, or not beside one that is told."""
    unlike: str | None = None
    """What holds of all known results, and not of all that it gives for generated inputs, in words; None without such."""
    either: bool = False
    """The known results are yes and no, of which a wrong candidate gives each by chance."""
    foretold: int = 0
    """Calls on which it gives what a model foretold, and another one that passes does not."""
    likely: float | None = None
    """How much likelier than the unchanged code it is to a model that fills gaps, in nats; None when that is not known."""
    apart: Words = ()
    """What it does on inputs that are not like the known ones, of which nothing says that anybody gives them."""
    unchanged: Words = ()
    """What the unchanged code does on the inputs of `words`; empty when that is not known."""
    unchanged_apart: Words = ()
    """What it does on those of `apart`."""
    beyond: Words = ()
    """What that does which it is, but for a line which that leaves and which a model finds far likelier otherwise."""
    kept: float | None = None
    """Share of the stories of passing tests, told with other literals, in which it does as the unchanged code; None when unknown."""

    @property
    def is_patchwork(self) -> bool:
        """Edits at once of which one mends no known test by itself, and which no answer gave."""
        return not self.samples and "&" in self.candidate.generator

    @property
    def is_edit(self) -> bool:
        """One edit of the unchanged code or several, in which no model filled a line."""
        return self.edited and self.candidate.generator.startswith("ast:") and not self.is_on_fill

    @property
    def is_single(self) -> bool:
        """One edit of the unchanged code, and not several at once."""
        by = self.candidate.generator
        return self.edited and by.startswith("ast:") and not {"&", "+"} & {*by}

    @property
    def is_on_fill(self) -> bool:
        """An edit on top of a line that a model wrote."""
        return FILL in self.candidate.generator

    @property
    def is_filled(self) -> bool:
        """Lines that a model wrote in their places, each without having seen the others."""
        return self.candidate.generator.startswith(f"model:{FILL}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Candidates that do the same."""

    members: tuple[Passing, ...]
    """The one to take first."""
    weight: float
    """What speaks for it."""
    likely: float = 0.0
    """Its share of the likelihood of all that were weighed and of the unchanged code, 0..1; 0 of what was not."""
    told: bool = True
    """Inputs of our own told what it does; else its members are equal code."""

    @property
    def samples(self) -> int:
        """Independent samples of the model that do this."""
        return sum(p.samples for p in self.members)

    @property
    def fresh(self) -> int:
        """Those of them that wrote the function without having seen its code."""
        return sum(p.fresh for p in self.members)

    @property
    def is_unaided(self) -> bool:
        """No single edit does this: of the many ways to combine edits some pass few tests by chance, and answers of one model err alike."""
        return not any(p.is_single or p.unwritten for p in self.members)

    @property
    def voices(self) -> int:
        """Independent samples, and edits as one more; what is left of an answer is none of these."""
        return self.samples + any(p.candidate.generator.startswith("ast:") for p in self.members)

    @property
    def foretold(self) -> int:
        """Calls on which it gives what a model foretold, and another one that passes does not."""
        return max(p.foretold for p in self.members)

    @property
    def is_filled_alone(self) -> bool:
        """Edits beside a line that a model filled in, and no answer."""
        return not self.samples and all(p.is_on_fill for p in self.members)

    @property
    def beyond(self) -> frozenset[Words]:
        """Behaviours that it is, but for a line that is a slip to a model."""
        return frozenset(p.beyond for p in self.members if p.beyond)

    @property
    def unheard(self) -> tuple[str, ...]:
        """Of several suspects that the first member changes at once, those of which no answer agrees: it was tried with the rest as it is."""
        changed = self.members[0].changed
        heard = frozenset[str]().union(*(p.heard for p in self.members))
        return tuple(sorted(changed - heard)) if len(changed) > 1 else ()

    @property
    def is_weighed(self) -> bool:
        """A model that fills gaps was asked how likely it is."""
        return any(p.likely is not None for p in self.members)

    @property
    def is_unanimous(self) -> bool:
        """The member to take first and all answers do the same on inputs unlike the known ones, too."""
        return len({self.members[0].apart, *(p.apart for p in self.members if p.samples)}) == 1

    def is_rewritten(self, wide: int) -> bool:
        """Answers that all change more than so many lines, and no edit."""
        return all(p.changed_lines > wide and not p.edited for p in self.members)

    @property
    def is_one_answer(self) -> bool:
        """A single sample of the model and nothing else: what a script that takes the first answer that passes would take."""
        return self.samples == 1 and not any(p.edited for p in self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was decided."""

    taken: Passing | None
    reason: str
    confidence: float
    """Share of the best behaviour, 0..1."""
    clusters: tuple[Cluster, ...]
    score: float = 0.0
    """B7's score of the one taken."""


def choose(
    passing: Sequence[Passing],
    weights: Weights,
    max_files: int = 40,
    missed: Mapping[str, int] = _NONE,
) -> Choice:
    """Take the best candidate of the behaviour that most speaks for, or none when too little does.

    Args:
        passing: What passes all known tests.
        weights: How much each thing counts.
        max_files: Files that a change may have.
        missed: Answers of the model that do not pass, by key of the suspect whose text they are.
    """
    honest = [p for p in passing if p.special is None]
    if not honest:
        reason = passing[0].special if passing else None
        text = f"nothing was taken: {reason}" if reason else "no candidate passes the known tests"
        return Choice(taken=None, reason=text, confidence=0.0, clusters=())
    found = cluster(_sound(_steadiest(_best_examples(honest))), weights)
    clusters = _ranked(found, weights, max_files)
    best = clusters[0]
    confidence = best.weight / (best.weight + _against(best, clusters[1:], weights, missed))
    taken = best.members[0]
    score = b7(taken, confidence, weights, max_files)
    others = len(clusters) - 1
    misses = _misses(best, missed)
    failing = f"{misses} answer{'s' * (misses > 1)} fail{'s' * (misses == 1)}, " if misses else ""
    alike = "agree on generated inputs" if best.told else "give code that could not be compared"
    said = (
        f"{best.samples} samples and "
        f"{sum(p.edited for p in best.members)} edits {alike}, "
        f"its share of the likelihood is {best.likely:.2f}, "
        f"{others} other behaviour{'s' * (others != 1)} pass{'es' * (others == 1)} the known tests, "
        f"{failing}confidence {confidence:.2f}"
    )
    doubt = next(_doubts(best, clusters[1:], confidence, weights, missed), None)
    if doubt is not None:
        reason = f"not sure: {doubt}: {said}"
        return Choice(taken=None, reason=reason, confidence=confidence, clusters=clusters)
    return Choice(taken=taken, reason=said, confidence=confidence, clusters=clusters, score=score)


def _doubts(
    best: Cluster,
    others: Sequence[Cluster],
    confidence: float,
    weights: Weights,
    missed: Mapping[str, int],
) -> Iterator[str]:
    """Why the leading behaviour is not taken, each before what was said of it; none when it is.

    Whoever saw the code may have left a second fault in it that no known test shows, and what belongs in the place of a change
    says nothing of any other. Answers that wrote the function anew do.
    """
    first = best.members[0]
    many = _is_said_by_many(best, others, weights)
    anew = _is_said_anew(best, others, weights)
    if best.is_one_answer and best.beyond:
        yield f"{first.candidate.description} to a model, which no answer says"
    if first.lost >= weights.broken:
        yield f"it fails on {first.lost:.0%} of the inputs to which an answer is due"
    if first.unlike and not many:
        yield f"that a result {first.unlike} holds of all known ones and not of all of its own"
    if best.is_one_answer:
        yield "one answer alone, which nothing else agrees with"
    yield from _few_voices(best, others, weights, missed)
    if not all(first.examples) and best.samples < weights.unaided:
        yield f"{best.samples} of {weights.unaided} answers against an example that it does not hold"
    against = _written_anew(best, others, weights)
    if best.fresh < against:
        told = f"answers that had not seen the code: {best.fresh} do this"
        yield f"{told}, {against} something else"
    if best.unheard:
        yield f"changed at once, and no answer about {best.unheard[0]} agrees"
    borne = best.voices >= weights.unaided or best.likely >= weights.agreed
    if confidence < weights.need and not many and not (anew and borne):
        yield f"{weights.need:.2f} is needed"
    heard = _needed(best, weights, missed, many=many)
    if any(missed.values()) and best.samples < heard and best.likely < weights.agreed:
        yield f"{best.samples} of {heard} answers, and it is not likely"


def _needed(best: Cluster, weights: Weights, missed: Mapping[str, int], *, many: bool) -> int:
    """Answers that a behaviour needs which is not likely, where other answers fail."""
    doubted = best.is_weighed and not best.fresh
    heard = max(weights.heard, weights.unaided) if doubted else weights.heard
    by_chance = best.members[0].either and not many
    return max(heard, _misses(best, missed)) if by_chance else heard


def _few_voices(
    best: Cluster,
    others: Sequence[Cluster],
    weights: Weights,
    missed: Mapping[str, int],
) -> Iterator[str]:
    """Why so many voices are not enough; answers to a function that was still to be written are asked for more elsewhere.

    Two that wrote a function anew may share a mistake that the known tests do not show. A line that a model filled in stands
    there because the model finds it likely: what it answers, again and again, is another word of the same model.
    """
    if best.voices >= weights.unaided:
        return
    said = f"{best.voices} of {weights.unaided} voices"
    passing = len(_rivals(best, others))
    denied = best.is_filled_alone and _misses(best, missed) >= 2 * weights.many
    likely = best.likely >= weights.agreed and not denied
    if best.is_unaided and not likely:
        yield f"{said}, and no single edit does the same"
    if passing >= weights.ambiguous and best.samples and not best.members[0].unwritten:
        yield f"{said} beside {passing} other behaviours"


def _ranked(clusters: Sequence[Cluster], weights: Weights, max_files: int) -> tuple[Cluster, ...]:
    """By B7's score, in which a behaviour's share of all that was said is the expected pass; equal ones in their order.

    What leaves a slip comes last, whatever speaks for it. What answers that had not seen the code agree on comes first:
    nothing else may be taken beside them.
    """
    said = sum(c.weight for c in clusters) or 1.0

    def rank(one: Cluster) -> tuple[bool, bool, float]:
        slips = not one.beyond and any(_is_behind(one, c) for c in clusters)
        anew = _is_said_anew(one, [c for c in clusters if c is not one], weights)
        return slips, not anew, -b7(one.members[0], one.weight / said, weights, max_files)

    return tuple(sorted(clusters, key=rank))


def _against(
    best: Cluster, others: Sequence[Cluster], weights: Weights, missed: Mapping[str, int]
) -> float:
    """What speaks against a behaviour. How many edits pass says how little the tests ask for, not who is wrong: they are one voice."""
    first = best.members[0]
    rivals_of = _rivals(best, others)
    thought_of = sum(c.weight for c in rivals_of if c.samples)
    edits = sum(c.weight for c in rivals_of if not c.samples)
    unmet = 0.0 if _is_sound(first) else weights.unmet
    rewritten = best.is_rewritten(weights.wide)
    misses = _misses(best, missed)
    doubt = weights.rewritten + weights.missed * misses if rewritten else weights.doubt
    rivals = min(edits, weights.rivals) if _is_spoken_for(best, weights) else edits
    return thought_of + rivals + doubt + unmet


def _misses(best: Cluster, missed: Mapping[str, int]) -> int:
    """Answers about the code that a behaviour changes which do not pass."""
    return sum(missed.get(key, 0) for key in best.members[0].changed)


def _is_sound(first: Passing) -> bool:
    """Whether it holds all examples, answers where the unchanged code does, and leaves nothing idle."""
    return all(first.examples) and not first.lost and not first.idle


def _is_said_by_many(best: Cluster, others: Sequence[Cluster], weights: Weights) -> bool:
    """Whether so many answers agree that neither what was missed nor what else passes speaks against them."""
    rivals = max((c.samples for c in _rivals(best, others)), default=0)
    enough = best.fresh > 0 and best.samples >= max(weights.many, 2 * rivals)
    return enough and _may_be_agreed_on(best.members[0])


def _is_said_anew(best: Cluster, others: Sequence[Cluster], weights: Weights) -> bool:
    """Whether so many answers that had not seen the code agree, and what passes beside them neither was written so nor outweighs them."""
    enough = best.fresh >= weights.anew and not _written_anew(best, others, weights)
    outweighed = any(_outweighs(c, best, weights) for c in _rivals(best, others))
    return enough and not outweighed and _may_be_agreed_on(best.members[0])


def _may_be_agreed_on(first: Passing) -> bool:
    """Whether answers that agree may be enough: nothing speaks against it, and there was code that some of them had not seen."""
    return _is_sound(first) and not first.unwritten


def _written_anew(best: Cluster, others: Sequence[Cluster], weights: Weights) -> int:
    """Most answers that had not seen the code and speak for one of the others, but for one that is outweighed."""
    rivals = _rivals(best, others)
    return max((c.fresh for c in rivals if not _outweighs(best, c, weights)), default=0)


def _outweighs(one: Cluster, other: Cluster, weights: Weights) -> bool:
    """Whether likelihood, as many answers, and what was foretold of a call on which they differ speak for a single edit against answers that wrote it anew.

    Whoever writes a function anew can miss what the code that is there has thought of, as the smallest input. Where they
    leave what that gives and the edit does not, they have not missed it.
    """
    said = one.foretold > other.foretold and one.likely >= weights.agreed
    many = one.samples >= other.fresh and not one.is_unaided
    return said and many and not _leaves(other.members[0], one.members[0])


def _leaves(one: Passing, other: Passing) -> bool:
    """Whether one gives what the unchanged code gives for some input, and the other something else."""
    told = chain(
        zip(one.unchanged, one.words or (), other.words or (), strict=False),
        zip(one.unchanged_apart, one.apart, other.apart, strict=False),
    )
    return one.measured == other.measured and any(w == own != its for w, own, its in told)


def _rivals(best: Cluster, others: Sequence[Cluster]) -> list[Cluster]:
    """The others, but for what a behaviour goes beyond."""
    return [c for c in others if not _is_behind(c, best)]


def _is_behind(left: Cluster, mended: Cluster) -> bool:
    """Whether one behaviour is the other but for a slip, and who spoke for it was not asked about that line.

    Who wrote the function anew wrote that line, too.
    """
    return left.members[0].words in mended.beyond and left.fresh <= mended.fresh


def _is_spoken_for(best: Cluster, weights: Weights) -> bool:
    """Whether a model said this very behaviour, in an answer or by finding no other one that it weighed as likely."""
    return best.samples > 0 or best.likely >= weights.agreed


def b7(passing: Passing, expected_pass: float, weights: Weights, max_files: int) -> float:
    """SPEC B7's score: expected pass, smallness by files, reversibility."""
    blast = min(1.0, passing.changed_files / max(1, max_files))
    deletes = any(e.text is None for e in passing.candidate.edits)
    return (
        weights.expected_pass * expected_pass
        + weights.blast_radius * (1 - blast)
        + weights.reversibility * (0.0 if deletes else 1.0)
    )


def cluster(passing: Sequence[Passing], weights: Weights) -> tuple[Cluster, ...]:
    """Candidates by behaviour, what most speaks for first."""
    compared = _Comparison(passing, weights)
    groups: dict[tuple[str, Words, str, bool], list[Passing]] = {}
    for item in passing:
        words = compared.words(item)
        # Passing is not right: of what nothing tells the behaviour, equal code alone does the same for certain.
        code = "" if words else mark(item.candidate)
        # What differs only on inputs that perhaps nobody gives would else be put together.
        alike = bool(item.beyond) and words == compared.part(item, item.beyond)
        groups.setdefault((item.measured if words else "", words, code, alike), []).append(item)
    least = min((p.changed_lines for p in passing), default=1)
    shares = _shares(list(groups.values()))
    found = [
        replace(_cluster(members, weights, least, share), told=bool(words))
        for ((_, words, *_), members), share in zip(groups.items(), shares, strict=True)
    ]
    return tuple(
        sorted(found, key=lambda c: (-c.weight, c.members[0].changed_lines, _name(c.members[0])))
    )


def _shares(groups: Sequence[Sequence[Passing]]) -> list[float]:
    """How probable each group's likeliest code is, if one of all that were weighed, or the unchanged code, is what people write."""
    gains = [max((p.likely for p in g if p.likely is not None), default=None) for g in groups]
    most = max((g for g in gains if g is not None), default=0.0)
    odds = [0.0 if g is None else math.exp(g - max(most, 0.0)) for g in gains]
    whole = sum(odds) + math.exp(-max(most, 0.0))
    return [o / whole for o in odds]


def _cluster(members: Sequence[Passing], weights: Weights, least: int, likely: float) -> Cluster:
    """Members that do the same; `least` is the size of the smallest change that passes, in lines, `likely` their share."""
    samples = sum(p.samples for p in members)
    edit = max((p.prior for p in members if p.edited), default=0.0)
    size = max(1, min(p.changed_lines for p in members))
    small = max(weights.larger, (max(1, least) / size) ** 0.5)
    weight = weights.sample * samples * small + weights.edit * edit**0.5
    if _good(members[0]) and all(all(_good(p)) for p in members):
        weight += weights.examples
    if all(p.kept is not None and p.kept >= _STEADY for p in members):
        weight += weights.kept
    weight += weights.likely * likely
    certain = likely >= weights.agreed
    found = Cluster(members=_in_turn(members, certain=certain), weight=weight, likely=likely)
    return replace(found, weight=weight + weights.foretold * found.foretold)


def _in_turn(members: Sequence[Passing], *, certain: bool) -> tuple[Passing, ...]:
    """By how many answers agree with what they do on inputs unlike the known ones, then by rank.

    Such inputs part no behaviours. But the smallest change may be the one that has not thought of them, and so may an edit,
    and an answer that saw the code: those that wrote the function anew are heard first, and beside an edit alone. But where
    an edit is `certain`, by its likelihood, and changes what the code does with such an input, and none of them leaves that,
    it is heard before: the fault shows there, too, and who writes a function anew can miss what the code that is there has
    thought of.
    """
    edit = min((p for p in members if p.is_edit), key=_rank, default=None) if certain else None
    edited = any(p.edited for p in members)
    written_anew = [p.apart for p in members if p.fresh]

    def turn(passing: Passing) -> tuple[object, ...]:
        anew = _agreed(passing, [(p.fresh, p.apart) for p in members])
        answers = 0 if edited else _agreed(passing, [(p.samples, p.apart) for p in members])
        return -_mended_as(passing, edit, written_anew), -anew, -answers, _rank(passing)

    return tuple(sorted(members, key=turn))


def _mended_as(passing: Passing, edit: Passing | None, anew: Sequence[Words]) -> int:
    """On how many inputs unlike the known ones a candidate does what an edit does, where the unchanged code and `anew` all do something else."""
    if edit is None:
        return 0
    words = zip(edit.unchanged_apart, edit.apart, passing.apart, strict=False)
    return sum(
        was != now == own and all(said[n : n + 1] != (was,) for said in anew)
        for n, (was, now, own) in enumerate(words)
    )


def _agreed(passing: Passing, said: Iterable[tuple[int, Words]]) -> int:
    """Answers that give the same on inputs unlike the known ones, counted for each input; `said` are how many give what."""
    return sum(
        voices * (own == word)
        for voices, words in said
        for own, word in zip(passing.apart, words, strict=False)
    )


def _rank(passing: Passing) -> tuple[bool, int, int, int, float, str]:
    """The smallest first, and patchwork, which nobody thought of, after the rest."""
    return (
        passing.is_patchwork,
        passing.changed_lines,
        passing.changed_words,
        -passing.samples,
        -passing.prior,
        _name(passing),
    )


def _name(passing: Passing) -> str:
    return str(passing.candidate.candidate_id)


def _best_examples(passing: Sequence[Passing]) -> list[Passing]:
    """Those that hold most examples of their function and pass most of the tests that nobody asked for.

    Of many edits on top of others one does what an example shows by chance, or because the example is wrong: they stand
    beside what holds fewer, and put nothing aside.
    """
    leading = [p for p in passing if not p.is_patchwork] or passing
    most: dict[str, int] = {}
    for p in leading:
        most[p.measured] = max(most.get(p.measured, 0), sum(_good(p)))
    return [p for p in passing if sum(_good(p)) >= most.get(p.measured, 0)]


def _good(passing: Passing) -> tuple[bool, ...]:
    """What a candidate does well beyond the known tests."""
    return (*passing.examples, *passing.neighbours)


def _steadiest(passing: Sequence[Passing]) -> list[Passing]:
    """Those that change least of what passing tests tell, where some change next to nothing of it.

    A right change leaves alone what was right: Xiong et al., "Identifying patch correctness in test-based program repair"
    (2018). Where all of them change much the fault is a wide one, and this says nothing.
    """
    most = max((p.kept for p in passing if p.kept is not None), default=0.0)
    if most < _STEADY:
        return list(passing)
    return [p for p in passing if p.kept is None or p.kept >= most]


def _sound(passing: Sequence[Passing]) -> list[Passing]:
    """Those that answer whatever the unchanged code does, where any do; of them those with results like all known ones, that leave nothing idle."""
    answering = _led([p for p in passing if not p.lost], passing)
    alike = _led([p for p in answering if not p.unlike], answering)
    return _led([p for p in alike if not p.idle], alike)


def _led(kept: Sequence[Passing], passing: Sequence[Passing]) -> list[Passing]:
    """What is kept of those that pass; all of them where that is none, or patchwork beside what is more."""
    leads = any(not p.is_patchwork for p in kept) or all(p.is_patchwork for p in passing)
    return list(kept) if kept and leads else list(passing)


class _Comparison:
    """What of the words to compare, for each function on whose inputs they were told.

    These are inputs on which nobody stuck and at most half of all raised by accident: one that makes most candidates raise is
    one that no caller gives, unless they mean it. What ends on few inputs, or tells of few, is compared with nothing: else
    little would be left on which the others differ.
    """

    def __init__(self, passing: Sequence[Passing], weights: Weights) -> None:
        self._fit: set[str] = set()
        self._places: dict[str, list[int]] = {}
        told: dict[str, list[tuple[Passing, Words]]] = {}
        for item in passing:
            if item.words is not None:
                told.setdefault(item.measured, []).append((item, item.words))
        for measured, group in told.items():
            length = max(len(words) for _, words in group)
            whole = [(p, words) for p, words in group if len(words) == length]
            answered = [any(w[n] != STUCK for _, w in whole) for n in range(length)]
            most = max(GIVEN_UP - 1, weights.broken * sum(answered))
            fit = [
                (p, words)
                for p, words in whole
                if sum(a and w == STUCK for a, w in zip(answered, words, strict=True)) <= most
            ]
            self._fit |= {_name(p) for p, _ in fit}
            self._places[measured] = [
                n
                for n in range(length)
                if all(words[n] != STUCK for _, words in fit)
                and 2 * sum(_raised(p, words[n]) for p, words in fit) <= len(fit)
            ]

    def words(self, item: Passing) -> Words:
        """What an item does there; empty where that is not known or is compared with nothing."""
        return self.part(item, item.words or ()) if _name(item) in self._fit else ()

    def part(self, item: Passing, words: Words) -> Words:
        """What stands in these places of words that were told on the same inputs."""
        return tuple(words[n] for n in self._places.get(item.measured, ()) if n < len(words))


def _raised(item: Passing, word: str) -> bool:
    """Whether a word tells of an exception that the code does not raise itself."""
    return word.startswith(RAISED) and word.removeprefix(RAISED) not in item.raises

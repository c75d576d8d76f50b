"""What a model that fills gaps says of a suspect's lines: what it would write there, and how likely a change is to it.

Code as people write it is more predictable than code with a mistake in it: Ray et al., "On the naturalness of buggy code"
(2016); Xia and Zhang, "Less training, more repairing please" (2022), who fill in lines and rank by their likelihood. The model
sees the function and nothing of tests and issue, so its word is independent of what the candidates are chosen by.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from surefoot.decisions.gap_fill import fill_gaps
from surefoot.decisions.redacted import adds_mark
from surefoot.execute.repair.candidates import FILL, parts_of
from surefoot.execute.repair.graft import head_of, without_comments
from surefoot.execute.repair.mutate import Mutation
from surefoot.execute.repair.views import Shown
from surefoot.execute.source import Source, TextEdit, apply, bytecode, parse
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Gap

_LARGEST_PART: Final = 3
"""Lines of a place up to which a change has a likelihood that says something."""
_MOST_PARTS: Final = 3
_LEAST_WEIGHT: Final = 0.05
_MEANT: Final = math.log(0.01)
_LIKELIER: Final = math.log(1000)
"""Log-probability from which on a line is one that a model means, and by how much more than what stands there that it is a slip."""


class Infilling:
    """The conversation of one turn."""

    def __init__(self, asker: Asker, notebook: Notebook) -> None:
        self._asker, self._notebook = asker, notebook
        self._logprobs: dict[Gap, float | None] = {}
        self.around: set[str] = set()
        """The code around each line that was asked for, an empty line in its place."""
        self.written: set[str] = set()
        """What the model wrote there."""

    def lines(self, shown: Shown, source: Source, most: int) -> tuple[Mutation, ...]:
        """What the model would write in the place of each of the `most` most suspicious lines; what does the same as what stands there left out.

        The likeliest first.
        """
        unit = shown.suspect.unit
        if unit is None:
            return ()
        rows = shown.code.split("\n")
        body = range(head_of(shown.code).count("\n") + 1, len(rows))
        places = [n for n in body if any(c.isalnum() for c in rows[n].partition("#")[0])]
        ranked = sorted(places, key=lambda n: -shown.suspect.suspicion(unit.first_line + n))[:most]
        self.around |= {"\n".join([*rows[:n], "", *rows[n + 1 :]]) for n in ranked}
        gaps = [_gap(shown, rows, (n, n + 1), _indent(rows[n])) for n in ranked]
        found = []
        for n, filled in zip(ranked, fill_gaps(gaps, self._asker, self._notebook), strict=False):
            text = without_comments(filled.text or "").strip()
            if text and filled.logprob is not None:
                self.written.add(text)
                weight = max(_LEAST_WEIGHT, math.exp(filled.logprob))
                found.append(_rewritten(source, unit.first_line + n, text, weight))
        unchanged = bytecode(source.text)
        useful = [m for m in found if _is_new(source, unchanged, apply(source.text, m.edits))]
        return tuple(sorted(useful, key=lambda m: (-m.weight, m.line)))

    def slips(
        self,
        shown: Shown,
        source: Source,
        lines: Sequence[int],
        counts: Callable[[Mutation], bool],
    ) -> tuple[Mutation, ...]:
        """Those of some lines, 0-based in the code shown, that the model finds far likelier otherwise, each as it would be.

        The one whose own text it holds for least likely first. How likely that is it is asked only of lines of which the
        change `counts`.
        """
        unit = shown.suspect.unit
        if unit is None:
            return ()
        rows = shown.code.split("\n")
        gaps = [_gap(shown, rows, (n, n + 1), _indent(rows[n])) for n in lines]
        asked = fill_gaps(gaps, self._asker, self._notebook) if gaps else ()
        others: list[tuple[Gap, float, Mutation]] = []
        for n, gap, filled in zip(lines, gaps, asked, strict=False):
            text = without_comments(filled.text or "").strip()
            if text in {"", rows[n].strip()} or filled.logprob is None or filled.logprob < _MEANT:
                continue
            other = _rewritten(source, unit.first_line + n, text, math.exp(filled.logprob))
            if counts(other):
                others.append((replace(gap, filled=rows[n].strip()), filled.logprob, other))
        self._ask([standing for standing, _, _ in others])
        found = [
            (was, other)
            for standing, now, other in others
            if (was := self._logprobs.get(standing)) is not None and now - was >= _LIKELIER
        ]
        return tuple(other for _, other in sorted(found, key=lambda of: of[0]))

    def gains(self, shown: Shown, codes: Sequence[str]) -> tuple[float | None, ...]:
        """How much likelier than the present code each new code of the suspect is, in nats; None for what is changed too widely.

        By the chain rule over its changed places, each with what was there before it and what is there after it.
        """
        steps = [_steps(shown, code) for code in codes]
        self._ask([gap for pairs in steps for pair in pairs or () for gap in pair])
        return tuple(self._sum(pairs) for pairs in steps)

    def _ask(self, gaps: Sequence[Gap]) -> None:
        fresh = [gap for gap in dict.fromkeys(gaps) if gap not in self._logprobs]
        answers = fill_gaps(fresh, self._asker, self._notebook) if fresh else ()
        self._logprobs.update(
            (gap, said.logprob) for gap, said in zip(fresh, answers, strict=False)
        )

    def _sum(self, pairs: Sequence[tuple[Gap, Gap]] | None) -> float | None:
        total = 0.0
        for before, after in pairs or ():
            was, now = self._logprobs.get(before), self._logprobs.get(after)
            if was is None or now is None:
                return None
            total += now - was
        return total if pairs else None


def _steps(shown: Shown, code: str) -> list[tuple[Gap, Gap]] | None:
    """For each changed place, with the places before it changed already: the text that was there, the text that is."""
    rows, new = shown.code.split("\n"), code.split("\n")
    parts = parts_of(shown.code, code)
    sizes = [max(end - first, other_end - other) for first, end, other, other_end in parts]
    if not parts or len(parts) > _MOST_PARTS or max(sizes) > _LARGEST_PART:
        return None
    found, moved = [], 0
    for first, end, other, other_end in parts:
        here = (first + moved, end + moved)
        old_rows, new_rows = rows[slice(*here)], new[other:other_end]
        indent = _shared_indent(old_rows, new_rows)
        gap = _gap(shown, rows, here, indent)
        texts = (_block(block, indent) for block in (old_rows, new_rows))
        was, now = (Gap(before=gap.before, after=gap.after, filled=text) for text in texts)
        found.append((was, now))
        rows[slice(*here)] = new_rows
        moved += len(new_rows) - len(old_rows)
    return found


def _gap(shown: Shown, rows: Sequence[str], place: tuple[int, int], indent: str | None) -> Gap:
    """The suspect around a place in it, told by lines, 0-based; with an `indent` the gap begins behind it and ends before the line does."""
    first, end = place
    above = f"{shown.context}\n\n\n" if shown.context else ""
    before = above + "".join(f"{row}\n" for row in rows[:first])
    after = "".join(f"{row}\n" for row in rows[end:])
    if indent is None:
        return Gap(before=before, after=after)
    return Gap(before=before + indent, after=f"\n{after}")


def _block(rows: Sequence[str], indent: str | None) -> str:
    """Lines as they fill a gap; whole ones where the gap is one between lines."""
    if indent is None:
        return "".join(f"{row}\n" for row in rows)
    return "\n".join(rows)[len(indent) :]


def _shared_indent(old: Sequence[str], new: Sequence[str]) -> str | None:
    """The indentation that two texts of a place begin with; None where one is empty, or they begin differently."""
    if not old or not new or _indent(old[0]) != _indent(new[0]):
        return None
    return _indent(old[0])


def _indent(row: str) -> str:
    return row[: len(row) - len(row.lstrip())]


def _is_new(source: Source, unchanged: str | None, text: str) -> bool:
    """Whether a file's new text parses, does something else, and loses no secret to a mark."""
    return (
        parse(source.path, text) is not None
        and bytecode(text) != unchanged
        and adds_mark(source.text, text) is None
    )


def _rewritten(source: Source, line: int, text: str, weight: float) -> Mutation:
    """A line of a file with another text behind its indentation."""
    row = source.text[source.starts[line - 1] : source.starts[line]].rstrip("\r\n")
    start = source.starts[line - 1] + len(_indent(row))
    end = source.starts[line - 1] + len(row)
    return Mutation(
        edits=(TextEdit(start=start, end=end, text=text),),
        operator=FILL,
        line=line,
        weight=weight,
        note=f"{row.strip()} becomes {text}",
    )

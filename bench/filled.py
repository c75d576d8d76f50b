"""How likely the right line is to the embedded model beside the wrong one of a mutant, and how often it writes the right one.

    python -m bench.filled --seed 2903 --count 60

Every line that a mutant of the repair benchmark changed, with the other lines right. Beside it, the same line asked for in words.
"""

import argparse
import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.local_model import metered
from bench.repair.cases import Case, build
from bench.repair.tasks import load
from surefoot.decisions.candidate_edit import EditQuestion, EditView, propose_edits
from surefoot.decisions.gap_fill import fill_gaps
from surefoot.execute.repair.graft import head_of
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A line that a mutant changed."""

    case: Case
    code: str
    """The right function."""
    line: int
    """1-based, in `code`."""
    right: str
    wrong: str

    def gap(self, filled: str | None = None) -> Gap:
        """The place without its line."""
        rows = self.code.split("\n")
        row = rows[self.line - 1]
        indent = row[: len(row) - len(row.lstrip())]
        before = "".join(f"{r}\n" for r in rows[: self.line - 1]) + indent
        return Gap(before=before, after="\n" + "\n".join(rows[self.line :]), filled=filled)

    def holds(self, text: str | None) -> bool:
        """Whether a line there makes the same syntax tree as the right one."""
        gap = self.gap()
        try:
            tree = ast.parse(f"{gap.before}{text}{gap.after}")
        except SyntaxError:
            return False
        return ast.dump(tree) == ast.dump(ast.parse(self.code))


def places(case: Case) -> Iterator[Place]:
    """The lines that differ, where right and wrong have equally many."""
    task = next(t for t in load()[0] if t.task_id == case.task_id)
    code = _function(task.prompt + task.canonical, case.entry)
    right, wrong = code.split("\n"), _function(case.solution, case.entry).split("\n")
    if len(right) != len(wrong):
        return
    for number, (one, other) in enumerate(zip(right, wrong, strict=True), 1):
        if one != other:
            yield Place(case=case, code=code, line=number, right=one.strip(), wrong=other.strip())


def _function(text: str, name: str) -> str:
    """A function of a file in the layout of `ast.unparse`, which both have."""
    nodes = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == name]
    return ast.unparse(nodes[-1])


def _in_words(place: Place, asker: Asker, notebook: Notebook) -> str | None:
    """The code that the model gives when it is asked for the line by a prompt."""
    question = EditQuestion(
        view=EditView.MASKED,
        name=place.case.entry,
        code=place.code,
        head=head_of(place.code),
        body_tokens=0,
        issue=place.case.issue,
        lines=(place.line, place.line),
    )
    (proposal,) = propose_edits((question,), asker, notebook).proposals
    return proposal.code


class _Speaking:
    """A model that is asked in words alone."""

    def __init__(self, asker: MeteredModel) -> None:
        self._asker = asker
        self.model, self.context_tokens = asker.model, asker.context_tokens
        self.parallel, self.native_tools = asker.parallel, asker.native_tools
        self.fills_gaps = False
        self.count_tokens, self.ask = asker.count_tokens, asker.ask


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.filled", description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="the cases are made from it")
    parser.add_argument("--count", type=int, default=60, help="cases")
    options = parser.parse_args(argv)
    asker, journal = metered()
    lines = likelier = written = told = 0
    for case in build(options.seed, "mutants", options.count).cases:
        for place in places(case):
            gaps = (place.gap(), place.gap(place.right), place.gap(place.wrong))
            filled, right, wrong = fill_gaps(gaps, asker, journal)
            said = _in_words(place, _Speaking(asker), journal)
            is_said = said is not None and ast.dump(ast.parse(said)) == ast.dump(
                ast.parse(place.code)
            )
            lines += 1
            likelier += (right.logprob or 0.0) > (wrong.logprob or 0.0)
            written += place.holds(filled.text)
            told += is_said
            print(
                f"{case.case_id} {place.right} [{right.logprob:.1f}], not {place.wrong} [{wrong.logprob:.1f}]: "
                f"filled in {filled.text}{', in words too' * is_said}",
                flush=True,
            )
    print(
        f"{lines} lines: the right one is likelier than the mutant's {likelier} times; it is what is filled in "
        f"{written} times, and what is answered to a prompt {told} times"
    )


if __name__ == "__main__":
    main()

"""CandidateEdit: a new text for one function, asked of the model in one of several views (SPEC B7, E1).

The prompt is a fixed template per view: what all questions of one bug share (report, failing check) comes first, then what
those of one suspect share, then the view's own request, so that a prompt cache keeps as much as it can. The answer is
started for the model (`prefill`) with the part of the function that is not in question, which saves the tokens of a copied
signature and docstring; the view that explains first starts by itself. A model that fills gaps goes on from there, and
beside the broken code is told the docstring there alone; a hosted one never sees that. Nothing is ever cut off to fit: a
question that does not fit into the model's context is not asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from surefoot.codec import encode
from surefoot.decisions.code_reply import ReadCode, finished, read_code, read_lines
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Gap, Message, ModelAnswer, ModelFailure, ModelReply, ModelRequest

POLICY_BUNDLE: Final = "candidate_edit/4"
PURPOSE: Final = "candidate_edit"
MASK: Final = "____"
SYSTEM: Final = "You are an expert Python programmer who repairs functions."
_SPARE_TOKENS: Final = 32
_LINE_TOKENS: Final = 80
_SENTENCE_TOKENS: Final = 100
_CUT_OFF: Final = ReadCode(code=None, problem="the answer was cut off before it was whole")


class EditView(StrEnum):
    """How the bug is shown and what is asked for."""

    WHOLE = "whole"
    """The broken function; the whole function back."""
    EXPLAIN = "explain"
    """The broken function; a sentence on what is wrong with it, then the whole function back."""
    MASKED = "masked"
    """The function with some lines left out; these lines back. A model that fills gaps is asked without words."""
    REWRITE = "rewrite"
    """Signature, docstring and examples only; the function back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditQuestion:
    """What the model is shown. All text from the repository and the issue is data."""

    view: EditView
    name: str
    """Last name of the function."""
    code: str
    """Its present text without indentation."""
    head: str
    """Decorators, signature and docstring, as `code` begins."""
    short_head: str = ""
    """The same with `...` for what the docstring says."""
    body_tokens: int
    """Length of the longest body that makes sense, in tokens, about."""
    head_tokens: int = 0
    """Length of `head`, in tokens."""
    context: str = ""
    """Signatures of what it calls, its class, constants."""
    issue: str = ""
    failure: str = ""
    """The failing check with the values that it saw."""
    lines: tuple[int, int] | None = None
    """First and last masked line within `code`, 1-based (view `masked`)."""
    opening: str | None = None
    """How the one masked line begins, e.g. `if`, which is given; None: the answer may be several lines (view `masked`)."""
    values: tuple[str, ...] = ()
    """How variables of the function changed in the failing check, in order (view `explain`)."""
    other_failure: str = ""
    """Another failing check, which not every question of a bug shows."""
    attempt: str = ""
    """An earlier answer that failed."""
    attempt_failure: str = ""
    """How it failed."""
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EditProposal:
    """What the model gave for one question."""

    code: str | None
    """New text of the unit; None when there is none, and then `problem` says why."""
    imports: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    mean_logprob: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditRound:
    """The answers of one batch."""

    proposals: tuple[EditProposal, ...]
    """In order of the questions; fewer when the budget did not hold them all."""
    failure: ModelFailure | None = None
    """The first call that failed, when no call gave an answer."""
    exhausted: bool = False
    """The budget refused at least one question."""


def propose_edits(questions: Sequence[EditQuestion], asker: Asker, notebook: Notebook) -> EditRound:
    """Ask a batch of questions; each usable answer is recorded as a decision."""
    requests = [request_of(q, fills_gaps=asker.fills_gaps) for q in questions]
    fits = [asker.count_tokens(r.measured) + r.max_tokens <= asker.context_tokens for r in requests]
    sent = [r for r, fit in zip(requests, fits, strict=True) if fit]
    answers = iter(asker.ask(sent) if sent else ())
    proposals: list[EditProposal] = []
    failures: list[ModelFailure] = []
    exhausted = False
    for question, request, fit in zip(questions, requests, fits, strict=True):
        if not fit:
            proposals.append(EditProposal(code=None, problem="the question is too long to ask"))
            continue
        answer = next(answers, None)
        if answer is None:
            exhausted = True
            break
        if isinstance(answer, ModelFailure):
            failures.append(answer)
        proposals.append(_proposal(question, request, answer, notebook))
    answered = any(p.problem == "" or p.code is not None for p in proposals)
    failure = failures[0] if failures and not answered else None
    return EditRound(proposals=tuple(proposals), failure=failure, exhausted=exhausted)


def _proposal(
    question: EditQuestion, request: ModelRequest, answer: ModelAnswer, notebook: Notebook
) -> EditProposal:
    if isinstance(answer, ModelFailure):
        return EditProposal(code=None, problem=f"{answer.fault.value}: {answer.message}")
    read = _read(question, request, answer)
    proposal = EditProposal(
        code=read.code,
        imports=read.imports,
        helpers=read.helpers,
        mean_logprob=answer.mean_logprob,
        problem=read.problem,
    )
    notebook.record(
        Decided(
            decision=PURPOSE,
            inputs=notebook.put(encode(question)),
            output=notebook.put(encode(proposal)),
            decided_by="model",
            policy_bundle=POLICY_BUNDLE,
            usage=answer.usage,
        )
    )
    return proposal


def _read(question: EditQuestion, request: ModelRequest, answer: ModelReply) -> ReadCode:
    """The code in an answer. Of one that was cut off only what is whole: half a function often parses, and may even pass."""
    text, cut = answer.text, answer.finish == "length"
    if request.gap is not None:
        if cut:
            return _CUT_OFF
        return read_code(_in_gap(question, text), name=question.name, original=question.code)
    if not cut:
        return read_answer(question, text)
    whole = finished(text)
    if question.view is EditView.MASKED and whole != text:
        return _CUT_OFF
    read = read_answer(question, whole)
    return read if read.code is not None else _CUT_OFF


def read_answer(question: EditQuestion, text: str) -> ReadCode:
    """The code in an answer to a question."""
    if question.view is EditView.MASKED and question.lines is not None:
        filled = _filled(question, text)
        if filled is not None:
            return read_code(filled, name=question.name, original=question.code)
    return read_code(text, name=question.name, original=question.code)


def _filled(question: EditQuestion, text: str) -> str | None:
    """The function with the masked lines replaced by the answer's; None when it gave the whole function."""
    body = read_lines(text)
    if body is None or question.lines is None or f"def {question.name}" in body:
        return None
    first, last = question.lines
    rows = question.code.split("\n")
    masked = rows[first - 1]
    indent = masked[: len(masked) - len(masked.lstrip())]
    fill = [indent + r if r.strip() else r for r in body.split("\n")]
    return "```python\n" + "\n".join([*rows[: first - 1], *fill, *rows[last:]]) + "\n```"


def _in_gap(question: EditQuestion, text: str) -> str:
    """The function with a text in the place of its masked lines, behind the indentation of the first."""
    before, after = _around(question)
    return f"```python\n{before}{text.strip()}{after}\n```"


def _around(question: EditQuestion) -> tuple[str, str]:
    """The function before and after its masked lines."""
    first, last = question.lines or (1, 1)
    rows = question.code.split("\n")
    masked = rows[first - 1]
    indent = masked[: len(masked) - len(masked.lstrip())]
    return "".join(f"{r}\n" for r in rows[: first - 1]) + indent, "\n" + "\n".join(rows[last:])


# --- prompts -------------------------------------------------------------------------------------


def request_of(question: EditQuestion, *, fills_gaps: bool = False) -> ModelRequest:
    """The request of a question; the same question gives the same bytes."""
    if fills_gaps and question.view is EditView.MASKED and question.lines is not None:
        return _gap_request(question, question.lines)
    prefill, stop, tokens = _answer_form(question)
    return ModelRequest(
        purpose=PURPOSE,
        messages=(
            Message(role="system", content=SYSTEM),
            Message(role="user", content=_prompt(question, short=fills_gaps)),
        ),
        max_tokens=tokens,
        temperature=question.temperature,
        seed=question.seed,
        stop=stop,
        prefill=prefill,
    )


def _gap_request(question: EditQuestion, lines: tuple[int, int]) -> ModelRequest:
    """The masked lines as a gap of the function; of a single one the answer ends with the line."""
    before, after = _around(question)
    above = f"{question.context}\n\n\n" if question.context else ""
    return ModelRequest(
        purpose=PURPOSE,
        messages=(),
        max_tokens=_LINE_TOKENS,
        temperature=question.temperature,
        seed=question.seed,
        stop=("\n",) if lines[0] == lines[1] else (),
        gap=Gap(before=above + before, after=f"{after}\n"),
    )


def _answer_form(question: EditQuestion) -> tuple[str, tuple[str, ...], int]:
    """How the answer begins, where it ends, and how long it may be."""
    if question.view is EditView.MASKED and question.opening is not None:
        return f"```python\n{question.opening}", ("\n", "```"), _LINE_TOKENS
    if question.view is EditView.MASKED:
        return "```python\n", ("```",), _LINE_TOKENS
    tokens = question.body_tokens + _SPARE_TOKENS
    if question.view is EditView.EXPLAIN:
        # The line that opens the block goes on after its backticks, so only the closing one ends the answer.
        return "", ("\n```\n",), tokens + question.head_tokens + _SENTENCE_TOKENS
    opened = f"```python\n{question.head}\n" if question.head else "```python\n"
    return opened, ("```",), tokens


def _prompt(question: EditQuestion, *, short: bool) -> str:
    """The whole question; a `short` one leaves the docstring to the prefill, for a model that reads it, where there is code to show."""
    head = question.head
    if short and question.view is EditView.WHOLE:
        head = question.short_head
    parts = [_shown_bug(question, head)]
    parts.append(
        _section("Its variables in the failing check, in order", "\n".join(question.values))
    )
    parts.append(_section("It also fails", question.other_failure))
    if question.attempt:
        parts.append(_code("This answer was wrong", _under(head, question, question.attempt)))
        parts.append(_section("It fails", question.attempt_failure))
    parts.append(_REQUESTS[question.view].format(name=question.name, mask=MASK))
    return "\n\n".join(p for p in parts if p)


def _under(head: str, question: EditQuestion, code: str) -> str:
    """Code of the function under another head."""
    return head + code.removeprefix(question.head) if code.startswith(question.head) else code


def _shown_bug(question: EditQuestion, head: str) -> str:
    """What all views say first: issue, failing check, surroundings, function."""
    parts = [
        _section("Bug report", question.issue),
        _section("Failing check", question.failure),
        _code("Other code", question.context),
    ]
    if question.view is EditView.REWRITE:
        parts.append(_code(f"Function `{question.name}`", head))
    elif question.view is EditView.MASKED:
        parts.append(_code(f"Function `{question.name}`", _masked(question)))
    else:
        code = _under(head, question, question.code)
        parts.append(_code(f"Function `{question.name}`, which has a bug", code))
    return "\n\n".join(p for p in parts if p)


_CORRECT: Final = "Reply with the corrected function `{name}` in one ```python block."
_REQUESTS: Final = {
    EditView.WHOLE: _CORRECT,
    EditView.EXPLAIN: (
        "Say in one sentence what is wrong in `{name}`, then reply with the corrected function in one ```python block."
    ),
    EditView.MASKED: "Reply with only the code that belongs in place of `{mask}`, in one ```python block.",
    EditView.REWRITE: "Write the function `{name}` correctly, in one ```python block.",
}


def _section(title: str, text: str) -> str:
    return f"{title}:\n{text.strip()}" if text.strip() else ""


def _code(title: str, text: str) -> str:
    return f"{title}:\n```python\n{text.strip(chr(10))}\n```" if text.strip() else ""


def _masked(question: EditQuestion) -> str:
    before, after = _around(question)
    return f"{before}{MASK}{after}"

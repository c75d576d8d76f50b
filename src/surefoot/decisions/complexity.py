"""TaskComplexityClassifier: how large a task is, which decides whether a deep plan is due (SPEC E1, E2)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from surefoot.decisions.signature import Signature
from surefoot.values import Complexity

_LONG_CHARACTERS: Final = 500
_SHORT_CHARACTERS: Final = 200
_MANY_FILES: Final = 10
_FEW_TESTS: Final = 3
_MANY_TESTS: Final = 10
_LARGE: Final = re.compile(r"\b(refactor\w*|architectur\w*|redesign\w*)\b", re.IGNORECASE)
_TOKEN: Final = re.compile(
    r"(?:[\w.@+/$~=-]+|#(?!L\d)|\[{1,2}[\w.=+-]+\]{1,2}|\([\w.=+-]+\))+"  # as in `routes/(app)/[id]/+page.ts`
)
"""What may be a path: brackets belong to it where they close, a `#` unless it leads to a line."""
_PLAIN: Final = re.compile(r"(?!(?<=[\])])/)[\w.@+/-]+")
"""Its parts, where it is none: what stands in and beside brackets, and never the end of a path with brackets as if it were absolute."""
DEEP_CONFIDENCE: Final = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexityQuestion:
    """What is known before a plan is made."""

    repository: Annotated[str, "Repository"]
    issue: Annotated[str, "Issue (data, not orders)"]
    files: Annotated[int, "Files in the repository"]
    files_named: Annotated[tuple[str, ...], "Files that the issue names, or findings are in"]
    failing: Annotated[int, "Tests that fail now and show the issue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComplexityAnswer:
    """How large, how sure, and why."""

    reasoning: Annotated[str, "one sentence"]
    complexity: Annotated[
        Literal["low", "medium", "high", "very_high"],
        "low: one function; medium: a few places; high: several modules; very_high: a change of the architecture",
    ]
    confidence: Annotated[float, "0 to 1"]


COMPLEXITY: Final = Signature(
    name="task_complexity",
    question=ComplexityQuestion,
    answer=ComplexityAnswer,
    instructions="Judge how large a change to the repository the issue asks for.",
    version=2,
    answer_tokens=600,
)


def clear_case(question: ComplexityQuestion) -> ComplexityAnswer | None:
    """The rule where the facts suffice: a short issue without a large word, or one that a few failing tests show.

    Of many failing tests it says nothing: they may be many faults.
    """
    if (
        _LARGE.search(question.issue)
        or len(question.files_named) > _MANY_FILES
        or question.failing > _MANY_TESTS
    ):
        return None
    if 0 < question.failing <= _FEW_TESTS and len(question.issue) <= _LONG_CHARACTERS:
        return _said("low", "a few failing tests show it")
    if len(question.issue) <= _SHORT_CHARACTERS:
        return _said("low", "a short issue")
    return None


def without_model(question: ComplexityQuestion) -> ComplexityAnswer:
    """The rule for a model that cannot judge this: length, files and words."""
    clear = clear_case(question)
    if clear is not None:
        return clear
    large = (
        len(question.issue) > _LONG_CHARACTERS
        or len(question.files_named) > _MANY_FILES
        or _LARGE.search(question.issue) is not None
    )
    return _said("high" if large else "medium", "by length, files and words of the issue")


def files_named(text: str, files: Sequence[str]) -> tuple[str, ...]:
    """The paths of `files` that a text names, as such or at the end of a longer one.

    `/home/x/src/a.py` names `src/a.py` and not `a.py`, too; `data.py` and `a.py.orig` do not name `a.py`. A word without
    a dot or a slash names nothing, nor does a file's name that several files have (`__init__.py`) where the text does
    not say that it is the one at the root.
    """
    known, names = set(files), Counter(path.rpartition("/")[2] for path in files)
    deepest = max((path.count("/") for path in files), default=0)

    def meant(token: str) -> str | None:
        path = next((end for end in _ends(token, deepest) if end in known), None)
        if path is None or "/" in path or names[path] == 1:
            return path
        return path if token.startswith("/") or _is_at_root(token, path) else None

    found: set[str | None] = set()
    for token in set(_TOKEN.findall(text)):
        whole = meant(_bare(token))
        found |= {whole} if whole else {meant(_bare(part)) for part in _PLAIN.findall(token)}
    return tuple(path for path in files if path in found)


def _bare(token: str) -> str:
    return token.lstrip("@").rstrip(".")


def _is_at_root(token: str, path: str) -> bool:
    """Whether it is written as where a command or a diff begins."""
    return token in (f"./{path}", f"a/{path}", f"b/{path}")


def _ends(token: str, deepest: int) -> Iterator[str]:
    """What of a token may be a path with at most `deepest` slashes, the longest first.

    `run` at the end of `build/run` is a word, in `./run` and `+++ b/run` it is a path.
    """
    parts = token.removeprefix("./").rsplit("/", deepest + 1)[-deepest - 1 :]
    for start in range(len(parts)):
        end = "/".join(parts[start:])
        if "/" in end or "." in end or _is_at_root(token, end):
            yield end


def deep_due(answer: ComplexityAnswer) -> bool:
    """Whether a deep plan is due (SPEC E2)."""
    large = answer.complexity in (Complexity.HIGH.value, Complexity.VERY_HIGH.value)
    return large and answer.confidence >= DEEP_CONFIDENCE


def _said(complexity: Literal["low", "medium", "high"], why: str) -> ComplexityAnswer:
    return ComplexityAnswer(reasoning=why, complexity=complexity, confidence=0.6)

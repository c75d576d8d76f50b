"""EnvironmentAssessment: where the work happens and with what, told to every later decision (SPEC E1).

The facts decide, so there is a rule and no model.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from surefoot.decisions.signature import Signature
from surefoot.values import SandboxLevel

_LANGUAGES: Final = {
    ".py": "Python", ".js": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript", ".jsx": "JavaScript",
    ".ts": "TypeScript", ".tsx": "TypeScript", ".go": "Go", ".rs": "Rust", ".java": "Java", ".rb": "Ruby",
    ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".sh": "shell", ".php": "PHP",
}  # fmt: skip
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentQuestion:
    """What is known of the place of work.

    Its root is told as what paths and commands begin at: the path of a worktree is another one in each run, and a prompt
    that held it could be neither cached nor replayed.
    """

    system: str
    """Operating system and cores, in words."""
    files: tuple[str, ...]
    """Paths of the base tree."""
    test_command: tuple[str, ...]
    sandbox: SandboxLevel
    model: str
    context_tokens: int
    parallel: int
    """What computes: the model, what fits into it, how many requests it serves at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentAnswer:
    """What follows from it."""

    languages: tuple[str, ...]
    """By number of files, the most frequent first, at most three."""
    small_model: bool
    """Prompts must be short, and few actions be offered."""
    summary: str


ENVIRONMENT: Final = Signature(
    name="environment_assessment",
    question=EnvironmentQuestion,
    answer=EnvironmentAnswer,
    instructions="What is the place of work like?",
    version=2,
)
SMALL_CONTEXT: Final = 8_192
"""Tokens; models up to this size of context get short prompts and at most five actions."""


def assess(question: EnvironmentQuestion) -> EnvironmentAnswer:
    """The rule."""
    counts = Counter(
        language
        for path in question.files
        if (language := _LANGUAGES.get(PurePosixPath(path).suffix)) is not None
    )
    languages = tuple(name for name, _ in counts.most_common(_SHOWN))
    written = (
        ", ".join(f"{name} ({counts[name]} files)" for name in languages) or "no known language"
    )
    return EnvironmentAnswer(
        languages=languages,
        small_model=question.context_tokens <= SMALL_CONTEXT,
        summary=(
            f"{question.system}; {written}; tests: `{' '.join(question.test_command)}`; paths are told from the "
            f"repository's root, where commands begin; they run in a sandbox ({question.sandbox}) without network"
        ),
    )

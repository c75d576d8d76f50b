"""The plain script that Surefoot is compared with: one prompt, the best of five answers.

The prompt is the file, the failing test's output and 'reply with the whole corrected file'. The first answer is
sampled at temperature 0, four more at 0.8; the first that passes the visible checks is the result.

Where a function is still to be written there is nothing to choose by: one answer at temperature 0 is the result.
"""

import re
import time
from pathlib import Path
from typing import Final

from bench.fence import run_python
from bench.meter import LIMIT_S, Used
from bench.repair.cases import Case, files
from bench.repair.grade import grade
from bench.repair.outcome import Attempt
from surefoot.kernel.ports import Model
from surefoot.values import Limits, Message, ModelAnswer, ModelReply, ModelRequest

TEMPERATURES: Final = (0.0, 0.8, 0.8, 0.8, 0.8)
CANDIDATE_S: Final = 0.5
"""One start of pytest on one file, on an idle machine."""
OUTPUT_CHARS: Final = 2000
ANSWER_TOKENS: Final = 1024
_FENCE: Final = re.compile(r"```[a-zA-Z]*\n(.*?)(?:```|\Z)", re.DOTALL)


def failing_output(folder: Path) -> str:
    """What pytest prints of the first failing test, its last 2,000 characters."""
    done = run_python(
        ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
        cwd=folder,
        limits=Limits(wall_s=300.0),
    )
    return done.stdout.decode(errors="replace").strip()[-OUTPUT_CHARS:]


def prompt(solution: str, output: str) -> str:
    """The one prompt."""
    return (
        f"`solution.py`:\n\n```python\n{solution.strip()}\n```\n\n"
        f"Its test fails:\n\n```\n{output}\n```\n\nReply with the whole corrected file."
    )


def feature_prompt(case: Case) -> str:
    """The one prompt where a function is still to be written."""
    return (
        f"`solution.py`:\n\n```python\n{case.solution.strip()}\n```\n\n"
        f"Implement `{case.entry}`. Reply with the whole file."
    )


def read_file(reply: str) -> str:
    """The longest code block of a reply, or all of it when there is none."""
    blocks: list[str] = _FENCE.findall(reply)
    return max(blocks, key=len) if blocks else reply


def _requests(text: str, seed: int) -> list[ModelRequest]:
    return [
        ModelRequest(
            purpose="bench.script",
            messages=(Message(role="user", content=text),),
            max_tokens=ANSWER_TOKENS,
            temperature=temperature,
            seed=seed + number,
        )
        for number, temperature in enumerate(TEMPERATURES)
    ]


def _cost(answer: ModelAnswer, *, first: bool) -> Used:
    """Of one answer, as if the answers had been asked for one after the other with the prompt cached."""
    usage = answer.usage
    return Used(
        model_calls=1,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=0 if first else usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        candidates=1,
    )


def attempt(case: Case, folder: Path, model: Model, *, seed: int) -> Attempt:
    """Let the script work on the case whose repository is at `folder`.

    The answers at 0.8 are asked for in one batch, which a machine with several slots gives faster; what they cost
    is counted up to the first that passes, each for itself.
    """
    start = time.monotonic()
    for name, text in files(case).items():
        (folder / name).write_text(text, "utf-8")
    if case.kind == "features":
        requests = _requests(feature_prompt(case), seed)[:1]
    else:
        requests = _requests(prompt(case.solution, failing_output(folder)), seed)
    used = Used()
    for batch in (requests[:1], requests[1:]):
        for answer in model.complete(batch):
            used += _cost(answer, first=used.model_calls == 0)
            late = used.idle_s(CANDIDATE_S) > LIMIT_S
            if late or not isinstance(answer, ModelReply):
                continue
            found = read_file(answer.text)
            if all(v.passed for v in grade(found, case.entry, case.visible)):
                return _done(start, used, found, claimed=True)
    return _done(start, used, case.solution, claimed=False)


def _done(start: float, used: Used, solution: str, *, claimed: bool) -> Attempt:
    return Attempt(
        claimed=claimed,
        status="complete" if claimed else "blocked",
        reason=f"answer {used.model_calls}" if claimed else "no answer passes the visible checks",
        solution=solution,
        used=used,
        idle_s=min(used.idle_s(CANDIDATE_S), LIMIT_S),
        wall_s=time.monotonic() - start,
    )

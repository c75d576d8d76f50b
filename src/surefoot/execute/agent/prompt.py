"""A tool call's question within a token budget: rebuilt for each call from plan, facts, tests and what the step did."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from surefoot.codec import canonical
from surefoot.decisions.tool_call import ToolCallQuestion, shown_tool
from surefoot.kernel.ports import Asker
from surefoot.values import (
    Message,
    OfferedTool,
    PlanIR,
    PlanStep,
    StepIntent,
    ToolCall,
    ToolOutcome,
    ToolSpec,
    TreeId,
)

_READS: Final = "file_read"
FEW_ACTIONS: Final = 3
"""Tools beside `done` and `ask` that a small model is offered."""
_MEANT: Final[Mapping[StepIntent, tuple[str, ...]]] = {
    StepIntent.INVESTIGATE: ("read",),
    StepIntent.MODIFY: ("write", "read"),
    StepIntent.VERIFY: ("run", "read", "write"),
    StepIntent.SYNTHESIZE: ("read", "write"),
}
"""Effects of the tools that a step is about; the others can be called, too. A step that verifies is worked on where
something fails, so it may need any."""
_FEW: Final[Mapping[StepIntent, tuple[str, ...]]] = {
    StepIntent.INVESTIGATE: ("read", "read", "read"),
    StepIntent.MODIFY: ("read", "read", "write"),
    StepIntent.VERIFY: ("run", "read", "write"),
    StepIntent.SYNTHESIZE: ("read", "read", "write"),
}
"""Effects of the tools that a small model is offered: it can use no more, so what the step cannot do without comes in."""
_CHARACTERS_A_TOKEN: Final = 3
_MOST_TOKENS: Final = 48_000
"""Of a question, whatever the model could hold: every call is paid for."""
_HEAD_TOKENS: Final = 700
"""Of the system message, at most."""
_SMALL_ANSWER: Final = 700
_LONGEST_ANSWER: Final = 4_096
"""Tokens; a file of some 300 lines. It is as much as older models give at most, and a longer answer is asked for once more with twice the room."""
_SHARES: Final = {
    "repository": 0.2,
    "issue": 0.2,
    "tests": 0.2,
    "facts": 0.15,
    "plan": 0.1,
    "step": 0.1,
    "conventions": 0.05,
}
"""Of a question, at most; what they leave is for the calls."""
_LINES: Final = 0.2
"""Share of the room for calls that is kept for those of which only a line is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """One call of the turn, and what came of it."""

    call: ToolCall
    outcome: ToolOutcome
    tree: TreeId
    """That it was made on."""

    @property
    def path(self) -> str:
        """The path that the call names; empty when it names none."""
        given: Any = json.loads(self.call.parameters)
        path = given.get("path") if isinstance(given, dict) else None
        return path if isinstance(path, str) else ""

    def line(self, number: int) -> str:
        """In one line."""
        words = (self.outcome.output or self.outcome.error).strip().splitlines()
        return f"{number}. {self._head()}: {words[0][:160] if words else 'no output'}"

    def whole(self, number: int, most: int) -> str:
        """With the whole output, cut to `most` characters."""
        text = (
            self.outcome.output
            if self.outcome.ok
            else f"{self.outcome.error}\n{self.outcome.output}"
        )
        code = (
            f" (exit code {self.outcome.exit_code})" if self.outcome.exit_code is not None else ""
        )
        return f"{number}. {self._head()}{code}\n{cut(text.rstrip(), most)}"

    def _head(self) -> str:
        ok = "" if self.outcome.ok else " FAILED"
        return f"{self.call.tool} {self.call.parameters[:300]}{ok}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything that a prompt can be made of."""

    environment: str
    conventions: str
    repository: str
    issue: str
    plan: PlanIR
    done: frozenset[str]
    """Ids of the steps that ended."""
    passed_over: frozenset[str]
    """Those of them that had nothing left to show."""
    left: frozenset[str]
    """Those of them that ended without being done."""
    facts: tuple[str, ...]
    """The oldest first."""
    tests: str
    step: PlanStep
    taken: tuple[Taken, ...]
    now: Mapping[int, str]
    """What the calls at these places of `taken` give by now: `outdated` names them."""
    specs: tuple[ToolSpec, ...]


def question_for(
    scene: Scene, asker: Asker, offered: Sequence[OfferedTool] = ()
) -> ToolCallQuestion:
    """The question, with the longest parts cut until it fits the model beside the definitions of what is offered."""
    budget = prompt_tokens(asker)
    if offered:
        defined = "".join(f"{t.name}{t.purpose}{t.schema}" for t in offered)
        budget -= min(budget // 2, asker.count_tokens((Message(role="system", content=defined),)))
    characters = budget * _CHARACTERS_A_TOKEN
    while True:
        question = _question(scene, characters)
        text = "\n".join(str(getattr(question, name)) for name in question.__slots__)
        if (
            asker.count_tokens((Message(role="user", content=text),)) <= budget
            or characters < budget // 4
        ):
            return question
        characters = characters * 3 // 4


def prompt_tokens(asker: Asker) -> int:
    """What a question may take of the model's context, the head and the answer left out."""
    return min(asker.context_tokens - answer_tokens(asker) - _HEAD_TOKENS, _MOST_TOKENS)


def answer_tokens(asker: Asker) -> int:
    """Room for the answer: a fifth of the context, within bounds."""
    return min(_LONGEST_ANSWER, max(_SMALL_ANSWER, asker.context_tokens // 5))


def offered(specs: Sequence[ToolSpec], intent: StepIntent, *, small: bool) -> tuple[ToolSpec, ...]:
    """The tools that a model is shown, in their order: all, or for a small one a few, one for each thing that the step needs."""
    if not small:
        return tuple(specs)
    own = [n for n, spec in enumerate(specs) if spec.artifact is None]
    chosen: list[int] = []
    for effect in _FEW[intent]:
        chosen += [n for n in own if n not in chosen and _has(specs[n], (effect,))][:1]
    chosen += [n for n in own if n not in chosen]
    return tuple(specs[n] for n in sorted(chosen[:FEW_ACTIONS]))


def _has(spec: ToolSpec, effects: Sequence[str]) -> bool:
    """Whether a tool is for one of these effects."""
    return spec.effect in effects or (spec.looks and "read" in effects)


def cut(text: str, most: int) -> str:
    """Head and tail of a longer text, with the gap marked."""
    if len(text) <= most:
        return text
    half = max(20, most // 2)
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def _question(scene: Scene, characters: int) -> ToolCallQuestion:
    def share(name: str) -> int:
        return int(_SHARES[name] * characters)

    question = ToolCallQuestion(
        tools=tuple(_tool(spec) for spec in scene.specs),
        environment=scene.environment,
        conventions=cut(scene.conventions, share("conventions")),
        repository=cut(scene.repository, share("repository")),
        issue=cut(scene.issue, share("issue")),
        plan=cut(_plan(scene), share("plan")),
        facts=_newest(scene.facts, share("facts")),
        tests=cut(scene.tests, share("tests")),
        history="",
        step=cut(_step(scene.step, scene.specs), share("step")),
    )
    fixed = sum(len(str(getattr(question, name))) for name in question.__slots__)
    taken = present(scene.taken, scene.now)
    return replace(question, history=_history(taken, max(400, characters - fixed)))


def outdated(taken: Sequence[Taken]) -> tuple[int, ...]:
    """Places of calls that read a file which a later call changed, the last first."""
    found: list[int] = []
    changed: set[str] = set()
    for place in range(len(taken) - 1, -1, -1):
        one = taken[place]
        if one.call.tool == _READS and one.outcome.ok and one.path in changed:
            found.append(place)
        changed.update(one.outcome.changed)
    return tuple(found)


def moved(read: ToolCall, grown: int) -> ToolCall:
    """The call for the same lines of a file that has by now so many more, or less: these may stand before them or in them."""
    given: Any = json.loads(read.parameters)
    if "first_line" in given:
        given["first_line"] = max(1, given["first_line"] + min(0, grown))
    if "last_line" in given:
        given["last_line"] += max(0, grown)
    return replace(read, parameters=canonical(given).decode())


def remembered(call: ToolCall, root: Path) -> ToolCall:
    """The call with the path of a file that it read spelled as `changed` spells it: from the worktree, links followed."""
    given: Any = json.loads(call.parameters) if call.tool == _READS else None
    path = given.get("path") if isinstance(given, dict) else None
    if not isinstance(path, str) or "\0" in path:
        return call
    top = os.path.realpath(root)
    real = os.path.realpath(root / path)
    try:
        real.encode()
    except (
        UnicodeEncodeError
    ):  # a link to a name that is no text, which no change is told of by either
        return call
    if not real.startswith(f"{top}/"):
        return call
    whole = {**given, "path": real.removeprefix(f"{top}/")}
    return replace(call, parameters=canonical(whole).decode())


def present(taken: Sequence[Taken], now: Mapping[int, str]) -> tuple[Taken, ...]:
    """The calls, those of which the output is no longer true with what they give now: the last of its like, others point to it."""
    shown: set[ToolCall] = set()
    made = list(taken)
    for place in outdated(taken):
        one, text = made[place], f"as it is now:\n{now[place]}"
        told = "it changed since; below it stands as it is now" if one.call in shown else text
        made[place] = replace(one, outcome=replace(one.outcome, output=told))
        shown.add(one.call)
    return tuple(made)


def _tool(spec: ToolSpec) -> str:
    schema: Any = json.loads(spec.schema)
    required = set(schema.get("required", ()))
    names = {
        f"{name}{'' if name in required else '?'}": kind
        for name, kind in schema.get("properties", {}).items()
    }
    shown = shown_tool(spec.name, spec.purpose, names, spec.example)
    return f"{shown} [{spec.note}]" if spec.note else shown


def _plan(scene: Scene) -> str:
    lines = [scene.plan.analysis]
    for step in scene.plan.steps:
        ended = "-" if step.step_id in scene.left else "x"
        mark = ended if step.step_id in scene.done else ">" if step == scene.step else " "
        passed = " (passed over: the tests already show it)" * (step.step_id in scene.passed_over)
        left = " (left undone)" * (step.step_id in scene.left)
        lines.append(f"[{mark}] {step.step_id} ({step.intent}): {step.description}{passed}{left}")
    lines += [f"Shows the end: {told}" for told in scene.plan.verification]
    lines += [f"Beware: {risk}" for risk in scene.plan.risk_factors]
    return "\n".join(lines)


def _newest(facts: Sequence[str], most: int) -> tuple[str, ...]:
    """The last of them that fit, in their order; the very last is there in any case, cut where it has to be."""
    kept: list[str] = []
    for fact in reversed(facts):
        if kept and len(fact) > most:
            break
        kept.append(cut(fact, most))
        most -= len(fact)
    older = len(facts) - len(kept)
    gap = (f"[… {older} older ones left out …]",) if older else ()
    return (*gap, *reversed(kept))


def _step(step: PlanStep, specs: Sequence[ToolSpec]) -> str:
    meant = [spec.name for spec in specs if _has(spec, _MEANT[step.intent])]
    tools = f"\nMeant for it: {', '.join(meant)}" if len(meant) < len(specs) else ""
    files = f"\nFiles: {', '.join(step.target_files)}" if step.target_files else ""
    reached = "".join(f"\nReached when: {told}" for told in step.acceptance)
    return f"{step.step_id} ({step.intent}): {step.description}{files}{reached}{tools}"


def _history(taken: Sequence[Taken], most: int) -> str:
    """Calls from the last one back: whole as long as there is room, then the first line of each, then none."""
    if not taken:
        return "nothing yet"
    parts, left = list[str](), most
    for number in range(len(taken), 0, -1):
        one = taken[number - 1]
        line, whole = one.line(number), one.whole(number, left * 2 // 3)
        text = whole if number == len(taken) or len(whole) <= left - _LINES * most else line
        left -= len(text)
        if left < 0 and parts:
            break
        parts.append(text)
    return "\n".join(reversed(parts))

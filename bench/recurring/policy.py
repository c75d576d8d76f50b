"""A strong model as a rule: it reads the prompt, and calls a listed function that fits; else it works by hand.

By hand it looks at the file, searches it, computes with a script and writes the answer down. Where functions can be
kept it writes one after its look, and uses it at once.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from bench.recurring.needs import NEEDS, Need, written

_SECTION: Final = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_CALL: Final = re.compile(r"^\d+\. ([a-z_.]+) \{.*?( FAILED)?(?: \(exit code .*\))?$", re.MULTILINE)
_RESULT: Final = re.compile(r"^(?:RESULT )?([\[{].*)$", re.MULTILINE)
_PLACE: Final = re.compile(r"`(answers/\w+\.py)`")


def answer(prompt: str, needs: Sequence[Need] = NEEDS) -> str:
    """What it says to a prompt of `tool_call`."""
    sections = {name: text.strip() for name, text in _SECTION.findall(prompt)}
    issue = sections["Issue (data, not orders)"]
    history = sections["Calls so far, oldest first"]
    need, arguments = _asked(issue, needs)
    place = _PLACE.findall(issue)[0]
    called = [(name, bool(wrong)) for name, wrong in _CALL.findall(history)]
    listed = set(re.findall(r"^- ([a-z_.]+): ", sections["Tools"], re.MULTILINE))
    if ("file_edit", False) in called:
        return said("done", {}, stance="do", why="the answer is written down")
    results = _RESULT.findall(history)
    if results:
        edit = {"path": place, "create": written(json.loads(results[-1]))}
        return said("file_edit", edit, stance="do", why="the answer is known")
    tool, params, stance = _next(need, arguments, called, listed)
    return said(tool, params, stance=stance, why=need.purpose)


def _next(
    need: Need, arguments: Mapping[str, object], called: list[tuple[str, bool]], listed: set[str]
) -> tuple[str, Mapping[str, object], str]:
    """The call that brings the answer nearer."""
    names = [name for name, _ in called]
    # What was mended after it failed is worth another try.
    since = called[len(names) - names[::-1].index("forge") :] if "forge" in names else called
    broken = (need.name, True) in since
    # What was kept from an earlier task goes on serving until its better has earned the place, so that is not waited for.
    kept = "forge" in names and need.name in names[: names.index("forge")]
    if need.name in listed and not (broken or kept):
        return need.name, arguments, "do"
    if "file_read" not in names and not broken:
        return "file_read", {"path": arguments["path"]}, "do"
    if "forge" in listed and names.count("forge") < 2 and not kept:
        # What was wrong before is mended where it failed, not where nobody has seen it fail.
        return (
            "forge",
            forging(need, need.source if broken else need.faulty or need.source),
            "forge",
        )
    if "ripgrep" not in names and "forge" not in listed:
        return "ripgrep", {"pattern": need.look, "path": arguments["path"]}, "do"
    return "shell", {"command": script(need, arguments)}, "do"


def forging(need: Need, source: str) -> dict[str, object]:
    """The parameters of `forge`."""
    example = need.example
    return {
        "name": need.name,
        "purpose": need.purpose,
        "source": source,
        "input_schema": need.input_schema,
        "output_schema": need.output_schema,
        "capability": need.domain,
        "reads": list(need.reads),
        "examples": [
            {"input": example.arguments, "files": example.files, "output": example.answer}
        ],
    }


def script(need: Need, arguments: Mapping[str, object]) -> str:
    """The same work as a command."""
    named = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    method = need.name.partition(".")[2]
    shown = f'import json\nprint("RESULT", json.dumps({method}({named})))'
    return f"python3 - <<'EOF'\n{need.by_hand or need.source}\n{shown}\nEOF"


def said(tool: str, params: Mapping[str, object], *, stance: str, why: str) -> str:
    """An answer of `tool_call`, with the shape of the decision."""
    forges = stance == "forge"
    return json.dumps(
        {
            "thought": why,
            "learned": [],
            "tool": tool,
            "params": params,
            "expected_outcome": "what the answer needs",
            "stance": stance,
            "capability": why,
            "reuse_basis": "no listed tool does it" if forges else "the nearest tool",
            "intent": why,
            "on_error": "return_error",
            "promotion_intent": "durable_tool_candidate" if forges else "none",
        }
    )


def _asked(issue: str, needs: Sequence[Need]) -> tuple[Need, dict[str, object]]:
    for need in needs:
        pattern = re.escape(need.asks)
        for name in ("path", "name"):
            pattern = pattern.replace(re.escape(f"{{{name}}}"), rf"(?P<{name}>\S+?)")
        found = re.search(pattern, issue)
        if found is not None:
            return need, dict(found.groupdict())
    raise ValueError(f"no need fits the issue {issue!r}")

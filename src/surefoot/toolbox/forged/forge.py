"""`forge`: a function with a contract, checked, tried on its own examples inside the sandbox, and kept (SPEC D2)."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

from surefoot.codec import canonical
from surefoot.toolbox.forged.artifact import Artifact, Example, OnError
from surefoot.toolbox.forged.checks import MOST_CHARACTERS, flaw, takes_state
from surefoot.toolbox.forged.contract import Judged, judge
from surefoot.toolbox.forged.runner import Runner
from surefoot.toolbox.places import locate
from surefoot.toolbox.specs import spec
from surefoot.values import ToolSpec

FORGE: Final = "forge"
_SHOWN: Final = 300

SPEC: Final[ToolSpec] = spec(
    FORGE,
    "Keep a Python function for work that is likely to come again, and call it from then on like any tool, as `tool.method`. "
    "It uses the standard library only, reads files of the repository (its working directory), writes none, and returns what "
    "JSON can say. A parameter `state` gives it `state.get(key)` and `state.set(key, value)`, which methods of one tool share. "
    "It raises WrongBoundary(why) when it is asked for another tool's work. It is kept when its examples work.",
    "run",
    parameters={
        "name": {
            "type": "string",
            "pattern": r"^[a-z][a-z0-9_]{1,31}\.[a-z][a-z0-9_]{1,31}$",
            "description": "tool.method; the function is called as the method",
        },
        "purpose": {"type": "string", "minLength": 10, "maxLength": 200},
        "source": {"type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS},
        "input_schema": {"type": "object"},
        "output_schema": {"type": "object"},
        "capability": {
            "type": "string",
            "pattern": "^[a-z][a-z0-9_]{2,40}$",
            "description": "class of work, e.g. log_analysis",
        },
        "reads": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "maxItems": 20,
            "description": "patterns of the files that results rest on, e.g. logs/*.log",
        },
        "on_error": {"enum": ["return_error", "retry_once"]},
        "examples": {
            "type": "array",
            "minItems": 1,
            "maxItems": 10,
            "items": {
                "type": "object",
                "properties": {
                    "input": {"type": "object"},
                    "output": {},
                    "files": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": ["input", "output"],
                "additionalProperties": False,
            },
        },
    },
    required=(
        "name",
        "purpose",
        "source",
        "input_schema",
        "output_schema",
        "capability",
        "examples",
    ),
    example={
        "name": "logs.errors",
        "purpose": "Counts the error lines of a log file.",
        "source": "def errors(path):\n    return sum(' ERROR ' in line for line in open(path))\n",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
            "additionalProperties": False,
        },
        "output_schema": {"type": "integer"},
        "capability": "log_analysis",
        "reads": ["logs/*.log"],
        "examples": [
            {
                "input": {"path": "logs/a.log"},
                "files": {"logs/a.log": "10:00 ERROR x\n"},
                "output": 1,
            }
        ],
    },
)


class Forge:
    """Makes artifacts of what a model wrote."""

    def __init__(self, runner: Runner, scratch: Path | None = None) -> None:
        """`scratch` takes the files of examples, for as long as they are tried."""
        self._runner, self._scratch = runner, scratch

    def make(self, parameters: Mapping[str, object]) -> Artifact | str:
        """The artifact, or the first thing that is wrong with it; the parameters fit the schema of `SPEC`."""
        artifact = _artifact(parameters)
        wrong = flaw(artifact)
        if wrong:
            return wrong
        for number, example in enumerate(artifact.examples, 1):
            wrong = self._tried(artifact, example)
            if wrong:
                return f"example {number}: {wrong}"
        return artifact

    def _tried(self, artifact: Artifact, example: Example) -> str:
        """Why a call that must work does not; empty when it does."""
        with tempfile.TemporaryDirectory(dir=self._scratch, prefix="forge-") as name:
            root = Path(name)
            for path, text in example.files:
                where = locate(root, path).where
                where.parent.mkdir(parents=True, exist_ok=True)
                where.write_text(text)
            judged = judge(
                artifact,
                self._runner,
                json.loads(example.input),
                root=root,
                state={},
            )
        return _difference(judged, example)


def _difference(judged: Judged, example: Example) -> str:
    if not judged.ok:
        return judged.error
    found = canonical(judged.result).decode()
    if found != example.output:
        return f"the result is {found[:_SHOWN]}, not {example.output[:_SHOWN]}"
    return ""


def _artifact(parameters: Mapping[str, object]) -> Artifact:
    def text(name: str) -> str:
        return cast("str", parameters[name])

    def data(value: object) -> str:
        return canonical(value).decode()

    name, _, method = text("name").partition(".")
    given = cast("list[Mapping[str, object]]", parameters["examples"])
    return Artifact(
        name=name,
        method=method,
        purpose=text("purpose"),
        source=text("source"),
        input_schema=data(parameters["input_schema"]),
        output_schema=data(parameters["output_schema"]),
        capability=text("capability"),
        on_error=cast("OnError", parameters.get("on_error", "return_error")),
        reads=tuple(sorted(cast("list[str]", parameters.get("reads", [])))),
        state=takes_state(text("source"), method),
        examples=tuple(
            Example(
                input=data(one["input"]),
                output=data(one["output"]),
                files=tuple(sorted(cast("Mapping[str, str]", one.get("files", {})).items())),
            )
            for one in given
        ),
    )

"""Every call through one validation, every outcome through one bound."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from surefoot.errors import GitError, LedgerError, UsageError
from surefoot.kernel.ports import Workspace
from surefoot.policy.redaction import redact
from surefoot.toolbox import Box
from surefoot.values import ToolCall, ToolOutcome, ToolSpec

NOWHERE = cast("Workspace", None)
"""No tool here looks at it."""
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "line": {"type": "integer", "minimum": 1},
        "kind": {"enum": ["a", "b"]},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"x": {"type": "integer"}},
                "required": ["x"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
EXAMPLE = '{"path":"a.py"}'


@dataclass
class Probe:
    """A tool that does what it is told to."""

    does: Callable[[Mapping[str, object]], ToolOutcome]
    name: str = "probe"
    schema: str = json.dumps(SCHEMA)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(
            name=self.name, purpose="Probe.", schema=self.schema, effect="read", example=EXAMPLE
        )

    def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
        return self.does(parameters)


def echo(parameters: Mapping[str, object]) -> ToolOutcome:
    return ToolOutcome(ok=True, output=repr(parameters))


def never(parameters: Mapping[str, object]) -> ToolOutcome:
    raise AssertionError(parameters)


def call(parameters: object, tool: str = "probe", *, box: Box | None = None) -> ToolOutcome:
    text = parameters if isinstance(parameters, str) else json.dumps(parameters)
    return (box or Box([Probe(never)])).call(ToolCall(tool=tool, parameters=text), NOWHERE)


def test_parameters_that_fit_reach_the_tool() -> None:
    """As they were given."""
    assert (
        call({"path": "b", "line": 2}, box=Box([Probe(echo)])).output == "{'path': 'b', 'line': 2}"
    )


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "parameter 'path' is missing; expected the type string"),
        ({"path": 3}, "parameter 'path' is 3; expected the type string"),
        ({"path": ""}, "parameter 'path' is \"\"; expected at least 1 characters"),
        ({"path": "a", "line": "ten"}, "parameter 'line' is \"ten\"; expected the type integer"),
        ({"path": "a", "line": True}, "parameter 'line' is true; expected the type integer"),
        ({"path": "a", "line": 0}, "parameter 'line' is 0; expected 1 or more"),
        ({"path": "a", "kind": "c"}, 'parameter \'kind\' is "c"; expected one of "a", "b"'),
        (
            {"file": "a"},
            "there is no parameter 'file'; it takes path (required), line, kind, items",
        ),
        (
            {"path": "a", "items": [{"x": 1}, {"x": "y"}]},
            "parameter 'items[1].x' is \"y\"; expected the type integer",
        ),
        ({"path": "a", "items": [{}]}, "parameter 'x' is missing in parameter 'items[0]'"),
        (
            {"path": "a", "items": [{"x": 1, "z": 1}]},
            "there is no parameter 'z' in parameter 'items[0]'; it takes x (required)",
        ),
    ],
)
def test_a_misfit_is_one_exact_sentence_with_an_example(
    parameters: dict[str, object], said: str
) -> None:
    """It names the parameter, what was given and what is expected; the tool never runs."""
    outcome = call(parameters)
    assert not outcome.ok
    assert outcome.error.startswith(f"probe: {said}")
    assert outcome.error.endswith(f"; for example {EXAMPLE}")
    assert "\n" not in outcome.error


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        '"a"',
        "null",
        '{"path": NaN}',
        '{"path": "\\ud800"}',
        "[" * 100_000,
        "1" * 5000,
    ],
)
def test_what_is_no_json_object_never_reaches_the_tool(text: str) -> None:
    """Half pairs and numbers that JSON does not know are no parameters either."""
    outcome = call(text)
    assert not outcome.ok
    assert outcome.error.startswith("probe: the parameters ")
    assert len(outcome.error) < 400


def test_long_values_are_shortened_in_the_error() -> None:
    """What a model gave is not sent back to it whole."""
    assert len(call({"path": ["x" * 100_000]}).error) < 300
    assert len(call({"x" * 100_000: 1}).error) < 400


def test_an_unknown_tool_is_told_the_names() -> None:
    """And which of them it may have meant."""
    box = Box([Probe(never, name="file_read"), Probe(never, name="shell")])
    said = call({}, "read_file_x", box=box).error
    assert said == "there is no tool 'read_file_x'; there are: file_read, shell"
    assert "did you mean 'file_read'?" in call({}, "fileread", box=box).error
    assert len(call({}, "x" * 9000, box=box).error) < 300


def test_a_tool_that_broke_is_an_outcome() -> None:
    """With its words; what is not expected of a tool is named by its kind."""

    def breaks(error: BaseException) -> Box:
        def run(parameters: Mapping[str, object]) -> ToolOutcome:
            raise error

        return Box([Probe(run)])

    for error in (UsageError("no such thing"), OSError("disk full"), GitError(("git",), 1, "bad")):
        outcome = call({"path": "a"}, box=breaks(error))
        assert not outcome.ok
        assert outcome.error == f"probe: {error}"
    outcome = call({"path": "a"}, box=breaks(ZeroDivisionError("by nothing")))
    assert not outcome.ok
    assert outcome.error == "probe: it broke (ZeroDivisionError: by nothing); use another tool"
    for beyond in (LedgerError("full"), KeyboardInterrupt()):
        with pytest.raises(type(beyond)):
            call({"path": "a"}, box=breaks(beyond))


def test_what_is_left_of_a_token_in_the_middle_is_hidden() -> None:
    """Before the middle is left out; half a token looks like none."""
    text = ("ghp_" + "aB3dE5gH7jK9" * 3 + " ") * 100
    outcome = ToolOutcome(ok=False, output=text, error=text)
    box = Box([Probe(lambda _: outcome)], output_characters=1000, redact=redact)
    shown = call({"path": "a"}, box=box)
    for field in (shown.output, shown.error):
        assert "the middle is left out" in field
        assert "aB3dE5gH7jK9" not in field


def test_whatever_a_tool_gives_is_bounded_text() -> None:
    """Head and tail stay; terminal codes, control characters and half pairs do not."""
    text = "\x1b[31mhead\x1b]0;title\x07\x00" + "x" * 20_000 + "\r\ntail\udc80"
    outcome = ToolOutcome(ok=False, output=text, error=text, changed=("a\udc80",))
    box = Box([Probe(lambda _: outcome)], output_characters=1000)
    shown = call({"path": "a"}, box=box)
    for field in (shown.output, shown.error):
        assert 990 < len(field) <= 1000
        assert field.startswith("head\ufffdxxx")
        assert field.endswith("xxx\ntail?")
        (left_out,) = re.findall(
            r"\n\[... the middle is left out, (\d+) of 20011 characters ...\]\n", field
        )
        words = len(f"\n[... the middle is left out, {left_out} of 20011 characters ...]\n")
        assert len(field) - words + int(left_out) == 20011
    assert shown.changed == ("a?",)


def test_two_tools_of_one_name_are_refused() -> None:
    """Nobody could tell which one was meant."""
    with pytest.raises(UsageError, match="two tools are named 'probe'"):
        Box([Probe(echo), Probe(echo)])


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "[]",
        "true",
        '{"type": "thing"}',
        '{"pattern": "("}',
        '{"pattern": "a{99999999999}"}',
        '{"patternProperties": {"a{99999999999}": {}}}',
    ],
)
def test_a_schema_that_is_none_is_refused(schema: str) -> None:
    """Before any call."""
    with pytest.raises(UsageError, match="the schema of the tool 'probe'"):
        Box([Probe(echo, schema=schema)])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # how jsonschema speaks of a fetch
def test_a_schema_is_never_fetched_from_anywhere(tmp_path: Path) -> None:
    """Not even a file that is there."""
    (tmp_path / "schema.json").write_text("{}")
    schema = json.dumps({"$ref": (tmp_path / "schema.json").as_uri()})
    outcome = call({}, box=Box([Probe(never, schema=schema)]))
    assert "the schema of 'probe' cannot be applied (" in outcome.error


@pytest.mark.parametrize(
    "schema", ['{"$ref":"https://example.org/schema"}', '{"$ref":"#"}', '{"$ref":"#/nowhere"}']
)
def test_a_schema_never_makes_us_hang(schema: str) -> None:
    """What it refers to elsewhere, to itself without end or to nothing cannot be applied, so the tool does not run."""
    outcome = call({}, box=Box([Probe(never, schema=schema)]))
    assert "the schema of 'probe' cannot be applied" in outcome.error


def test_a_schema_that_breaks_on_a_value_is_told() -> None:
    """A number that no float can hold is divided by one."""
    schema = json.dumps({"properties": {"n": {"multipleOf": 0.5}}})
    outcome = call({"n": 10**400}, box=Box([Probe(never, schema=schema)]))
    assert outcome.error.startswith("the schema of 'probe' cannot be applied (OverflowError)")

"""What is wrong with a function and its contract is said in one sentence, before anything runs."""

import json
from dataclasses import replace

import pytest

from surefoot.toolbox.forged import Artifact, Example, pack, unpack
from surefoot.toolbox.forged.checks import flaw, takes_state

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
GOOD = Artifact(
    name="logs",
    method="errors",
    purpose="Counts the errors of a log.",
    source="def errors(path):\n    return 1\n",
    input_schema=json.dumps(SCHEMA),
    output_schema='{"type":"integer"}',
    capability="log_analysis",
    examples=(Example(input='{"path":"a"}', output="1"),),
)


def test_nothing_is_wrong_with_a_plain_function() -> None:
    """It is kept as it is, and its bytes give it back."""
    assert flaw(GOOD) == ""
    assert unpack(pack(GOOD)) == GOOD


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"input_schema": '{"type":"nonsense"}'}, "input_schema is no JSON Schema"),
        ({"input_schema": '{"pattern":"a{99999999999}"}'}, "input_schema is no JSON Schema"),
        ({"output_schema": '{"type":3}'}, "output_schema is no JSON Schema"),
        ({"source": "def errors(path)\n  return 1"}, "line 1: expected ':'"),
        ({"source": "errors = 1"}, "no function 'errors'"),
        ({"source": "x = 1\n" * 5_000}, "over 20000"),
        ({"source": "import subprocess\ndef errors(path): ..."}, "'subprocess' is refused"),
        ({"source": "from urllib import request\ndef errors(path): ..."}, "'urllib.request'"),
        ({"source": "def errors(path):\n  import http.client"}, "line 2: the import of 'http"),
        ({"source": "def errors(path): return __import__('os')"}, "must not use __import__"),
        ({"source": "def errors(path, more): ..."}, "errors needs 'more'"),
        ({"source": "def errors(): ..."}, "no parameter 'path'"),
        ({"source": "def errors(path, /): ..."}, "by position only"),
        ({"input_schema": '{"type":"array"}'}, '"type": "object"'),
        (
            {"input_schema": json.dumps({**SCHEMA, "additionalProperties": True})},
            '"additionalProperties": false',
        ),
        (
            {"input_schema": json.dumps({**SCHEMA, "properties": {"state": {}, "path": {}}})},
            "leave it out of input_schema",
        ),
    ],
)
def test_a_flaw_is_told_exactly(changes: dict[str, str], said: str) -> None:
    """The first one, with its place where there is one."""
    assert said in flaw(replace(GOOD, **changes))


def test_urllib_parse_is_no_network() -> None:
    """Only the module that opens connections is refused."""
    assert flaw(replace(GOOD, source="import urllib.parse\ndef errors(path): ...")) == ""


def test_state_is_asked_for_by_a_parameter() -> None:
    """Whoever names it gets it; it is no argument."""
    assert takes_state("def errors(path, state): ...", "errors")
    assert not takes_state("def errors(path): ...", "errors")
    assert not takes_state("def errors(", "errors")
    assert flaw(replace(GOOD, source="def errors(path, state): ...", state=True)) == ""

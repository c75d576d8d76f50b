"""What every tool of the default toolbox keeps to, as executors and providers rely on it."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from surefoot import codec
from surefoot.context import outline
from surefoot.gitops import Repository
from surefoot.gitops.workspace import open_workspace
from surefoot.kernel.ports import Toolbox, Workspace
from surefoot.policy.redaction import redact
from surefoot.sandbox import open_processes
from surefoot.testing.repository import ScratchRepository
from surefoot.toolbox import Shelter, default_toolbox
from surefoot.values import RunId, ToolCall, ToolOutcome, ToolSpec

NAMES = ("file_read", "ripgrep", "file_edit", "shell")
FILES = {
    "src/agenda.py": "".join(f"x{n} = {n}\n" for n in range(50)) + "total = 0\n" + "y = 1\n" * 40,
    "tests/test_agenda.py": "def test_nothing():\n    pass\n",
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    user = ScratchRepository.create(tmp_path_factory.mktemp("repository"), os.environ["PATH"])
    user.commit(FILES)
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as opened:
        yield opened


@pytest.fixture(scope="module")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    processes = open_processes(scratch=tmp_path_factory.mktemp("scratch"))
    python = (Path(sys.prefix), Path(sys.base_prefix))
    path = f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin"
    shelter = Shelter(env={"PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}, reads=python)
    yield default_toolbox(
        processes, shelter, path=os.environ["PATH"], outliner=outline, redact=redact
    )
    processes.close()


@pytest.fixture(params=NAMES)
def spec(request: pytest.FixtureRequest, toolbox: Toolbox) -> ToolSpec:
    return next(spec for spec in toolbox.specs if spec.name == request.param)


def test_the_tools_are_these(toolbox: Toolbox) -> None:
    """In the order in which a model is shown them, and few enough for a small one."""
    assert tuple(spec.name for spec in toolbox.specs) == NAMES
    assert sum(len(spec.schema + spec.purpose + spec.example) for spec in toolbox.specs) < 3000


def test_a_spec_is_canonical_and_valid(spec: ToolSpec) -> None:
    """Both texts are canonical JSON, the schema is one that providers with native tool calls take."""
    schema = json.loads(spec.schema)
    for text in (spec.schema, spec.example):
        assert codec.canonical(json.loads(text)).decode() == text
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert not {"oneOf", "anyOf", "allOf", "enum", "not", "$ref"} & set(schema)
    assert set(schema["required"]) <= set(schema["properties"])
    assert spec.purpose.endswith(".")


def test_the_example_runs(spec: ToolSpec, toolbox: Toolbox, workspace: Workspace) -> None:
    """It fits the schema, and does on a fitting project what it shows."""
    Draft202012Validator(json.loads(spec.schema)).validate(json.loads(spec.example))
    outcome = toolbox.call(ToolCall(tool=spec.name, parameters=spec.example), workspace)
    assert outcome.ok, outcome.error
    assert outcome.error == ""
    assert codec.decode(ToolOutcome, codec.encode(outcome)) == outcome
    assert bool(outcome.changed) == (spec.effect == "write")


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=4,
)


@settings(max_examples=40)
@given(data=st.data(), raw=st.text(max_size=30))
def test_nonsense_is_an_outcome(
    data: st.DataObject, raw: str, toolbox: Toolbox, workspace: Workspace
) -> None:
    """Whatever stands where parameters belong: never an exception, a short error, nothing changed."""
    spec = data.draw(st.sampled_from([s for s in toolbox.specs if s.effect == "read"]))
    names = st.sampled_from([*json.loads(spec.schema)["properties"], "other"])
    parameters = data.draw(st.dictionaries(names, _values, max_size=4))
    for text in (raw, json.dumps(parameters)):
        outcome = toolbox.call(ToolCall(tool=spec.name, parameters=text), workspace)
        assert outcome.ok == (outcome.error == "")
        assert len(outcome.error) < 1500
        assert outcome.changed == ()
        codec.encode(outcome)

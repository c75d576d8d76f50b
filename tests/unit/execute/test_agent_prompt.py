"""A tool call's prompt fits the model, and drops the oldest words first."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.context import outline
from surefoot.execute.agent.prompt import (
    Scene,
    Taken,
    cut,
    moved,
    offered,
    outdated,
    prompt_tokens,
    question_for,
    remembered,
)
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.ports import RunningProcess
from surefoot.policy.redaction import redact
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.testing.model import ScriptedModel
from surefoot.toolbox.default import default_toolbox
from surefoot.toolbox.lsp.servers import SPEC as LSP
from surefoot.toolbox.shell import Shelter
from surefoot.values import (
    Ceilings,
    Command,
    Complexity,
    Digest,
    Message,
    PlanIR,
    PlanStep,
    ProcessResult,
    SandboxLevel,
    StepIntent,
    ToolCall,
    ToolOutcome,
    ToolSpec,
    TreeId,
)

SPEC = ToolSpec(
    name="file_read",
    purpose="Reads.",
    schema='{"properties":{"path":{"type":"string"},"last_line":{"type":"integer"}},"required":["path"]}',
    effect="read",
    example='{"path":"a.py"}',
)
STEP = PlanStep(step_id="change", description="change it", intent=StepIntent.MODIFY)


def asker(context_tokens: int) -> MeteredModel:
    """A model with that much context."""
    ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1)
    journal = Journal(MemoryLedger(), FakeClock())
    return MeteredModel(
        ScriptedModel([], context_tokens=context_tokens), journal, ceilings, FakeClock()
    )


def scene(outputs: list[str], tests: str = "1 fails", issue: str = "it is wrong") -> Scene:
    """A turn with these outputs."""
    taken = tuple(
        Taken(
            call=ToolCall(tool="file_read", parameters=f'{{"path":"{n}.py"}}'),
            outcome=ToolOutcome(ok=True, output=text),
            tree=TreeId("t"),
        )
        for n, text in enumerate(outputs)
    )
    plan = PlanIR(
        analysis="a", steps=(STEP,), verification=(), complexity=Complexity.LOW, confidence=1.0
    )
    return Scene(
        environment="Linux",
        conventions="",
        repository="a.py\n" * 50,
        issue=issue,
        plan=plan,
        done=frozenset(),
        passed_over=frozenset(),
        left=frozenset(),
        facts=("a fact",),
        tests=tests,
        step=STEP,
        taken=taken,
        now={},
        specs=(SPEC,),
    )


@given(
    st.lists(st.text(max_size=4_000), max_size=12),
    st.text(max_size=20_000),
    st.sampled_from([4_096, 8_192, 32_768]),
)
def test_a_prompt_fits_whatever_was_said(outputs: list[str], tests: str, context: int) -> None:
    """For all outputs and all sizes of context there is room for the answer, and step and issue are always shown."""
    model = asker(context)
    question = question_for(scene(outputs, tests), model)
    text = "\n".join(str(getattr(question, name)) for name in question.__slots__)
    assert model.count_tokens((Message(role="user", content=text),)) <= prompt_tokens(model)
    assert question.issue == "it is wrong"
    assert "change it" in question.step


@pytest.mark.parametrize("context", [4_096, 8_192, 16_384])
def test_many_facts_and_a_long_plan_leave_room_for_the_issue(context: int) -> None:
    """The newest facts are shown; a long plan or step is cut, and what is said of the issue is not what goes first."""
    model = asker(context)
    wordy = replace(STEP, description=f"change it {'very ' * 4_000}well")
    was = scene(["read"], tests="1 fails " * 1_000, issue="it is wrong " * 1_000)
    facts = tuple(f"fact {n} {'x' * 1_000}" for n in range(60))
    long = replace(
        was,
        facts=facts,
        step=wordy,
        plan=replace(was.plan, steps=(wordy, STEP), analysis="a" * 9_000),
    )
    question = question_for(long, model)
    text = "\n".join(str(getattr(question, name)) for name in question.__slots__)
    assert model.count_tokens((Message(role="user", content=text),)) <= prompt_tokens(model)
    assert len(question.issue) > prompt_tokens(model) // 3
    assert question.facts[-1].startswith("fact 59")
    assert "older ones left out" in question.facts[0]
    assert question.step.startswith("change (modify): change it")


def test_few_facts_are_all_shown_in_their_order() -> None:
    """Nothing is said of any that are left out."""
    facts = tuple(f"fact {n}" for n in range(60))
    assert question_for(replace(scene([]), facts=facts), asker(8_192)).facts == facts


def test_a_large_context_shows_every_output_whole() -> None:
    """What was read first is still there after many calls."""
    outputs = [f"line {n}\nmore of {n}" for n in range(20)]
    history = question_for(scene(outputs), asker(32_768)).history
    assert all(f"more of {n}\n" in f"{history}\n" for n in range(20))


def test_a_small_context_keeps_the_last_output_and_a_line_of_the_others() -> None:
    """The newest is whole as far as it fits; older ones are told in a line."""
    outputs = [f"first line of {n}\n" + "x" * 2_500 for n in range(4)]
    history = question_for(scene(outputs), asker(4_096)).history
    assert "4. file_read" in history
    assert "x" * 300 in history
    assert '1. file_read {"path":"0.py"}: first line of 0' in history


def test_a_small_model_is_offered_five_actions() -> None:
    """Three tools beside `done` and `ask`; a large one is offered all."""
    many = tuple(SPEC for _ in range(9))
    for intent in StepIntent:
        assert len(offered(many, intent, small=True)) == 3
        assert len(offered(many, intent, small=False)) == 9


EDIT = replace(SPEC, name="file_edit", effect="write")
SHELL = replace(SPEC, name="shell", effect="run")


class _NoProcesses:
    """What tools are made with that are never called."""

    level = SandboxLevel.NONE

    def run(self, command: Command) -> ProcessResult:
        raise NotImplementedError

    def start(self, command: Command) -> RunningProcess:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("intent", "few", "told"),
    [
        (StepIntent.INVESTIGATE, "file_read ripgrep lsp", "file_read, ripgrep, lsp"),
        (StepIntent.MODIFY, "file_read ripgrep file_edit", "file_read, ripgrep, file_edit, lsp"),
        (StepIntent.VERIFY, "file_read file_edit shell", ""),
        (
            StepIntent.SYNTHESIZE,
            "file_read ripgrep file_edit",
            "file_read, ripgrep, file_edit, lsp",
        ),
    ],
)
def test_the_intent_of_a_step_says_which_tools_are_for_it(
    intent: StepIntent, few: str, told: str
) -> None:
    """Of the product's own tools a large model is told, and offered all; a small one gets those. What fails may need any."""
    box = default_toolbox(
        _NoProcesses(), Shelter(env={}), path=os.environ["PATH"], outliner=outline, redact=redact
    )
    server = replace(SPEC, name="clock.now", effect="run")
    specs = (*box.specs, LSP, server)
    assert " ".join(s.name for s in offered(specs, intent, small=True)) == few
    shown = replace(scene([]), specs=specs, step=replace(STEP, intent=intent))
    step = question_for(shown, asker(32_768)).step
    assert step.partition("\nMeant for it: ")[2] == told


def test_a_small_model_is_offered_as_many_tools_where_few_look() -> None:
    """Where too few tools look, the next one in their order is offered."""
    box = default_toolbox(
        _NoProcesses(), Shelter(env={}), path=os.environ["PATH"], outliner=outline, redact=redact
    )
    few = offered(box.specs, StepIntent.INVESTIGATE, small=True)
    assert [s.name for s in few] == ["file_read", "ripgrep", "file_edit"]


@pytest.mark.parametrize("most", [10, 100, 1_000])
def test_a_cut_text_says_so(most: int) -> None:
    """Head and tail stay; the gap is counted."""
    text = "a" * 2_000 + "z"
    short = cut(text, most)
    assert short.startswith("a")
    assert short.endswith("z")
    assert "characters left out" in short
    assert cut("short", 10) == "short"


def test_a_forged_tool_is_shown_with_its_standing() -> None:
    """In brackets behind its line; a small model is not shown it at all."""
    forged = replace(SPEC, name="logs.errors", note="durable, 9 of 9 calls worked")
    shown = question_for(replace(scene([]), specs=(SPEC, forged)), asker(32_768)).tools
    assert shown[0].endswith('{"path":"a.py"}')
    assert shown[1].endswith('{"path":"a.py"} [durable, 9 of 9 calls worked]')
    forged = replace(forged, artifact=Digest("a" * 64))
    for intent in StepIntent:
        assert forged not in offered((EDIT, SHELL, SPEC, forged), intent, small=True)


@pytest.mark.parametrize(
    "schema",
    ['{"additionalProperties":false,"type":"object"}', '{"properties":{},"type":"object"}'],
)
def test_a_tool_may_take_nothing(schema: str) -> None:
    """Whether or not its schema says that it has no properties."""
    now = replace(SPEC, name="clock.now", purpose="Tells the time.", schema=schema, example="{}")
    (shown,) = question_for(replace(scene([]), specs=(now,)), asker(32_768)).tools
    assert shown == "clock.now: Tells the time. Parameters: none. Example: {}"


def test_a_step_that_had_nothing_to_show_says_so() -> None:
    """A step that was never worked on is told from one that was."""
    shown = PlanStep(step_id="check", description="run the tests", intent=StepIntent.VERIFY)
    was = scene([])
    now = replace(
        was,
        plan=replace(was.plan, steps=(shown, STEP)),
        done=frozenset({"check"}),
        passed_over=frozenset({"check"}),
    )
    told = question_for(now, asker(8_192)).plan
    assert "[x] check (verify): run the tests (passed over: the tests already show it)" in told
    assert (
        "passed over" not in question_for(replace(now, passed_over=frozenset()), asker(8_192)).plan
    )


def test_a_step_that_was_left_is_not_told_as_done() -> None:
    """Its calls were used up, or it asked the same again."""
    was = scene([])
    first = PlanStep(step_id="look", description="look", intent=StepIntent.INVESTIGATE)
    now = replace(
        was,
        plan=replace(was.plan, steps=(first, STEP)),
        done=frozenset({"look"}),
        left=frozenset({"look"}),
    )
    assert "[-] look (investigate): look (left undone)" in question_for(now, asker(8_192)).plan


def test_a_file_that_changed_since_it_was_read_is_shown_as_it_is() -> None:
    """Each part that was read, where it was read last; a file that nobody changed is shown as the tool told it."""

    def read(path: str, text: str, **part: int) -> Taken:
        call = ToolCall(tool="file_read", parameters=json.dumps({"path": path, **part}))
        return Taken(call=call, outcome=ToolOutcome(ok=True, output=text), tree=TreeId("t"))

    edit = Taken(
        call=ToolCall(tool="file_edit", parameters='{"path":"a.py"}'),
        outcome=ToolOutcome(ok=True, output="edited", changed=("a.py",)),
        tree=TreeId("t"),
    )
    taken = [
        read("a.py", "old one"),
        read("b.py", "other"),
        read("a.py", "old two", first_line=9),
        read("a.py", "old three"),
        edit,
    ]
    assert outdated(taken) == (3, 2, 0)
    now = {0: "new text", 2: "new part", 3: "new text"}
    told = question_for(replace(scene([]), taken=tuple(taken), now=now), asker(32_768)).history
    assert told.count("as it is now:\nnew text") == 1
    assert told.count("as it is now:\nnew part") == 1
    assert "it changed since; below it stands as it is now" in told
    assert "old" not in told.replace("older", "")
    assert "other" in told


@pytest.mark.parametrize(
    ("part", "grown", "shown"),
    [
        ({}, 9, {}),
        ({"outline": True}, 9, {"outline": True}),
        ({"first_line": 280, "last_line": 320}, 5, {"first_line": 280, "last_line": 325}),
        ({"first_line": 280, "last_line": 320}, -5, {"first_line": 275, "last_line": 320}),
        ({"first_line": 3}, -9, {"first_line": 1}),
        ({"last_line": 20}, 2, {"last_line": 22}),
    ],
)
def test_what_was_read_is_read_again_wherever_it_stands_now(
    part: dict[str, object], grown: int, shown: dict[str, object]
) -> None:
    """Lines that came or went may have stood before it or in it, so the range is widened by them on that side."""
    read = ToolCall(tool="file_read", parameters=json.dumps({"path": "a.py", **part}))
    assert json.loads(moved(read, grown).parameters) == {"path": "a.py", **shown}


@pytest.mark.parametrize("spelled", ["a/b.py", "./a/b.py", "a//./b.py", "{root}/a/b.py", "c/b.py"])
def test_a_file_is_remembered_by_one_name(tmp_path: Path, spelled: str) -> None:
    """However a model spells a path, absolute or through a link, a later change of the file is seen."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.py").write_text("")
    (tmp_path / "c").symlink_to("a")
    path = spelled.format(root=tmp_path)
    read = ToolCall(tool="file_read", parameters=json.dumps({"path": path, "first_line": 2}))
    edit = ToolCall(tool="file_edit", parameters=json.dumps({"path": "a/b.py"}))
    taken = [
        Taken(call=call, outcome=ToolOutcome(ok=True, output="", changed=changed), tree=TreeId("t"))
        for call, changed in ((remembered(read, tmp_path), ()), (edit, ("a/b.py",)))
    ]
    assert outdated(taken) == (0,)
    assert json.loads(taken[0].call.parameters)["first_line"] == 2


@pytest.mark.parametrize(
    "parameters",
    ['{"path":"."}', '{"path":"../b.py"}', '{"path":3}', '{"path":"a\\u0000"}', "[]", "{}"],
)
def test_what_names_no_file_of_the_worktree_is_remembered_as_it_was(
    tmp_path: Path, parameters: str
) -> None:
    """A folder, a path outside, or none at all; other tools have paths of their own."""
    call = ToolCall(tool="file_read", parameters=parameters)
    assert remembered(call, tmp_path) == call
    other = ToolCall(tool="shell", parameters='{"path":"./a.py"}')
    assert remembered(other, tmp_path) == other

"""The scripted model: rules, and the file behind `--model scripted:FILE`."""

import json
from pathlib import Path

import pytest

from surefoot.errors import SettingsError
from surefoot.models.scripted import Rule, ScriptedModel, load_scripted
from surefoot.values import Message, ModelAnswer, ModelFailure, ModelFault, ModelReply, ModelRequest


def ask(text: str = "hello", **changes: object) -> ModelRequest:
    given = {"purpose": "t", "messages": (Message(role="user", content=text),), "max_tokens": 64}
    return ModelRequest(**{**given, **changes})  # type: ignore[arg-type]


def said(model: ScriptedModel, request: ModelRequest) -> str:
    (answer,) = model.complete((request,))
    assert isinstance(answer, ModelReply), answer
    return answer.text


def fault(model: ScriptedModel, request: ModelRequest) -> ModelFailure:
    (answer,) = model.complete((request,))
    assert isinstance(answer, ModelFailure), answer
    return answer


def test_the_first_rule_that_fits_answers() -> None:
    """Purpose, pattern and predicate must all hold; the order of the rules decides, the default comes last."""
    model = ScriptedModel(
        [
            Rule(purpose="judge", pattern="^diff", replies=("judged",)),
            Rule(purpose="judge", replies=("unclear",)),
            Rule(when=lambda request: request.temperature > 1, replies=("wild",)),
        ],
        default="default",
    )
    assert said(model, ask("a\ndiff", purpose="judge")) == "judged"
    assert said(model, ask("no diff", purpose="judge")) == "unclear"
    assert said(model, ask(temperature=1.5)) == "wild"
    assert said(model, ask()) == "default"


def test_the_answer_depends_on_the_request_alone() -> None:
    """Several replies are chosen by the seed, so that order, repetition and a restart change nothing."""
    replies = ("zero", "one", "two")
    model, fresh = ScriptedModel(replies), ScriptedModel(replies)
    assert [said(model, ask(seed=seed)) for seed in (4, 0, 2, 4)] == ["one", "zero", "two", "one"]
    assert said(fresh, ask(seed=4)) == "one"


def test_a_scripted_fault_is_a_failure() -> None:
    """Kind, message and wait are those of the rule."""
    rule = Rule(fault=ModelFault.RATE_LIMIT, message="slow down", retry_after_s=3.0)
    got = fault(ScriptedModel([rule]), ask())
    assert (got.fault, got.message, got.retry_after_s) == (
        ModelFault.RATE_LIMIT,
        "slow down",
        3.0,
    )


def test_no_rule_quotes_the_prompt() -> None:
    """A prompt that nobody thought of is a failure that shows its end."""
    assert "what now?" in fault(ScriptedModel([Rule(pattern="x{9}")]), ask("what now?")).message


def test_an_empty_reply_is_an_empty_failure() -> None:
    """As with a real model, nothing said is no reply."""
    assert fault(ScriptedModel([""]), ask()).fault is ModelFault.EMPTY
    assert fault(ScriptedModel(["def"]), ask(prefill="def")).fault is ModelFault.EMPTY


def test_it_remembers_what_it_was_asked() -> None:
    """Tests count calls by `asked`."""
    model = ScriptedModel(["x"])
    requests = (ask("a"), ask("b"))
    model.complete(requests)
    assert model.asked == requests


def test_it_costs_what_it_is_told_to() -> None:
    """Usage and price are the same for the same request, and the estimate covers them."""
    model = ScriptedModel(["x" * 40], usd_per_token=0.01)
    (answer,) = model.complete((ask("y" * 40),))
    assert answer.usage.prompt_tokens == model.count_tokens(ask("y" * 40).messages) == 14
    assert answer.usage.completion_tokens == 10
    assert answer.usage.cost_usd == pytest.approx(model.estimate_usd(14, 10)) == 0.24


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    """Every field of the form has its effect."""
    path = write(
        tmp_path / "script.json",
        {
            "schema": 1,
            "context_tokens": 100,
            "parallel": 2,
            "default": "else",
            "rules": [
                {"purpose": "p", "pattern": "a+b", "reply": "one"},
                {"pattern": "many", "replies": ["r0", "r1"]},
                {"pattern": "broke", "fault": "overload", "message": "m", "retry_after_s": 2},
            ],
        },
    )
    model = load_scripted(path, name="scripted:x")
    assert (model.name, model.context_tokens, model.parallel) == ("scripted:x", 100, 2)
    assert said(model, ask("aab", purpose="p")) == "one"
    assert said(model, ask("aab")) == "else"
    assert said(model, ask("many", seed=3)) == "r1"
    got = fault(model, ask("broke"))
    assert (got.fault, got.message, got.retry_after_s) == (ModelFault.OVERLOAD, "m", 2.0)
    over: ModelAnswer = fault(model, ask(max_tokens=101))
    assert isinstance(over, ModelFailure)
    assert over.fault is ModelFault.CONTEXT_OVERFLOW


def test_the_documented_example_is_one(tmp_path: Path) -> None:
    """The file in docs/reference/scripted-model.md loads and answers as it says there."""
    page = Path(__file__).parents[3] / "docs/reference/scripted-model.md"
    example = page.read_text(encoding="utf-8").partition("```json\n")[2].partition("\n```\n")[0]
    (tmp_path / "script.json").write_text(example, encoding="utf-8")
    model = load_scripted(tmp_path / "script.json")
    edit = ask("def merge_intervals(pairs): pass", purpose="candidate_edit", seed=1)
    assert said(model, edit) == "a second answer"
    block = ask(
        "def merge_intervals", purpose="candidate_edit", prefill="```python\n", stop=("```",)
    )
    assert said(model, block) == "```python\ndef merge_intervals(pairs): ...\n"
    assert fault(model, ask("are you there?")).fault is ModelFault.RATE_LIMIT
    assert said(model, ask("else")) == "I do not know."


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ({}, "schema"),
        ({"schema": 2}, "schema"),
        ({"schema": 1, "rule": []}, "rule"),
        ({"schema": 1, "rules": [{}]}, "rules.0"),
        ({"schema": 1, "rules": [{"reply": "x", "fault": "empty"}]}, "rules.0"),
        ({"schema": 1, "rules": [{"reply": "x", "pattern": "("}]}, "rules.0"),
        ({"schema": 1, "rules": [{"fault": "bad mood"}]}, "rules.0.fault"),
        ({"schema": 1, "context_tokens": 0}, "context_tokens"),
    ],
)
def test_a_file_of_another_form_names_the_place(
    tmp_path: Path, content: object, place: str
) -> None:
    """The sentence names the file, the place in it and the documentation."""
    path = write(tmp_path / "script.json", content)
    with pytest.raises(SettingsError, match=place) as refused:
        load_scripted(path)
    assert str(path) in str(refused.value)


def test_a_file_that_is_not_there_or_not_json_is_one_sentence(tmp_path: Path) -> None:
    """Neither is a traceback."""
    with pytest.raises(SettingsError, match="cannot be read"):
        load_scripted(tmp_path / "none.json")
    (tmp_path / "bad.json").write_bytes(b"\xff{")
    with pytest.raises(SettingsError, match=r"bad\.json"):
        load_scripted(tmp_path / "bad.json")

"""`surefoot models test`: everybody whom a run would ask is asked, and whoever does not answer is told with the reason."""

import json
from pathlib import Path

from tests.integration.shop import TESTS, Shop

from surefoot.testing.chat_server import ScriptedServer, speaks_for
from surefoot.testing.model import ScriptedModel

NO_KEYS = {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": "", "KIMI_CODING_API_KEY": ""}


def trusted(tmp_path: Path, settings: str) -> Shop:
    """A shop whose settings are in force."""
    shop = Shop(tmp_path, TESTS, settings)
    assert shop.surefoot("trust").returncode == 0
    return shop


def test_without_a_name_everybody_is_asked_whom_a_run_would_ask(tmp_path: Path) -> None:
    """Who works and who judges, each once; one that was named and lacks its key is a failure that names the variable."""
    model = {name: f"scripted:{tmp_path / name}.json" for name in ("first", "judge")}
    use = json.dumps(["openai/lacks-a-key"])
    settings = f'[models]\nuse = {use}\n[solver]\nmodel = "{model["judge"]}, {model["first"]}"\n'
    shop = trusted(tmp_path, f'{settings}[run]\nmodel = "{model["first"]}"\n')
    for name in model:
        shop.scripted([], name)
    done = shop.surefoot("models", "test", env=NO_KEYS)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0].startswith(f"ok      {model['first']} [works] [judges]: 'I do not know.'")
    assert lines[1].startswith("failed  openai/lacks-a-key [works]: there is no key in OPENAI_API_")
    assert lines[2].startswith(f"ok      {model['judge']} [judges]: 'I do not know.'")
    assert len(lines) == 3


def test_auto_asks_each_model_that_may_be_asked_and_no_other(tmp_path: Path) -> None:
    """Models without a key are nobody's wish under `auto`; a server of the user's own is asked for real."""
    with ScriptedServer(speaks_for(ScriptedModel([], default="ready"))) as server:
        cards = "".join(
            f'[[models.card]]\nname = "openai/{n}"\nbase_url = "{server.base_url}"\n' for n in "ab"
        )
        shop = trusted(
            tmp_path,
            f'[run]\nmodel = "auto"\n[solver]\nmodel = "openai/b"\n[models]\ndeny = ["embedded"]\n{cards}',
        )
        said = shop.run("models", "test", env=NO_KEYS)
        assert len(server.seen) == 2
    assert said["ok"] is True
    tried = {one["model"]: (one["roles"], one["answer"]) for one in said["models"]}  # type: ignore[attr-defined]
    assert tried == {
        "openai/a": (["works"], "ready"),
        "openai/b": (["works", "judges"], "ready"),
    }


def test_the_files_server_is_asked_for_the_files_model_alone(tmp_path: Path) -> None:
    """Another model on the command line goes to its own provider, or lacks a key for it; the same one goes there."""
    with ScriptedServer(speaks_for(ScriptedModel([], default="ready"))) as server:
        shop = trusted(tmp_path, f'[run]\nmodel = "openai/own"\nbase_url = "{server.base_url}"\n')
        other = shop.surefoot("models", "test", "--model", "anthropic/other", env=NO_KEYS)
        assert (other.returncode, len(server.seen)) == (1, 0)
        assert "there is no key in ANTHROPIC_API_KEY" in other.stdout
        solved = shop.surefoot("solve", "x y", "--model", "openai/other", env=NO_KEYS)
        assert (solved.returncode, len(server.seen)) == (1, 0)
        assert "there is no key in OPENAI_API_KEY" in solved.stderr
        for named in ((), ("--model", "openai/own")):
            assert "ok      openai/own" in shop.surefoot("models", "test", *named).stdout
        assert len(server.seen) == 2


def test_nobody_to_ask_for_work_is_no_pass(tmp_path: Path) -> None:
    """A judge that answers does not make up for it."""
    judge = f"scripted:{tmp_path / 'judge'}.json"
    shop = trusted(
        tmp_path,
        f'[run]\nmodel = "auto"\n[solver]\nmodel = "{judge}"\n[models]\ndeny = ["*/*", "embedded"]\n',
    )
    shop.scripted([], "judge")
    done = shop.surefoot("models", "test", env=NO_KEYS)
    assert done.returncode == 1
    assert f"ok      {judge} [judges]" in done.stdout
    assert "no model may be asked for work" in done.stdout


def test_one_that_is_named_is_tested_alone_and_its_fault_is_told(tmp_path: Path) -> None:
    """`--model` asks that one and nobody else; a fault is a failure with its kind."""
    shop = Shop(tmp_path, TESTS)
    good, bad = (
        shop.scripted([], "good"),
        shop.scripted([{"fault": "refusal", "message": "No."}], "bad"),
    )
    done = shop.surefoot("models", "test", "--model", good)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    done = shop.surefoot("models", "test", "--model", bad)
    assert done.returncode == 1
    assert done.stdout.startswith(f"failed  {bad}: refusal: No.")


def test_settings_that_nobody_trusted_are_said_to_have_no_effect(tmp_path: Path) -> None:
    """Else the embedded model would be tested without a word in the place of the one that the file names."""
    shop = Shop(tmp_path, TESTS, '[run]\nmodel = "openai/m"\n')
    done = shop.surefoot("models", "test", env=NO_KEYS)
    assert "run.model have no effect until `surefoot trust`" in done.stderr


def test_the_choice_among_all_is_no_judge(tmp_path: Path) -> None:
    """A pinned judge is one model: whoever names `auto` is told where that stands, by each command that would ask it."""
    shop = trusted(tmp_path, '[solver]\nmodel = "auto"\n')
    done = shop.surefoot("models", "test", "--model", "auto", env=NO_KEYS)
    assert "failed  auto [judges]: `auto` chooses who works" in done.stdout
    explained = shop.surefoot("models", "explain", "fix")
    assert (explained.returncode, explained.stdout) == (1, "")
    assert "`auto` chooses who works" in explained.stderr

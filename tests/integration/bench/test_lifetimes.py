"""What the streams of tools are made of does what the benchmarks say of it."""

import random
from pathlib import Path

import pytest
from bench.lifetimes import lifetimes
from bench.recurring.changing import CHANGING, ONE_IN, changing
from bench.recurring.needs import Drawn, Need


class State(dict[str, object]):
    """What a forged function keeps."""

    def set(self, key: str, value: object) -> None:
        """Keep one."""
        self[key] = value


def answered(source: str, need: Need, drawn: Drawn) -> bool:
    """Whether a source answers a task that was drawn, in the folder that it is in."""
    for path, text in drawn.files.items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(text)
    space: dict[str, object] = {}
    exec(compile(source, need.name, "exec"), space)
    function = space[need.name.partition(".")[2]]
    assert callable(function)
    arguments = {**drawn.arguments, **({"state": State()} if "(path, state)" in source else {})}
    try:
        return bool(function(**arguments) == drawn.answer)
    except (ValueError, SyntaxError):
        return False


# The functions leave their files to be closed by the process that they are for.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("need", CHANGING, ids=lambda need: need.name)
def test_only_what_is_meant_to_fail_fails(
    need: Need, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every version reads what files were like, the first one nothing of what they became, and by hand all is answered."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(3)
    first, hand = need.faulty or need.source, need.by_hand or need.source
    for _ in range(5):
        drawn = need.draw(chance, "f")
        assert all(answered(source, need, drawn) for source in (first, need.source, hand))
    for _ in range(5):
        if need.later is not None:
            drawn = need.later(chance, "f")
            assert not answered(first, need, drawn)
            assert answered(hand, need, drawn)


def test_the_world_changes_after_a_third() -> None:
    """Before it only damaged files are other than ever."""
    tasks = changing(1, 300)
    odd = [t for t in tasks if t.need.faulty and not answered_as_ever(t.need, t.drawn)]
    assert odd
    assert min(t.number for t in odd) > 100
    assert len(odd) < 2 * 200 / ONE_IN


def answered_as_ever(need: Need, drawn: Drawn) -> bool:
    """Whether a file has the form that files had."""
    (text,) = drawn.files.values()
    if need.name == "logs.slowest":
        return all("took=" not in line or line.endswith("ms") for line in text.splitlines())
    return {"tables.totals": " EUR", "code.callers": "\ufeff"}[need.name] not in text


def test_the_metrics_of_a_few_lives() -> None:
    """The life cycle's own code decides: some are promoted, some are no longer called, and each is judged."""
    told, by_hand = lifetimes(1, 12)
    assert told.promotion_attempts >= 4
    assert told.false_promotion_rate is not None
    assert 0 < by_hand < 12 * 160

"""Lines that a model fills in, and how likely changes are to it."""

from typing import Any

import pytest

from surefoot.codec import decode
from surefoot.decisions.gap_fill import PURPOSE, GapFill, fill_gaps
from surefoot.events.calls import ModelAsked, ModelReplied
from surefoot.events.orchestration import Decided
from surefoot.execute.repair.infilling import Infilling
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.mutate import Mutation
from surefoot.execute.repair.views import Shown
from surefoot.execute.source import Source, apply, parse, units
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.models.scripted import Rule, ScriptedModel
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Ceilings, Gap, ModelReply

FILE = '''class Basket:
    def total(self, prices):
        """The sum of the prices."""
        sum_ = 0
        for price in prices:
            sum_ -= price
        # nothing more
        return sum_
'''
CODE = FILE.split("\n", 1)[1].replace("\n    ", "\n").removeprefix("    ").rstrip()


class Scene:
    """A method, and a model that fills its gaps by rules."""

    def __init__(
        self, *rules: tuple[str, str], tokens: int | None = None, context: int = 32_768
    ) -> None:
        clock = FakeClock()
        self.ledger = MemoryLedger(clock=clock)
        self.journal = Journal(self.ledger, clock)
        self.model = ScriptedModel(
            [Rule(purpose=PURPOSE, pattern=pattern, replies=(text,)) for pattern, text in rules],
            default="pass",
            fills_gaps=True,
            context_tokens=context,
        )
        ceilings = Ceilings(max_iterations=1, time_s=60.0, max_files=1, tokens=tokens)
        self.asker = MeteredModel(self.model, self.journal, ceilings, clock)
        self.infilling = Infilling(self.asker, self.journal)

    def events(self, kind: type) -> list[Any]:
        return [record.event for record in self.ledger.events() if isinstance(record.event, kind)]


@pytest.fixture
def source() -> Source:
    found = parse("m.py", FILE)
    assert found is not None
    return found


@pytest.fixture
def shown(source: Source) -> Shown:
    (unit,) = units(source)
    suspect = Suspect(path="m.py", unit=unit, score=1.0, lines={6: 1.0, 5: 0.6, 4: 0.3, 8: 0.2})
    return Shown(suspect=suspect, name="total", code=unit.text, context="", documented=True)


FILLS = (
    ("^    sum_ = ____$", "never: the gap is the whole line"),
    ("^    ____\n    for", "sum_ = 0"),
    ("^        ____\n    # nothing", "    sum_ += price  "),
    ("^    ____\n\\Z", "return round(sum_, 2) + 0.0"),
    ("^    ____\n        sum_", "for price in ("),
)


def test_a_line_is_written_without_what_stands_there(shown: Shown, source: Source) -> None:
    """Each line of the body but comments; what stands there already and what does not parse is left out."""
    scene = Scene(*FILLS)
    found = scene.infilling.lines(shown, source, 9)
    assert [m.line for m in found] == [6, 8]
    assert apply(source.text, found[0].edits) == FILE.replace("-=", "+=")
    assert apply(source.text, found[1].edits) == FILE.replace(
        "return sum_", "return round(sum_, 2) + 0.0"
    )
    assert len(scene.model.asked) == 4
    gap = scene.model.asked[0].gap
    assert gap is not None
    assert "-= price" not in gap.before + gap.after
    assert (gap.before + "sum_ -= price" + gap.after).rstrip() == CODE


def test_the_most_suspicious_lines_are_asked_about(shown: Shown, source: Source) -> None:
    """As many as may be, and no other."""
    scene = Scene(*FILLS)
    assert [m.line for m in scene.infilling.lines(shown, source, 1)] == [6]
    assert len(scene.model.asked) == 1


def test_a_change_to_what_the_model_would_write_is_a_gain(shown: Shown) -> None:
    """Of a rewritten line, of two of them, and of one that is new between others; an unlikely one is a loss."""
    scene = Scene(
        ("^        ____\n    # nothing", "sum_ += price"),
        ("^    ____\n    for", "sum_ = 0"),
        ("^____    return sum_", "    sum_ = abs(sum_)"),
    )
    right = CODE.replace("-=", "+=")
    codes = [
        right,
        CODE.replace("sum_ = 0", "sum_ = 1"),
        right.replace("sum_ = 0", "sum_ = 1"),
        CODE.replace("    return", "    sum_ = abs(sum_)\n    return"),
    ]
    gains = scene.infilling.gains(shown, codes)
    assert all(g is not None for g in gains)
    one, worse, both, new = (g or 0.0 for g in gains)
    assert one > 0 > worse
    assert both == pytest.approx(one + worse)
    assert new > 0
    asked = len(scene.model.asked)
    assert scene.infilling.gains(shown, codes) == gains
    assert len(scene.model.asked) == asked


def test_a_line_that_a_model_would_far_rather_write_otherwise_is_a_slip(
    shown: Shown, source: Source
) -> None:
    """A line that it would write as it stands is none, nor is one that nobody asks about."""
    scene = Scene(
        ("^        ____\n    # nothing", "sum_ += price"),
        ("^    ____\n    for", "sum_ = 0"),
    )
    rows = CODE.split("\n")
    wrong, right = (rows.index(row) for row in ("        sum_ -= price", "    sum_ = 0"))
    (slip,) = scene.infilling.slips(shown, source, [wrong, right], lambda _: True)
    assert apply(source.text, slip.edits) == FILE.replace("-=", "+=")
    assert scene.infilling.slips(shown, source, [right], lambda _: True) == ()
    assert scene.infilling.slips(shown, source, [], lambda _: True) == ()


def test_a_line_that_is_as_likely_as_it_stands_is_no_slip(
    shown: Shown, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two ways to write a line a model may name either."""
    place = "^        ____\n    # nothing"
    scene, other = Scene((place, "sum_ += price")), Scene((place, "sum_ -= price"))
    wrong = CODE.split("\n").index("        sum_ -= price")

    def counts(_: Mutation) -> bool:
        monkeypatch.setattr(scene.asker, "ask", other.asker.ask)
        return True

    assert scene.infilling.slips(shown, source, [wrong], counts) == ()
    assert [len(s.model.asked) for s in (scene, other)] == [1, 1]


def test_what_does_not_count_is_not_weighed(shown: Shown, source: Source) -> None:
    """Of a line whose change passes no test, or does the same, nobody needs to know how likely it is as it stands."""
    scene = Scene(("^        ____\n    # nothing", "sum_ += price"))
    wrong = CODE.split("\n").index("        sum_ -= price")
    heard: list[str] = []
    none = scene.infilling.slips(shown, source, [wrong], lambda m: bool(heard.append(m.note)))
    assert none == ()
    assert heard == ["sum_ -= price becomes sum_ += price"]
    assert len(scene.model.asked) == 1


def test_a_change_that_is_wide_is_not_weighed(shown: Shown) -> None:
    """Nor is none at all."""
    scene = Scene()
    rows = CODE.split("\n")
    wide = "\n".join([*rows[:3], "    a = 1", "    b = 2", "    c = 3", "    d = 4", *rows[3:]])
    assert scene.infilling.gains(shown, [wide, CODE]) == (None, None)
    assert scene.model.asked == ()


def test_what_the_budget_does_not_hold_is_not_known(shown: Shown, source: Source) -> None:
    """Neither a line nor a likelihood is made up."""
    scene = Scene(*FILLS, tokens=10)
    assert scene.infilling.lines(shown, source, 9) == ()
    assert scene.infilling.gains(shown, [CODE.replace("-=", "+=")]) == (None,)


def test_a_gap_that_does_not_fit_is_not_asked_about() -> None:
    """The others are, in their order."""
    scene = Scene(("^x = ____$", "1"), context=120)
    gaps = [Gap(before="y" * 4000, after=""), Gap(before="x = ", after="\n")]
    assert [f.text for f in fill_gaps(gaps, scene.asker, scene.journal)] == [None, "1"]
    assert len(scene.events(ModelAsked)) == len(scene.events(Decided)) == 1


def test_the_likelihood_is_of_the_whole_text() -> None:
    """Every token counts, not their mean."""
    scene = Scene(("____", "x"))
    gaps = [Gap(before="", after="\n", filled=text) for text in ("y = 1", "y = 1 + 2 + 3 + 4")]
    short, long = fill_gaps(gaps, scene.asker, scene.journal)
    assert isinstance(short, GapFill)
    assert short.logprob == pytest.approx(long.logprob)
    means = [
        decode(ModelReply, scene.journal.get(e.reply)).mean_logprob
        for e in scene.events(ModelReplied)
    ]
    assert means[0] != means[1]


def test_what_does_the_same_is_no_line(shown: Shown, source: Source) -> None:
    """Nor is one that says what a secret's mark says; the model's own comments are left out."""
    scene = Scene(
        ("^        ____\n    # nothing", "sum_ -= price  # as it is"),
        ("^    ____\n    for", "sum_ = '[redacted:aws-access-key]'"),
        ("^    ____\n\\Z", "return abs(sum_)  # mended"),
    )
    (line,) = scene.infilling.lines(shown, source, 9)
    assert apply(source.text, line.edits) == FILE.replace("return sum_", "return abs(sum_)")


def test_line_ends_stay_as_they_are() -> None:
    """Also those of two characters."""
    source = parse("m.py", "def f(a):\r\n    b = a\r\n    return b\r\n")
    assert source is not None
    (unit,) = units(source)
    suspect = Suspect(path="m.py", unit=unit, score=1.0, lines={2: 1.0})
    code = unit.text.replace("\r", "")
    shown = Shown(suspect=suspect, name="f", code=code, context="", documented=False)
    scene = Scene(("^    ____\n    return", "b = a + 1"))
    (line,) = scene.infilling.lines(shown, source, 1)
    assert apply(source.text, line.edits) == source.text.replace("b = a", "b = a + 1")

"""Which suspects a candidate changes, where several functions share a name."""

import pytest

from surefoot.execute.repair.candidates import from_code
from surefoot.execute.repair.evidence import changed_source, changed_suspects
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.source import again_in, parse, units

PROPERTY = """class Item:
    @property
    def label(self):
        return self._name

    @label.setter
    def label(self, value):
        self._name = value
"""
HANDLERS = """@show.register
def _(value: int):
    return f"{value:x}"


@show.register
def _(value: str):
    return value.upper()
"""
BRANCHES = """if NEW:
    def now():
        return 2
else:
    def now():
        return 1
"""


@pytest.mark.parametrize(
    "text", [PROPERTY, HANDLERS, BRANCHES], ids=["property", "handlers", "branches"]
)
@pytest.mark.parametrize("number", [0, 1])
def test_an_answer_for_one_of_a_name_changes_that_one(text: str, number: int) -> None:
    """The other one stands as it stood, and is no suspect that was changed."""
    source = parse("m.py", text)
    assert source is not None
    both = [Suspect(path="m.py", unit=u, score=1.0, lines={}) for u in units(source)]
    meant, other = both[number].unit, both[1 - number].unit
    assert meant is not None
    assert other is not None
    head = meant.text.rpartition("\n")[0]
    candidate = from_code(
        source, meant, f"{head}\n    return 3", generator="model:whole", prior=0.5
    )
    assert candidate is not None
    assert [s.key for s in changed_suspects(candidate, both, {"m.py": source})] == [
        both[number].key
    ]
    after = changed_source(candidate, source)
    assert after is not None
    now, beside = again_in(after, meant), again_in(after, other)
    assert now is not None
    assert now.text == f"{head}\n    return 3"
    assert beside is not None
    assert beside.text == other.text

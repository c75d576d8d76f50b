"""A world that changes: needs whose files turn into another form after a while, and one whose files are sometimes damaged.

Before the change a function is called often enough to become durable. Then one file in six has the new form, on which it fails:
the model writes a better version, which has to earn its place against the one that serves. Two methods of one tool keep state, so
that their coherence is measured. What no version can read, a file that is cut off, is worked out by hand each time.
"""

import ast
import random
from dataclasses import replace
from typing import Final

from bench.recurring.needs import NEEDS, Drawn, Task

ONE_IN: Final = 6
"""Of the files that may have another form, that many have it."""
BEFORE: Final = 1 / 3
"""Share of the stream before the world changes."""

_ERRORS, _SLOWEST, _TOTALS, _, _CALLERS, _UNDOCUMENTED = NEEDS
_SEEN: Final = '    state.set("files", sorted({*state.get("files", []), path}))\n'


def _keeping(source: str, *, also: str = "") -> str:
    """The same function, which remembers the files that it saw under the key that its siblings use, and `also` another."""
    own = f"    state.set({also!r}, True)\n" if also else ""
    return source.replace("(path):\n", f"(path, state):\n{_SEEN}{own}")


def _with_text(drawn: Drawn, text: str) -> Drawn:
    (path,) = drawn.files
    return replace(drawn, files={path: text})


def _text(drawn: Drawn) -> str:
    (text,) = drawn.files.values()
    return text


def _in_seconds(chance: random.Random, stem: str) -> Drawn:
    """Times of a second and more are told in seconds."""
    drawn = _SLOWEST.draw(chance, stem)
    lines = _text(drawn).splitlines(keepends=True)
    head, _, took = lines[0].rpartition("=")
    lines[0] = f"{head}={int(took.strip().removesuffix('ms')) / 1000:.3f}s\n"
    return _with_text(drawn, "".join(lines))


def _with_currency(chance: random.Random, stem: str) -> Drawn:
    """Amounts name their currency."""
    drawn = _TOTALS.draw(chance, stem)
    head, *rows = _text(drawn).splitlines()
    return _with_text(drawn, "\n".join([head, *(f"{row} EUR" for row in rows)]) + "\n")


def _with_mark(chance: random.Random, stem: str) -> Drawn:
    """Files begin with a byte order mark."""
    drawn = _CALLERS.draw(chance, stem)
    return _with_text(drawn, "\ufeff" + _text(drawn))


def _cut_off(chance: random.Random, stem: str) -> Drawn:
    """A file ends in the middle of its last function."""
    drawn = _UNDOCUMENTED.draw(chance, stem)
    text = f"{_text(drawn)}def last(value):\n    return load("
    names = [f.name for f in ast.parse(_text(drawn)).body if isinstance(f, ast.FunctionDef)]
    bare = drawn.answer if isinstance(drawn.answer, list) else []
    assert set(bare) <= set(names)
    return replace(_with_text(drawn, text), answer=sorted([*bare, "last"]))


_STRICT: Final = """import re


def slowest(path):
    worst = {}
    for line in open(path, encoding="utf-8"):
        match = re.search(r"\\[(\\w+)\\] took=(\\S+)", line)
        if match:
            worst[match[1]] = max(worst.get(match[1], 0), int(match[2].removesuffix("ms")))
    return worst
"""
_BOTH_UNITS: Final = _STRICT.replace(
    'int(match[2].removesuffix("ms"))',
    'int(match[2][:-2]) if match[2].endswith("ms") else round(float(match[2][:-1]) * 1000)',
)
_BY_LINES: Final = """import re


def undocumented(path):
    text = open(path, encoding="utf-8").read()
    found = re.findall(r"^def (\\w+)\\(.*\\):\\n(?!    \\"\\"\\")", text, re.MULTILINE)
    return sorted(found)
"""

CHANGING: Final = (
    replace(_ERRORS, source=_keeping(_ERRORS.source), by_hand=_ERRORS.source),
    replace(
        _SLOWEST,
        faulty=_keeping(_STRICT),
        source=_keeping(_BOTH_UNITS, also="units"),
        by_hand=_BOTH_UNITS,
        later=_in_seconds,
    ),
    replace(
        _TOTALS,
        faulty=_TOTALS.source,
        source=_TOTALS.source.replace(
            '.replace(",", "")', '.replace(",", "").removesuffix(" EUR")'
        ),
        later=_with_currency,
    ),
    replace(
        _CALLERS,
        faulty=_CALLERS.source,
        source=_CALLERS.source.replace("utf-8", "utf-8-sig"),
        later=_with_mark,
    ),
    replace(_UNDOCUMENTED, by_hand=_BY_LINES, later=_cut_off),
)


def changing(seed: int, count: int) -> tuple[Task, ...]:
    """So many tasks, drawn from `CHANGING`; after the first third the world changes, but damaged files come from the first on."""
    chance = random.Random(seed)
    tasks = []
    for number in range(1, count + 1):
        need = chance.choice(CHANGING)
        other = need.later
        may = number > count * BEFORE or need.by_hand == _BY_LINES
        draw = other if other is not None and may and not chance.randrange(ONE_IN) else need.draw
        tasks.append(Task(number=number, need=need, drawn=draw(chance, f"f{number:03}")))
    return tuple(tasks)

"""What the tasks ask for, over and over: two needs in each of three domains that have nothing to do with each other.

A need knows how to draw a task (a question, its data, the right answer), how a model works it out by hand, and which
function it would write if it could keep one.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Domain = Literal["log_analysis", "data_conversion", "code_search"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One task of a need."""

    arguments: Mapping[str, object]
    """Of the function that would answer it."""
    files: Mapping[str, str]
    answer: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One kind of question."""

    domain: Domain
    name: str
    """Of the function, `tool.method`."""
    asks: str
    """The question in words; takes the arguments."""
    purpose: str
    source: str
    """The function that answers it, self-contained."""
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object]
    reads: tuple[str, ...]
    """Patterns of the files that the function looks at."""
    look: str
    """What is searched for first, by hand."""
    draw: Callable[[random.Random, str], Drawn]
    """With a stem for names of files."""
    faulty: str = ""
    """What the model writes at its first attempt, where that is wrong on some inputs; empty: the source."""
    sample: Drawn | None = None
    """What it tries the function on; None: a small file like those of the tasks."""
    later: Callable[[random.Random, str], Drawn] | None = None
    """Draws what some files are like once the world has changed; None: as ever."""
    by_hand: str = ""
    """The work as a script, where no function that is worth keeping does it; empty: the source."""

    @property
    def example(self) -> Drawn:
        """What the model tries a function on before it keeps it."""
        return self.sample or self.draw(random.Random(7), "sample")


def _object(**properties: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": sorted(properties),
        "additionalProperties": False,
    }


_COUNTS: Final = {"type": "object", "additionalProperties": {"type": "integer"}}
_NAMES: Final = {"type": "array", "items": {"type": "string"}}
_COMPONENTS: Final = ("auth", "billing", "search", "mail")


def _log(chance: random.Random) -> tuple[str, list[tuple[str, str, int]]]:
    lines, rows = [], []
    for minute in range(chance.randint(40, 60)):
        level = chance.choice(("INFO", "INFO", "WARN", "ERROR"))
        component, took_ms = chance.choice(_COMPONENTS), chance.randint(1, 900)
        rows.append((level, component, took_ms))
        lines.append(f"2026-03-01T10:{minute % 60:02}:00 {level} [{component}] took={took_ms}ms")
        if chance.random() < 0.2:
            lines.append("    at worker.run (line 12)")
    return "\n".join(lines) + "\n", rows


def _errors(chance: random.Random, stem: str) -> Drawn:
    text, rows = _log(chance)
    path = f"logs/{stem}.log"
    found: dict[str, int] = {}
    for level, component, _ in rows:
        if level == "ERROR":
            found[component] = found.get(component, 0) + 1
    return Drawn(arguments={"path": path}, files={path: text}, answer=found)


def _slowest(chance: random.Random, stem: str) -> Drawn:
    text, rows = _log(chance)
    path = f"logs/{stem}.log"
    worst = {c: max(ms for _, k, ms in rows if k == c) for c in {k for _, k, _ in rows}}
    return Drawn(arguments={"path": path}, files={path: text}, answer=worst)


def _totals(chance: random.Random, stem: str) -> Drawn:
    lines, cents = ["region;product;amount"], dict[str, int]()
    for _ in range(chance.randint(12, 20)):
        region, amount = chance.choice(("north", "south", "west")), chance.randint(100, 400_000)
        whole = f"{amount // 100:,}".replace(",", ".")
        lines.append(f'{region};"part; {chance.randint(1, 9)}";{whole},{amount % 100:02}')
        cents[region] = cents.get(region, 0) + amount
    path = f"data/{stem}.csv"
    return Drawn(arguments={"path": path}, files={path: "\n".join(lines) + "\n"}, answer=cents)


def _sections(chance: random.Random, stem: str) -> Drawn:
    lines, found = [], dict[str, int]()
    for name in chance.sample(("server", "client", "cache", "queue", "store"), 3):
        lines.append(f"[{name}]  # since {chance.randint(2001, 2026)}")
        found[name] = chance.randint(1, 6)
        lines += [f"key{n} := {chance.randint(1, 99)}" for n in range(found[name])]
        lines.append("; a remark")
    path = f"data/{stem}.conf"
    return Drawn(arguments={"path": path}, files={path: "\n".join(lines) + "\n"}, answer=found)


def _code(chance: random.Random) -> tuple[str, list[tuple[str, bool, str]]]:
    lines, rows = [], []
    for number in range(chance.randint(6, 10)):
        name, documented = f"step_{number}", chance.random() < 0.5
        called = chance.choice(("load", "save", "check"))
        rows.append((name, documented, called))
        lines.append(f"def {name}(value):")
        if documented:
            lines.append('    """Do it."""')
        lines += [f"    # not {chance.choice(('load', 'save', 'check'))}(value)"]
        lines += [f"    return {called}(value)", "", ""]
    return "\n".join(lines), rows


def _callers(chance: random.Random, stem: str) -> Drawn:
    text, rows = _code(chance)
    path, called = f"lib/{stem}.py", chance.choice(("load", "save", "check"))
    names = sorted(name for name, _, callee in rows if callee == called)
    return Drawn(arguments={"path": path, "name": called}, files={path: text}, answer=names)


def _undocumented(chance: random.Random, stem: str) -> Drawn:
    text, rows = _code(chance)
    path = f"lib/{stem}.py"
    names = sorted(name for name, documented, _ in rows if not documented)
    return Drawn(arguments={"path": path}, files={path: text}, answer=names)


_ERRORS = """import re


def errors(path):
    found = {}
    for line in open(path, encoding="utf-8"):
        match = re.match(r"\\S+ ERROR \\[(\\w+)\\]", line)
        if match:
            found[match[1]] = found.get(match[1], 0) + 1
    return found
"""
_SLOWEST = """import re


def slowest(path):
    worst = {}
    for line in open(path, encoding="utf-8"):
        match = re.search(r"\\[(\\w+)\\] took=(\\d+)ms", line)
        if match:
            worst[match[1]] = max(worst.get(match[1], 0), int(match[2]))
    return worst
"""
_TOTALS = """import csv


def totals(path):
    cents = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter=";"):
            amount = int(row["amount"].replace(".", "").replace(",", ""))
            cents[row["region"]] = cents.get(row["region"], 0) + amount
    return cents
"""
_SECTIONS = """import re


def sections(path):
    found, name = {}, None
    for line in open(path, encoding="utf-8"):
        head = re.match(r"\\[(\\w+)\\]", line)
        if head:
            name = head[1]
            found[name] = 0
        elif name and ":=" in line and not line.startswith(";"):
            found[name] += 1
    return found
"""
_CALLERS = """import ast


def callers(path, name):
    tree = ast.parse(open(path, encoding="utf-8").read())
    found = [f.name for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and any(
        isinstance(c, ast.Call) and getattr(c.func, "id", "") == name for c in ast.walk(f))]
    return sorted(found)
"""
_UNDOCUMENTED = """import ast


def undocumented(path):
    tree = ast.parse(open(path, encoding="utf-8").read())
    functions = [f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)]
    return sorted(f.name for f in functions if ast.get_docstring(f) is None)
"""

NEEDS: Final = (
    Need(
        domain="log_analysis",
        name="logs.errors",
        asks="How many errors does each component have in {path}?",
        purpose="Counts errors by component in a log file.",
        source=_ERRORS,
        input_schema=_object(path="string"),
        output_schema=_COUNTS,
        reads=("logs/*.log",),
        look="ERROR",
        draw=_errors,
    ),
    Need(
        domain="log_analysis",
        name="logs.slowest",
        asks="How many milliseconds does each component take at most in {path}?",
        purpose="Finds the longest time of each component in a log file, in milliseconds.",
        source=_SLOWEST,
        input_schema=_object(path="string"),
        output_schema=_COUNTS,
        reads=("logs/*.log",),
        look="took=",
        draw=_slowest,
    ),
    Need(
        domain="data_conversion",
        name="tables.totals",
        asks="What does each region add up to, in cents, in {path}?",
        purpose="Adds up the amounts of a CSV file by region, in cents.",
        source=_TOTALS,
        input_schema=_object(path="string"),
        output_schema=_COUNTS,
        reads=("data/*.csv",),
        look="amount",
        draw=_totals,
        # Amounts of a thousand and more have a point in them, which the sample does not show.
        faulty=_TOTALS.replace('.replace(".", "")', ""),
        sample=Drawn(
            arguments={"path": "data/sample.csv"},
            files={"data/sample.csv": "region;product;amount\nwest;bolt;12,50\nwest;nut;0,75\n"},
            answer={"west": 1325},
        ),
    ),
    Need(
        domain="data_conversion",
        name="tables.sections",
        asks="How many keys does each section have in {path}?",
        purpose="Counts the keys of each section of a configuration file.",
        source=_SECTIONS,
        input_schema=_object(path="string"),
        output_schema=_COUNTS,
        reads=("data/*.conf",),
        look=":=",
        draw=_sections,
    ),
    Need(
        domain="code_search",
        name="code.callers",
        asks="Which functions call `{name}` in {path}?",
        purpose="Lists the functions of a Python file that call a function, by name.",
        source=_CALLERS,
        input_schema=_object(path="string", name="string"),
        output_schema=_NAMES,
        reads=("lib/*.py",),
        look="return",
        draw=_callers,
    ),
    Need(
        domain="code_search",
        name="code.undocumented",
        asks="Which functions have no docstring in {path}?",
        purpose="Lists the functions of a Python file that have no docstring.",
        source=_UNDOCUMENTED,
        input_schema=_object(path="string"),
        output_schema=_NAMES,
        reads=("lib/*.py",),
        look="def ",
        draw=_undocumented,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One issue of a stream."""

    number: int
    need: Need
    drawn: Drawn

    @property
    def test(self) -> str:
        """The test that shows it."""
        return f"tests/test_t{self.number:02}.py::test_it"

    @property
    def place(self) -> str:
        """Where the answer goes."""
        return f"answers/t{self.number:02}.py"

    @property
    def issue(self) -> str:
        """As a user writes it."""
        asked = self.need.asks.format(**self.drawn.arguments)
        return f"`{self.place}` has no ANSWER\n\n{asked} `{self.test}` checks it.\n"


def stream(seed: int, count: int, needs: tuple[Need, ...] = NEEDS) -> tuple[Task, ...]:
    """So many tasks, drawn from the needs."""
    chance = random.Random(seed)
    return tuple(
        Task(number=n, need=need, drawn=need.draw(chance, f"f{n:02}"))
        for n in range(1, count + 1)
        for need in (chance.choice(needs),)
    )


def written(answer: object) -> str:
    """An answer as the file that holds it."""
    return f"ANSWER = {json.dumps(answer, sort_keys=True)}\n"

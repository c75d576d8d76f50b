"""Small packages: one that an issue asks eight things of, with a strong model's draft and what solves each unit; one with three defects."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests import commands

FILES: Final = {
    "conftest.py": "",
    "README.md": "# almanac\n\nSmall helpers for calendars and texts.\n",
    "almanac/__init__.py": '"""Small helpers for calendars and texts."""\n',
    "almanac/text.py": '''"""Texts."""


def clean(text):
    """The text without outer spaces, inner ones single."""
    return " ".join(text.split())
''',
    "tests/test_text.py": """from almanac.text import clean


def test_clean():
    assert clean("  a  b ") == "a b"
""",
}
ISSUE: Final = """# An almanac that can be used from a shell

The package has `clean` and nothing else. It should get:

1. `slug(text)` in almanac/slug.py: lower-case words joined by dashes.
2. `wrap(text, width)` in almanac/wrap.py: lines of at most `width` characters, cut between words.
3. `is_leap(year)` in almanac/leap.py: whether a year of the Gregorian calendar is a leap year.
4. `roman(number)` in almanac/roman.py: Roman numerals from 1 to 3999.
5. `title(text, year)` in almanac/page.py: a slug, a dash, and the year in Roman numerals.
6. `facts(year)` in almanac/facts.py: a sentence that says whether the year is a leap year.
7. `page(text, year, width)` in almanac/render.py: the title, then the facts, wrapped.
8. `main(argv)` in almanac/cli.py: prints a page for a text and a year.
"""
SOLUTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "U1": {
        "almanac/slug.py": '''"""Slugs."""

from almanac.text import clean


def slug(text):
    """Lower-case words joined by dashes."""
    return "-".join(clean(text).lower().split())
''',
        "tests/test_slug.py": """from almanac.slug import slug


def test_slug():
    assert slug(" Two  Words ") == "two-words"
""",
    },
    "U2": {
        "almanac/wrap.py": '''"""Lines."""

from almanac.text import clean


def wrap(text, width):
    """Lines of at most `width` characters, cut between words."""
    lines = []
    for word in clean(text).split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines
''',
        "tests/test_wrap.py": """from almanac.wrap import wrap


def test_wrap():
    assert wrap("one two three", 7) == ["one two", "three"]
""",
    },
    "U3": {
        "almanac/leap.py": '''"""Leap years."""


def is_leap(year):
    """Whether a year of the Gregorian calendar is a leap year."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
''',
        "tests/test_leap.py": """from almanac.leap import is_leap


def test_is_leap():
    assert [y for y in (1900, 2000, 2023, 2024) if is_leap(y)] == [2000, 2024]
""",
    },
    "U4": {
        "almanac/roman.py": '''"""Roman numerals."""

STEPS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)


def roman(number):
    """Roman numerals from 1 to 3999."""
    text = ""
    for value, letters in STEPS:
        while number >= value:
            text += letters
            number -= value
    return text
''',
        "tests/test_roman.py": """from almanac.roman import roman


def test_roman():
    assert [roman(n) for n in (4, 9, 2024)] == ["IV", "IX", "MMXXIV"]
""",
    },
    "U5": {
        "almanac/page.py": '''"""Titles."""

from almanac.roman import roman
from almanac.slug import slug


def title(text, year):
    """A slug, a dash, and the year in Roman numerals."""
    return f"{slug(text)}-{roman(year)}"
''',
        "tests/test_page.py": """from almanac.page import title


def test_title():
    assert title("My Year", 2024) == "my-year-MMXXIV"
""",
    },
    "U6": {
        "almanac/facts.py": '''"""Facts."""

from almanac.leap import is_leap


def facts(year):
    """A sentence that says whether the year is a leap year."""
    return f"{year} is {'a' if is_leap(year) else 'no'} leap year."
''',
        "tests/test_facts.py": """from almanac.facts import facts


def test_facts():
    assert facts(2023) == "2023 is no leap year."
""",
    },
    "U7": {
        "almanac/render.py": '''"""Pages."""

from almanac.facts import facts
from almanac.page import title
from almanac.wrap import wrap


def page(text, year, width):
    """The title, then the facts, wrapped."""
    return "\\n".join([title(text, year), *wrap(facts(year), width)])
''',
        "tests/test_render.py": """from almanac.render import page


def test_page():
    assert page("A", 2024, 10) == "a-MMXXIV\\n2024 is a\\nleap year."
""",
    },
    "U8": {
        "almanac/cli.py": '''"""The shell's way in."""

from almanac.render import page

WIDTH = 40


def main(argv):
    """Print a page for a text and a year."""
    text, year = argv
    print(page(text, int(year), WIDTH))
    return 0
''',
        "tests/test_cli.py": """from almanac.cli import main


def test_main(capsys):
    assert main(["A", "2024"]) == 0
    assert capsys.readouterr().out == "a-MMXXIV\\n2024 is a leap year.\\n"
""",
    },
}
DEFECTS: Final = {
    "conftest.py": "",
    "kit/__init__.py": '"""A kit."""\n',
    "kit/common.py": "def clean(text):\n    return text.strip()\n",
    "kit/names.py": "from kit.common import clean\n\n\ndef initials(name):\n    return clean(name)[0].lower()\n",
    "kit/money.py": "from kit.common import clean\n\n\ndef cents(text):\n    return int(float(clean(text)) * 10)\n",
    "kit/dates.py": "from kit.common import clean\n\n\ndef year(text):\n    return int(clean(text)[5:7])\n",
    "tests/test_kit.py": """from kit.common import clean
from kit.dates import year
from kit.money import cents
from kit.names import initials


def test_clean():
    assert clean(" a ") == "a"


def test_initials():
    assert initials(" Ada ") == "A"


def test_cents():
    assert cents("1.50") == 150


def test_year():
    assert year("2026-01-31") == 2026
""",
}
THREE: Final = "Three things are wrong\n\n1. `initials` is small.\n2. `cents` is short.\n3. `year` is a month.\n"
_READS: Final[Mapping[str, Sequence[str]]] = {
    "U1": ["almanac/text.py"],
    "U2": ["almanac/text.py"],
    "U3": [],
    "U4": [],
    "U5": ["almanac/slug.py", "almanac/roman.py"],
    "U6": ["almanac/leap.py"],
    "U7": ["almanac/page.py", "almanac/facts.py", "almanac/wrap.py"],
    "U8": ["almanac/render.py"],
}
_FIRST_MILESTONE: Final = ("U1", "U2", "U3", "U4")


def draft() -> dict[str, object]:
    """What a strong model answers: eight units in two milestones, of which the compiler finds the needs."""
    lines = [line.partition(". ")[2] for line in ISSUE.splitlines() if line[:1].isdigit()]
    return {
        "analysis": "four helpers that know nothing of each other, then what is made of them",
        "requirements": [
            {"id": f"R{n}", "text": text, "must": True, "quote": text}
            for n, text in enumerate(lines, 1)
        ],
        "milestones": [{"id": "M1", "title": "The helpers"}, {"id": "M2", "title": "The pages"}],
        "slices": [
            {"id": "S1", "milestone": "M1", "title": "Texts and numbers"},
            {"id": "S2", "milestone": "M2", "title": "Pages and the shell"},
        ],
        "units": [
            _unit(unit, text, f"R{n}")
            for n, (unit, text) in enumerate(zip(SOLUTIONS, lines, strict=True), 1)
        ],
        "confidence": 0.8,
    }


def _unit(unit: str, text: str, requirement: str) -> dict[str, object]:
    code, test = SOLUTIONS[unit]
    name = next(line for line in SOLUTIONS[unit][test].splitlines() if line.startswith("def "))
    test_id = f"{test}::{name[4:].partition('(')[0]}"
    return {
        "id": unit,
        "slice": "S1" if unit in _FIRST_MILESTONE else "S2",
        "title": text.partition(":")[0],
        "type": "feature",
        "requirements": [requirement],
        "needs": [],
        "reads": list(_READS[unit]),
        "writes": [code, test],
        "produces": [code, test],
        "acceptance": [text],
        "verification": [test_id],
        "risk_flags": [],
        "risk_factors": ["the shell's arguments are not checked"] if unit == "U8" else [],
        "rollback": "take the two new files away" if unit == "U8" else "",
        "steps": [
            {
                "id": "change",
                "description": f"write {code} and {test}",
                "intent": "modify",
                "target_files": [code, test],
                "depends_on": [],
                "max_iterations": 6,
                "acceptance": [f"{test_id} passes"],
            }
        ],
    }


def rules(answer: Mapping[str, object] | None = None) -> list[dict[str, object]]:
    """Rules of a scripted model that plans: nothing to ask, then the draft."""
    return [
        {"purpose": "clarification", "reply": json.dumps({"questions": []})},
        {"purpose": "plan_draft", "reply": json.dumps(answer or draft())},
    ]


class Almanac:
    """The package as a repository, and a user who runs `surefoot` in it."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES, issue: str = ISSUE) -> None:
        self.root = folder / "almanac"
        self._folder = folder
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.issue = folder / "ISSUE.md"
        self.issue.write_text(issue)
        who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
        for args in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "first")):
            subprocess.run(["git", *who, *args], cwd=self.root, check=True)

    def scripted(self, rules: Iterable[Mapping[str, object]]) -> str:
        """A model that answers by rules, as `--model` takes it."""
        path = self._folder / "model.json"
        path.write_text(json.dumps({"schema": 1, "rules": list(rules)}))
        return f"scripted:{path}"

    def plan(self, *args: str, stdin: str = "") -> dict[str, object]:
        """The JSON object of `surefoot plan`."""
        done = self.surefoot("plan", *args, "--json", stdin=stdin)
        answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return {**answer, "exit": done.returncode}

    def surefoot(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """A command in the repository."""
        whole = {**os.environ, "SUREFOOT_HOME": str(self._folder / "home")}
        return commands.surefoot(*args, cwd=self.root, env=whole, stdin=stdin)

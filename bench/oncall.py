"""A strong model's week on call: five tasks with a need that comes again, answered letter by letter, and played again.

    python -m bench.oncall

The answers were given one by one over a server of the OpenAI protocol, from the prompts alone, by a strong model that had
read the product's code before, which others have not; in the last two tasks by a rule that chose as it had chosen before. They are
in `oncall_letters.json`, in their order. Played again they come from rules, so that each of the five runs is a process of its own, from the command line, with the shadow engine deciding. The exit
status is 1 when a task is not solved, or the tool is not durable in the end.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from bench.shelf import WHO

LETTERS: Final = Path(__file__).with_name("oncall_letters.json")
DAYS: Final = ("02", "03", "04", "05", "06", "07")
_COMPONENTS: Final = ("gateway", "billing", "search", "mailer")
_README: Final = """# On call

`logs/<day>.log` is what the services wrote on a day, one entry a line; a traceback follows indented.

`reports/<day>.json` is what we keep of it:

- `errors`: how many entries of level ERROR each component has (components without any are left out),
- `first_error`: the time stamp of the first of them,
- `slowest_ms`: the longest `took` of each component, in whole milliseconds.
"""
_TEST: Final = """import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_report_of_{name}_is_right():
    report = json.loads((ROOT / "reports/{file}.json").read_text())
    digest = hashlib.sha256(json.dumps(report, sort_keys=True).encode()).hexdigest()
    assert digest.startswith("{digest}"), "wrong, or other keys than the {told} says"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """How a task went."""

    task: str
    status: str
    model_calls: int
    prompt_tokens: int
    forged_calls: int
    """Calls of the forged tool, in all up to here."""
    states: tuple[str, ...]
    """Of every version, after the task."""


class OnCall:
    """The repository, and a user who has one task after the other solved."""

    def __init__(self, folder: Path) -> None:
        self.root, self.folder = folder / "oncall", folder
        chance = random.Random(11)
        days = {day: _day(chance, int(day)) for day in DAYS}
        self._logs = {day: text for day, (text, _) in days.items()}
        self._reports = {day: report for day, (_, report) in days.items()}
        self._write({"README.md": _README, "conftest.py": ""})
        self._git("init", "-q", "-b", "main")
        self._commit("on call")

    def arrive(self, days: Sequence[str]) -> None:
        """The logs of some days come in, with a test for the report of each; none: the week is over."""
        for day in days:
            name = f"2026-03-{day}"
            self._write({f"logs/{name}.log": self._logs[day], f"reports/{name}.json": "{}\n"})
            self._write(
                {f"tests/test_report_{day}.py": _test(day, name, self._reports[day], "README")}
            )
        if not days:
            self._write({"reports/week-10.json": "{}\n"})
            self._write(
                {"tests/test_week_10.py": _test("week_10", "week-10", self._week(), "issue")}
            )
        self._commit(f"logs of {', '.join(days)}" if days else "week 10")

    def solve(self, task: str, issue: str, replies: Sequence[str]) -> Solved:
        """Have the task solved by a model that gives these answers, each to a prompt that shows as many calls as went before."""
        rules = self.folder / "rules.json"
        rules.write_text(json.dumps({"schema": 1, "rules": _rules(replies)}))
        model = ("--model", f"scripted:{rules}", "--strategy", "agent", "--accept", "--json")
        told = self._surefoot("solve", issue, *model)
        tools = self._surefoot("tools", "list", "--json")["tools"]
        return Solved(
            task=task,
            status=told["status"],
            model_calls=len(replies),
            prompt_tokens=told["prompt_tokens"],
            forged_calls=sum(one["calls"] for one in tools),
            states=tuple(one["state"] for one in tools),
        )

    def _week(self) -> dict[str, object]:
        errors, slowest = dict[str, int](), dict[str, int]()
        for report in self._reports.values():
            for component, count in report["errors"].items():
                errors[component] = errors.get(component, 0) + count
            for component, took_ms in report["slowest_ms"].items():
                slowest[component] = max(slowest.get(component, 0), took_ms)
        worst = max(DAYS, key=lambda day: sum(self._reports[day]["errors"].values()))
        return {"errors": errors, "slowest_ms": slowest, "worst_day": f"2026-03-{worst}"}

    def _write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def _commit(self, message: str) -> None:
        self._git("add", "-A")
        self._git("commit", "-qm", message)

    def _git(self, *args: str) -> None:
        subprocess.run(["git", *WHO, *args], cwd=self.root, check=True, capture_output=True)

    def _surefoot(self, *args: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "surefoot", *args],
            cwd=self.root,
            env={**os.environ, "SUREFOOT_HOME": str(self.folder / "home")},
            capture_output=True,
            text=True,
            check=False,
        )
        if not done.stdout:
            raise RuntimeError(f"surefoot {args[0]} said nothing: {done.stderr}")
        told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return told


def _rules(replies: Sequence[str]) -> list[dict[str, str]]:
    shown = r"(?s)## Calls so far, oldest first\n.*^{}\. [a-z_.]+ \{{"
    later = [
        {"purpose": "tool_call", "pattern": shown.format(number), "reply": reply}
        for number, reply in reversed(list(enumerate(replies)))
        if number
    ]
    return [*later, {"purpose": "tool_call", "reply": replies[0]}]


def _day(chance: random.Random, number: int) -> tuple[str, dict[str, Any]]:
    """A log, and the report of it."""
    lines, second = list[str](), 0
    errors, slowest, first = dict[str, int](), dict[str, int](), None
    for _ in range(chance.randint(150, 220)):
        second += chance.randint(5, 300)
        clock = f"{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
        stamp = f"2026-03-{number:02}T{clock}Z"
        (level,) = chance.choices(("INFO", "WARN", "ERROR"), (70, 15, 15))
        component, took_ms = chance.choice(_COMPONENTS), chance.randint(1, 2500)
        took = f"{took_ms}ms" if took_ms < 1000 else f"{took_ms / 1000:.3f}s"
        request = f"req={chance.randrange(16**8):08x}"
        said = chance.choice(("ok", "retry", "cache miss", "ERROR budget left 3"))
        lines.append(f"{stamp} {level:<5} {component}: {request} took={took} {said}")
        slowest[component] = max(slowest.get(component, 0), took_ms)
        if level == "ERROR":
            errors[component] = errors.get(component, 0) + 1
            first = first or stamp
            lines += [
                "  Traceback (most recent call last):",
                f'    File "/srv/{component}/app.py", line {chance.randint(10, 900)}, in handle',
                f"  TimeoutError: ERROR after {chance.randint(1, 9)}s",
            ]
    report = {"errors": errors, "first_error": first, "slowest_ms": slowest}
    return "\n".join(lines) + "\n", report


def _test(name: str, file: str, report: object, told: str) -> str:
    """A test that knows the report by its digest, so that nobody can copy it."""
    digest = sha256(json.dumps(report, sort_keys=True).encode()).hexdigest()[:16]
    return _TEST.format(name=name, file=file, digest=digest, told=told)


def play(folder: Path) -> list[Solved]:
    """The whole week."""
    here = OnCall(folder)
    solved = []
    for task in json.loads(LETTERS.read_text()):
        here.arrive(task["arrives"])
        solved.append(here.solve(task["task"], task["issue"], task["replies"]))
    return solved


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    argparse.ArgumentParser(prog="python -m bench.oncall", description=__doc__).parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as folder:
        solved = play(Path(folder))
    print("| task | end | model calls | prompt tokens | calls of the tool | its state |")
    print("|---|---|---|---|---|---|")
    for one in solved:
        print(
            f"| {one.task} | {one.status} | {one.model_calls} | {one.prompt_tokens:,} |"
            f" {one.forged_calls} | {', '.join(one.states)} |"
        )
    raise SystemExit(
        any(one.status != "complete" for one in solved) or solved[-1].states != ("durable",)
    )


if __name__ == "__main__":
    main()

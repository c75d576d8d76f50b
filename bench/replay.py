"""Seeded runs of the agent on the bundled patient, each done again from its record.

    python -m bench.replay --count 50 --seed 1

A scripted model takes random steps: it looks, searches, edits rightly, wrongly and into what it must not touch, runs
commands whose output differs each time, asks, and claims. However a run ends, its replay has to be the same, event by event.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from surefoot.patients import materialise

_SPANS: Final = "daybook/spans.py"
_RIGHT: Final[dict[str, object]] = {
    "path": _SPANS,
    "search": "Span(merged[-1].start, span.end)",
    "replace": "Span(merged[-1].start, max(merged[-1].end, span.end))",
}
_STEPS: Final[tuple[tuple[str, dict[str, object]], ...]] = (
    ("file_edit", _RIGHT),
    ("file_edit", _RIGHT),
    ("file_edit", {"path": _SPANS, "search": "merged[-1].end:", "replace": "merged[-1].end + 1:"}),
    ("file_edit", {"path": _SPANS, "search": "nowhere to be found", "replace": "x"}),
    ("file_edit", {"path": "tests/test_free.py", "delete": True}),
    ("file_edit", {"path": "tests/test_new.py", "create": "def test_new():\n    assert True\n"}),
    ("file_read", {"path": _SPANS}),
    ("file_read", {"path": "daybook/free.py", "outline": True}),
    ("file_read", {"path": "missing.py"}),
    ("file_read", {"wrong": 1}),
    ("ripgrep", {"pattern": "merge"}),
    ("shell", {"command": "date +%N; echo $$; ls -la --time-style=full-iso daybook"}),
    ("shell", {"command": "python -m pytest -q tests/test_free.py"}),
    ("shell", {"command": "echo '# note' >> daybook/clock.py"}),
    ("lsp", {"action": "references", "path": _SPANS, "line": 39, "symbol": "merge"}),
    ("done", {}),
)


def rules(seed: int) -> dict[str, object]:
    """A model that takes random steps, by how many calls the prompt shows."""
    chance = random.Random(seed)
    answers = [_answer(*chance.choice(_STEPS)) for _ in range(chance.randint(2, 14))]
    answers.append(_answer("done", {}))
    by_number: list[dict[str, object]] = [
        {
            "purpose": "tool_call",
            "pattern": rf"(?s)## Calls so far, oldest first\n.*^{number}\. [a-z_.]+ \{{",
            "reply": answer,
        }
        for number, answer in reversed(list(enumerate(answers)))
        if number
    ]
    size = {"reasoning": "small", "complexity": "low", "confidence": 0.9}
    return {
        "schema": 1,
        "rules": [
            {"purpose": "task_complexity", "reply": json.dumps(size)},
            *by_number,
            {"purpose": "tool_call", "reply": answers[0]},
        ],
    }


def _answer(tool: str, params: dict[str, object]) -> str:
    return json.dumps(
        {
            "thought": f"{tool} is next",
            "learned": [],
            "tool": tool,
            "params": params,
            "expected_outcome": "progress",
        }
    )


def campaign(seeds: Sequence[int]) -> tuple[Counter[str], list[str]]:
    """How runs ended, and what was wrong with replays."""
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in seeds:
        with tempfile.TemporaryDirectory(prefix="surefoot-bench-") as name:
            folder = Path(name)
            patient = materialise("daybook", folder / "patient")
            model = folder / "model.json"
            model.write_text(json.dumps(rules(seed)))
            options = ("--model", f"scripted:{model}", "--strategy", "agent", "--seed", str(seed))
            ran = _surefoot(patient, folder, "solve", "ISSUE.md", *options)
            model.unlink()
            again = _surefoot(patient, folder, "replay")
        ends[str(ran.get("status", "no answer"))] += 1
        if again.get("identical") is not True:
            wrong.append(f"seed {seed}: {again.get('divergence', again)}")
            print(wrong[-1], flush=True)
    return ends, wrong


def _surefoot(patient: Path, folder: Path, *args: str) -> dict[str, object]:
    ran = subprocess.run(
        [sys.executable, "-m", "surefoot", *args, "--json"],
        cwd=patient,
        env={**os.environ, "SUREFOOT_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    if not ran.stdout:
        return {"error": ran.stderr}
    answer: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
    return answer


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.replay", description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    options = parser.parse_args(argv)
    ends, wrong = campaign(range(options.seed, options.seed + options.count))
    told = ", ".join(f"{count} {status}" for status, count in sorted(ends.items()))
    print(f"{options.count} runs: {told}; {options.count - len(wrong)} replayed the same")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()

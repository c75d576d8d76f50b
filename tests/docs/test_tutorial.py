"""The tutorial is run as it is written, on a model that answers from a file."""

import os
import re
import subprocess
import sys
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "first-issue.md"
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)
REPLY = """\
{
  "schema": 1,
  "rules": [
    {
      "pattern": "Function `merge`",
      "reply": "def merge(spans):\\n    merged = []\\n    for span in sorted(spans):\\n        if merged and span.start <= merged[-1].end:\\n            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))\\n        else:\\n            merged.append(span)\\n    return merged\\n"
    }
  ],
  "default": "I do not know."
}
"""


def commands() -> list[str]:
    """Every line that a reader types."""
    blocks = BLOCK.findall(TUTORIAL.read_text())
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


def run(command: str, folder: Path, home: Path) -> str:
    """What a command prints; it has to succeed."""
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(home),
            "SUREFOOT_HOME": str(home / "surefoot"),
            "GIT_AUTHOR_NAME": "Rita Reader",
            "GIT_AUTHOR_EMAIL": "rita@example.org",
            "GIT_COMMITTER_NAME": "Rita Reader",
            "GIT_COMMITTER_EMAIL": "rita@example.org",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_every_command_of_the_tutorial_works(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(REPLY)
    settings = (
        f'[run]\nmodel = "scripted:{tmp_path / "model.json"}"\n[repair]\nmax_candidates = 60\n'
    )
    folder, said = tmp_path, {}
    for command in commands():
        if command.startswith("cd "):
            folder = folder / command.removeprefix("cd ")
            (folder / "surefoot.toml").write_text(settings)
            (folder / ".git" / "info").mkdir(exist_ok=True)
            (folder / ".git" / "info" / "exclude").write_text("surefoot.toml\n")
            run("surefoot trust", folder, tmp_path)
        else:
            said[command] = run(command, folder, tmp_path)
    assert "complete" in said["surefoot solve ISSUE.md --quiet"]
    assert said["git status --short"] == ""
    assert "+            merged[-1] = Span(" in said["surefoot diff"]
    assert "are as recorded" in said["surefoot verify"]
    assert len(said["git log --oneline -2"].splitlines()) == 2

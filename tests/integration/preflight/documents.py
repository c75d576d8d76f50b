"""The example of the reference page as a repository."""

import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "plan-contracts.md"
_FILE = re.compile(r"^`([\w./]+)`:\n\n(`{3,})\w+\n(.*?)^\2$", re.MULTILINE | re.DOTALL)


def example() -> dict[str, str]:
    """Each file that the page shows, by its name."""
    page = PAGE.read_text("utf-8").partition("## An example")[2]
    return {name: text for name, _, text in _FILE.findall(page)}


def lay_out(root: Path, files: dict[str, str]) -> Path:
    """Write files into a new git repository with one commit."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for argv in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "-m", "one"],
    ):
        subprocess.run(["git", *argv], cwd=root, check=True)
    return root

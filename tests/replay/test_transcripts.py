"""What a strong model did with real packages, done again: the same files end up the same, and the run replays."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests import commands

TRANSCRIPTS = Path(__file__).parent / "transcripts"
SOLVED = {
    "tomlkit": ("tests/test_array_removal.py", "tomlkit/items.py"),
    "sqlparse": (
        "CHANGELOG",
        "docs/source/api.rst",
        "docs/sqlformat.1",
        "sqlparse/cli.py",
        "sqlparse/engine/filter_stack.py",
        "sqlparse/filters/__init__.py",
        "sqlparse/filters/others.py",
        "sqlparse/formatter.py",
        "tests/test_ensure_semicolon.py",
    ),
    "isodate": (
        "CHANGES.txt",
        "README.rst",
        "src/isodate/isodates.py",
        "src/isodate/isodatetime.py",
        "src/isodate/isoduration.py",
        "src/isodate/isoerror.py",
        "src/isodate/isotime.py",
        "src/isodate/isotzinfo.py",
        "tests/test_errors.py",
    ),
    "semver": (
        "changelog.d/467.feature.rst",
        "docs/api.rst",
        "docs/pysemver.rst",
        "docs/usage/compare-versions-through-expression.rst",
        "src/semver/cli.py",
        "src/semver/version.py",
        "tests/test_match_conditions.py",
    ),
    "pysubs2": (
        "README.md",
        "pysubs2/cli.py",
        "pysubs2/ssafile.py",
        "tests/test_cli_robustness.py",
        "tests/test_save_no_damage.py",
    ),
    "hyperlink": (
        "CHANGELOG.md",
        "docs/api.rst",
        "src/hyperlink/_url.py",
        "src/hyperlink/hypothesis.py",
        "src/hyperlink/test/test_relative_to.py",
    ),
    "rfc3986": (
        "src/rfc3986/_mixin.py",
        "src/rfc3986/misc.py",
        "src/rfc3986/normalizers.py",
        "tests/test_rfc3986_equivalence.py",
    ),
}

APART = {
    "hyperlink": "its own tests draw their inputs by chance",
    "rfc3986": "some answers hold what looks like a password, of which a record keeps nothing",
}
"""Where a replay may part from the run, with what speaks for it; it has to name the test run at which it does."""


SMALLEST = "isodate"
"""The one whose own tests are the quickest: a solving runs them seventeen times, and each of twelve mutants meets them."""


@pytest.mark.campaign
def test_the_smallest_is_solved_again_by_the_recorded_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer is due at the same step and call as then, or the run would end otherwise: complete, over the same files.

    That a run is the same event by event, the golden runs show; of the seven, `make soak` does.
    """
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # their tests need more than pytest
    solved_again(tmp_path, SMALLEST)


@pytest.mark.soak
@pytest.mark.parametrize("name", list(SOLVED))
def test_the_recorded_answers_solve_it_again(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Complete with evidence, over the files that the model changed then; and the same event by event without the answers."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    root = solved_again(tmp_path, name)
    divergence = surefoot(root, tmp_path, "replay")["divergence"]
    assert divergence is None or (name in APART and " tests.ran " in str(divergence))


def solved_again(folder: Path, name: str) -> Path:
    """The package, solved by the answers, which are gone afterwards."""
    root, given = folder / name, TRANSCRIPTS / name
    clone = ["git", "clone", "-q", "-b", "base-only", str(given / "base.bundle"), str(root)]
    subprocess.run(clone, check=True)
    answers = folder / "answers.json"
    answers.write_bytes((given / "answers.json").read_bytes())
    options = ("--model", f"scripted:{answers}", "--strategy", "agent")
    run = surefoot(root, folder, "solve", str(given / "ISSUE.md"), *options)
    answers.unlink()
    assert run["status"] == "complete", run["reason"]
    assert run["files"] == list(SOLVED[name])
    return root


def surefoot(root: Path, folder: Path, *args: str) -> dict[str, object]:
    """The JSON object that a command ends with."""
    whole = {**os.environ, "SUREFOOT_HOME": str(folder / "home")}
    ran = commands.surefoot(*args, "--json", cwd=root, env=whole)
    assert ran.stdout, ran.stderr
    answer: dict[str, object] = json.loads(ran.stdout.splitlines()[-1])
    return answer

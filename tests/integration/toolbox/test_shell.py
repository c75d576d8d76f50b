"""What `shell` runs, and what it tells of it; files come to be below folders only, which every fence allows."""

from collections.abc import Callable

import pytest

from surefoot.kernel.ports import Processes, Workspace
from surefoot.toolbox import Shell, Shelter
from surefoot.toolbox.bounds import OUTPUT_CHARACTERS
from surefoot.values import Limits, ToolOutcome

Call = Callable[..., ToolOutcome]


def test_both_streams_and_the_exit_code_are_shown(call: Call) -> None:
    """A command that fails is an outcome that is ok: it ran, and its exit code says the rest."""
    outcome = call("shell", command="echo out; echo err >&2; exit 3")
    assert outcome.output == "exit code 3\nstdout:\nout\nstderr:\nerr\nno file changed"
    assert (outcome.ok, outcome.exit_code, outcome.error) == (True, 3, "")
    assert call("shell", command="true").output == "exit code 0\nno output\nno file changed"


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("no-such-program --version", 127, "not found"),
        ("./src/agenda.py", 126, "cannot be executed"),
    ],
)
def test_a_program_that_is_missing_is_no_success(
    call: Call, command: str, code: int, told: str
) -> None:
    """Nothing ran, so the call is not ok, and it is worth nothing; the shell's own words are shown."""
    outcome = call("shell", command=command)
    assert (outcome.ok, outcome.exit_code) == (False, code)
    assert told in outcome.error
    assert "stderr:" in outcome.output


def test_what_changed_is_read_from_the_worktree(call: Call, workspace: Workspace) -> None:
    """Written, removed and moved files, sorted; not ignored ones, and not what was changed before."""
    (workspace.path / "data" / "settings.json").write_text("{}\n")
    line = "echo x >> notes.txt; rm src/other.js; mv src/agenda.py data/; echo x > src/noise.log"
    outcome = call("shell", command=line)
    assert outcome.changed == ("data/agenda.py", "notes.txt", "src/agenda.py", "src/other.js")
    assert outcome.output.endswith(
        "changed: data/agenda.py, notes.txt, src/agenda.py, src/other.js"
    )
    assert call("shell", command="echo x > src/new; rm src/new").changed == ()


def test_a_long_output_keeps_its_head_and_more_of_its_tail(call: Call) -> None:
    """Within the bound, also when both streams are long and many files change."""
    line = (
        "seq 1 20000; seq 100001 120000 >&2; "
        "for n in $(seq 1 300); do echo > src/a-rather-long-name-$n.txt; done"
    )
    outcome = call("shell", command=line)
    assert len(outcome.output) <= OUTPUT_CHARACTERS
    for kept in ("stdout:\n1\n", "\n20000\n", "stderr:\n100001\n", "\n120000\n", "more"):
        assert kept in outcome.output
    assert outcome.output.count("the middle is left out") == 2
    assert len(outcome.changed) == 300


def test_an_output_without_end_does_not_fill_memory(call: Call) -> None:
    """What is dropped is said to be."""
    outcome = call("shell", command="yes | head -c 9000000")
    assert "the end of a very long output was dropped" in outcome.output


def test_a_command_that_does_not_end_is_ended(call: Call, workspace: Workspace) -> None:
    """What it said and changed until then is told."""
    outcome = call("shell", command="echo begun; echo x > src/new.txt; sleep 60", timeout_s=1)
    assert not outcome.ok
    assert outcome.exit_code is None
    assert "did not end within 1 s" in outcome.error
    assert "begun" in outcome.output
    assert outcome.changed == ("src/new.txt",)
    assert "timeout_s" in call("shell", command="true", timeout_s=121).error


def test_a_command_over_a_limit_is_told_apart(call: Call) -> None:
    """By the signal that ended it."""
    large = call("shell", command="exec head -c 9000000 /dev/zero > src/big.log")
    assert "File size limit exceeded" in large.error
    assert "Killed" in call("shell", command="kill -9 $$").error


def test_a_zero_byte_is_refused(call: Call) -> None:
    """No program can be given one."""
    assert "zero byte" in call("shell", command="echo \0").error


def test_output_is_text_whatever_was_printed(call: Call) -> None:
    """Terminal codes are gone, other bytes are marked."""
    outcome = call("shell", command=r"printf '\033[1;31mred\033[0m \000 \377 a\rb\r\n'")
    assert "stdout:\nred \ufffd \ufffd a\nb\n" in outcome.output


def test_a_nested_repository_is_an_error_that_the_next_command_can_mend(call: Call) -> None:
    """Nothing can be told of what changed until it is gone; what was printed is told."""
    repository = (
        "mkdir -p src/inner/.git/objects src/inner/.git/refs/heads; echo x > src/inner/a; "
        "echo 'ref: refs/heads/main' > src/inner/.git/HEAD; echo made"
    )
    made = call("shell", command=repository)
    assert not made.ok
    assert "nested git repository" in made.error
    assert "made" in made.output
    mended = call("shell", command="rm -rf src/inner; echo x > src/kept.txt")
    assert mended.ok
    assert mended.changed == ("src/kept.txt",)


@pytest.mark.parametrize("wall_s", [5, 600])
def test_its_longest_time_is_what_the_settings_allow(processes: Processes, wall_s: int) -> None:
    """The schema says so, and the default fits into it."""
    spec = Shell(processes, Shelter(env={}, limits=Limits(wall_s=wall_s))).spec
    assert f'"maximum":{wall_s}' in spec.schema
    assert f"ended after {min(60, wall_s)} s" in spec.purpose


def test_it_gets_its_environment_and_nothing_else(
    processes: Processes, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No variable of the process that runs it comes along."""
    monkeypatch.setenv("SECRET_TOKEN", "abc")
    shell = Shell(processes, Shelter(env={"PATH": "/usr/bin:/bin", "COLOUR": "red"}))
    outcome = shell.run({"command": "env"}, workspace)
    assert "COLOUR=red" in outcome.output
    assert "SECRET_TOKEN" not in outcome.output


def test_what_is_left_of_a_token_in_the_middle_of_an_output_is_hidden(call: Call) -> None:
    """The middle of a long output is left out; a token that lies across its edge is hidden before."""
    token = "ghp_" + "aB3dE5gH7jK9" * 3
    said = call(
        "shell", command=f"yes {token} | head -n 2000; yes {token} | head -n 2000 >&2"
    ).output
    assert said.count("[... the middle is left out") == 2
    assert "aB3dE5gH7jK9" not in said

"""What the tests start commands by: a command that is forked ends as one of an interpreter of its own."""

import os
from pathlib import Path

import pytest
from tests import commands


@pytest.mark.parametrize(
    ("args", "stdin"),
    [
        (("--version",), ""),
        (("show",), ""),
        (("nothing",), ""),
        (("solve", "-"), ""),
        (("solve", "--max-iterations", "none"), ""),
        (("lock", "--why", "für später"), ""),
    ],
)
def test_a_forked_command_ends_as_one_of_its_own(
    patient: Path, tmp_path: Path, args: tuple[str, ...], stdin: str
) -> None:
    """By its code and all that it says, each with a home of its own."""
    ends = []
    for run in (commands.forked, commands.started):
        env = {**os.environ, "SUREFOOT_HOME": str(tmp_path / run.__name__)}
        done = run(*args, cwd=patient, env=env, stdin=stdin)
        told = (done.stdout + done.stderr).replace(env["SUREFOOT_HOME"], "HOME")
        ends.append((done.returncode, told))
    assert ends[0] == ends[1]
    assert ends[0][1]

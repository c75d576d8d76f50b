"""What a repository brings along has no power, whoever made it look trusted (SPEC F7)."""

import io
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from bench.letters import unit
from tests.integration.conftest import Surefoot
from tests.integration.execute.test_agent import BUG, repository
from tests.integration.plan_hands import hands_project
from typer.testing import CliRunner

from surefoot.cli.live import Terminal
from surefoot.cli.main import app
from surefoot.codec import digest
from surefoot.nodes import Cost
from surefoot.planrun.children import Order, project_for
from surefoot.project import open_project
from surefoot.request import Frozen, Request
from surefoot.values import Issue, RunId

SETTINGS = '[test]\ncommand = ["sh", "-c", "touch /tmp/never"]\n'


def test_a_repository_cannot_trust_itself(surefoot: Surefoot, tmp_path: Path) -> None:
    """A committed list of trusted hashes is refused, and without it the setting has no effect."""
    own = {".surefoot/trusted": f"{digest(SETTINGS.encode())}\n", "surefoot.toml": SETTINGS}
    root = repository(tmp_path, BUG | own)
    ran = surefoot("doctor", cwd=root)
    assert ran.returncode != 0
    assert "git tracks .surefoot here" in ran.stdout
    subprocess.run(["git", "rm", "-rq", "--cached", ".surefoot"], cwd=root, check=True)
    assert (
        "test.command have no effect until `surefoot trust`" in surefoot("doctor", cwd=root).stdout
    )


def test_trust_is_kept_with_the_user(surefoot: Surefoot, tmp_path: Path) -> None:
    """It holds for this content, for this user, and leaves nothing in the repository."""
    root = repository(tmp_path, BUG | {"surefoot.toml": SETTINGS})
    assert surefoot("trust", cwd=root).returncode == 0
    assert not (root / ".surefoot" / "trusted").exists()
    assert "no effect" not in surefoot("doctor", cwd=root).stdout
    (root / "surefoot.toml").write_text(SETTINGS + "\n")
    assert "no effect" in surefoot("doctor", cwd=root).stdout


def test_a_user_without_a_name_is_told_by_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a container whose user no file of it knows, the lock holds, and an answer at the terminal counts."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes\n"))
    assert Terminal().ask("Go on?", "why").who == f"uid {os.getuid()}"
    root = repository(tmp_path, BUG)
    ran = CliRunner().invoke(app, ["lock", "--why", "a release", "--repo", str(root)])
    assert (ran.exit_code, ran.stdout) == (0, "locked: a release\n")
    assert f'"who":"uid {os.getuid()}"' in (root / ".surefoot" / "events.jsonl").read_text()


def test_where_there_is_nothing_to_trust_nothing_is_written(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """One sentence, and the repository stays as it was."""
    root = repository(tmp_path, BUG)
    done = surefoot("trust", cwd=root)
    assert done.returncode != 0
    assert "there is no surefoot.toml to trust" in done.stderr
    assert not (root / ".surefoot").exists()


@pytest.mark.parametrize("at_first", ["untrusted", "trusted"])
def test_units_that_begin_after_a_resume_are_trusted_as_their_plan_was(
    tmp_path: Path, at_first: str
) -> None:
    """The file is another one by then: nobody's word about that one raises, or lowers, what was frozen."""
    file = tmp_path / "repo" / "surefoot.toml"
    project = hands_project(tmp_path)
    file.write_text(f"{file.read_text()}\n[run]\nmax_files = 500\n")
    project = open_project(project.root, project.places)
    if at_first == "trusted":
        project.trust()
        project = open_project(project.root, project.places)
    request = Request(issue=Issue(source="text", text="x"))
    frozen = Frozen(settings=project.settings, request=request, trusted=not project.untrusted)
    if at_first == "trusted":
        file.write_text(f"{file.read_text()}max_iterations = 99\n")
    else:
        file.unlink()
    order = Order(
        unit=unit("a"),
        attempt=1,
        node="unit",
        base=project.repository.head,
        base_tree=project.repository.tree,
        share=Cost(tokens=0, cost_usd=0.0),
        facts=(),
        refuted=(),
    )
    later = open_project(project.root, project.places)
    child = project_for(order, later, frozen, RunId("20260101-000000-0001"))
    assert bool(child.untrusted) == (at_first == "untrusted")
    mended = replace(frozen, settings=child.settings, trusted=not child.untrusted)
    assert mended.overrides == frozen.overrides

"""The run's branch on a remote: only that branch, only where the network is allowed, and never at the work's cost."""

import random
import subprocess
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from bench.stories import Story, make_project, stories, tell

from surefoot.cli.common import surroundings
from surefoot.events.policy import PolicyDenied
from surefoot.events.work import GitStage
from surefoot.gitops import Repository
from surefoot.gitops.push import push_branch
from surefoot.ledger import read_events
from surefoot.people import Nobody, Quiet
from surefoot.project import Project
from surefoot.settings import parse_settings
from surefoot.testing.repository import ScratchRepository
from surefoot.values import CommitId, RunId
from surefoot.verify import verify_run

RUN = RunId("20261122-101500-abcd")


def git(root: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A repository whose `origin` is a bare one beside it."""
    made = make_project(tmp_path)
    git(tmp_path, "init", "--quiet", "--bare", "remote.git")
    git(made.root, "remote", "add", "origin", str(tmp_path / "remote.git"))
    return made


def pushes(project: Project, push: str, **changes: object) -> list[GitStage]:
    """What a run of two turns that pushes so records of its pushes."""
    told = next(s for s in stories(random.Random(1)) if s.name == "two turns")
    fields = {"name": "pushes", "works": told.works, "push": push, **changes}
    tell(project, Story(**fields), RUN, surroundings(Nobody(), Quiet()))  # type: ignore[arg-type]
    events = (r.event for r in read_events(project.ledger_file(RUN)))
    return [e for e in events if isinstance(e, GitStage) and e.stage == "publish"]


@pytest.mark.parametrize(("push", "times"), [("always", 2), ("milestone", 1)])
def test_the_branch_is_on_the_remote(project: Project, push: str, times: int) -> None:
    """Each turn, or the whole work, arrives as the run's branch, and nothing else does."""
    found = pushes(project, push)
    assert [stage.ok for stage in found] == [True] * times
    remote = project.root.parent / "remote.git"
    assert git(remote, "for-each-ref", "--format=%(objectname) %(refname)") == (
        f"{found[-1].commit} refs/heads/surefoot/{RUN}"
    )
    assert found[-1].commit == git(project.root, "rev-parse", f"surefoot/{RUN}")
    assert verify_run(project, RUN).fault is None


def test_a_remote_that_rejects_costs_no_work(project: Project) -> None:
    """What its hook said is recorded and shown; the run is complete all the same."""
    hook = project.root.parent / "remote.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho no robots here >&2\nexit 1\n")
    hook.chmod(0o755)
    found = pushes(project, "always")
    assert [stage.ok for stage in found] == [False, False]
    assert "no robots here" in found[0].error or "rejected" in found[0].error
    report = (project.runs / RUN / "report.md").read_text()
    assert "**complete**" in report
    assert "was not pushed" in report
    assert verify_run(project, RUN).fault is None


def test_without_the_network_flag_nothing_is_pushed(project: Project) -> None:
    """The setting alone has no effect, and the refusal is an event."""
    assert pushes(project, "always", network=False) == []
    denied = [r.event for r in read_events(project.ledger_file(RUN))]
    assert [e.rule for e in denied if isinstance(e, PolicyDenied)] == ["allow_network"]
    assert git(project.root.parent / "remote.git", "for-each-ref") == ""


def test_a_push_needs_trust() -> None:
    """A repository cannot bring its own settings to be pushed somewhere."""
    settings = parse_settings({"git": {"turn_push": "always"}, "risk": {"allow_network": True}})
    assert set(settings.widening()) == {"git.turn_push", "risk.allow_network"}
    narrowed = settings.without_widening()
    assert narrowed.git.turn_push == "never"
    assert not narrowed.risk.allow_network


def pushed(user: ScratchRepository, **env: str) -> str:
    """What is said of pushing the user's HEAD as the run's branch."""
    head = CommitId(user.git("rev-parse", "HEAD"))
    return push_branch(Repository.discover(user.root, {**user.env, **env}), RUN, head)


def heads(user: ScratchRepository, name: str) -> str:
    """Every ref of a repository beside the checkout."""
    return user.at(user.folder / name).git("for-each-ref", "--format=%(objectname) %(refname)")


@pytest.fixture
def forks(user: ScratchRepository) -> ScratchRepository:
    """Fetches from one repository and pushes to two others."""
    for name in ("up.git", "fork.git", "mirror.git"):
        user.git("init", "--quiet", "--bare", f"../{name}")
    user.git("remote", "add", "origin", str(user.folder / "up.git"))
    for name in ("fork.git", "mirror.git"):
        user.git("config", "--add", "remote.origin.pushurl", str(user.folder / name))
    return user


def test_the_branch_is_looked_for_where_it_was_pushed(forks: ScratchRepository) -> None:
    """At each address for pushing; the one that is fetched from has nothing and is not asked."""
    assert pushed(forks) == ""
    there = f"{forks.git('rev-parse', 'HEAD')} refs/heads/surefoot/{RUN}"
    assert [heads(forks, f"{name}.git") for name in ("up", "fork", "mirror")] == ["", there, there]


def test_tags_and_submodules_stay_here(forks: ScratchRepository) -> None:
    """Whatever the user lets follow when he pushes himself."""
    library = ScratchRepository.create(forks.folder / "library", forks.env["PATH"])
    library.commit({"lib.py": "1\n"})
    forks.git("clone", "--quiet", "--bare", str(library.root), "../library.git")
    forks.git("submodule", "--quiet", "add", str(forks.folder / "library.git"), "vendor")
    own = forks.at(forks.root / "vendor").commit({"lib.py": "2\n"})
    forks.commit({})
    forks.git("tag", "--annotate", "--message", "v1", "v1")
    forks.git("config", "push.followTags", "true")
    forks.git("config", "push.recurseSubmodules", "on-demand")
    assert pushed(forks) == ""
    assert heads(forks, "fork.git").split()[1:] == [f"refs/heads/surefoot/{RUN}"]
    assert own not in heads(forks, "library.git")


def test_a_remote_that_drops_the_branch_again_has_not_got_it(forks: ScratchRepository) -> None:
    """It took the push; one of two is enough."""
    hook = forks.folder / "mirror.git" / "hooks" / "post-receive"
    hook.write_text("#!/bin/sh\nread old new name\ngit update-ref -d $name\n")
    hook.chmod(0o755)
    head = forks.git("rev-parse", "HEAD")
    assert (
        pushed(forks) == f"origin does not have {head} at refs/heads/surefoot/{RUN} after the push"
    )


def test_a_branch_that_follows_one_of_the_same_repository_has_no_remote(
    user: ScratchRepository,
) -> None:
    """Nothing is made in the user's repository, and it is said what would help."""
    user.git("branch", "dev")
    user.git("branch", "--quiet", "--set-upstream-to", "dev", "main")
    assert "main follows a branch of this repository" in pushed(user)
    assert "surefoot" not in user.git("for-each-ref")


def test_the_remote_is_that_of_the_users_own_push(user: ScratchRepository) -> None:
    """A branch's remote for pushing comes before that of all branches, and both before the one that it is fetched from."""
    for name in ("origin", "up", "fork", "own"):
        user.git("init", "--quiet", "--bare", f"../{name}.git")
        user.git("remote", "add", name, str(user.folder / f"{name}.git"))
    settings = {
        "origin": ("branch.main.merge", "refs/heads/main"),
        "up": ("branch.main.remote", "up"),
        "fork": ("remote.pushDefault", "fork"),
        "own": ("branch.main.pushRemote", "own"),
    }
    there = f"{user.git('rev-parse', 'HEAD')} refs/heads/surefoot/{RUN}"
    for name, setting in settings.items():
        user.git("config", *setting)
        assert pushed(user) == ""
        assert heads(user, f"{name}.git") == there
        user.at(user.folder / f"{name}.git").git("update-ref", "-d", f"refs/heads/surefoot/{RUN}")
        assert not any(heads(user, f"{other}.git") for other in settings)


def test_the_ssh_program_of_the_environment_is_used(user: ScratchRepository) -> None:
    """With the key that it was given, as the user's own `git push` would."""
    user.git("init", "--quiet", "--bare", "../far.git")
    user.git("remote", "add", "origin", f"ssh://host{user.folder}/far.git")
    ssh = user.folder / "ssh"
    ssh.write_text('#!/bin/sh\n[ "$1" = -i ] || exit 1\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    assert pushed(user) != ""
    assert pushed(user, GIT_SSH_COMMAND=f"{ssh} -i key", GIT_SSH_VARIANT="ssh") == ""
    assert str(RUN) in heads(user, "far.git")


def test_the_password_program_of_the_environment_is_used(user: ScratchRepository) -> None:
    """What it answers is what the server is told."""
    told: list[str | None] = []

    class Locked(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told.append(self.headers["Authorization"])
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="here"')
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    program = user.folder / "askpass"
    program.write_text("#!/bin/sh\necho secret\n")
    program.chmod(0o755)
    with HTTPServer(("127.0.0.1", 0), Locked) as server:
        serving = Thread(target=server.serve_forever)
        serving.start()
        try:
            user.git(
                "remote", "add", "origin", f"http://ursula@127.0.0.1:{server.server_port}/x.git"
            )
            assert "secret" not in pushed(user, GIT_ASKPASS=str(program))
        finally:
            server.shutdown()
            serving.join()
    assert told[-1] == f"Basic {b64encode(b'ursula:secret').decode()}"

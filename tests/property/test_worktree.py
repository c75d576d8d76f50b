"""Whatever a turn does to the worktree: a snapshot can be restored, and the base comes back whole."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surefoot.gitops import Repository
from surefoot.gitops.workspace import GitWorkspace, open_workspace
from surefoot.testing.repository import ScratchRepository
from surefoot.values import RunId

BASE = {"a": "A\n", "d/b": "B\n", "d/e/c": "C\n", ".gitignore": "*.tmp\n"}
NAMES = st.sampled_from(["a", "b", "c", "d", "e", "x.tmp", "\n", '"', "-n", "\udcff", ":(glob)*"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
ACTS = st.lists(st.tuples(st.sampled_from(["write", "link", "remove", "exec"]), PATHS), max_size=8)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitWorkspace]:
    user = ScratchRepository.create(tmp_path_factory.mktemp("property"), os.environ["PATH"])
    user.commit(BASE)
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as opened:
        yield opened


def act(root: Path, what: str, path: str) -> None:
    """Do something rude; what cannot be done is not done."""
    place = root / path
    try:
        if what == "remove" and place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        elif what == "remove":
            place.unlink()
        elif what == "exec":
            place.chmod(0o755)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            if what == "link":
                place.symlink_to("a")
            else:
                place.write_text(what + path.encode("utf-8", "replace").decode())
    except OSError:
        return


def content(root: Path) -> dict[str, str | bytes]:
    """Every file and link with its content, but for what git ignores."""
    found: dict[str, str | bytes] = {}
    for folder, folders, names in os.walk(root):
        for name in folders + names:
            path = Path(folder, name)
            if path.is_symlink():
                found[str(path.relative_to(root))] = str(path.readlink())
            elif path.is_file() and name != ".git":
                found[str(path.relative_to(root))] = path.read_bytes()
    return {k: v for k, v in found.items() if ".tmp" not in k}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(acts=ACTS)
def test_a_snapshot_is_what_was_there_and_can_be_brought_back(
    workspace: GitWorkspace, acts: list[tuple[str, str]]
) -> None:
    """Snapshot, back to the base, forward again: the files are the same, and the tree id is."""
    workspace.restore(workspace.base_tree)
    for what, path in acts:
        act(workspace.path, what, path)
    before = content(workspace.path)
    tree = workspace.snapshot()
    assert set(workspace.files(tree)) == set(before)
    changed = {c.path for c in workspace.diff(workspace.base_tree, tree).files}
    workspace.restore(workspace.base_tree)
    base = content(workspace.path)
    assert {p for p in base.keys() | before.keys() if base.get(p) != before.get(p)} <= changed
    assert base == {path: text.encode() for path, text in BASE.items()}
    workspace.restore(tree)
    assert content(workspace.path) == before
    assert workspace.snapshot() == tree

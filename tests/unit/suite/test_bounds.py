"""What a test process may be shown is the user's to say, and never a folder where secrets are kept."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.errors import SettingsError
from surefoot.suite import SuitePlan, detect, mounts, nothing_tracked
from surefoot.suite.bounds import Bounds, Way

BASE = Path(sys.base_prefix)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home with a key and a checkout with one test."""
    (tmp_path / "home" / ".ssh").mkdir(parents=True)
    tests = tmp_path / "home" / "work" / "till" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_x.py").write_text("def test_x(): pass\n")
    return tmp_path / "home"


@pytest.fixture
def root(home: Path) -> Path:
    return home / "work" / "till"


def make_env(
    place: Path, python: Path = BASE / "bin" / "python3", named: Path | None = None
) -> Path:
    """An environment whose interpreter links to `python`, and that names the installation `named`."""
    site = place / "lib" / "python3.11" / "site-packages"
    (site / "pytest").mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "pyvenv.cfg").write_text(f"home = {(named or BASE) / 'bin'}\n")
    (place / "bin" / "python").symlink_to(python)
    return site


def install(place: Path) -> Path:
    """What looks like an interpreter's installation; its program is ours."""
    (place / "bin").mkdir(parents=True)
    (place / "lib" / "python3.11").mkdir(parents=True)
    (place / "bin" / "python3").symlink_to(BASE / "bin" / "python3")
    return place


def planned(root: Path, *tracked: str, python: str | None = None) -> SuitePlan:
    """The plan of a checkout in which git tracks the given paths."""

    def is_tracked(path: str) -> bool:
        return any(path == t or t.startswith(f"{path}/") or path == "." for t in tracked)

    environ = {"HOME": str(root.parents[1])}
    plan = detect(root, python=python, command=None, environ=environ, is_tracked=is_tracked)
    assert isinstance(plan, SuitePlan)
    return plan


def test_an_environment_that_git_tracks_is_not_used(root: Path) -> None:
    """It shows nothing, and the plan says why and how that is mended; untracked, it is used."""
    make_env(root / ".venv")
    assert planned(root).python == root / ".venv" / "bin" / "python"
    assert planned(root).refused == ()
    plan = planned(root, ".venv/pyvenv.cfg")
    assert plan.python == Path(sys.executable)
    assert root / ".venv" not in plan.reads
    (told,) = plan.refused
    assert f"the environment {root / '.venv'} is not used, because git tracks it" in told
    assert "`python3 -m venv .venv`" in told
    with pytest.raises(SettingsError, match="because git tracks it"):
        planned(root, ".venv/pyvenv.cfg", python=".venv/bin/python")


@pytest.mark.parametrize("link", [".venv", "tools"])
def test_an_environment_behind_a_tracked_link_is_not_used(
    root: Path, home: Path, link: str
) -> None:
    """A link that the user made is followed."""
    make_env(home / "envs" / ".venv")
    (root / link).symlink_to(home / "envs" / ".venv" if link == ".venv" else home / "envs")
    python = None if link == ".venv" else "tools/.venv/bin/python"
    assert home / "envs" / ".venv" in {p.resolve() for p in planned(root, python=python).reads}
    if python is None:
        plan = planned(root, link)
        assert (plan.python, len(plan.refused)) == (Path(sys.executable), 1)
    else:
        with pytest.raises(SettingsError, match="because git tracks it"):
            planned(root, link, python=python)


def test_an_environment_of_a_submodule_is_not_used(root: Path) -> None:
    """Its files are in no index of the checkout."""
    make_env(root / ".venv")
    (root / ".venv" / ".git").write_text("gitdir: ../.git/modules/.venv\n")
    assert planned(root).python == Path(sys.executable)


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("", "it is, or holds, a home directory"),
        ("..", "it is, or holds, a home directory"),
        (".local", "it is a folder of many programs"),
        (".config/x", "secrets are kept there"),
        ("other", "it holds .ssh, so secrets are kept there"),
        ("empty", "it is no installation of Python"),
    ],
)
def test_what_an_environment_builds_on_is_an_installation_and_no_home(
    root: Path, home: Path, place: str, why: str
) -> None:
    """`home` of `pyvenv.cfg` shows nothing else, and what was refused is told with its mend."""
    named = (home / place).resolve()
    if place != "empty":
        install(named)
    (home / "other" / ".ssh").mkdir(parents=True)
    make_env(root / ".venv", named=named)
    plan = planned(root)
    assert set(plan.reads) == {root / ".venv", BASE.resolve()}
    (told,) = plan.refused
    assert told.startswith(
        f"{named}, which {plan.python} builds on, is not shown to the tests: {why}"
    )
    assert "make the environment anew" in told


@pytest.mark.parametrize(
    "place", [".local/share/uv/python/cpython-3.11", ".pyenv/versions/3.11.7", "miniconda3/envs/x"]
)
def test_an_installation_in_the_home_is_shown_without_its_parents(
    root: Path, home: Path, place: str
) -> None:
    """As uv, pyenv and conda keep them."""
    make_env(root / ".venv", named=install(home / place))
    plan = planned(root)
    assert set(plan.reads) == {root / ".venv", BASE.resolve(), home / place}
    assert plan.refused == ()


def test_a_link_by_which_an_interpreter_is_called_is_shown_alone(root: Path, home: Path) -> None:
    """`~/.local/bin/python3` leads on to an installation; the folder that it is in stays hidden."""
    (home / ".local" / "bin").mkdir(parents=True)
    link = home / ".local" / "bin" / "python3"
    link.symlink_to(BASE / "bin" / "python3")
    make_env(root / ".venv", python=link, named=home / ".local")
    plan = planned(root)
    assert link in plan.reads
    assert not any(p in plan.reads for p in (home, home / ".local", link.parent))


def test_only_source_trees_are_shown_for_a_pth_file(root: Path, home: Path) -> None:
    """Another project is; a home, a folder of keys, the checkout's parent and a folder without code are not."""
    site = make_env(root / ".venv")
    library, keys, plain = home / "work" / "library", home / ".ssh" / "keys", home / "pictures"
    for place in (library, keys, plain):
        place.mkdir()
    for place in (home, library, keys, root.parent):
        (place / "mod.py").write_text("")
    bad = (home, keys, plain, root.parent, Path("/etc"), Path("/"))
    lines = (library, *bad, root / ".." / "..")
    (site / "x.pth").write_text("".join(f"{line}\n" for line in lines))
    plan = planned(root)
    assert set(plan.reads) == {root / ".venv", BASE.resolve(), library}
    assert plan.editable == ()
    assert [told.partition(",")[0] for told in plan.refused] == [str(place) for place in bad]
    assert all(
        "which a .pth file of" in t and "install what is there without `-e`" in t
        for t in plan.refused
    )


def test_a_link_of_the_repository_does_not_lead_a_pth_file_out(root: Path, home: Path) -> None:
    """The line names the checkout, whose tracked link ends elsewhere."""
    site = make_env(root / ".venv")
    (home / "library").mkdir()
    (home / "library" / "mod.py").write_text("")
    (root / "src").symlink_to(home / "library")
    (site / "x.pth").write_text(f"{root / 'src'}\n")
    plan = planned(root, "src")
    assert (plan.editable, set(plan.reads)) == ((), {root / ".venv", BASE.resolve()})
    assert "a link of the repository leads there" in plan.refused[0]


def test_a_link_of_the_repository_is_not_carried(root: Path, home: Path) -> None:
    """Neither modules nor a built file, wherever it leads from the worktree; the user's own link is."""
    (home / "modules").mkdir()
    (home / "id.so").write_text("key")
    (root / "node_modules").symlink_to(home / "modules")
    (root / "x.so").symlink_to(home / "id.so")
    assert planned(root).carry == ("x.so", "node_modules")
    assert planned(root, "x.so", "node_modules").carry == ()


def test_a_way_goes_as_the_kernel_goes(tmp_path: Path) -> None:
    """Links in folders, links to links, and `..` behind a link."""
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "far").symlink_to("a/deep")
    (tmp_path / "on").symlink_to(tmp_path / "far")
    way = Way.to(tmp_path / "on" / ".." / "file")
    assert way.links == (tmp_path / "on", tmp_path / "far")
    assert way.end == tmp_path / "a" / "file"
    (tmp_path / "loop").symlink_to("loop")
    assert Way.to(tmp_path / "loop").links


@pytest.fixture
def bounds(tmp_path: Path) -> Callable[[str], Bounds]:
    return lambda home: Bounds.of(tmp_path, {"HOME": home}, nothing_tracked)


def test_the_account_has_a_home_whatever_the_environment_says(
    bounds: Callable[[str], Bounds], tmp_path: Path
) -> None:
    """So a changed `HOME` opens no home."""
    own = Path("~").expanduser()
    assert bounds(str(own)).homes[0] == own.resolve()
    assert bounds(str(tmp_path)).homes[0] == tmp_path
    assert len(bounds(str(tmp_path)).homes) == 2


def test_a_dangling_link_of_the_tree_is_not_mounted_over(root: Path, tmp_path: Path) -> None:
    """In the checkout it leads somewhere; in a worktree elsewhere it does not, and stays as it is."""
    (root.parent / "modules").mkdir()
    tree = tmp_path / "tree"
    tree.mkdir()
    for place in (root, tree):
        (place / "node_modules").symlink_to("../modules")
    assert mounts(("node_modules",), root, tree) == ()
    (tree / "node_modules").unlink()
    assert mounts(("node_modules",), root, tree) == (
        (root / "node_modules", tree / "node_modules"),
    )


@pytest.mark.parametrize("place", ["/", "/home", "/tmp", "/var", "/etc", "/etc/ssl", "/proc/self"])
def test_no_folder_of_the_system_is_shown(bounds: Callable[[str], Bounds], place: str) -> None:
    """Whoever has a home there."""
    told = bounds("/nonexistent").against_sources(Path(place))
    assert told in {"it is a folder of the system's", "it holds the checkout itself"}

"""What is shown of the user's machine for a program of the user's."""

import sys
from pathlib import Path

import pytest

from surefoot.toolbox.programs import Programs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def put(path: Path, text: str = "\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def shown(home: Path, *folders: Path, argv: tuple[str, ...] = ("tool",)) -> set[Path]:
    programs = Programs(path=":".join(map(str, folders)), home=home)
    found = programs.find(argv, home / "work")
    assert found is not None
    return set(found.reads)


def test_a_single_program_is_shown_alone(home: Path) -> None:
    """Not the folder that it lies in, nor the home around it."""
    put(home / ".local" / "lib" / "secret")
    tool = put(home / ".local" / "bin" / "tool")
    assert shown(home, tool.parent) == {tool}


def test_a_link_is_shown_with_the_installation_that_it_leads_to(home: Path) -> None:
    """As pipx does it: a virtual environment behind a link, its interpreter in another place."""
    base = put(home / "python" / "bin" / "python3").parent.parent
    put(base / "lib" / "os.py")
    env = home / ".local" / "share" / "venvs" / "tool"
    put(env / "lib" / "x.py")
    real = put(env / "bin" / "tool", f"#!{env}/bin/python -I\n")
    (env / "bin" / "python").symlink_to(base / "bin" / "python3")
    link = home / ".local" / "bin" / "tool"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    assert shown(home, link.parent) == {link, env, base}


def test_a_node_script_is_shown_with_its_modules_and_node(home: Path) -> None:
    """`env` finds node on the same PATH."""
    modules = home / ".npm" / "lib" / "node_modules"
    real = put(modules / "server" / "cli.mjs", "#!/usr/bin/env node\n")
    (home / ".npm" / "bin").mkdir()
    (home / ".npm" / "bin" / "tool").symlink_to(real)
    node = put(home / "bin" / "node")
    assert shown(home, home / ".npm" / "bin", node.parent) == {home / ".npm", node}


def test_a_script_among_the_arguments_is_shown(home: Path) -> None:
    """The interpreter is the system's, and what does not exist is only an argument."""
    script = put(home / "server.py")
    argv = ("tool", str(script), "/nonexistent", "--x=/etc/passwd")
    tool = put(home / "one" / "tool")
    assert shown(home, tool.parent, argv=argv) == {tool, script}


def test_what_is_always_shown_is_left_out(home: Path) -> None:
    """The interpreter that runs Surefoot, and /usr."""
    assert shown(home, argv=(sys.executable,)) == set()
    assert shown(home, Path("/usr/bin"), argv=("env",)) == set()
    tool = put(home / "tool", "#!/bin/sh\n")
    assert shown(home, argv=(str(tool),)) == {tool}


def test_a_relative_program_is_one_of_the_worktree(home: Path) -> None:
    """A name with a slash is not looked up on the PATH."""
    tool = put(home / "work" / "scripts" / "tool")
    assert shown(home, argv=("scripts/tool",)) == {tool}
    assert Programs(path="/usr/bin", home=home).find(("no-such-tool",), home) is None
    assert Programs(path="/usr/bin", home=home).find(("./env",), home) is None


def test_the_present_folder_is_no_place_for_programs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry of the PATH that means it finds nothing: a repository may hold anything."""
    monkeypatch.chdir(put(home / "tool").parent)
    assert Programs(path=":.:", home=home).find(("tool",), home) is None


def test_companions_and_folders(home: Path) -> None:
    """What a program calls and keeps at home is shown where it exists, and named in the environment."""
    tool, helper = put(home / "a" / "tool"), put(home / "b" / "helper")
    (home / "cache").mkdir()
    programs = Programs(path=f"{home}/a:{home}/b", home=home)
    found = programs.find(("tool",), home)
    assert found is not None
    found = programs.with_help(found, ("helper", "none"), {"CACHE": "cache", "NO": "none"})
    assert set(found.reads) == {tool, helper, home / "cache"}
    assert found.env == {
        "PATH": f"{home}/a:{home}/b",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "CACHE": str(home / "cache"),
    }

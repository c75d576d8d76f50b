"""Finds the program of a command and what it needs to be shown; nothing of the project is run for it."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from surefoot.errors import SettingsError
from surefoot.suite.interpreter import SYSTEM


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program of PATH, or of the tree."""

    argv0: str
    path: tuple[Path, ...] = ()
    """Its directory, for PATH."""
    reads: tuple[Path, ...] = ()


def find_program(root: Path, name: str, environ: Mapping[str, str]) -> Program:
    """The program that a command begins with; one that is named by a path of the tree stays as it is.

    Raises:
        SettingsError: There is none.
    """
    if "/" in name and not Path(name).is_absolute():
        if not (root / name).is_file():
            raise SettingsError(
                f"the test command begins with {name!r}, and there is no such file in {root}; correct `[test] command`"
            )
        return Program(argv0=name)
    found = shutil.which(name, path=environ.get("PATH", ""))
    if found is None:
        raise SettingsError(
            f"the tests need the program {name!r}, which is not on PATH: install it, or name another in `[test] command`"
        )
    program = Path(found)
    home = Path(environ.get("HOME", "/nonexistent"))
    return Program(argv0=found, path=(program.parent,), reads=_shown(program, home))


def _shown(program: Path, home: Path) -> tuple[Path, ...]:
    """The installation of a program; only the file where that would show a home, or folders for many programs."""
    if _is_system(program) and _is_system(program.resolve()):
        return ()
    shown = []
    for place in dict.fromkeys((program, program.resolve())):
        prefix = place.parent.parent
        many = home.is_relative_to(prefix) or prefix == home / ".local" or prefix == home / ".cargo"
        shown.append(place if many or place.parent.name != "bin" else prefix)
    return tuple(p for p in dict.fromkeys(shown) if not _is_system(p))


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in SYSTEM)


def tool_homes(name: str, environ: Mapping[str, str]) -> tuple[dict[str, str], tuple[Path, ...]]:
    """Variables and directories with which go and cargo find what was downloaded before; never their credentials."""
    home = Path(environ.get("HOME", "/nonexistent"))
    if name == "go":
        modules = Path(
            environ.get("GOMODCACHE") or Path(environ.get("GOPATH") or home / "go", "pkg/mod")
        )
        env = {"GOMODCACHE": str(modules), "GOPROXY": "off", "GOTOOLCHAIN": "local"}
        return env, _there(modules)
    if name == "cargo":
        cargo = Path(environ.get("CARGO_HOME") or home / ".cargo")
        rustup = Path(environ.get("RUSTUP_HOME") or home / ".rustup")
        env = {"CARGO_HOME": str(cargo), "RUSTUP_HOME": str(rustup), "CARGO_NET_OFFLINE": "true"}
        return env, _there(cargo / "registry", cargo / "git", cargo / "bin", rustup)
    return {}, ()


def _there(*places: Path) -> tuple[Path, ...]:
    return tuple(p for p in places if p.exists() and not _is_system(p))

"""Runs a project's tests inside the project's own interpreter and says, signed, what happened.

This file is handed to that interpreter as a script. It imports the standard library and pytest only, and keeps to the
syntax of Python 3.8. Its first line of standard input is the order (JSON); its answer goes to the descriptor that was
standard output, one record a line: a keyed hash, a space, and the record as a Python literal. The project's own output
goes to standard error.

The code under test shares this process, so everything that matters is captured before that code is imported, lives in
closures, and is cross-checked by the parent (`surefoot.suite.verdict`): control tests that must pass, fail and error; a
witness that saw each test function return; pytest's own functions unchanged; sequence numbers; the exit code.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and sys.path and sys.path[0] == __file__.rpartition("/")[0]:
    del sys.path[0]  # our own modules must not be importable by the project

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import re
import tempfile
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Say = Callable[..., None]
    Fields = dict[str, Any]


def sibling(name: str) -> Any:
    """A module of ours beside this file, without making it importable by the project."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    loader = importlib.machinery.SourceFileLoader("surefoot_" + name, path)
    module = types.ModuleType(loader.name)
    module.__file__ = path
    loader.exec_module(module)
    return module


hooks = sibling("hooks")


def open_channel(key: bytes) -> Say:
    """Turn standard output into the signed record channel, and printing into standard error."""
    channel = os.dup(1)
    os.dup2(2, 1)
    # Captured: the project may replace these names later, not these references.
    write, getpid, show, keyed = (
        os.write,
        os.getpid,
        ascii,
        hashlib.blake2b(key=key, digest_size=16),
    )
    owner = getpid()
    count = 0

    def say(kind: str, **fields: Any) -> None:
        nonlocal count
        if getpid() != owner:
            return  # a fork of the project's that ran into our hooks
        # `ascii` of builtin types is C code: there is no encoder to patch.
        body = show({"kind": kind, "n": count, **fields}).encode()
        mac = keyed.copy()
        mac.update(body)
        line = mac.hexdigest().encode() + b" " + body + b"\n"
        while line:
            line = line[write(channel, line) :]
        count += 1

    return say


def load_pytest() -> bool:
    """Import pytest and what it is made of, before the tree under test can offer its own; False without one."""
    if importlib.util.find_spec("pytest") is None:
        return False
    import pytest  # noqa: F401, PLC0415
    from _pytest.config import default_plugins  # noqa: PLC0415

    for name in default_plugins:
        importlib.import_module("_pytest." + name)
    return True


def cache_dir() -> str:
    """Where pytest's cache is: empty when a process of ours begins, and outside of the tree."""
    return os.path.join(tempfile.gettempdir(), "pytest-cache")


def pytest_arguments(root: str, tests: list[str] | None, extra: list[str]) -> list[str]:
    """The command line for pytest: one process, a cache of its own, nothing re-run, nothing stopped early.

    That comes last, since of two such options the last one counts: the project's command may have `-x` or `-n 4`.
    An option of a plugin that is not there is unknown to pytest: the project's settings may use the cache's, or turn
    off what we would say something to.
    """
    rest = extra if tests is None else list(tests)
    settings = settings_of(root)
    off = turned_off(settings)
    arguments = ["--rootdir", root, "--color=no", "--maxfail=0", "--continue-on-collection-errors"]
    if "cacheprovider" not in off:
        arguments += ["-o", "cache_dir=" + cache_dir()]
    told = "--randomly-" in " ".join([settings, *rest]) and "randomly" not in off
    if told and importlib.util.find_spec("pytest_randomly") is not None:
        arguments.append("--randomly-dont-reorganize")
    else:
        arguments += ["-p", "no:randomly"]
    for module, plugin, option in (
        ("xdist", "xdist", "-n0"),
        ("pytest_cov", "pytest_cov", "--no-cov"),
        ("pytest_rerunfailures", "rerunfailures", "--reruns=0"),
        ("pytest_benchmark", "benchmark", "--benchmark-disable"),
    ):
        if plugin not in off and importlib.util.find_spec(module) is not None:
            arguments.append(option)
    return rest + arguments


def named_arguments(root: str, tests: list[str], extra: list[str], plugin: Any) -> list[str]:
    """The same for some tests of a project whose command has words of its own.

    Which of them are options, and which are places to look in, only pytest can say: it is given all of them, and `plugin`
    tells it what to collect.
    """
    if not extra:
        return pytest_arguments(root, tests, [])
    hooks.named_hooks(plugin, tests)
    return pytest_arguments(root, None, extra)


def settings_of(root: str) -> str:
    """The texts that may hold settings of pytest, below `root` and in the environment."""
    texts = [os.environ.get("PYTEST_ADDOPTS", "")]
    for name in ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
        path = os.path.join(root, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts.append(file.read())
    return "\n".join(texts)


def turned_off(settings: str) -> set[str]:
    """Plugins that settings turn off (`-p no:NAME`)."""
    return set(re.findall(r"\bno:([\w.-]+)", settings))


def enter_tree(root: str, source_roots: list[str]) -> None:
    """Put the tree under test before everything that is installed, here and in child processes."""
    places = [os.path.join(root, s) if s != "." else root for s in source_roots]
    if root not in places:
        places.append(root)
    sys.path[:0] = places
    os.environ["PYTHONPATH"] = os.pathsep.join(places)
    sys.dont_write_bytecode = True
    # The project must not find us as `__main__`; an empty one also keeps `multiprocessing` from running us again.
    sys.modules["__main__"] = types.ModuleType("__main__")


def starved_s(pid: str) -> float:
    """Seconds for which a process could have run and others did; 0 where the kernel does not say."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def file_of(module: object) -> str | None:
    """Where a module comes from; its own `__getattr__`, if any, is not asked."""
    name = getattr(module, "__dict__", {}).get("__file__")
    return name if isinstance(name, str) else None


def foreign_files(root: str, original: str) -> list[str]:
    """Files of the original checkout that were imported instead of those under `root`."""
    if original == root:
        return []
    inside = (root + os.sep, os.path.realpath(root) + os.sep)
    outside = (original + os.sep, os.path.realpath(original) + os.sep)
    found = set()
    for module in list(sys.modules.values()):
        name = file_of(module)
        if name is None:
            continue
        path = os.path.realpath(name)
        installed = "site-packages" in path.split(os.sep) or path.startswith(sys.prefix + os.sep)
        if path.startswith(outside) and not path.startswith(inside) and not installed:
            found.add(path)
    return sorted(found)


# --- main ----------------------------------------------------------------------------------------


def read_order() -> Fields:
    """The order, with standard input empty afterwards."""
    data = b""
    while True:
        piece = os.read(0, 65536)
        if not piece:
            break
        data += piece
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    order: Fields = json.loads(data)
    return order


def run_pytest(order: Fields, say: Say) -> int:
    """Run pytest as ordered and return its exit code."""
    import pytest  # noqa: PLC0415

    root = order["root"]
    now: dict[str, Any] = {}
    plugins = [hooks.Hooks() for _ in range(4)]
    hooks.time_hooks(plugins[0], order["wall_s"], starved_s)
    hooks.whole_hooks(plugins[0])
    hooks.record_hooks(plugins[1], say, root, now)
    hooks.witness_hooks(plugins[2], now, say)
    hooks.control_hooks(plugins[2], [tuple(pair) for pair in order["controls"]], say)
    hooks.tamper_hooks(plugins[3], say, root)
    if order["watch"]:
        plugins.append(hooks.Hooks())
        sibling("reach").reach_hooks(plugins[4], say, root)
    tests, extra = order["tests"], order["args"]
    if tests is None:
        arguments = pytest_arguments(root, None, extra)
    else:
        arguments = named_arguments(root, tests, extra, plugins[0])
    sys.argv = ["pytest", *arguments]
    return int(pytest.main(arguments, plugins=plugins))


def run_unittest(order: Fields, say: Say) -> int:
    """Run the tests without pytest and return the exit code that it would have given."""
    runner = sibling("unittest_runner")
    before = hooks.snapshot()
    code = int(runner.run(hooks, {**order, "keep_going": True}, say))
    for name in hooks.tampered(before, order["root"]):
        say("tampered", name=name)
    return code


def main() -> None:
    """Do what the order says and end the process without the project's exit handlers."""
    order = read_order()
    say = open_channel(bytes.fromhex(order.pop("key")))
    end, flush = os._exit, (sys.stdout.flush, sys.stderr.flush)
    run = run_pytest if order["runner"] == "pytest" else run_unittest
    if run is run_pytest and not load_pytest():
        say("tool-missing", tool="pytest")
        end(4)
    enter_tree(order["root"], order["source_roots"])
    code = run(order, say)
    say("foreign", files=foreign_files(order["root"], order["original"]))
    say("end", exit_code=code)
    for each in flush:
        each()
    end(code)


if __name__ == "__main__":
    main()

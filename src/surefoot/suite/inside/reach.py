"""Sees of which files each test runs something. Python 3.8 syntax.

What runs while tests are collected, or for a fixture that several tests share, counts for all of them.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OPTIMIZED = 0x1
"""Flag of a function's code; bodies of modules and classes do not have it."""


class Watcher:
    """Notes the files of the functions that are called."""

    def __init__(self, root: str) -> None:
        self.below = root + os.sep
        self.shared: set[str] = set()
        self.now = self.shared

    def entered(self, frame: Any, event: str, _arg: object) -> None:
        """As `sys.setprofile` calls it."""
        if event == "call" and frame.f_code.co_flags & OPTIMIZED:
            self.now.add(frame.f_code.co_filename)

    def start(self) -> None:
        """From now on, in this thread and in new ones."""
        threading.setprofile(self.entered)
        sys.setprofile(self.entered)

    def files(self, names: set[str]) -> list[str]:
        """The paths below the root, relative to it."""
        paths = {os.path.abspath(name) for name in names}
        inside = [p[len(self.below) :] for p in paths if p.startswith(self.below)]
        return sorted(p.replace(os.sep, "/") for p in inside)


def reach_hooks(hooks: Any, say: Callable[..., None], root: str) -> None:
    """Hooks that say for each test, and once for all (id ""), the files below `root` that it ran a function of."""
    import pytest  # noqa: PLC0415

    watcher = Watcher(root)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection() -> None:
        watcher.start()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(item: Any) -> Iterator[None]:
        own: set[str] = set()
        watcher.now = own
        watcher.start()
        yield
        watcher.now = watcher.shared
        # A test that replaced the watcher, as those of tracers do, was not seen.
        if sys.getprofile() == watcher.entered:
            say("ran", id=str(item.nodeid), files=watcher.files(own))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
        before = watcher.now
        if fixturedef.scope != "function":
            watcher.now = watcher.shared
        yield
        watcher.now = before

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish() -> None:
        sys.setprofile(None)
        say("ran", id="", files=watcher.files(watcher.shared))

    for function in (
        pytest_collection,
        pytest_runtest_protocol,
        pytest_fixture_setup,
        pytest_sessionfinish,
    ):
        setattr(hooks, function.__name__, function)

"""The command line: one small module a command. Only this package reads environment, home and terminal."""

from surefoot.cli.main import main

__all__ = ["main"]

"""The commands that a project's programs take, read from the syntax tree."""

from surefoot.preflight.commands.graph import Command, CommandGraph
from surefoot.preflight.commands.programs import read_commands

__all__ = ["Command", "CommandGraph", "read_commands"]

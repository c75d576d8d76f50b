"""The tools of an executor's step loop, behind one schema validation (SPEC E3)."""

from surefoot.toolbox.box import Box
from surefoot.toolbox.default import default_toolbox
from surefoot.toolbox.file_edit import FileEditor
from surefoot.toolbox.file_read import FileReader
from surefoot.toolbox.ripgrep import Ripgrep, find_ripgrep
from surefoot.toolbox.shell import SHELL_LIMITS, Shell, Shelter
from surefoot.toolbox.tool import Tool

__all__ = [
    "SHELL_LIMITS",
    "Box",
    "FileEditor",
    "FileReader",
    "Ripgrep",
    "Shell",
    "Shelter",
    "Tool",
    "default_toolbox",
    "find_ripgrep",
]

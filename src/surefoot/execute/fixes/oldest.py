"""The oldest Python that a project says it supports, which decides what a safe fix may write."""

import ast
import configparser
import re
from pathlib import Path
from typing import Final, TypeAlias

from surefoot.plain_files import read_plain
from surefoot.syntax import parse
from surefoot.toml_files import read_toml, table

Version: TypeAlias = tuple[int, int]

_FLOOR: Final = re.compile(r"(?:>=|~=|===?|\^|>)\s*(\d+)(?:\.(\d+))?")


def oldest_python(root: Path) -> Version | None:
    """(major, minor) by pyproject.toml, setup.cfg or setup.py, the first that says so; None when none does."""
    for read in (_pyproject, _setup_cfg, _setup_py):
        match = _FLOOR.search(read(root))
        if match:
            return int(match[1]), int(match[2] or 0)
    return None


def _pyproject(root: Path) -> str:
    said = table(read_toml(root / "pyproject.toml"), "project").get("requires-python")
    return said if isinstance(said, str) else ""


def _setup_cfg(root: Path) -> str:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(read_plain(root / "setup.cfg").decode())
    except (OSError, configparser.Error, UnicodeDecodeError):
        return ""
    return parser.get("options", "python_requires", fallback="")


def _setup_py(root: Path) -> str:
    try:
        tree = parse(read_plain(root / "setup.py"))
    except (OSError, SyntaxError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "python_requires":
            value = node.value
            return (
                value.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str)
                else ""
            )
    return ""

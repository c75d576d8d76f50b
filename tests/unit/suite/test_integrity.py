"""The static rule names what a change adds that only makes sense against the test runner."""

import ast
import sysconfig
from pathlib import Path

import pytest

from surefoot.suite import suspicious

ADDED = {
    "import pytest": "imports pytest (line 1)",
    "from _pytest import runner": "imports _pytest (line 1)",
    "import unittest.mock as m": "imports unittest (line 1)",
    "import sys as s\ns.modules['x']": "uses sys.modules (line 2)",
    "from sys import modules as m\nm['x']": "uses sys.modules (line 2)",
    "import os\nos._exit(0)": "uses os._exit (line 2)",
    "from os import _exit": "imports os._exit (line 1)",
    "from os import *": "imports everything of os (line 1)",
    "import inspect\ninspect.currentframe()": "uses inspect.currentframe (line 2)",
    "def f(x): return x.__code__": "uses .__code__ (line 1)",
    "def f(x): return getattr(x, '__code__')": "uses .__code__ (line 1)",
    "def f(x): x.__class__ = int": "uses .__class__ (line 1)",
    "import json\njson.dumps = None": "replaces json.dumps (line 2)",
    "import json\nsetattr(json, 'dumps', None)": "calls setattr() on json (line 2)",
    "import os\ndef f(n): return getattr(os, n)": "calls getattr() on os (line 2)",
    "exec('1')": "calls exec() (line 1)",
    "__import__('os')": "calls __import__() (line 1)",
    "globals()['x'] = 1": "calls globals() (line 1)",
    "x = __builtins__": "uses __builtins__ (line 1)",
    "from atexit import register": "imports atexit (line 1)",
    "import builtins": "imports builtins (line 1)",
    "x = 'PYTEST_CURRENT_TEST'": "holds the text 'pytest_' (line 1)",
    "open('conftest.py', 'w')": "holds the text 'conftest' (line 1)",
    "open('x.pth', 'w')": "holds the path 'x.pth' (line 1)",
    "open('/proc/self/mem')": "holds the path '/proc/self/mem' (line 1)",
    "class A:\n    def __eq__(self, other): return True": (
        "defines a __eq__ that does not look at anything (line 2)"
    ),
    "class A:\n    __eq__ = lambda self, other: True": (
        "defines a __eq__ that does not look at anything (line 2)"
    ),
    "class A(int):\n    def __eq__(self, other): return bool(other) or not other": (
        "defines a __eq__ that does not look at itself (line 2)"
    ),
    "x = 'tb_' + 'frame'": "holds the text 'tb_frame' (line 1)",
    "x = f\"f_{'lo'}cals\"": "holds the text 'f_locals' (line 1)",
    "x = 'tb_frame.f_locals'": "holds the text 'tb_frame.f_locals' (line 1)",
    "import operator as o\ndef f(x): return o.attrgetter('tb_' + x)": (
        "calls operator.attrgetter() with a computed name (line 2)"
    ),
    "from operator import methodcaller\ndef f(x): return methodcaller(''.join(x))": (
        "calls operator.methodcaller() with a computed name (line 2)"
    ),
    "import importlib\nimportlib.import_module('gc')": "imports gc (line 2)",
    "from importlib import import_module as load\nload(name='_py' + 'test.runner')": (
        "imports _pytest (line 2)"
    ),
    "import importlib as i\nload = i.import_module\nload('sys').settrace(None)": (
        "uses sys.settrace (line 3)"
    ),
    "import importlib\ndef f(x): return importlib.import_module(x)": (
        "calls importlib.import_module() with a computed name (line 2)"
    ),
    "import importlib\ndef f(x): return importlib.import_module(f'importlib.{x}')": (
        "calls importlib.import_module() with a computed name (line 2)"
    ),
    "__import__('gc')": "imports gc (line 1)",
    "import sys\ns = sys\ns._getframe(1)": "uses sys._getframe (line 3)",
    "import sys\nr = s = sys\nt: object = s\nt.settrace(None)": "uses sys.settrace (line 4)",
    "import os, sys\no, s = os, sys\ns.modules": "uses sys.modules (line 3)",
    "import sys\ndef f(a, s=sys): return s.modules": "uses sys.modules (line 2)",
    "import sys\ndef f(*, s=sys): return s.argv": "uses sys.argv (line 2)",
    "def f():\n    import sys\n    if (s := sys): s.modules": "uses sys.modules (line 3)",
    "import json\nj = json\nj.dumps = None": "replaces json.dumps (line 3)",
    "def (": "cannot be read as Python, so it cannot be checked",
}


@pytest.mark.parametrize("text", ADDED)
def test_an_addition_is_named_with_its_line(text: str) -> None:
    """One mark of each kind, alone in a new file."""
    assert ADDED[text] in suspicious(None, text)


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.path.join('a')\nos.environ.get('HOME')",
        "import re\nre.compile('x')",
        "import sys\nprint(sys.stderr, sys.version_info)",
        "class A:\n    def __eq__(self, other): return self.x == other.x",
        "class A:\n    def __eq__(self, other): return NotImplemented",
        "class A:\n    def __eq__(self, other): return isinstance(other, A)",
        "class A(B):\n    def __eq__(self, other): return super().__eq__(other)",
        "class A:\n    def __contains__(self, item): return isinstance(item, str)",
        "from operator import attrgetter\ndef f(xs, key): return sorted(xs, key=attrgetter(key, 'a.b'))",
        "def f(self, name): return getattr(self, f'visit_{name}')",
        "x = 'a' + 'b' + f'{1}'",
        "class A:\n    def f(self):\n        self.x = getattr(self, 'y', None)\n        return type(self).__name__",
        '"""Run with pytest; see conftest.py."""',
        "def f(): raise SystemExit(2)",
        "import json\nx = json.dumps\nx = {}\nx['a'] = 1",
        "import importlib\nimportlib.import_module('yaml').safe_load('')",
        "import importlib\ndef f(x): return importlib.import_module(f'shop.plugins.{x}')",
        "import importlib\ndef f(x): return importlib.import_module('.' + x, __package__)",
        "from importlib import import_module\ndef f(x): return import_module(f'.{x}', package=__name__)",
        "from flask import request\ndef f():\n    user = request.user\n    user.name = 'x'",
        "from forms import FormSet\ndef f(made=FormSet):\n    made.extra = 1",
        "import simplejson\njson = simplejson\nx = json.dumps({})",
        "import matplotlib\nmatplotlib.rcParams['x'] = 1",
    ],
)
def test_ordinary_code_is_innocent(text: str) -> None:
    """What product code does every day has no mark."""
    assert suspicious(None, text) == ()


def test_only_what_is_added_counts() -> None:
    """Marks that were there before, moved or not, are not the change's."""
    before = "import sys\n\ndef f():\n    return sys.modules\n"
    after = "import sys\nX = 1\n\n\ndef g():\n    return sys.modules\n"
    assert suspicious(before, after) == ()
    assert suspicious(before, after + "\n\nY = sys.modules\n") == ("uses sys.modules (line 6)",)
    assert suspicious(after, "") == ()


def test_most_of_the_standard_library_is_innocent() -> None:
    """Functions that have nothing to do with running code have few marks even as whole new files."""
    library = Path(sysconfig.get_path("stdlib"))
    names = (
        "textwrap",
        "bisect",
        "colorsys",
        "fractions",
        "string",
        "csv",
        "graphlib",
        "configparser",
    )
    marked = [n for n in names if suspicious(None, (library / f"{n}.py").read_text())]
    assert marked == []


def test_the_inner_files_keep_to_the_syntax_of_python_3_8() -> None:
    """They run in interpreters older than ours."""
    inside = Path(__file__).parents[3] / "src" / "surefoot" / "suite" / "inside"
    for file in sorted(inside.glob("*.py")):
        ast.parse(file.read_text(), feature_version=(3, 8))

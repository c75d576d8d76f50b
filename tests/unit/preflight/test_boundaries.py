"""What a change did to the boundaries between modules, read from two trees."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from surefoot.judgements import Boundary
from surefoot.preflight import SyntaxCritic

SHOP = {
    "shop/__init__.py": "",
    "shop/prices.py": "def total(prices, discount=0):\n    return sum(prices)\n\n\ndef _inner():\n    pass\n",
    "shop/till.py": "from shop.prices import total\n\n\ndef receipt(lines):\n    return total(lines, 5)\n",
}


def look(
    tmp_path: Path, changes: Mapping[str, str], base: Mapping[str, str] = SHOP
) -> list[Boundary]:
    after = {**base, **changes}
    for name, files in (("before", base), ("after", after)):
        for path, text in files.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    critic = SyntaxCritic(lambda path: path.startswith("tests/"))
    there = (tuple(base), tuple(after))
    return list(critic.look(tmp_path / "before", tmp_path / "after", there, tuple(changes)))


def test_a_body_is_no_boundary(tmp_path: Path) -> None:
    text = SHOP["shop/prices.py"].replace("sum(prices)", "sum(prices) - discount")
    assert look(tmp_path, {"shop/prices.py": text.replace("pass", "return 1")}) == []


@pytest.mark.parametrize(
    "deep",
    [
        "x = " + " + ".join(f"'{n}'" for n in range(1500)),
        "if x == 0:\n    pass\n" + "".join(f"elif x == {n}:\n    pass\n" for n in range(1100)),
        "x = q" + "".join(f".a{n}()" for n in range(200)),
    ],
)
def test_code_that_is_nested_deep_is_read_to_its_end(tmp_path: Path, deep: str) -> None:
    """Sums, chains of branches and of calls, deeper than functions can call themselves."""
    new = SHOP["shop/prices.py"].replace("discount=0", "*, discount=0")
    till = SHOP["shop/till.py"].replace("def receipt", f"{deep}\ndef receipt")
    found = look(tmp_path, {"shop/prices.py": new, "shop/till.py": till})
    assert any("`total(lines, 5)`" in b.problem for b in found)


def test_a_changed_signature_whose_callers_bind_holds(tmp_path: Path) -> None:
    """A new parameter with a default breaks nobody."""
    text = SHOP["shop/prices.py"].replace("discount=0", "discount=0, tax=0")
    (found,) = look(tmp_path, {"shop/prices.py": text})
    assert (found.kind, found.place, found.problem) == ("signature", "shop/prices.py:1", "")


@pytest.mark.parametrize("new", ["prices", "prices, *, discount=0", "prices, discount, tax"])
def test_a_changed_signature_that_a_caller_does_not_fit_is_broken(tmp_path: Path, new: str) -> None:
    """The caller's own file was not touched."""
    text = SHOP["shop/prices.py"].replace("prices, discount=0", new)
    (found,) = look(tmp_path, {"shop/prices.py": text})
    assert "`total(lines, 5)` at shop/till.py:5 does not bind" in found.problem


def test_a_name_that_is_gone_and_still_imported_is_broken(tmp_path: Path) -> None:
    text = SHOP["shop/prices.py"].replace("def total", "def whole")
    found = look(tmp_path, {"shop/prices.py": text})
    assert [(b.kind, b.problem) for b in found] == [
        ("gone", "shop/till.py still imports 'total' from shop.prices")
    ]


def test_a_name_that_moved_and_is_still_there_by_import_holds(tmp_path: Path) -> None:
    moved = {
        "shop/sums.py": SHOP["shop/prices.py"],
        "shop/prices.py": "from shop.sums import total\n",
    }
    assert [b.problem for b in look(tmp_path, moved) if b.kind == "gone"] == [""]


def test_a_new_call_into_another_module_is_held_against_its_signature(tmp_path: Path) -> None:
    """Its contract comes from the callee's syntax tree."""
    good = (
        "from shop.prices import total\n\n\ndef tip(lines):\n    return total(lines, discount=3)\n"
    )
    (found,) = look(tmp_path / "good", {"shop/tips.py": good})
    assert (found.kind, found.problem) == ("call", "")
    assert found.contract == "total is total(prices, discount) in shop/prices.py"
    (found,) = look(tmp_path / "bad", {"shop/tips.py": good.replace("discount=3", "rebate=3")})
    assert "does not bind: got an unexpected keyword argument 'rebate'" in found.problem


def test_a_method_of_the_same_class_is_followed(tmp_path: Path) -> None:
    base = {
        "a.py": "class A:\n    def f(self, x):\n        return x\n\n    def g(self):\n        return self.f(1)\n"
    }
    (found,) = look(tmp_path, {"a.py": base["a.py"].replace("self, x", "self, x, y")}, base)
    assert "`self.f(1)` at a.py:6 does not bind" in found.problem


def problems(
    tmp_path: Path, changes: Mapping[str, str], base: Mapping[str, str] = SHOP
) -> list[str]:
    return [b.problem for b in look(tmp_path, changes, base) if b.problem]


@pytest.mark.parametrize(
    "decorated",
    [
        "import click\n@click.command()\n@click.option('--n')\n",
        "from app import inject\n@inject\n",
        "from a import cache\n@cache\n",
        "def cache(f): ...\n@cache\n",
    ],
)
def test_what_an_unknown_decorator_makes_takes_anything(tmp_path: Path, decorated: str) -> None:
    """The signature that is written is told as changed, and no call is held against it."""
    caller = "from t import main\nmain()\n"
    base = {"t.py": f"{decorated}def main(n): ...\nmain()\n", "u.py": caller}
    changes = {"t.py": base["t.py"].replace("(n)", "(n, m)"), "v.py": caller}
    found = look(tmp_path, changes, base)
    assert [(b.kind, b.contract, b.problem) for b in found] == [
        ("signature", "main: its parameters are (n, m), not (n)", ""),
        ("call", "main is main in t.py", ""),
    ]


@pytest.mark.parametrize(
    "decorated",
    [
        "import functools\n@functools.lru_cache(maxsize=None)\n",
        "from functools import cache as kept\n@kept\n",
        "from contextlib import contextmanager\n@contextmanager\n",
        "try:\n    from typing import final\nexcept ImportError:\n    from typing_extensions import final\n@final\n",
    ],
)
def test_what_keeps_a_signature_is_held_against_it(tmp_path: Path, decorated: str) -> None:
    base = {"t.py": f"{decorated}def f(n): ...\nf(1)\n"}
    (told,) = problems(tmp_path, {"t.py": base["t.py"].replace("(n)", "(n, m)")}, base)
    assert "does not bind: missing a required argument: 'm'" in told


@pytest.mark.parametrize(
    ("definitions", "call"),
    [
        ("from typing import overload\n@overload\ndef f(a: int): ...\n@overload\ndef f(a: str, b: int): ...\ndef f(a, b=0): ...\n", "f('', 1)"),
        ("import sys\nif sys.version_info > (3, 11):\n    def f(a): ...\nelse:\n    def f(a, b=0): ...\n", "f(1, 2)"),
        ("try:\n    from _fast import f\nexcept ImportError:\n    def f(a): ...\n", "f(1, 2)"),
        ("def f(a): ...\ntry:\n    from _fast import *\nexcept ImportError:\n    pass\n", "f(1, 2)"),
        ("def f(a): ...\nf = wrapped(f)\n", "f(1, 2)"),
        ("def f(a): ...\nf, g = make()\n", "f(1, 2)"),
        ("from b import f\n", "f(1, 2)"),
        ("class f:\n    def __init__(self, a): ...\n    if 1:\n        def __init__(self, a, b): ...\n", "f(1, 2)"),
        ("class f:\n    @inject\n    def __init__(self, session, a): ...\n", "f(1)"),
        ("class f:\n    __init__ = made\n", "f(1)"),
        ("class f:\n    def __init__(*args): ...\n", "f(1, 2)"),
        ("@bound\nclass f:\n    @classmethod\n    def get(cls, a): ...\n", "f.get(1, 2)"),
        ("class f:\n    def __new__(cls, *a): ...\n    def __init__(self, a): ...\n", "f(1, 2)"),
        ("@registered\nclass f:\n    def __init__(self, a): ...\n", "f(1, 2)"),
        ("class f(metaclass=Made):\n    def __init__(self, a): ...\n", "f(1, 2)"),
        ("from enum import Enum\nclass E(str, Enum): ...\nclass f(E):\n    A = (1, 'x')\n    def __init__(self, n, s): ...\n", "f((1, 'x'))"),
        ("class F:\n    def get(self, a): ...\nf = F()\n", "f.get(1)"),
        ("class f:\n    @classmethod\n    def get(cls, a): ...\n", "f.get(1)"),
        ("class f:\n    @staticmethod\n    def get(a): ...\n", "f.get(1)"),
        ("class A:\n    @classmethod\n    def get(cls, a): ...\nf = A.get\n", "f(1)"),
        ("class f:\n    def get(self, a): ...\n", "f.get(f, 1)"),
    ],
)  # fmt: skip
def test_a_call_that_may_bind_holds(tmp_path: Path, definitions: str, call: str) -> None:
    """To any of several definitions, or to something that is not read."""
    base = {"a.py": definitions, "b.py": "from a import f\n"}
    assert problems(tmp_path, {"c.py": f"from a import f\n{call}\n"}, base) == []


@pytest.mark.parametrize(
    ("definitions", "call"),
    [
        ("if new:\n    def f(a): ...\nelse:\n    def f(a, b): ...\n", "f(1, 2, 3)"),
        ("def g(a): ...\nf = g\n", "f(1, 2)"),
        ("from b import *\ndef f(a): ...\n", "f(1, 2)"),
        ("class f(Exception):\n    def __init__(self, a): ...\n", "f(1, 2)"),
        ("from abc import ABCMeta\nclass f(metaclass=ABCMeta):\n    def __init__(self, a): ...\n", "f(1, 2)"),
        ("class f:\n    @classmethod\n    def get(cls, a): ...\n", "f.get(1, 2)"),
        ("class f:\n    @staticmethod\n    def get(a): ...\n", "f.get(1, 2)"),
        ("class f:\n    def get(self, a): ...\n", "f.get(1)"),
    ],
)  # fmt: skip
def test_a_call_that_binds_to_nothing_is_broken(
    tmp_path: Path, definitions: str, call: str
) -> None:
    base = {"a.py": definitions, "b.py": ""}
    (told,) = problems(tmp_path, {"c.py": f"from a import f\n{call}\n"}, base)
    assert f"`{call}` at c.py:2 does not bind: " in told


@pytest.mark.parametrize(
    "text",
    [
        "[f(1, 2) for f in fs]",
        "{n: f(1, 2) for n, f in fs}",
        "[f(1, 2) for fs in fss for f in fs]",
        "sorted(fs, key=lambda f: f(1, 2))",
        "for n, f in fs:\n    f(1, 2)",
        "for [n, (*f,)] in fs:\n    f(1, 2)",
        "with fs as (n, f):\n    f(1, 2)",
        "try:\n    pass\nexcept E as f:\n    f(1, 2)",
        "[g for g in gs if (f := g)]\nf(1, 2)",
        "n, f = fs\nf(1, 2)",
        "match fs:\n    case [n, f]:\n        f(1, 2)",
        "match fs:\n    case {'n': n, **f}:\n        f(1, 2)",
        "match fs:\n    case [n, *f]:\n        f(1, 2)",
    ],
)
def test_a_name_of_its_own_is_not_the_function(tmp_path: Path, text: str) -> None:
    """Whatever binds it, in the module itself or in a function."""
    base = {"a.py": "def f(a): ...\n"}
    inside = "def g(fs):\n" + "".join(f"    {line}\n" for line in text.split("\n"))
    for name, code in (("module", f"{text}\n"), ("function", inside)):
        changes = {"b.py": f"from a import f\n{code}"}
        assert problems(tmp_path / name, changes, base) == []


@pytest.mark.parametrize(
    "text",
    [
        "[f(1, 2) for n in ns]",
        "[n for f in f(1, 2)]",
        "[f for f in fs] + f(1, 2)",
        "lambda n: f(1, 2)",
        "lambda f=f(1, 2): f",
    ],
)
def test_a_name_of_another_scope_hides_nothing(tmp_path: Path, text: str) -> None:
    """A comprehension's variables and a lambda's parameters are seen inside alone, but for the first iterable and the defaults."""
    base = {"a.py": "def f(a): ...\n"}
    (told,) = problems(tmp_path, {"b.py": f"from a import f\n{text}\n"}, base)
    assert "`f(1, 2)` at b.py:2 does not bind" in told


def test_a_method_that_is_called_in_a_comprehension_is_followed(tmp_path: Path) -> None:
    text = "class A:\n    def f(self, x): ...\n    def g(self, xs):\n        return [self.f(x) for x in xs]\n"
    (told,) = problems(tmp_path, {"a.py": text.replace("self, x)", "self, x, y)")}, {"a.py": text})
    assert "`self.f(x)` at a.py:4 does not bind" in told


@pytest.mark.parametrize(
    "method",
    ["    @bound\n    def f(self, x): ...\n", "    def f(self, x): ...\n    f = bound(f)\n"],
)
def test_a_method_that_is_made_otherwise_takes_anything(tmp_path: Path, method: str) -> None:
    text = f"class A:\n{method}    def g(self):\n        self.f(1)\n"
    changes = {"a.py": text.replace("self, x", "self, x, y")}
    assert problems(tmp_path, changes, {"a.py": text}) == []


def test_a_method_that_an_instance_replaces_takes_anything(tmp_path: Path) -> None:
    text = "class A:\n    def f(self, x): ...\n    def g(self, h):\n        self.f, self.n = h\n        self.f(1)\n"
    changes = {"a.py": text.replace("self, x", "self, x, y")}
    assert problems(tmp_path, changes, {"a.py": text}) == []


def test_a_class_that_a_subclass_may_replace_takes_anything(tmp_path: Path) -> None:
    text = "class F:\n    def __init__(self, x): ...\nclass A:\n    form = F\n    def g(self):\n        self.form(1)\n"
    changes = {"a.py": text.replace("self, x", "self, x, y")}
    assert problems(tmp_path, changes, {"a.py": text}) == []


def test_a_call_that_never_bound_is_not_the_changes_fault(tmp_path: Path) -> None:
    """What another parameter breaks besides is."""
    base = {
        "a.py": "def f(x): ...\n",
        "b.py": "from a import f\ndef g():\n    f(1, 2, 3)\n",
        "c.py": "from a import f\nf(1)\n",
    }
    changes = {"a.py": "def f(x, y): ...\n"}
    (told,) = problems(tmp_path / "both", changes, base)
    assert "`f(1)` at c.py:2" in told
    assert problems(tmp_path / "old", changes, {**base, "c.py": ""}) == []
    (told,) = problems(tmp_path / "new", {**changes, "c.py": "from a import f\nf()\n"}, base)
    assert "`f()` at c.py:2" in told


@pytest.mark.parametrize(
    "text",
    [
        "from shop.core import *\n",
        "from elsewhere import *\n",
        "total, whole = make()\n",
        "[total] = make()\n",
        "for total, whole in made: pass\n",
        "def __getattr__(name): ...\n",
    ],
)
def test_a_name_that_is_bound_otherwise_is_still_there(tmp_path: Path, text: str) -> None:
    moved = {"shop/core.py": SHOP["shop/prices.py"], "shop/prices.py": text}
    assert problems(tmp_path, moved) == []


def test_a_star_of_a_module_without_the_name_brings_it_not(tmp_path: Path) -> None:
    """Not even where two modules take everything from each other."""
    moved = {"shop/core.py": "from .prices import *\n", "shop/prices.py": "from .core import *\n"}
    assert problems(tmp_path, moved) == ["shop/till.py still imports 'total' from shop.prices"]


def test_a_claimed_command_that_a_change_takes_away_is_broken(tmp_path: Path) -> None:
    """The page was right before the change; claims that were wrong already are not the change's."""
    base = {
        "tool.py": (
            "import click\n\n\n@click.group()\ndef tool():\n    pass\n\n\n@tool.command()\ndef build():\n    pass\n\n\n"
            "@tool.command()\ndef check():\n    pass\n"
        ),
        "pyproject.toml": '[project]\nname = "tool"\n[project.scripts]\ntool = "tool:tool"\n',
        "README.md": "# Tool\n\n```console\n$ tool build\n$ tool never-there\n```\n",
    }
    text = base["tool.py"].replace("def build", "def make")
    found = [b for b in look(tmp_path, {"tool.py": text}, base) if b.kind == "claim"]
    assert [b.place for b in found] == ["README.md:4"]


def test_a_claim_that_was_wrong_before_is_not_the_changes_fault(tmp_path: Path) -> None:
    """Although what is said of it names another line of the code now."""
    base = {
        "tool.py": "import click\n\n\n@click.group()\ndef tool():\n    pass\n",
        "pyproject.toml": '[project]\nname = "tool"\n[project.scripts]\ntool = "tool:tool"\n',
        "README.md": "# Tool\n\n```console\n$ tool --never\n```\n",
    }
    moved = base["tool.py"].replace("\n\n\n", "\n\nMOVED = True\n\n\n", 1)
    assert look(tmp_path, {"tool.py": moved}, base) == []

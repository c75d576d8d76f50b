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

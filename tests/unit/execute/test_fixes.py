"""Syntax-tree fixes: what each writes, and where it keeps its hands off."""

import textwrap
from pathlib import Path

import pytest

from surefoot.execute.fixes.catalogue import rewrites
from surefoot.execute.fixes.oldest import oldest_python
from surefoot.findings import gaming
from surefoot.values import Finding, Mode, Severity

FULL, SAFE = Mode.AUTO_SOLVE_FULL, Mode.AUTO_FIX_SAFE


def finding(
    rule: str, line: int, column: int = 1, message: str = "", path: str = "a.py"
) -> Finding:
    tool, _, name = rule.partition(":")
    return Finding(
        finding_id=f"{rule}:{line}:{column}",
        tool=tool,
        rule=name,
        severity=Severity.MEDIUM,
        category="lint",
        file=path,
        line=line,
        column=column,
        message=message,
        fingerprint=f"{rule}{line}{column}",
    )


def fixed(text: str, *findings: Finding, mode: Mode = FULL) -> dict[str, str]:
    """New text of the one file by generator; indentation of the given text removed."""
    path = findings[0].file
    found = rewrites({path: textwrap.dedent(text)}, findings, mode)
    results = {c.generator.removeprefix("fix:"): c.edits[0].text or "" for c in found}
    for result in results.values():
        assert gaming({path: (textwrap.dedent(text), result)}, test_paths=()) == ()
    for result in results.values():
        compile(result, "x", "exec", dont_inherit=True)
    return results


def test_bare_except() -> None:
    """Two ways; only the one that catches the same is safe."""
    text = "try:\n    x = 1\nexcept:\n    pass\n"
    full = fixed(text, finding("ruff:E722", 3))
    assert full == {
        "except-BaseException": text.replace("except:", "except BaseException:"),
        "except-Exception": text.replace("except:", "except Exception:"),
    }
    assert list(fixed(text, finding("ruff:E722", 3), mode=SAFE)) == ["except-BaseException"]


def test_all_findings_of_a_file_in_one_candidate() -> None:
    """Findings of one rule are mended alike, over all files."""
    text = "try:\n    x = 1\nexcept:\n    try:\n        y = 2\n    except:\n        pass\n"
    result = fixed(text, finding("ruff:E722", 3), finding("ruff:E722", 6))
    assert result["except-Exception"].count("except Exception:") == 2
    found = rewrites(
        {"a.py": text, "b.py": text},
        [finding("ruff:E722", 3), finding("ruff:E722", 3, path="b.py")],
        FULL,
    )
    assert [[e.path for e in c.edits] for c in found] == [["a.py", "b.py"]] * 2
    assert len({c.candidate_id for c in found}) == 2


class TestRaiseFrom:
    def test_named(self) -> None:
        """The caught exception's own name is used."""
        text = "try:\n    x = 1\nexcept KeyError as e:\n    raise ValueError('x')\n"
        assert fixed(text, finding("ruff:B904", 4, 5)) == {
            "raise-from-caught": text.replace("('x')", "('x') from e"),
            "raise-from-none": text.replace("('x')", "('x') from None"),
        }

    def test_unnamed(self) -> None:
        """A name that nothing else uses is given."""
        text = """\
        def f(error):
            try:
                return error
            except (KeyError, OSError):
                raise ValueError(
                    'x'
                )
        """
        result = fixed(text, finding("ruff:B904", 5, 9), mode=SAFE)
        assert list(result) == ["raise-from-caught"]
        assert "except (KeyError, OSError) as exc:" in result["raise-from-caught"]
        assert ") from exc\n" in result["raise-from-caught"]

    @pytest.mark.parametrize(
        "line",
        [
            "e = str(e)",
            "del e",
            "import e",
            "[e] = e.args",
            "try: g()\n    except OSError as e: pass",
        ],
    )
    def test_name_of_something_else(self, line: str) -> None:
        """A name that the handler binds anew or drops is no longer that of the caught exception."""
        text = f"try:\n    g()\nexcept KeyError as e:\n    {line}\n    raise ValueError('x')\n"
        at = text.count("\n")
        assert list(fixed(text, finding("ruff:B904", at, 5))) == ["raise-from-none"]

    def test_unnamed_beside_names(self) -> None:
        """A name that an import or a function has is not given to the caught exception."""
        text = (
            "from a import error\ndef exc(): pass\ntry:\n    g()\n"
            "except KeyError:\n    raise ValueError('x')\n"
        )
        result = fixed(text, finding("ruff:B904", 6, 5), mode=SAFE)
        assert "except KeyError as caught:" in result["raise-from-caught"]


class TestUnreachable:
    def test_removed(self) -> None:
        """What stands behind a return goes, to the end of its block."""
        text = "def f(x):\n    if x:\n        return 1\n        print(x)\n        g(\n            x)\n    return 2\n"
        assert fixed(text, finding("dead-code:unreachable-code", 4), mode=SAFE) == {
            "remove-unreachable": "def f(x):\n    if x:\n        return 1\n    return 2\n"
        }

    @pytest.mark.parametrize(
        "dead", ["yield 1", "x = 1", "global y", "import x", "def x(): pass", "await g()"]
    )
    def test_kept_when_it_means_something(self, dead: str) -> None:
        """A yield, an assignment to a name that is read, a declaration: the function would be another."""
        text = f"async def f():\n    g(x)\n    return\n    {dead}\n"
        assert fixed(text, finding("dead-code:unreachable-code", 4)) == {}

    def test_one_line(self) -> None:
        """Code that shares the line is not touched."""
        text = "def f():\n    return 1; print(2)\n"
        assert fixed(text, finding("dead-code:unreachable-code", 2)) == {}


class TestUnusedVariable:
    def test_pure_value(self) -> None:
        """An assignment of a plain value goes; the last statement of a block leaves `pass`."""
        text = "def f(a):\n    x = (a, [1])\n    return a\n"
        assert fixed(text, finding("ruff:F841", 2, 5), mode=SAFE) == {
            "remove-assignment": "def f(a):\n    return a\n"
        }
        assert fixed("def f():\n    x = 1  # why\n", finding("ruff:F841", 2, 5)) == {
            "remove-assignment": "def f():\n    pass  # why\n"
        }

    def test_call(self) -> None:
        """A call stays; only the way that keeps its result alive is safe."""
        text = "def f():\n    lock = take()\n    g()\n"
        assert fixed(text, finding("ruff:F841", 2, 5)) == {
            "keep-call": text.replace("lock = ", ""),
            "underscore": text.replace("lock", "_lock"),
        }
        assert list(fixed(text, finding("ruff:F841", 2, 5), mode=SAFE)) == ["underscore"]

    @pytest.mark.parametrize(
        "text",
        [
            "def f():\n    lock = take()\n    g(_lock)\n",
            "def f(_lock):\n    lock = take()\n    return _lock\n",
            "def f():\n    lock = take()\n_lock = []\n",
            "def f():\n    lock = take()\ndef _lock(): pass\n",
            "def f():\n    lock = take()\nfrom a import _lock\n",
            "def f():\n    lock = take()\n    import a as _lock\n",
            "def f():\n    lock = take()\n    global _lock\n",
        ],
    )
    def test_underscored_name_is_taken(self, text: str) -> None:
        """A variable, function or import of the underscored name is neither overwritten nor hidden."""
        assert list(fixed(text, finding("ruff:F841", 2, 5))) == ["keep-call"]

    @pytest.mark.parametrize("line", ["a = b = g()", "a, b = g()", "a: int = g()", "a = (g())"])
    def test_other_forms(self, line: str) -> None:
        """Several targets, annotations and parentheses are left alone."""
        assert fixed(f"def f():\n    {line}\n", finding("ruff:F841", 2, 5)) == {}


class TestMutableDefault:
    def test_changed_by_the_function(self) -> None:
        """A default that the function changes is made anew: that is the bug, so it is not called safe."""
        text = 'def f(a, x=[]):\n    """Doc."""\n    x.append(a)\n    return x\n'
        result = fixed(text, finding("ruff:B006", 1, 12))
        assert result["none-default"] == (
            'def f(a, x=None):\n    """Doc."""\n    if x is None:\n        x = []\n'
            "    x.append(a)\n    return x\n"
        )
        assert fixed(text, finding("ruff:B006", 1, 12), mode=SAFE) == {}

    def test_only_read(self) -> None:
        """Where nobody changes or keeps it, both are the same, and so it is safe."""
        text = "def f(*, x={1, 2}):\r\n    return sum(x) if 1 in x else len(x)\r\n"
        result = fixed(text, finding("ruff:B006", 1, 12), mode=SAFE)
        assert result["none-default"].startswith(
            "def f(*, x=None):\r\n    if x is None:\r\n        x = {1, 2}\r\n    return"
        )

    @pytest.mark.parametrize(
        "body",
        ["return x", "g(x)", "x += [1]", "y = x", "x[0] = 1", "return lambda: x", "x.sort()"],
    )
    def test_handed_on(self, body: str) -> None:
        """Handed on, bound or changed: not safe."""
        assert fixed(f"def f(x=[]):\n    {body}\n", finding("ruff:B006", 1, 9), mode=SAFE) == {}

    def test_nested_collections(self) -> None:
        """A default that holds what can change is not safe to read from either."""
        text = "def f(x=[[]]):\n    for y in x:\n        y.append(1)\n"
        assert fixed(text, finding("ruff:B006", 1, 9), mode=SAFE) == {}

    def test_annotated(self) -> None:
        """The annotation allows None; that is only safe where annotations are not evaluated."""
        text = "def f(x: list[int] = []):\n    return len(x)\n"
        result = fixed(text, finding("ruff:B006", 1, 22))
        assert result["none-default"].startswith("def f(x: list[int] | None = None):\n")
        assert fixed(text, finding("ruff:B006", 1, 22), mode=SAFE) == {}
        future = f"from __future__ import annotations\n{text}"
        assert fixed(future, finding("ruff:B006", 2, 22), mode=SAFE)

    @pytest.mark.parametrize(
        "text",
        [
            "def f(x=[]): return len(x)\n",
            "def f(x=[]):\n    return None if x is None else len(x)\n",
            'def f(x=[]):\n    """Doc."""\n',
            "f = lambda x=[]: len(x)\n",
        ],
    )
    def test_left_alone(self, text: str) -> None:
        """One-liners, functions that know None, empty ones and lambdas get no guard."""
        column = text.index("[]") + 1
        assert "none-default" not in fixed(text, finding("ruff:B006", 1, column))

    def test_frozen(self) -> None:
        """An empty list may become an empty tuple, as the second way."""
        text = "def f(x=[]):\n    return len(x)\n"
        result = fixed(text, finding("ruff:B006", 1, 9))
        assert result["frozen-default"] == text.replace("[]", "()")


def test_none_comparison() -> None:
    """Both sides, chains and negations; never called safe, since classes overload equality."""
    text = "a = x == None != y and None == (z)\n"
    result = fixed(text, finding("ruff:E711", 1, 10), finding("ruff:E711", 1, 24))
    assert result == {"is-none": "a = x is None is not y and None is (z)\n"}
    assert fixed(text, finding("ruff:E711", 1, 10), mode=SAFE) == {}


def test_reexport() -> None:
    """In a package's `__init__` the import is declared an export, or goes."""
    path = "p/__init__.py"
    text = "from a import b, c\nimport d\n"
    result = fixed(text, finding("ruff:F401", 2, 8, path=path))
    assert result == {
        "re-export": "from a import b, c\nimport d as d\n",
        "remove-import": "from a import b, c\n",
    }
    assert fixed(text, finding("ruff:F401", 1, 18, path=path), mode=SAFE) == {
        "re-export": "from a import b, c as c\nimport d\n"
    }
    assert fixed(text, finding("ruff:F401", 2, 8)) == {}


class TestYaml:
    @pytest.mark.parametrize(
        "call",
        [
            "yaml.load(s)",
            "yaml.load(s, yaml.Loader)",
            "yaml.load(s, Loader=yaml.CLoader)",
            "yaml.load(s, Loader=L)",
        ],
    )
    def test_own_loaders(self, call: str) -> None:
        """Two ways to load plain data, both safe where a loader of yaml itself read it."""
        before = "from yaml import FullLoader as L\n"
        found = finding("bandit:B506", 2, 5)
        assert fixed(f"{before}d = {call}\n", found, mode=SAFE) == {
            "safe-load": f"{before}d = yaml.safe_load(s)\n",
            "safe-loader": f"{before}d = yaml.load(s, Loader=yaml.SafeLoader)\n",
        }

    @pytest.mark.parametrize(
        "before",
        [
            "class L(yaml.SafeLoader): pass",
            "from other import L",
            "from yaml import Loader as L; L = other(L)",
            "from yaml import BaseLoader as L",
            "from other import *",
        ],
    )
    def test_other_loaders(self, before: str) -> None:
        """What another loader makes of plain data may be its own, so that leaving it out is not safe."""
        found = finding("bandit:B506", 2, 5)
        for loader in ("L", "Loader=L", "*L"):
            text = f"{before}\nd = yaml.load(s, {loader})\n"
            assert fixed(text, found, mode=SAFE) == {}
            assert list(fixed(text, found)) == ["safe-load", "safe-loader"]
        text = f"{before}\nd = yaml.load(s, Loader=yaml.BaseLoader)\n"
        assert fixed(text, found, mode=SAFE) == {}


class TestTypes:
    RETURN = "Function is missing a return type annotation"

    def test_returns_none(self) -> None:
        """A function that returns nothing says so, at the end of its signature."""
        text = "def f(\n    x: dict[str, int] = {'é': 1}, # a: b\n):\n    return\n"
        result = fixed(text, finding("mypy:no-untyped-def", 1, message=self.RETURN), mode=SAFE)
        assert result == {"returns-none": text.replace("):", ") -> None:")}

    @pytest.mark.parametrize("body", ["return 1", "yield", "yield from x"])
    def test_gives_a_value(self, body: str) -> None:
        """A function that gives a value is left alone."""
        text = f"def f():\n    {body}\n"
        assert fixed(text, finding("mypy:no-untyped-def", 1, message=self.RETURN)) == {}

    def test_implicit_optional(self) -> None:
        """Two spellings; the newer one is safe only where annotations are not evaluated."""
        text = '"""Doc."""\nimport os\ndef f(a, b: int = None): return a\n'
        found = finding("mypy:assignment", 3, message='parameter "b" (default has type "None"')
        assert fixed(text, found) == {
            "union-none": text.replace("b: int", "b: int | None"),
            "optional": text.replace("b: int", "b: Optional[int]").replace(
                "import os", "from typing import Optional\nimport os"
            ),
        }
        assert list(fixed(text, found, mode=SAFE)) == ["optional"]

    def test_optional_is_there(self) -> None:
        """The import is not written twice."""
        text = "from typing import Optional\ndef f(b: int = None): return b\n"
        result = fixed(text, finding("ruff:RUF013", 2, 10))
        assert result["optional"] == text.replace("b: int", "b: Optional[int]")

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("x = 1  # type: ignore\n", "x = 1\n"),
            ("x = 1  # type: ignore[assignment, misc]\n", "x = 1\n"),
            ("x = '# type: ignore'  # type: ignore # why\n", "x = '# type: ignore'  # why\n"),
        ],
    )
    def test_unused_ignore(self, before: str, after: str) -> None:
        """The suppression goes, the rest of the line stays."""
        assert fixed(before, finding("mypy:unused-ignore", 1), mode=SAFE) == {
            "remove-ignore": after
        }


def test_what_does_not_parse_is_left_alone() -> None:
    """No candidate comes of a broken file, of another language, or of an unknown rule."""
    assert fixed("def f(:\n", finding("ruff:E722", 1)) == {}
    assert fixed("x = 1\n", finding("ruff:E722", 1, path="a.js")) == {}
    assert fixed("x = 1\n", finding("ruff:X999", 1)) == {}
    assert fixed("", finding("ruff:F841", 9, 9)) == {}


class TestWeakDigest:
    AT = "import hashlib\ndef key(x):\n    return hashlib.md5(x).hexdigest()\n"

    def test_said_to_guard_nothing(self) -> None:
        """The call gets a word that leaves its digest as it is; a trailing comma and an import by name are minded."""
        found, other = rewrites(
            {"a.py": self.AT}, [finding("bandit:B324", 3, 12)], SAFE, oldest=(3, 9)
        )
        assert found.edits[0].text == self.AT.replace("(x).hex", "(x, usedforsecurity=False).hex")
        assert 'hashlib.new("md5", x, usedforsecurity=False).hex' in (other.edits[0].text or "")
        by_name = "from hashlib import sha1 as s\nx = s(\n    b'',\n)\n"
        assert fixed(by_name, finding("bandit:B324", 2, 5)) == {
            "not-for-security": by_name.replace("',\n)", "',\nusedforsecurity=False)")
        }

    @pytest.mark.parametrize("oldest", [None, (3, 8), (2, 7)])
    def test_not_safe_before_it_was_known(self, oldest: tuple[int, int] | None) -> None:
        """A Python that refuses the word may still be supported, or nothing is said of it."""
        assert (
            rewrites({"a.py": self.AT}, [finding("bandit:B324", 3, 12)], SAFE, oldest=oldest) == []
        )

    @pytest.mark.parametrize("name", ["check_password", "sign", "is_authentic"])
    def test_what_may_guard_something_is_for_a_person(self, name: str) -> None:
        """Whether a digest protects nothing cannot be read from its call where a name says otherwise."""
        text = self.AT.replace("def key", f"def {name}")
        assert rewrites({"a.py": text}, [finding("bandit:B324", 3, 12)], SAFE, oldest=(3, 9)) == []

    @pytest.mark.parametrize(
        "call", ["md5(x)", "other.md5(x)", "hashlib.md5()", "hashlib.md5(**x)"]
    )
    def test_left_alone(self, call: str) -> None:
        """Another md5, and a call whose words cannot be read, stay."""
        assert fixed(f"import hashlib\ny = {call}\n", finding("bandit:B324", 2, 5)) == {}


class TestExports:
    def test_words(self) -> None:
        """Names that are split from one text become the list that they are, on one line or on several."""
        text = "__all__ = '''a b\n  c'''.split()\n"
        assert fixed(text, finding("ruff:PLE0605", 1), mode=SAFE) == {
            "list-of-names": '__all__ = ["a", "b", "c"]\n',
            "list-of-lines": '__all__ = [\n    "a",\n    "b",\n    "c",\n]\n',
        }

    @pytest.mark.parametrize("value", ["x.split()", "'a,b'.split(',')", "'a-b'.split()", "f()"])
    def test_left_alone(self, value: str) -> None:
        """What is not words of one constant stays."""
        assert fixed(f"__all__ = {value}\n", finding("ruff:PLE0605", 1)) == {}


@pytest.mark.parametrize(
    ("file", "text", "oldest"),
    [
        ("pyproject.toml", '[project]\nrequires-python = ">=3.10,<4"\n', (3, 10)),
        ("setup.cfg", "[options]\npython_requires = >= 3.8\n", (3, 8)),
        ("setup.py", "setup(name='x', python_requires='~=3.9.2')\n", (3, 9)),
        ("setup.py", "setup(python_requires=floor())\n", None),
        ("pyproject.toml", "[project]\nname = 'x'\n", None),
        ("pyproject.toml", "[broken\n", None),
        ("README", "", None),
    ],
)
def test_oldest_python(tmp_path: Path, file: str, text: str, oldest: object) -> None:
    """The floor that packaging says, wherever it says it; silence and nonsense are no floor."""
    (tmp_path / file).write_text(text)
    assert oldest_python(tmp_path) == oldest

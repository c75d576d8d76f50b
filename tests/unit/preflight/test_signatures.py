"""Signatures, calls, types and failures, from text alone."""

import ast
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.preflight.annotations import agree, fits
from surefoot.preflight.failures import raised_by
from surefoot.preflight.signatures import (
    Signature,
    bind,
    claimed_signature,
    constructor_of,
    difference,
)

HEADS = (
    "def f():",
    "def f(a):",
    "def f(a, b=1):",
    "def f(a, /, b, *, c):",
    "def f(a, /, b=1, *, c=2):",
    "def f(*a, b):",
    "def f(a, *b, c=1, **d):",
    "def f(a=1, /, **d):",
)
ARGUMENTS = st.lists(st.sampled_from(["1", "a=1", "b=2", "c=3", "z=4"]), max_size=4)


def signature(head: str) -> Signature:
    found = claimed_signature(head)
    assert found is not None
    return found[0]


def call(text: str) -> ast.Call:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


def real(head: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(f"{head} return dict(locals())", names)
    found: Callable[..., Any] = names["f"]
    return found


@given(head=st.sampled_from(HEADS), arguments=ARGUMENTS)
def test_a_call_binds_when_python_binds_it(head: str, arguments: list[str]) -> None:
    """Exactly when the function could be called so, and each argument goes to the same parameter."""
    ordered = sorted(arguments, key=lambda a: "=" in a)
    text = f"f({', '.join(ordered)})"
    bound = bind(call(text), signature(head)) if len(set(ordered)) == len(ordered) else None
    if bound is None:
        return
    try:
        given = eval(text, {"f": real(head)})
    except TypeError:
        assert isinstance(bound, str)
        return
    assert not isinstance(bound, str), bound
    plain = inspect.signature(real(head)).parameters
    defaults = {n for n, p in plain.items() if n not in bound.arguments}
    for name, node in bound.arguments.items():
        assert ast.literal_eval(node) == given[name]
    for name in defaults:
        assert given[name] in (plain[name].default, (), {})


@pytest.mark.parametrize(
    ("head", "text", "binds"),
    [
        ("def f(a, b):", "f(*x)", True),
        ("def f(a, b):", "f(1, *x, b=2)", True),
        ("def f(a, b):", "f(1, 2, 3, *x)", False),
        ("def f(a, *, b):", "f(*x)", False),
        ("def f(a, *, b):", "f(*x, **y)", True),
        ("def f(a, /):", "f(**y)", False),
        ("def f():", "f(**y)", True),
        ("def f(a):", "f(a=1, a=2)", False),
    ],
)
def test_stars_hold_anything(*, head: str, text: str, binds: bool) -> None:
    """A starred argument binds when some content of it would."""
    node = ast.Call(func=ast.Name("f"), args=[], keywords=[])
    if text == "f(a=1, a=2)":  # the parser itself refuses it
        node.keywords = [ast.keyword("a", ast.Constant(1)), ast.keyword("a", ast.Constant(2))]
    else:
        node = call(text)
    assert isinstance(bind(node, signature(head)), str) is not binds


@pytest.mark.parametrize(
    ("claimed", "told"),
    [
        ("def f(a: int, b: str | None = None) -> bool:", None),
        ("def f(a: 'int', b: Optional[str] = None) -> bool: ...", None),
        ("def g(a: int, b: str | None = None) -> bool:", "named"),
        ("def f(a: int) -> bool:", "parameters"),
        ("def f(a: int, *, b: str | None = None) -> bool:", "keyword-only"),
        ("def f(a: float, b: str | None = None) -> bool:", "`int`, not `float`"),
        ("def f(a: int, b: str | None = '') -> bool:", "the default None"),
        ("def f(a: int, b: str | None = None) -> int:", "returns"),
        ("async def f(a: int, b: str | None = None) -> bool:", "not async"),
    ],
)
def test_a_difference_is_told(claimed: str, told: str | None) -> None:
    """Names, kinds, types, defaults, the return and async are compared, spelling is not."""
    found = difference(
        signature(claimed), signature("def f(a: int, b: str | None = None) -> bool:")
    )
    assert found is None if told is None else told in (found or "")


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("class A:\n def __init__(self, x: int, *, y=2): ...", ["x", "y"]),
        ("@dataclass\nclass A:\n x: int\n y: list[str] = field(default_factory=list)\n z: ClassVar[int] = 3\n w: int = field(init=False)", ["x", "y"]),
        ("@dataclass(frozen=True, kw_only=True)\nclass A:\n x: int", ["x"]),
        ("@dataclass\nclass A:\n a: int = 0\n b: int = field(kw_only=True)\n c: int = 0", ["a", "c", "b"]),
        ("@dataclass(kw_only=True)\nclass A:\n a: int = 0\n b: int = field(kw_only=False)", ["b", "a"]),
        ("@dataclass\nclass A:\n a: int\n _: KW_ONLY\n b: int\n c: int = field(kw_only=False)", ["a", "c", "b"]),
        ("@dataclass\nclass A:\n a: int\n b: int\n a: int", None),
        ("@dataclass(init=False)\nclass A:\n x: int", None),
        ("@dataclass(**options)\nclass A:\n x: int", None),
        ("@dataclass(kw_only=ONLY)\nclass A:\n x: int", None),
        ("class A(NamedTuple):\n x: int", None),
        ("class A:\n x: int", None),
        ("@dataclass\nclass A(B):\n x: int", None),
    ],
)  # fmt: skip
def test_what_a_class_takes(text: str, parameters: list[str] | None) -> None:
    """Its `__init__`, or a dataclass's fields; nothing where a base would have a say."""
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.ClassDef)
    found = constructor_of(node)
    assert (found and [p.name for p in found.parameters]) == parameters


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("Optional[int]", "None | int", True),
        ("Union[int, str]", "str | int", True),
        ("typing.List['a.B']", "list[B]", True),
        ("Callable[[int], str]", "Callable[[int], str]", True),
        ("Literal['b', 'a']", "Literal['a', 'b']", True),
        ("Annotated[int, 3]", "int", True),
        ("list[int]", "list[str]", False),
        ("conint(gt=0)", "conint(gt = 0)", True),
        ('Float[Array, "3 4"] | None', 'Float[Array, "3 4"] | None', True),
        ('Float[Array, "3 4"]', 'Float[Array, "4 4"]', False),
        ("tuple[*Ts]", "tuple[*Ts]", True),
        ("two words", "two words", False),
    ],
)
def test_spellings_of_a_type(*, left: str, right: str, same: bool) -> None:
    """What means the same is the same; what is no type agrees with nothing."""
    assert agree(left, right) is same


@pytest.mark.parametrize(
    ("source", "target", "does"),
    [
        ("int", "int", True),
        ("bool", "int", True),
        ("int", "bool", False),
        ("int", "str | int", True),
        ("int | None", "int", False),
        ("str", "object", True),
        ("list[int]", "Sequence[int]", True),
        ("list[int]", "Sequence[str]", False),
        ("list[bool]", "list[int]", False),
        ("tuple[int, ...]", "Iterable[int]", True),
        ("tuple[int, str]", "Sequence[int]", False),
        ("dict[str, bool]", "Mapping[str, int]", True),
        ("Literal['a']", "str", True),
        ("Literal[1]", "str", False),
        ("bytes", "str", False),
        ("Sequence[int]", "list[int]", False),
        ("conint(gt=0)", "conint(gt=0)", True),
        ("int", "conint(gt=0)", False),
    ],
)
def test_which_values_may_be_given(*, source: str, target: str, does: bool) -> None:
    """As a type checker would say of builtin types."""
    assert fits(source, target) is does


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("raise ValueError(1)", ["ValueError"]),
        ("raise errors.NotThere", ["NotThere"]),
        ("raise _Private()", []),
        ("error = KeyError(1)\nraise error", ["KeyError"]),
        ("try:\n  raise KeyError\nexcept LookupError:\n  pass", []),
        ("try:\n  raise KeyError\nexcept ValueError:\n  raise", ["KeyError", "ValueError"]),
        ("try:\n  g()\nexcept (A, B) as e:\n  raise e", ["A", "B"]),
        ("try:\n  g()\nexcept A:\n  raise C from None\nelse:\n  raise D", ["C", "D"]),
        ("def inner():\n  raise ValueError\nreturn inner", []),
        ("for x in y:\n  with z:\n    raise A\nelse:\n  raise B", ["A", "B"]),
        ("match x:\n  case 1:\n    raise A", ["A"]),
        ("raise make()", ["make"]),
    ],
)
def test_what_leaves_a_function(body: str, names: list[str]) -> None:
    """Public exceptions of its own statements that it does not catch."""
    text = "def f():\n" + "\n".join(f"  {line}" for line in body.split("\n"))
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    assert [raised.name for raised in raised_by(node)] == names

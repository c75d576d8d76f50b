"""Examples that a docstring tells without calling its function."""

import ast

import pytest

from surefoot.execute.repair.prose import promised


def told(signature: str, text: str) -> list[tuple[str, str | None]]:
    """Calls and values that a docstring of such a function tells."""
    (function,) = ast.parse(f"def {signature}: pass").body
    assert isinstance(function, ast.FunctionDef)
    return [(e.call, e.expected) for e in promised(text, function)]


@pytest.mark.parametrize(
    ("signature", "text", "examples"),
    [
        ("f(n)", "Input: 3\n  Output: (1, 2)\n Explanation: 3", [("f(3)", "(1, 2)")]),
        ("f(n)", "Input: n = 5\nOutput: 1  # the least\n", [("f(5)", "1")]),
        ("f(a, k)", "Input: a = [-3, 4], k = 2\nOutput: [4]", [("f([-3, 4], 2)", "[4]")]),
        (
            "f(grid, size)",
            "Input:\n  grid : [[0, 1],\n    [1, 1]]\n  size : 1\nOutput: 6",
            [("f([[0, 1], [1, 1]], 1)", "6")],
        ),
        ("f(n)", "For n = 10, the sum is 1 the output should be '1'.", [("f(10)", "'1'")]),
        ("f(s, c)", "For s = 'ab', c = 'a', the result should be ('b', True)", [("f('ab', 'a')", "('b', True)")]),
        (
            "f(a)",
            "For each i there is one.\n\nInput: a = [1]\nOutput: 2\n\nInput: a = []\nOutput: 0",
            [("f([1])", "2"), ("f([])", "0")],
        ),
        ("f(self, n)", "Given n = 2 the answer must be 4", [("f(2)", "4")]),
        (
            "f(grid, size)",
            "Input:\n  grid : [[0, 1]]\n  bucket_size : 1\nOutput: 6",
            [("f([[0, 1]], 1)", "6")],
        ),
        ("f(a, k)", "Input: a = [1], k = 2, m = 3\nOutput: 6", [("f([1], 2)", "6")]),
        ("f(a, k)", "Input: x = [1], y = 2, m = 3\nOutput: 6", []),
        ("f(n)", "Given the number 3", []),
        ("f(a, k)", "Input: a = [1]\nOutput: [4]", []),
        ("f(n)", "Input: 3 or more\nOutput: 4", []),
        ("f(n)", "Input: n = m\nOutput: 4", []),
        ("f(n)", "Input: n = 3\n\nOutput: 4", []),
        ("f(n)", "f(1) -> 2\nInput: n = 3\nOutput: 4", [("f(1)", "2")]),
        ("f(n)", "Example: grade([4.0, 3]) ==> ['A+', 'B']", [("f([4.0, 3])", "['A+', 'B']")]),
        ("f(a, b)", "grade(1) ==> 2", []),
        ("f(n)", "g(1) == 2 and h(2) == 3", []),
        ("f(n)", "len([1]) == 1", []),
    ],
)  # fmt: skip
def test_examples_in_words(
    signature: str, text: str, examples: list[tuple[str, str | None]]
) -> None:
    """Each parameter's value and what comes out; an earlier name of the function; and what is neither."""
    assert told(signature, text) == examples

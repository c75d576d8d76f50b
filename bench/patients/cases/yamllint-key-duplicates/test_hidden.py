"""What the fixed release does, beyond the issue's examples."""

from yamllint import linter
from yamllint.config import YamlLintConfig

CONF = YamlLintConfig("{rules: {key-duplicates: enable}}")


def test_duplicates_are_still_found() -> None:
    text = "---\na: {b: 1, b: 2}\nc: [x, {d: 1, d: 2}]\na: 3\n"
    assert [p.line for p in linter.run(text, CONF)] == [2, 3, 4]


def test_nested_maps_are_told_apart() -> None:
    text = "---\na:\n  b: 1\n  c: [{b: 1}, {b: 2}]\nd:\n  b: 2\n"
    assert list(linter.run(text, CONF)) == []


def test_many_redundant_braces() -> None:
    text = "---\n}}}]]\n"
    assert "syntax error" in next(iter(linter.run(text, CONF))).desc

"""Brackets that close nothing are reported, not a crash."""

import pytest
from yamllint import linter
from yamllint.config import YamlLintConfig


@pytest.mark.parametrize("text", ["---\n[1, 2]]\n", "---\n{a: 1}}\n", "---\n]\n"])
def test_redundant_closing_is_a_syntax_problem(text: str) -> None:
    conf = YamlLintConfig("{rules: {key-duplicates: enable}}")
    problems = list(linter.run(text, conf))
    assert [p.level for p in problems] == ["error"]
    assert "syntax error" in problems[0].desc

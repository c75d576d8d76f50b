"""Findings code under input of any shape: typed errors or answers, nothing else."""

import contextlib
import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.execute.fixes.catalogue import REWRITERS, rewrites
from surefoot.findings import SarifError, gaming, sarif_to_findings
from surefoot.values import Finding, Mode, Severity

WORDS = (
    "version runs tool driver name rules id results ruleId ruleIndex rule index toolComponent level kind message "
    "text arguments locations physicalLocation artifactLocation uri uriBaseId region startLine startColumn snippet "
    "suppressions status properties security-severity tags partialFingerprints invocations"
)
names = st.sampled_from(WORDS.split())
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | names
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=25,
)


@given(run=trees, result=trees)
@settings(max_examples=150)
def test_any_json_is_read_or_refused(run: Any, result: Any) -> None:
    """A log of any content gives findings or a `SarifError`."""
    shell = {"tool": {"driver": {"name": "t"}}, "results": [result]}
    for document in (
        run,
        {"version": "2.1.0", "runs": [run]},
        {"version": "2.1.0", "runs": [shell | run if isinstance(run, dict) else shell]},
    ):
        with contextlib.suppress(SarifError):
            for finding in sarif_to_findings(json.dumps(document).encode()):
                assert finding.fingerprint


pieces = st.lists(
    st.sampled_from(
        [
            "def test_a(x=[]):\n",
            "    assert x == None  # noqa\n",
            "    return\n",
            "    try:\n        y = f()\n    except:\n        raise ValueError\n",
            "@pytest.mark.parametrize('a', [1])\n",
            "class T:\n",
            "import os\n",
            '"""\n',
            "(\n",
            "é = 1\n",
            "\x0c",
            "\\\n",
            "    yield\n",
            "x = yaml.load(a)\n",
            "def f(a: int = None): pass\n",
            "[tool.ruff]\n",
            "\r\n",
        ]
    ),
    max_size=12,
).map("".join)
paths = st.sampled_from(
    ["a.py", "tests/test_a.py", "tests/a.js", "tests/a.txt", "pyproject.toml", "setup.cfg", "x.pth"]
)


@given(
    contents=st.dictionaries(paths, st.tuples(st.none() | pieces, st.none() | pieces), max_size=3)
)
@settings(max_examples=150)
def test_any_change_is_judged(contents: dict[str, tuple[str | None, str | None]]) -> None:
    """Any pair of texts has an answer, and no change is no finding."""
    tests = [path for path in contents if path.startswith("tests/")]
    gaming(contents, test_paths=tests)
    same = {p: (b, b) for p, (b, _) in contents.items() if b is not None}
    assert gaming(same, test_paths=tests) == ()


@given(text=pieces, line=st.integers(1, 14), column=st.integers(1, 12))
@example(text="x = 1  # noqa\n", line=1, column=1)
@settings(max_examples=150)
def test_fixes_of_any_place(text: str, line: int, column: int) -> None:
    """Wherever a finding points, a fix parses or there is none, and no suppression is written."""
    for tool, rule in REWRITERS:
        finding = Finding(
            finding_id="x",
            tool=tool,
            rule=rule,
            severity=Severity.LOW,
            category="lint",
            file="a.py",
            line=line,
            column=column,
            message="return type annotation",
            fingerprint="x",
        )
        for found in rewrites({"a.py": text}, [finding], Mode.AUTO_SOLVE_FULL):
            (edit,) = found.edits
            assert edit.text != text
            assert gaming({"a.py": (text, edit.text)}, test_paths=()) == ()

"""A test for an issue that has none: written by rule from the issue's own examples, else by the model.

A test counts only when it fails on the present code for the reason that the issue gives: an assertion about the function
that the issue names, or the exception that it names, raised below that function; where something is missing, that a
function has no body yet, or does not know the argument that the issue shows. A test that cannot import, finds no name,
or stumbles over a fixture reproduces nothing.

What a rule writes asks for no more than the issue says: of a generator the items, of a decimal number the digits.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from surefoot.decisions.reproduce_test import TestQuestion, propose_test
from surefoot.execute.repair.examples import Example, from_issue, value_of
from surefoot.execute.repair.graft import head_of
from surefoot.execute.repair.ground import Files, Ports
from surefoot.execute.repair.localise import called_in
from surefoot.execute.repair.probe import module_of
from surefoot.execute.repair.prose import promised
from surefoot.execute.source import CodeUnit, FunctionNode, is_unwritten, last_name, units
from surefoot.kernel.ports import Suite
from surefoot.syntax import docstring_node, expression_of, tree_of
from surefoot.values import FileEdit, ModelFailure, ReportState, TestOutcome, TestReport, TestResult

_NAMED: Final = 3
"""Functions named in an issue that are tried."""
_SAMPLES: Final = 3
_WARMER: Final = 0.4
"""Temperature of each further answer above the last."""
_WARMEST: Final = 1.2
_EXCEPTION: Final = re.compile(
    r"\b([A-Z]\w*(?:Error|Exception|Warning|Exit|Interrupt|Iteration))\b"
)
_OWN_FAULTS: Final = (
    "ImportError",
    "ModuleNotFoundError",
    "SyntaxError",
    "NameError",
    "IndentationError",
    "fixture ",
)
_DECIMAL: Final = re.compile(r"[-+]?\d+\.(\d+)")
_CONSTANTS: Final = frozenset({"True", "False", "None"})
_EVERYDAY: Final = frozenset({"0", "1", "-1", "True", "False", "None", "''", "[]", "{}", "()"})

_MAKES_VALUES: Final = frozenset(
    {"approx", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """A new test file that fails for the issue's reason."""

    edit: FileEdit
    failing: tuple[TestResult, ...]
    how: str
    """`rule` or `model`."""

    @property
    def told(self) -> str:
        """What its first failing test expects first, on one line; where that is only that a call passes, its first call."""
        name = self.failing[0].test_id.rpartition("::")[2]
        tree = tree_of(self.edit.text or "")
        nodes = ast.walk(tree) if tree is not None else ()
        tests = [n for n in nodes if isinstance(n, FunctionNode) and n.name == name]
        said = _said_first(tests[0]) if tests else ""
        return " ".join(line.strip() for line in said.splitlines())


def _said_first(test: FunctionNode) -> str:
    """The first statement in the source that says what is expected, else the first that calls something, else the first."""
    body = test.body[1:] if docstring_node(test) else test.body
    expected = [n for statement in body for n in _run_by(statement) if _expects(n)]
    calling = [s for s in body if any(isinstance(n, ast.Call) for n in _run_by(s))]
    return next((ast.unparse(n) for n in (*expected, *calling, *body)), "")


def _run_by(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, in the order of the source, without what stands in functions and classes of its own."""
    yield node
    if not isinstance(node, FunctionNode | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _run_by(child)


def _expects(node: ast.AST) -> bool:
    """Whether it is an `assert`, or a `pytest.raises(...)` with or without a block."""
    if isinstance(node, ast.With):
        return any(_is_raises(item.context_expr) for item in node.items)
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and _is_raises(node.value))


def _is_raises(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "raises"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draft:
    """A test file that may reproduce the issue."""

    text: str
    tests: tuple[str, ...]
    """Names as they stand in an id behind the path, e.g. `test_a` or `Case::test_a`."""
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """A function that the issue names."""

    unit: CodeUnit
    module: str


def reproduce(ports: Ports, files: Files) -> Reproduced | ModelFailure | None:
    """The first draft that fails for the right reason; None when there is none.

    Where the model writes it, a later turn's is drawn anew, and warmer: that of the turn before may ask for what nobody wants.
    """
    issue = ports.task.unit.issue
    named = named_in(issue.text, files)
    path = new_test_path(issue.title, files.paths, ports.suite)
    for target in named:
        for draft in by_rule(issue.text, target, as_method=has_methods(ports.suite)):
            found = _checked(draft, path, target, ports)
            if found is not None:
                return found
    failure: ModelFailure | None = None
    for target in named[:1]:
        for number in range(_SAMPLES):
            written = _by_model(ports, target, number)
            if isinstance(written, ModelFailure):
                failure = written
            elif written is not None:
                found = _checked(written, path, target, ports)
                if found is not None:
                    return found
    return failure


def named_in(issue: str, files: Files) -> tuple[_Named, ...]:
    """Functions that the issue names: those that it shows in code first, then those in order of mention."""
    found: list[tuple[int, int, _Named]] = []
    for path, source in files.product.items():
        for unit in units(source):
            place = re.search(rf"(?<![\w]){re.escape(unit.name)}(?!\w)", issue)
            if place is None or unit.name.startswith("__"):
                continue
            shown = re.search(
                rf"`[^`\n]*\b{re.escape(unit.name)}\b|\b{re.escape(unit.name)}\s*\(", issue
            )
            module = module_of(path, list(files.tests.values()), files.paths)
            found.append((int(shown is None), place.start(), _Named(unit=unit, module=module)))
    found.sort(key=lambda f: (f[0], f[1], f[2].unit.path, f[2].unit.first_line))
    return tuple(n for _, _, n in found[:_NAMED])


def new_test_path(title: str, paths: Sequence[str], suite: Suite) -> str:
    """A free name beside the tests that there are."""
    folders: dict[str, int] = {}
    for path in paths:
        pure = PurePosixPath(path)
        if suite.is_test_path(path) and pure.name.startswith("test_") and path.endswith(".py"):
            folders[str(pure.parent)] = folders.get(str(pure.parent), 0) + 1
    known = set(paths)
    # A path that is there itself is no folder, but a link perhaps, and may lead anywhere.
    default = "." if "tests" in known else "tests"
    folder = max(sorted(folders), key=lambda f: folders[f]) if folders else default
    slug = "_".join(re.findall(r"[a-z0-9]+", title.lower())[:5]) or "issue"
    for number in range(1, 1_000):
        name = f"test_{slug}.py" if number == 1 else f"test_{slug}_{number}.py"
        path = name if folder == "." else f"{folder}/{name}"
        if path not in known:
            return path
    return f"{folder}/test_{slug}_new.py"


# --- drafts --------------------------------------------------------------------------------------


def has_methods(suite: Suite) -> bool:
    """Whether the project's tests are run with unittest, which finds no plain functions."""
    return suite.command[1:3] == ("-m", "unittest")


def by_rule(issue: str, target: _Named, *, as_method: bool) -> Iterator[_Draft]:
    """Drafts from the issue's own examples; none of a method, nor of a coroutine, whose value nobody sees unawaited.

    `as_method`: in a `unittest.TestCase`, and without pytest.
    """
    node = _node_of(target.unit)
    if target.unit.class_name is not None or not isinstance(node, ast.FunctionDef):
        return
    name = target.unit.name
    examples = from_issue(issue, name)
    shown = [*examples, *_promised(node)]
    claims = {e.call: said for e in reversed(shown) if (said := _claim(e, node)) is not None}
    draft = _method_draft if as_method else _draft
    says = _asserts_in_method if as_method else _asserts
    if claims:
        yield draft(target, [says(claim) for claim in reversed(claims.values())])
    raised = _EXCEPTION.search(issue)
    if raised is not None and re.search(r"\braises?\b|Traceback|\bcrash", issue):
        calls = [e.call for e in (*examples, *_shown_calls(issue, name))]
        for call in dict.fromkeys(calls):
            yield draft(target, [f"{call}  # must not raise {raised[1]}"])


def _node_of(unit: CodeUnit) -> FunctionNode | None:
    tree = tree_of(unit.text)
    node = tree.body[0] if tree is not None and tree.body else None
    return node if isinstance(node, FunctionNode) else None


def _promised(node: FunctionNode) -> tuple[Example, ...]:
    """What the docstring of a function without a body shows: nothing else says yet what it is for."""
    said = docstring_node(node) if is_unwritten(node) else None
    return promised(str(said.value), node) if said is not None else ()


def _shown_calls(issue: str, name: str) -> Iterator[Example]:
    for found in re.finditer(rf"\b{re.escape(name)}\([^()\n]*\)", issue):
        yield Example(call=found[0], expected=None, origin="issue")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a test asks for."""

    given: str
    """Source of what is compared."""
    wanted: str
    """A literal."""
    off: str | None = None
    """How far a number may be away from it."""


def _claim(example: Example, node: FunctionNode) -> _Claim | None:
    """That an example holds; None where it tells no value, or one that a generator cannot have."""
    call, expected = example.call, example.expected
    if expected is None:
        return None
    if _is_generator(node) and _is_bare(call, node.name):
        value = value_of(expected)
        if not isinstance(value, list | tuple | set):
            return None
        call = f"{type(value).__name__}({call})"
    # A person rounds what an issue tells; a docstring shows what its function gives.
    digits = _DECIMAL.fullmatch(expected) if example.origin == "issue" else None
    off = f"5e-{len(digits[1]) + 1}" if digits is not None else None
    return _Claim(given=call, wanted=expected, off=off)


def _asserts(claim: _Claim) -> str:
    if claim.wanted in _CONSTANTS:
        return f"assert {claim.given} is {claim.wanted}"
    if claim.off is not None:
        return f"assert {claim.given} == pytest.approx({claim.wanted}, abs={claim.off})"
    return f"assert {claim.given} == {claim.wanted}"


def _asserts_in_method(claim: _Claim) -> str:
    if claim.wanted in _CONSTANTS:
        return f"self.assertIs({claim.given}, {claim.wanted})"
    if claim.off is not None:
        return f"self.assertAlmostEqual({claim.given}, {claim.wanted}, delta={claim.off})"
    return f"self.assertEqual({claim.given}, {claim.wanted})"


def _is_generator(node: FunctionNode) -> bool:
    """Whether a call gives an iterator that nothing is compared with."""
    inner = (n for statement in node.body for n in _run_by(statement))
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in inner)


def _is_bare(call: str, name: str) -> bool:
    """Whether an example is the call itself, with nothing around it that looks at the result."""
    node = expression_of(call)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _draft(target: _Named, statements: Sequence[str]) -> _Draft:
    name = target.unit.name
    body = "".join(f"    {s}\n" for s in statements)
    test = f"def test_{name}_as_reported():\n{body}"
    text = f"{_imports(body)}from {target.module} import {name}\n\n\n{test}"
    return _Draft(text=text, tests=(f"test_{name}_as_reported",), how="rule")


def _method_draft(target: _Named, statements: Sequence[str]) -> _Draft:
    name = target.unit.name
    test = f"test_{name}_as_reported"
    body = "".join(f"        {s}\n" for s in statements)
    case = f"class AsReported(unittest.TestCase):\n    def {test}(self):\n{body}"
    text = f"import unittest\n\nfrom {target.module} import {name}\n\n\n{case}"
    return _Draft(text=text, tests=(f"AsReported::{test}",), how="rule")


def _imports(test: str) -> str:
    return "import pytest\n\n" if "pytest." in test else ""


def _by_model(ports: Ports, target: _Named, number: int) -> _Draft | ModelFailure | None:
    unit, turn = target.unit, ports.task.number - 1
    issue = ports.task.unit.issue.text
    imported = (unit.class_name or unit.name).partition(".")[0]
    question = TestQuestion(
        issue=issue,
        module=target.module,
        name=imported,
        head=head_of(unit.text) or unit.text,
        temperature=round(min(_WARMER * (number + turn), _WARMEST), 2),
        seed=ports.task.seed + number + _SAMPLES * turn,
    )
    test = propose_test(question, ports.asker, ports.notebook)
    if test is None or isinstance(test, ModelFailure):
        return test
    if not keeps_to_issue(test, unit, issue):
        return None
    name = re.search(r"def\s+(\w+)", test)
    if name is None:
        return None
    text = f"{_imports(test)}from {target.module} import {imported}\n\n\n{test}\n"
    return _Draft(text=text, tests=(name[1],), how="model")


def keeps_to_issue(test: str, unit: CodeUnit, issue: str) -> bool:
    """Whether a test calls the function and expects only what the issue or the docstring says."""
    tree = tree_of(test)
    if tree is None:
        return False
    if unit.name not in set(called_in(tree)) and unit.name != "__init__":
        return False
    if not any(isinstance(n, ast.Assert) for n in ast.walk(tree)) and "raises" not in test:
        return False
    said = f"{issue}\n{head_of(unit.text)}"
    sides = (
        side
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare)
        for side in (node.test.left, *node.test.comparators)
    )
    return all(_is_said(value, said) for side in sides for value in _literals(side))


def _literals(node: ast.AST) -> Iterator[str]:
    """The outermost literals of an expression, as source; also those that it computes with, or makes a value of."""
    if isinstance(node, ast.Call) and last_name(node.func) not in _MAKES_VALUES:
        return
    if isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Dict | ast.Set) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    ):
        yield ast.unparse(node)
        return
    for child in ast.iter_child_nodes(node):
        yield from _literals(child)


def _is_said(value: str, said: str) -> bool:
    """Whether a text has a value as it stands, or nobody needs to say it; a number that is part of another one is not said."""
    if value in _EVERYDAY:
        return True
    if value[-1].isdigit():
        return re.search(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", said) is not None
    squeezed = ["".join(text.split()).replace('"', "'") for text in (value, said)]
    return squeezed[0] in squeezed[1]


# --- whether it fails for the right reason -------------------------------------------------------


def _checked(draft: _Draft, path: str, target: _Named, ports: Ports) -> Reproduced | None:
    ids = tuple(f"{path}::{name}" for name in draft.tests)
    edit = FileEdit(path=path, text=draft.text)
    with ports.workspace.checkout(ports.task.tree) as root:
        write(root, (edit,))
        report = ports.suite.run(root, ids)
    failing = _for_the_reason(report, ids, target, ports.task.unit.issue.text)
    return Reproduced(edit=edit, failing=failing, how=draft.how) if failing else None


def _for_the_reason(
    report: TestReport, ids: Sequence[str], target: _Named, issue: str
) -> tuple[TestResult, ...]:
    if report.state is not ReportState.COMPLETE:
        return ()
    found = [
        r for t in ids if (r := report.result(t)) is not None and r.outcome is TestOutcome.FAILED
    ]
    return tuple(r for r in found if _is_reason(r, target, issue))


def _is_reason(result: TestResult, target: _Named, issue: str) -> bool:
    message = result.message.strip()
    if message.startswith(("AssertionError", "assert ")):
        return True
    inside = any(f.path == target.unit.path for f in result.frames)
    if _is_missing(message, target.unit, inside=inside):
        return True
    kind = re.match(r"[\w.]+", message)
    name = kind[0].rpartition(".")[2] if kind is not None else ""
    if any(message.startswith(f) or name == f.strip() for f in _OWN_FAULTS) and name not in issue:
        return False
    return inside and bool(name) and name in issue


def _is_missing(message: str, unit: CodeUnit, *, inside: bool) -> bool:
    """Whether a failure says that the function is not written yet, or does not take what it was given."""
    if message.startswith("NotImplementedError"):
        return inside
    lacks = rf"TypeError: (\w+\.)*{re.escape(unit.name)}\(\) (got an unexpected|takes) "
    return re.match(lacks, message) is not None


def write(root: Path, edits: Sequence[FileEdit]) -> None:
    """Write edits into a scratch copy of a tree."""
    for edit in edits:
        path = root / edit.path
        if edit.text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(edit.text.encode())

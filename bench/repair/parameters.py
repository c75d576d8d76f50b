"""Functions that lack their last parameter, and the request to add it.

The parameter stands in the body as the constant that most checks give for it. Checks with that value, without the argument,
are what the project tests today; all checks with the argument, and those without it, grade the work.
"""

import ast
import inspect
from collections import Counter
from dataclasses import dataclass

from bench.repair.tasks import Check, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrow:
    """A task's function without its last parameter."""

    source: str
    parameter: str
    visible: tuple[Check, ...]
    """Checks that the constant is right for, without the argument."""
    issue: str


def narrowed(task: Task) -> Narrow | str:
    """The function with its last parameter as a constant; a few words instead when that cannot be done."""
    tree = ast.parse(task.prompt + task.canonical)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == task.entry)
    names = [a.arg for a in function.args.args]
    if len(names) < 2 or function.args.defaults:
        return "takes one argument"
    given = {check: value for check in task.checks if (value := _last(check, task.entry, names))}
    if len(given) < len(task.checks):
        return "a check gives the last argument as no literal"
    (constant, _), *others = Counter(given.values()).most_common()
    if not others:
        return "all checks give the same value"
    if not isinstance(ast.literal_eval(constant), str | int | float | tuple):
        return "the value is no constant"
    described = ast.get_docstring(function) or ""
    parameter = function.args.args.pop().arg
    function.returns = None
    function.body = function.body[1:] if described else function.body
    function.body.insert(0, ast.parse(f"{parameter} = {constant}").body[0])
    return Narrow(
        source=ast.unparse(ast.fix_missing_locations(tree)) + "\n",
        parameter=parameter,
        visible=tuple(_without(c, task.entry) for c, value in given.items() if value == constant),
        issue=_issue(task.entry, parameter, constant, inspect.cleandoc(described)),
    )


def _issue(entry: str, parameter: str, constant: str, described: str) -> str:
    told = "\n".join(f"    {line}".rstrip() for line in described.splitlines())
    return (
        f"# Add a parameter `{parameter}` to `{entry}`\n\n"
        f"`{entry}` always works with `{parameter} = {constant}`. It should take `{parameter}` as its last parameter, with "
        f"{constant} as the default, so that a call without it gives what it gave. What it does then:\n\n{told}\n"
    )


def _calls(tree: ast.AST, entry: str) -> list[ast.Call]:
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call))
    return [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == entry]


def _last(check: Check, entry: str, names: list[str]) -> str | None:
    """The literal that a check gives for the last parameter; None where it gives several, or something else."""
    values = set()
    for call in _calls(ast.parse(check.source), entry):
        if call.keywords or len(call.args) != len(names):
            return None
        try:
            values.add(repr(ast.literal_eval(call.args[-1])))
        except ValueError:
            return None
    return values.pop() if len(values) == 1 else None


def _without(check: Check, entry: str) -> Check:
    tree = ast.parse(check.source)
    for call in _calls(tree, entry):
        call.args.pop()
    return Check(setup=check.setup, source=ast.unparse(tree))

"""Integration contracts against the code: anchors, signature, call, mapping, types, return and failures."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.preflight.anchors import Anchor, Found, anchors_in, find, wrong_with
from surefoot.preflight.annotations import agree, fits, normal
from surefoot.preflight.code import FUNCTIONS, Code, Scope
from surefoot.preflight.contracts import Contract, Part, is_nothing, named
from surefoot.preflight.failures import raised_by
from surefoot.preflight.flow import Flow, last_name
from surefoot.preflight.markdown import Row, Table, spans
from surefoot.preflight.problems import Problem
from surefoot.preflight.signatures import (
    Binding,
    Parameter,
    Signature,
    bind,
    claimed_signature,
    constructor_of,
    difference,
    signature_of,
)
from surefoot.syntax import dumped, expression_of, tree_of, written

_REQUIRED: Final = (
    ("why", "Why this boundary exists"),
    ("caller", "Caller (anchor)"),
    ("callee", "Callee (anchor)"),
    ("call expression", "Call expression (verbatim)"),
    ("callee signature", "Callee signature (verbatim)"),
    ("argument", "Argument mapping"),
    ("failure", "Failure modes"),
)
_UNANNOTATED: Final = "unannotated"
_DEFAULT: Final = "default"
_NO: Final = frozenset({"no", "none"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Callee:
    """The callee as the contract takes it: from the code, or as claimed where it is NEW."""

    anchor: Anchor
    found: Found | None
    signature: Signature
    """As the call sees it."""


class ContractCheck:
    """Holds contracts of one plan against the code."""

    def __init__(self, code: Code, plan: str) -> None:
        self._code = code
        self._flow = Flow(code)
        self._plan = plan

    def check(self, contract: Contract) -> Iterator[Problem]:
        """Everything that is wrong with one contract."""
        for key, label in _REQUIRED:
            if not contract.part(key).is_filled:
                yield self._problem(
                    "incomplete-contract",
                    contract.part(key).line,
                    f"contract {contract.title!r} has no {label!r}",
                    "write it; the reference page plan-contracts shows a whole one",
                )
        caller, wrong = self._anchor(contract.part("caller"), "caller")
        yield from wrong
        callee_anchor, wrong = self._anchor(contract.part("callee"), "callee")
        yield from wrong
        yield from self._returned(contract)
        claimed, wrong = self._claimed(contract)
        yield from wrong
        call, wrong = self._call(contract)
        yield from wrong
        if callee_anchor is None or claimed is None or call is None:
            return
        callee, wrong = self._callee(contract, callee_anchor, claimed, call, caller)
        yield from wrong
        if callee is None:
            return
        yield from self._stands(contract, caller, callee, call)
        yield from self._return_type(contract, callee.signature)
        bound = bind(call, callee.signature)
        if isinstance(bound, str):
            yield self._problem(
                "wrong-call",
                _line(contract.part("call expression")),
                f"`{written(call)}` does not bind to `{callee.signature.name}`: {bound}",
                f"pass what it takes: ({', '.join(p.told for p in callee.signature.parameters)})",
            )
        else:
            yield from self._mapping(contract, callee.signature, bound, caller)
        yield from self._failures(contract, callee)

    def _problem(self, rule: str, line: int, message: str, mend: str) -> Problem:
        return Problem(rule=rule, file=self._plan, line=line, message=message, mend=mend)

    def _anchor(self, part: Part, role: str) -> tuple[Anchor | None, list[Problem]]:
        if not part.is_filled:
            return None, []
        anchors = anchors_in(part.text)
        if len(anchors) != 1 or (role == "callee" and not _has_symbol(anchors[0])):
            return None, [
                self._problem(
                    f"missing-{role}",
                    part.line,
                    f"{part.text!r} is not the anchor of one {role}",
                    "write `path.py::function`, `path.py::Class.method`, or [NEW] behind it",
                )
            ]
        wrong = wrong_with(anchors[0], self._code)
        if wrong is None:
            return anchors[0], []
        mend = "correct the anchor, or mark it [NEW] if the plan makes it"
        if "marked NEW" in wrong:
            mend = "drop the mark"
        return None, [self._problem(f"missing-{role}", part.line, f"{role}: {wrong}", mend)]

    def _claimed(self, contract: Contract) -> tuple[Signature | None, list[Problem]]:
        part = contract.part("callee signature")
        if not part.is_filled:
            return None, []
        found = claimed_signature(_code_of(part))
        if found is not None:
            return found[0], []
        message = "the callee signature is no `def name(…) -> …:`"
        mend = "copy the callee's `def` line"
        return None, [self._problem("wrong-signature", _line(part), message, mend)]

    def _call(self, contract: Contract) -> tuple[ast.Call | None, list[Problem]]:
        part = contract.part("call expression")
        if not part.is_filled:
            return None, []
        tree = tree_of(_code_of(part))
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)] if tree else []
        anchors = anchors_in(contract.part("callee").text)
        name = _called_name(anchors[0]) if anchors else ""
        found = next((c for c in calls if last_name(c.func) == name), calls[0] if calls else None)
        if tree is not None and len(tree.body) == 1 and found is not None:
            return found, []
        message = "the call expression is not one Python statement with a call"
        mend = "copy the call from the caller"
        return None, [self._problem("stale-call", _line(part), message, mend)]

    def _callee(
        self,
        contract: Contract,
        anchor: Anchor,
        claimed: Signature,
        call: ast.Call,
        caller: Anchor | None,
    ) -> tuple[_Callee | None, list[Problem]]:
        """The callee with its signature as this call sees it."""
        part = contract.part("callee signature")
        found = find(anchor, self._code)
        if found is None:
            bound = claimed.without_first() if _takes_self(claimed) else claimed
            return _Callee(anchor=anchor, found=None, signature=bound), []
        is_class = isinstance(found.node, ast.ClassDef) or found.node.name == "__init__"
        real = _real(found)
        if real is None:
            message = f"what `{anchor.told}` takes cannot be read: it has no `__init__` and is no plain dataclass"
            mend = "anchor the callee at a function or a method"
            return None, [self._problem("wrong-signature", part.line, message, mend)]
        if is_class:
            mine = claimed.without_first() if claimed.name == "__init__" else claimed
            mine = Signature(name=real.name, parameters=mine.parameters, returns=real.returns)
        else:
            mine = claimed
        wrong = []
        told = difference(mine, real)
        if told is not None:
            message = f"`{anchor.told}` ({found.place}) has another signature: {told}"
            mend = f"claim `{_def_of(found)}`, or change the plan"
            wrong.append(self._problem("wrong-signature", _line(part), message, mend))
        if not is_class and self._is_bound(found, call, caller):
            real = real.without_first()
        return _Callee(anchor=anchor, found=found, signature=real), wrong

    def _is_bound(self, found: Found, call: ast.Call, caller: Anchor | None) -> bool:
        """Whether the call gives the first parameter by what stands before the dot."""
        if found.owner is None or isinstance(found.node, ast.ClassDef):
            return False
        decorators = {last_name(d) for d in found.node.decorator_list}
        if "staticmethod" in decorators:
            return False
        if "classmethod" in decorators or not isinstance(call.func, ast.Attribute):
            return True
        scope = self._scope_of(caller)
        owners = self._flow.definitions(call.func.value, scope) if scope else ()
        return all(at.node is not found.owner for at in owners)

    def _scope_of(self, caller: Anchor | None) -> Scope | None:
        source = self._code.source(caller.path) if caller is not None else None
        if source is None or caller is None:
            return None
        found = find(caller, self._code)
        return source.scopes[found.node] if found is not None else source.scope

    def _stands(
        self, contract: Contract, caller: Anchor | None, callee: _Callee, call: ast.Call
    ) -> Iterator[Problem]:
        """The call names the callee, and stands in the caller."""
        line = _line(contract.part("call expression"))
        scope = self._scope_of(caller)
        name = _called_name(callee.anchor) or callee.signature.name
        found = self._flow.definitions(call.func, scope) if scope is not None else ()
        if found and callee.found is not None:
            mine = {callee.found.node, callee.found.owner if _is_init(callee.anchor) else None}
            if all(at.node not in mine for at in found):
                message = (
                    f"`{written(call.func)}` is {found[0].place} there, not `{callee.anchor.told}`"
                )
                yield self._problem("stale-call", line, message, "call the callee, or anchor it")
                return
        elif last_name(call.func) != name:
            message = f"`{written(call)}` does not call `{name}`"
            yield self._problem("stale-call", line, message, "copy the call of the callee")
            return
        if caller is None or scope is None:
            return
        calls = [n for n in ast.walk(scope.node) if isinstance(n, ast.Call)]
        if any(dumped(c) == dumped(call) for c in calls):
            return
        near = [c for c in calls if last_name(c.func) == last_name(call.func)]
        told = " and ".join(f"`{written(c)}` at line {c.lineno}" for c in near) or "no such call"
        message = f"`{written(call)}` does not stand in `{caller.told}`, which has {told}"
        mend = "copy the call as it is, or mark the caller [NEW] if the plan writes it"
        yield self._problem("stale-call", line, message, mend)

    def _mapping(
        self, contract: Contract, signature: Signature, bound: Binding, caller: Anchor | None
    ) -> Iterator[Problem]:
        """Every parameter has a row that tells the truth, and no row has another name."""
        table = contract.part("argument").table
        if table is None or not table.rows:
            message = f"contract {contract.title!r} maps no argument"
            if signature.parameters or table is None:
                mend = "add the table Arg, Required?, Source expression, Type@Source, Type@Callee, Conversion"
                yield self._problem(
                    "incomplete-contract", contract.part("argument").line, message, mend
                )
            return
        column = table.column("arg", "parameter")
        rows = {named(row, column): row for row in table.rows}
        for parameter in signature.parameters:
            row = rows.pop(parameter.name, None)
            if row is not None:
                yield from self._row(table, row, parameter, bound, caller)
            elif not parameter.is_starred or parameter.name in bound.arguments:
                message = f"parameter {parameter.told!r} of `{signature.name}` is not mapped"
                yield self._problem("wrong-parameter", table.line, message, "add its row")
        for name, row in rows.items():
            if is_nothing(name) or name.lower() in _NO:
                continue
            known = ", ".join(p.told for p in signature.parameters) or "none"
            message = f"`{signature.name}` has no parameter {name!r}"
            mend = f"name one of its parameters ({known}), or drop the row"
            yield self._problem("wrong-parameter", row.line, message, mend)

    def _row(
        self,
        table: Table,
        row: Row,
        parameter: Parameter,
        bound: Binding,
        caller: Anchor | None,
    ) -> Iterator[Problem]:
        argument = bound.arguments.get(parameter.name)
        yield from self._filled(
            table, row, ("arg", "required", "source", "type@source", "type@callee", "conversion")
        )
        required = row.get(table.column("required")).strip("` ").lower()
        is_required = parameter.default is None and not parameter.is_starred
        if required in {"yes", "no"} and (required == "yes") != is_required:
            message = (
                f"parameter {parameter.name!r} {'must' if is_required else 'need not'} be given"
            )
            yield self._problem("wrong-parameter", row.line, message, "correct `Required?`")
        source = row.get(table.column("source"))
        told = spans(source)
        is_code = source.startswith("`") and source.endswith("`")
        if argument is None:
            if _DEFAULT not in source.lower() and not parameter.is_starred:
                message = f"the call gives nothing for {parameter.name!r}"
                mend = "write `default` as its source, or pass it"
                yield self._problem("wrong-parameter", row.line, message, mend)
        elif len(told) == 1 and is_code and not _same_code(told[0], argument):
            message = (
                f"the call passes `{written(argument)}` for {parameter.name!r}, not `{told[0]}`"
            )
            yield self._problem("wrong-parameter", row.line, message, "correct the source")
        yield from self._types(table, row, parameter, argument, caller)

    def _types(
        self,
        table: Table,
        row: Row,
        parameter: Parameter,
        argument: ast.expr | None,
        caller: Anchor | None,
    ) -> Iterator[Problem]:
        source = row.get(table.column("type@source", "type at source")).strip("` ")
        callee = row.get(table.column("type@callee", "type at callee")).strip("` ")
        conversion = row.get(table.column("conversion")).strip("` ").lower()
        real = parameter.annotation
        if not (agree(callee, real) if real else callee == _UNANNOTATED):
            message = f"parameter {parameter.name!r} is `{real or _UNANNOTATED}`, not `{callee}`"
            mend = f"write `{real or _UNANNOTATED}` as its Type@Callee"
            yield self._problem("wrong-type", row.line, message, mend)
        known = self._annotation_in(caller, argument)
        if known is not None and not agree(source, known):
            message = (
                f"`{written(argument)}` is `{known}` in the caller, not `{source}`"
                if argument
                else ""
            )
            yield self._problem("wrong-type", row.line, message, "correct its Type@Source")
        elif argument is not None and real and conversion in _NO and not fits(source, real):
            message = f"a `{source}` is given for {parameter.name!r}, which is `{real}`"
            mend = "convert it and say how under Conversion, or correct the types"
            yield self._problem("wrong-type", row.line, message, mend)

    def _annotation_in(self, caller: Anchor | None, argument: ast.expr | None) -> str | None:
        """The annotation of a caller's own parameter that is passed on as it is."""
        found = find(caller, self._code) if caller is not None else None
        if found is None or not isinstance(found.node, FUNCTIONS):
            return None
        name = argument.id if isinstance(argument, ast.Name) else ""
        for parameter in signature_of(found.node).parameters:
            if parameter.name == name and parameter.annotation and not parameter.is_starred:
                return parameter.annotation
        return None

    def _returned(self, contract: Contract) -> Iterator[Problem]:
        """The return part is filled and claims no mismatch."""
        returned = contract.returned()
        labels = {
            "return value": "Return value shape",
            "caller expects": "Caller expects",
            "mismatch": "Mismatch?",
        }
        for key, label in labels.items():
            line, text = returned.get(key, (contract.part("return").line, ""))
            if is_nothing(text):
                message = f"contract {contract.title!r} does not say {label!r} of its return"
                yield self._problem("missing-return", line, message, "fill the return table")
        line, text = returned.get("mismatch", (0, "no"))
        if not is_nothing(text) and not text.strip("`* ").lower().startswith("no"):
            message = f"the return of contract {contract.title!r} does not fit: {text}"
            mend = "mend the caller or the callee in the plan"
            yield self._problem("wrong-return", line, message, mend)

    def _return_type(self, contract: Contract, signature: Signature) -> Iterator[Problem]:
        line, text = contract.returned().get("return value", (0, ""))
        told = spans(text)
        claimed = normal(told[0]) if told else None
        if claimed is None or not signature.returns or agree(told[0], signature.returns):
            return
        message = f"`{signature.name}` returns `{signature.returns}`, not `{told[0]}`"
        yield self._problem("wrong-return", line, message, "correct the return value's shape")

    def _failures(self, contract: Contract, callee: _Callee) -> Iterator[Problem]:
        """Every public exception that the callee's own statements raise has a row, and all rows are filled."""
        part = contract.part("failure")
        table = part.table
        if table is None or not table.rows:
            if part.is_filled:
                message = f"contract {contract.title!r} has no failure table"
                mend = "add the table Failure, Trigger, Where raised, Caller behavior"
                yield self._problem("missing-failure", part.line, message, mend)
            return
        column = table.column("failure")
        for row in table.rows:
            yield from self._filled(table, row, ("failure", "trigger", "where", "caller"))
            for anchor in anchors_in(row.get(table.column("where"))):
                wrong = wrong_with(anchor, self._code)
                if wrong is not None:
                    message = f"where it is raised: {wrong}"
                    yield self._problem("missing-failure", row.line, message, "correct the anchor")
        told = " ".join(row.get(column) for row in table.rows)
        node = _function_of(callee.found)
        for raised in raised_by(node) if node is not None and callee.found is not None else ():
            if not re.search(rf"(?<!\w){re.escape(raised.name)}(?!\w)", told):
                place = f"{callee.found.file}:{raised.line}" if callee.found else ""
                message = f"`{callee.anchor.told}` raises {raised.name} ({place}), which has no row"
                mend = "add a row that says what the caller does then"
                yield self._problem("missing-failure", table.line, message, mend)

    def _filled(self, table: Table, row: Row, columns: Sequence[str]) -> Iterator[Problem]:
        for name in columns:
            column = table.column(name, name.replace("@", " at "))
            if column is None or is_nothing(row.get(column)):
                head = table.header[column] if column is not None else name
                message = f"the row {row.get(0)!r} has nothing under {head!r}"
                yield self._problem("incomplete-contract", row.line, message, "fill it")


def _is_init(anchor: Anchor) -> bool:
    """Whether a callee is anchored at `Class.__init__`."""
    return anchor.symbol.endswith(".__init__")


def _has_symbol(anchor: Anchor) -> bool:
    return bool(anchor.symbol) or anchor.is_new


def _called_name(anchor: Anchor) -> str:
    """The name under which a callee is called: the class for its `__init__`."""
    parts = anchor.symbol.split(".")
    return parts[-2] if _is_init(anchor) and len(parts) > 1 else parts[-1]


def _line(part: Part) -> int:
    return part.fence.line if part.fence is not None else part.line


def _code_of(part: Part) -> str:
    """The code of a part: its fence, or the code span on its line."""
    if part.fence is not None:
        return part.fence.text
    return next(iter(spans(part.text)), part.text)


def _takes_self(signature: Signature) -> bool:
    first = signature.parameters[:1]
    return bool(first) and first[0].name in {"self", "cls"}


def _real(found: Found) -> Signature | None:
    node = found.node
    if isinstance(node, ast.ClassDef):
        return constructor_of(node)
    if node.name == "__init__" and found.owner is not None:
        return constructor_of(found.owner)
    return signature_of(node)


def _function_of(found: Found | None) -> "ast.FunctionDef | ast.AsyncFunctionDef | None":
    """The function whose body runs when a callee is called."""
    if found is None:
        return None
    if isinstance(found.node, ast.ClassDef):
        inits = [n for n in found.node.body if isinstance(n, FUNCTIONS)]
        return next((n for n in inits if n.name in {"__init__", "__post_init__"}), None)
    return found.node


def _def_of(found: Found) -> str:
    """A definition's head on one line."""
    node = found.node
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    returns = f" -> {written(node.returns)}" if node.returns else ""
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word} {node.name}({written(node.args)}){returns}"


def _same_code(text: str, node: ast.expr) -> bool:
    told = expression_of(text)
    return told is not None and dumped(told) == dumped(node)

"""The `Toolbox` port: every call goes through one schema validation, every outcome through one bound."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from jsonschema import Draft202012Validator
from referencing import Registry

from surefoot import codec
from surefoot.errors import LedgerError, SurefootError, UsageError
from surefoot.interrupts import raise_hidden
from surefoot.kernel.ports import Workspace
from surefoot.toolbox.bounds import OUTPUT_CHARACTERS, clean, clip, named
from surefoot.toolbox.misfit import flaw_of, misfit
from surefoot.toolbox.specs import failed
from surefoot.toolbox.tool import Tool
from surefoot.values import ToolCall, ToolOutcome, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    tool: Tool
    spec: ToolSpec
    validator: Draft202012Validator


class Box:
    """Tools by name."""

    def __init__(
        self,
        tools: Sequence[Tool],
        *,
        output_characters: int = OUTPUT_CHARACTERS,
        redact: Callable[[str], str] = str,
    ) -> None:
        """`output_characters` bounds `output` and `error` of every outcome, whatever the tool gave.

        `redact` hides secrets before that: what is left of one that is cut in two looks like none.

        Raises:
            UsageError: Two tools have one name, or a schema is none.
        """
        self._output_characters, self._redact = output_characters, redact
        self._entries: dict[str, _Entry] = {}
        for tool in tools:
            spec = tool.spec
            if spec.name in self._entries:
                raise UsageError(f"two tools are named {spec.name!r}; rename or leave out one")
            self._entries[spec.name] = _Entry(tool=tool, spec=spec, validator=_validator(spec))

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """As `Toolbox.specs`."""
        return tuple(entry.spec for entry in self._entries.values())

    def call(self, call: ToolCall, workspace: Workspace) -> ToolOutcome:
        """As `Toolbox.call`. Text of an outcome is bounded, valid UTF-8 and free of control characters.

        Raises:
            LedgerError: What a tool did cannot be recorded.
        """
        try:
            outcome = self._run(call, workspace)
        except LedgerError:
            raise  # nothing may happen that cannot be recorded
        except (SurefootError, OSError) as error:
            outcome = failed(f"{call.tool}: {error}")
        except RecursionError:
            outcome = failed(
                f"{call.tool}: what it was to read is nested too deeply; read a part of it"
            )
        except Exception as error:  # noqa: BLE001  # named boundary: a broken tool is a failed call
            raise_hidden(error)
            broke = f"{type(error).__name__}: {error}"
            outcome = failed(f"{call.tool}: it broke ({broke}); use another tool")
        return self._presentable(outcome)

    def _run(self, call: ToolCall, workspace: Workspace) -> ToolOutcome:
        entry = self._entries.get(call.tool)
        if entry is None:
            near = get_close_matches(call.tool, self._entries, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ";"
            names = ", ".join(self._entries)
            return _misfit(f"there is no tool {named(call.tool)}{hint} there are: {names}")
        try:
            parameters: object = json.loads(call.parameters)
            codec.canonical(parameters)
        except (ValueError, RecursionError) as error:
            return _misfit(f"{call.tool}: the parameters are not JSON: {error}")
        if not isinstance(parameters, dict):
            return _misfit(
                f"{call.tool}: the parameters must be a JSON object; for example {entry.spec.example}"
            )
        wrong = misfit(entry.spec, entry.validator, parameters)
        return _misfit(wrong) if wrong else entry.tool.run(parameters, workspace)

    def _presentable(self, outcome: ToolOutcome) -> ToolOutcome:
        return replace(
            outcome,
            output=clip(self._redact(clean(outcome.output)), self._output_characters),
            error=clip(self._redact(clean(outcome.error)), self._output_characters),
            changed=tuple(clean(path) for path in outcome.changed),
        )


def _misfit(told: str) -> ToolOutcome:
    return replace(failed(told), fits=False)


def _validator(spec: ToolSpec) -> Draft202012Validator:
    """Checks against the schema; what it refers to elsewhere is never fetched."""
    try:
        schema: object = json.loads(spec.schema)
    except ValueError as error:
        raise UsageError(f"the schema of the tool {spec.name!r} is none: {error}") from error
    if not isinstance(schema, dict):
        raise UsageError(f"the schema of the tool {spec.name!r} is not a JSON object")
    wrong = flaw_of(schema)
    if wrong:
        raise UsageError(f"the schema of the tool {spec.name!r} is none: {wrong}")
    return Draft202012Validator(schema, registry=Registry())

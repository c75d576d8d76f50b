"""In which form a model is asked for tool calls: measured by what its replies were like, chosen for each call (SPEC E3).

A model that has native tool calls is asked natively at first. After `TRIAL` replies its record decides: as long as most of
them can be used it stays so, else text is tried, and then the form with the larger share of usable replies is taken. A
server that takes no tool definitions is asked as text from then on. Pure, so that a replay chooses the same.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from surefoot.values import CallCount, CallForm, CallRecord

if TYPE_CHECKING:  # the events are a tenth of a second to load, and looking models up needs none
    from surefoot.events.calls import CallRead

TRIAL: Final = 4
"""Replies in a form before its record says anything."""
GOOD: Final = 0.75
"""Share of usable replies from which on nothing else is tried."""
_CAME: Final = {
    "valid": CallCount(valid=1),
    "invalid": CallCount(invalid=1),
    "turned-down": CallCount(turned_down=1),
}


def choose(*, native_tools: bool, record: CallRecord) -> tuple[CallForm, str]:
    """The form of the next call, and why that one.

    Args:
        native_tools: The model says that it may be offered tools.
        record: What came of its calls so far.
    """
    native, text = record.get("native", CallCount()), record.get("text", CallCount())
    if not native_tools:
        return "text", "it has no native tool calls"
    if native.turned_down:
        return "text", "its server takes no tool definitions"
    if native.read < TRIAL:
        return (
            "native",
            f"it has native tool calls, and {native.read} replies say nothing against them",
        )
    told = f"{native.valid} of {native.read} native replies could be used"
    if native.share >= GOOD:
        return "native", told
    if text.read < TRIAL:
        return "text", f"{told}; text is tried"
    told = f"{told}, {text.valid} of {text.read} as text"
    return ("text" if text.share > native.share else "native"), told


def counted(record: CallRecord, event: "CallRead") -> CallRecord:
    """A record of one model with one more reply."""
    before = record.get(event.form, CallCount())
    return {**record, event.form: before + _CAME[event.came]}


def joined(one: CallRecord, other: CallRecord) -> CallRecord:
    """Two records of one model as one."""
    forms = dict.fromkeys([*one, *other])
    return {form: one.get(form, CallCount()) + other.get(form, CallCount()) for form in forms}


def by_model(events: "Iterable[CallRead]") -> Mapping[str, CallRecord]:
    """The records of all models that some replies are of."""
    found: dict[str, CallRecord] = {}
    for event in events:
        found[event.model] = counted(found.get(event.model, {}), event)
    return found

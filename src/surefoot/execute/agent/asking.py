"""A tool call is asked for in the form that the model's record speaks for, and as text where the native form fails."""

from dataclasses import replace
from typing import Final, Literal

from surefoot.decisions.native_call import native_tools
from surefoot.decisions.signature import NO_BUDGET, Decision, Signature, Unanswered, decide
from surefoot.decisions.tool_call import ToolCallAnswer, ToolCallQuestion, complaint
from surefoot.events.calls import CallRead
from surefoot.execute.agent.prompt import Scene, answer_tokens, question_for
from surefoot.kernel.calls import choose, counted
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import CallForm, CallRecord, ModelFault

Asked = Decision[ToolCallAnswer] | Unanswered
_OF_THE_FORM: Final = frozenset(
    {
        ModelFault.UNSUPPORTED,
        ModelFault.EMPTY,
        ModelFault.MALFORMED,
        ModelFault.CONTEXT_OVERFLOW,
    }
)
"""Failures of a call that another form of it may not have."""


class Asking:
    """Asks for the calls of one turn."""

    def __init__(
        self,
        signature: Signature[ToolCallQuestion, ToolCallAnswer],
        asker: Asker,
        notebook: Notebook,
        *,
        record: CallRecord,
        seed: int,
    ) -> None:
        """`record`: what came of the model's calls before this turn."""
        self._signature, self._asker, self._notebook = signature, asker, notebook
        self._record, self._seed = record, seed

    @property
    def bundle(self) -> str:
        """The policy bundle of the last call."""
        return self._signature.bundle

    def ask(self, scene: Scene) -> Asked:
        """The next call, with what it cost in all; a native question that brought nothing usable is asked again as text."""
        form, why = choose(native_tools=self._asker.native_tools, record=self._record)
        if form == "native":
            native = self._in_form(scene, "native", why)
            if isinstance(native, Decision) or not _may_be_asked_as_text(native):
                return native
            said = self._in_form(scene, "text", "the native call before it failed")
            return replace(said, usage=native.usage + said.usage)
        return self._in_form(scene, "text", why)

    def _in_form(self, scene: Scene, form: CallForm, why: str) -> Asked:
        self._signature = replace(self._signature, form=form)
        names = frozenset(spec.name for spec in scene.specs)
        native = native_tools(scene.specs, self._signature.answer) if form == "native" else None
        decision = decide(
            replace(self._signature, answer_tokens=answer_tokens(self._asker)),
            question_for(scene, self._asker, native.offered if native else ()),
            self._asker,
            self._notebook,
            check=lambda answer: complaint(names, answer),
            heard=lambda wrong: self._heard(form, why, wrong),
            native=native,
            seed=self._seed,
        )
        if isinstance(decision, Unanswered) and decision.failure is not None:
            fault = decision.failure.fault
            if fault in _OF_THE_FORM:
                down = fault is ModelFault.UNSUPPORTED
                self._heard(form, why, decision.reason, turned_down=down)
        return decision

    def _heard(self, form: CallForm, why: str, wrong: str, *, turned_down: bool = False) -> None:
        """Record and count what came; `wrong` says what is wrong with it."""
        came: Literal["valid", "invalid", "turned-down"] = "invalid" if wrong else "valid"
        event = CallRead(
            model=self._asker.model,
            form=form,
            why=why,
            came="turned-down" if turned_down else came,
            complaint=wrong,
        )
        self._notebook.record(event)
        self._record = counted(self._record, event)


def _may_be_asked_as_text(failed: Unanswered) -> bool:
    """Whether neither budget nor outage is why nothing usable came."""
    if failed.reason == NO_BUDGET:
        return False
    return failed.failure is None or failed.failure.fault in _OF_THE_FORM

"""Asks one gate within a deadline; whatever is not a decision of that gate is a failure, never a pass (SPEC C5)."""

import threading
from dataclasses import replace
from typing import Final

from surefoot.kernel.ports import Gate, GateInput
from surefoot.values import FailureClass, GateName, GateOutcome, GateResult

DEADLINE_S: Final = 30.0
"""The gates decide on recorded facts, which takes milliseconds; wall-clock seconds."""


def decide(gate: Gate, name: GateName, state: GateInput, *, deadline_s: float) -> GateResult:
    """The gate's decision; a gate that throws, does not come back or says nonsense has failed hard.

    A gate that hangs keeps its thread, which ends with the process at the latest.
    """
    said: list[object] = []

    def ask() -> None:
        try:
            said.append(gate.evaluate(state))
        except BaseException as error:  # noqa: BLE001  # named boundary: a broken gate is a failed gate
            said.append(error)

    asked = threading.Thread(target=ask, name=f"gate-{name}", daemon=True)
    asked.start()
    asked.join(deadline_s)
    if not said:
        return _broken(name, f"the gate did not decide within {deadline_s:g} s")
    answer = said[0]
    if isinstance(answer, BaseException):
        return _broken(name, f"the gate itself failed: {type(answer).__name__}: {answer}")
    return _read(name, answer)


def _read(name: GateName, answer: object) -> GateResult:
    if not isinstance(answer, GateResult):
        return _broken(name, f"the gate gave no decision but {answer!r:.80}")
    # A gate is somebody else's code: its fields are what they are, whatever their types say.
    outcome: object = answer.outcome
    failure: object = answer.failure
    reason: object = answer.reason
    is_read = isinstance(outcome, GateOutcome) and isinstance(reason, str)
    if not is_read or answer.gate is not name:
        return _broken(name, f"the gate's decision cannot be read: {answer!r:.200}")
    passed = outcome is GateOutcome.PASS
    if not isinstance(failure, FailureClass | None) or (passed and failure is not None):
        return _broken(name, f"the gate {outcome} with the failure {failure!r:.80}")
    if not passed and answer.failure is None:
        return replace(answer, failure=FailureClass.UNKNOWN)
    return answer


def _broken(name: GateName, reason: str) -> GateResult:
    return GateResult(
        gate=name, outcome=GateOutcome.HARD_FAIL, failure=FailureClass.UNKNOWN, reason=reason
    )

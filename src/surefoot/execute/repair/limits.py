"""How far one turn of the repair search goes. All are settings (`[repair]`)."""

from dataclasses import dataclass, field

from surefoot.execute.repair.select import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairLimits:
    """Bounds of one turn; what ends a turn early is evidence, not time."""

    candidates: int = 2_500
    """Candidates tried in the worker, those of the model included."""
    first_order: int = 400
    """Single edits tried of the first suspect; half as many of each further one."""
    beam: int = 5
    """Edits that came nearer and are tried together with a second and a third one."""
    deeper: int = 160
    """Further edits tried on each of them."""
    suspects: int = 3
    """Units looked at in one turn."""
    samples: int = 28
    """Answers asked of the model."""
    least_samples: int = 4
    """Answers asked before anything is taken: what passes may still be wrong."""
    before_deeper: int = 8
    """Answers asked before edits are put on top of edits, which costs more than it often brings."""
    passing: int = 40
    """Candidates that pass the known tests after which no more syntax-tree edits are looked for."""
    inputs: int = 48
    """Generated inputs on which candidates that pass are compared."""
    wider_s: float = 5.0
    """Usual duration of the passing tests that a candidate meets in the worker; all are run in the end."""
    weights: Weights = field(default_factory=Weights)

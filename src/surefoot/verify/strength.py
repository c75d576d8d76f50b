"""What was said of the strength of the tests: the mutants are made again, and have to be the same ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from surefoot.decisions.redacted import MARK
from surefoot.events.envelope import Recorded
from surefoot.events.work import GitStage, MutantsTried
from surefoot.kernel.ports import Mutator
from surefoot.kernel.state import RunState
from surefoot.kernel.strength import Case, Chosen, choose
from surefoot.kernel.whole import ends_of
from surefoot.values import TreeId
from surefoot.verify.record import Proofs


@dataclass(slots=True, kw_only=True)
class StrengthCheck:
    """Each record of mutants is of the tree that was judged, and they are those that its changed lines give."""

    proofs: Proofs
    mutator: Mutator
    most: int
    """Mutants of one change that are tried, by the run's settings."""
    is_there: Mapping[TreeId, bool]
    """As in `TurnCheck`."""
    foreign: set[str] = field(default_factory=set)
    """Makers that are not ours, so that their mutants could not be made again."""
    _staged: TreeId | None = None

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`; after a check that has let the proofs take the event in."""
        event = recorded.event
        if isinstance(event, GitStage) and event.stage == "stage":
            self._staged = event.tree
        if not isinstance(event, MutantsTried):
            return ""
        base, head = ends_of(state)
        tree = self._staged if state.turn is not None else head
        if event.tree != tree:
            return f"tree was {event.tree}, is {tree}"
        if not self.is_there.get(event.tree, True):
            return ""
        prover = self.proofs.at(state, state.policy.risk_flags if state.policy else ())
        return self._held(event, prover.strength_case(event.tree, base, event.apart))

    def _held(self, event: MutantsTried, case: Case) -> str:
        odd = _odd(event, case)
        if odd or event.maker == self.mutator.maker:
            return odd or _differing(event, choose(case, self.mutator, self.most))
        self.foreign.add(event.maker)
        return ""


def _odd(event: MutantsTried, case: Case) -> str:
    """What cannot be, whoever made the mutants."""
    known = {*case.tests, *case.apart}
    files = {PurePosixPath(test.partition("::")[0]) for test in known}
    # A file or a folder stands for what it holds where a mutant keeps its tests from being collected.
    places = {str(place) for file in files for place in (file, *file.parents)}
    strangers = [t for m in event.mutants for t in m.by if t not in known | places]
    if strangers:
        return f"mutants.by was {strangers[0]!r}, which no passing test is called"
    odd = [m for m in event.mutants if (m.ended == "killed") != bool(m.by)]
    if odd:
        return f"mutants.ended was {odd[0].ended!r} by {odd[0].by!r}"
    most = len(case.tests)
    return "" if event.tests <= most else f"tests was {event.tests}, is at most {most}"


def _differing(event: MutantsTried, chosen: Chosen) -> str:
    if (event.possible, event.unread) != (chosen.possible, chosen.unread):
        return f"possible was {event.possible}, is {chosen.possible}"
    untried = len(chosen.drafts) - len(event.mutants)
    if event.untried != untried:
        return f"untried was {event.untried}, is {untried}"
    for number, (mutant, draft) in enumerate(zip(event.mutants, chosen.drafts, strict=False)):
        was = (mutant.file, mutant.line, mutant.operator, mutant.patch)
        made = (draft.file, draft.line, draft.operator, draft.patch)
        if was != made and not MARK.search(mutant.patch):
            return f"mutants[{number}] was {was!r:.160}, is {made!r:.160}"
    return ""

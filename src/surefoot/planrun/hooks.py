"""`pre_dispatch` and `post_unit`: commands of the user's own around each unit (SPEC C11).

They come from trusted settings only and run inside the fence, in a throw-away checkout: of the unit's base before it, of
what the unit made after it. JSON goes in on standard input; the exit code decides, and a JSON object may come out.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from surefoot.assembly import Session
from surefoot.codec import canonical
from surefoot.events.work import CommandRan, FactLearned
from surefoot.gitops.workspace import GitWorkspace
from surefoot.kernel.dispatch import Settled
from surefoot.nodes import NodeOutcome
from surefoot.planrun.course import PRE_DISPATCH
from surefoot.plans import PlannedUnit
from surefoot.suite import mounts, sees
from surefoot.values import Command, ProcessResult, TreeId

Hook = Literal["pre_dispatch", "post_unit"]
_MOST_FACTS: Final = 20
_TAIL: Final = 300


class Hooks:
    """Runs them in the plan run's own thread."""

    def __init__(self, session: Session, workspace: GitWorkspace) -> None:
        self._session, self._workspace = session, workspace

    @property
    def names(self) -> tuple[str, ...]:
        """Those that the settings have commands for."""
        return tuple(name for name, commands in self._session.frozen.settings.hooks if commands)

    def run(
        self, hook: Hook, unit: PlannedUnit, attempt: int, tree: TreeId, about: Mapping[str, object]
    ) -> Settled:
        """Each command of a hook in turn; the first that says no ends it."""
        given = canonical(
            {
                "schema": 1,
                "hook": hook,
                "run": self._session.run_id,
                "unit": unit.unit_id,
                "title": unit.title,
                "type": unit.unit_type.value,
                "attempt": attempt,
                "tree": tree,
                "reads": list(unit.reads),
                "writes": list(unit.writes),
                **about,
            }
        )
        settings = self._session.frozen.settings.hooks
        commands = settings.pre_dispatch if hook == PRE_DISPATCH else settings.post_unit
        for argv in commands:
            against = self._one(hook, unit, argv, given, tree)
            if against:
                return Settled(outcome=NodeOutcome.FAILED, cause=f"{hook} {argv[0]}: {against}")
        return Settled(outcome=NodeOutcome.SUCCEEDED)

    def _one(
        self, hook: Hook, unit: PlannedUnit, argv: Sequence[str], given: bytes, tree: TreeId
    ) -> str:
        """Why it says no; empty when it does not."""
        parts, journal = self._session.parts, self._session.journal
        env, reads = sees(parts.plan)
        with self._workspace.checkout(tree) as root:
            result = parts.processes.run(
                Command(
                    argv=tuple(argv),
                    cwd=root,
                    env=env,
                    stdin=given,
                    reads=reads,
                    writes=(root,),
                    binds=mounts(parts.plan.carry, self._session.project.root, root),
                )
            )
        journal.record(
            CommandRan(
                tool=hook,
                argv=tuple(argv),
                exit_code=result.exit_code,
                stdout=journal.put(result.stdout),
                stderr=journal.put(result.stderr),
                wall_s=result.wall_s,
                sandbox=parts.processes.level,
            )
        )
        answer = _answer(result)
        if isinstance(answer, str):
            return answer
        for fact in _texts(answer.get("facts")):
            journal.record(FactLearned(topic=topic(hook, unit), text=fact))
        return ""


def topic(hook: str, unit: PlannedUnit) -> str:
    """Under which the ledger keeps what a hook says of a unit."""
    return f"{hook} of {unit.unit_id}"


def _answer(result: ProcessResult) -> Mapping[str, object] | str:
    """The object that a hook printed, or why it says no."""
    printed = result.stdout.decode("utf-8", "replace").strip()
    try:
        found = json.loads(printed) if printed else {}
    except (ValueError, RecursionError):
        found = None
    if result.exit_code != 0:
        reason = found.get("reason") if isinstance(found, dict) else None
        said = result.stderr.decode("utf-8", "replace").strip()[-_TAIL:]
        how = "ran too long" if result.timed_out else f"ended with {result.exit_code}"
        return str(reason or said or how)
    if not isinstance(found, dict):
        return "printed something that is no JSON object"
    return found


def _texts(found: object) -> list[str]:
    return [str(f) for f in found[:_MOST_FACTS]] if isinstance(found, list) else []

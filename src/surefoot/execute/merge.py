"""The strategy of a plan run: a unit's work was done by a run of its own, and is taken over onto the merged tree.

The turn around it proves the merged tree as it would prove any other change, so nothing is merged that the gates have
not seen on the very tree that it leads to.
"""

from collections.abc import Callable

from surefoot.errors import MergeConflictError
from surefoot.events.plans import ChildEnded, MergeConflicted
from surefoot.kernel.ports import Asker, Notebook, TurnInput, TurnOutput, Workspace
from surefoot.values import UnitId


class MergeExecutor:
    """Applies what the unit's last run changed, three-way, to the tree of the turn."""

    def __init__(self, work_of: Callable[[UnitId], ChildEnded]) -> None:
        self._work_of = work_of

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Merge, or say what conflicts.

        Raises:
            MergeConflictError: The work does not fit; its commits stay where they are.
        """
        del asker
        work = self._work_of(task.unit.unit_id)
        merged = workspace.merge(
            base=work.base_tree, work=work.tree or work.base_tree, onto=task.tree
        )
        if merged.conflicts:
            notebook.record(
                MergeConflicted(
                    unit_id=work.unit_id,
                    run=work.run,
                    commit=work.commit,
                    onto=task.tree,
                    paths=merged.conflicts,
                )
            )
            raise MergeConflictError(work.run, merged.conflicts)
        workspace.restore(merged.tree)
        told = f"merged what run {work.run} made of {work.base_tree} onto {task.tree}"
        return TurnOutput(transcript=told, claim="none", effective_actions=1)

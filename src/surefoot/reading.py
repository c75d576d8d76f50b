"""How a run stands: its story, diff and report, read anew from the ledger and the repository alone."""

from dataclasses import dataclass

from surefoot.errors import UsageError
from surefoot.events.orchestration import RunOpened
from surefoot.gitops.reading import tree_diff
from surefoot.ledger import read_events
from surefoot.policy.redaction import Redactor
from surefoot.project import Project, scratch_folder
from surefoot.report import Story, Summary, read_story, render_report, summarise_run
from surefoot.upkeep import redactor_of
from surefoot.values import Diff, RunId, RunStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run stands."""

    summary: Summary
    report: str
    status: RunStatus


def read_story_of(project: Project, run_id: RunId) -> Story:
    """A run's story, from its ledger alone."""
    return read_story(run_id, tuple(read_events(project.ledger_file(run_id))))


def opened_of(story: Story) -> RunOpened:
    """A run's beginning.

    Raises:
        UsageError: The run has none.
    """
    if story.state.opened is None:
        raise UsageError(f"run {story.run_id} has no beginning in its ledger")
    return story.state.opened


def look_up(project: Project, run_id: RunId) -> tuple[Story, Diff | None]:
    """A run's story and its diff, from the ledger and the repository alone."""
    story = read_story_of(project, run_id)
    return story, run_diff(project, story)


def run_diff(project: Project, story: Story) -> Diff | None:
    """What the run changed in all; None when its commits are gone (rejected)."""
    opened, tree = story.state.opened, story.state.head_tree
    if opened is None or tree is None:
        return None
    with scratch_folder(project) as scratch:
        return tree_diff(project.repository, opened.base_tree, tree, scratch)


def outcome(project: Project, run_id: RunId) -> Outcome:
    """How a run stands, read anew."""
    return outcome_of(project, *look_up(project, run_id))


def outcome_of(project: Project, story: Story, diff: Diff | None) -> Outcome:
    """How a run stands, by its story and its diff."""
    report = render_report(story, diff, hiding(project))
    folder = project.runs / story.run_id
    summary = summarise_run(story, diff.paths if diff else (), str(folder / "report.md"))
    return Outcome(summary=summary, report=report, status=RunStatus(summary["status"]))


def hiding(project: Project) -> Redactor:
    """What hides the user's secrets in a diff: git has them, as the lines beside a change may be anything."""
    return redactor_of(project, project.repository.env)

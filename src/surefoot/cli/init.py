"""`surefoot init`: look at a repository and write down what a run will need."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.cli.common import RepoOption, command, places
from surefoot.cli.screen import print_line
from surefoot.errors import SettingsError, UsageError
from surefoot.plain_files import write_whole

if TYPE_CHECKING:
    from surefoot.suite import CommandPlan, SuitePlan

_TEMPLATE = """\
# Settings of Surefoot for this repository; every key is optional. `surefoot doctor` checks them.

[run]
model = "{model}"
# mode = "auto_solve_full"    # report_only, auto_fix_safe or auto_solve_full
# time_limit_s = 3600
# max_iterations = 8

[test]
{test}
# timeout_s = 300

[risk]                         # all off; turning one on takes effect after `surefoot trust`
# allow_test_changes = false
# allow_ci_changes = false
# allow_dependency_upgrades = false
"""


@command
def init(repo: RepoOption = Path()) -> None:
    """Detect tests, languages and model, and write surefoot.toml."""
    from surefoot.gitops import Repository
    from surefoot.models import known_models
    from surefoot.settings import FILE_NAME
    from surefoot.suite import detect, languages

    repository = Repository.discover(repo)
    root = repository.root
    path = root / FILE_NAME
    if os.path.lexists(path):  # a link that leads nowhere is there, too
        raise UsageError(f"{path} exists already; edit it, or remove it first")
    try:
        plan = detect(
            root, python=None, command=None, environ=os.environ, is_tracked=repository.is_tracked
        )
    except SettingsError as error:
        # The file is where they are named; until then a run says the same.
        told = [f"tests:     {error}"]
        test = '# command = ["pytest", "checks"]    # an example; needs `surefoot trust`'
    else:
        told = [f"tests:     {' '.join(plan.command)} ({plan.runner})"]
        test = _found(plan, root)
    told.append(f"languages: {', '.join(languages(root)) or 'none found'}")
    ready = [m.spec for m in known_models(places().cache) if m.ready]
    text = _TEMPLATE.format(model=(ready or ["embedded"])[0], test=test)
    write_whole(path, text.encode())
    for line in told:
        print_line(line)
    print_line(f"model:     {ready[0] if ready else 'none is ready; run `surefoot models pull`'}")
    print_line(f"wrote {path}")


def _found(plan: "SuitePlan | CommandPlan", root: Path) -> str:
    """What was found as a line of the section: set where it holds in every clone, else a comment."""
    from surefoot.suite import SuitePlan

    if not isinstance(plan, SuitePlan):
        command = json.dumps(list(plan.command))
        return f"# command = {command}    # found; another one needs `surefoot trust`"
    # A place outside of the repository is one of this machine, and is found anew on another.
    if plan.python.is_relative_to(root):
        return f'python = "{plan.python.relative_to(root)}"'
    return f'# python = "{plan.python}"    # found'

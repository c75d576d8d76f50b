"""`surefoot init`: look at a repository and write down what a run will need."""

import json
import os
from pathlib import Path

from surefoot.cli.common import RepoOption, command, places
from surefoot.cli.screen import print_line
from surefoot.errors import UsageError
from surefoot.plain_files import write_whole

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
    from surefoot.suite import SuitePlan, detect

    repository = Repository.discover(repo)
    root = repository.root
    path = root / FILE_NAME
    if os.path.lexists(path):  # a link that leads nowhere is there, too
        raise UsageError(f"{path} exists already; edit it, or remove it first")
    plan = detect(
        root, python=None, command=None, environ=os.environ, is_tracked=repository.is_tracked
    )
    ready = [m.spec for m in known_models(places().cache) if m.ready]
    if isinstance(plan, SuitePlan):
        # A place outside of the repository is one of this machine, and is found anew on another.
        own = plan.python.is_relative_to(root)
        python = plan.python.relative_to(root) if own else plan.python
        test = f'python = "{python}"' if own else f'# python = "{python}"    # found'
    else:
        test = (
            "# command = "
            + json.dumps(list(plan.command))
            + "    # found; another one needs `surefoot trust`"
        )
    text = _TEMPLATE.format(model=(ready or ["embedded"])[0], test=test)
    write_whole(path, text.encode())
    print_line(f"tests:     {' '.join(plan.command)} ({plan.runner})")
    print_line(f"languages: {', '.join(plan.languages) or 'none found'}")
    print_line(f"model:     {ready[0] if ready else 'none is ready; run `surefoot models pull`'}")
    print_line(f"wrote {path}")

"""Which auditors look at a project, and one round of them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from surefoot.errors import SurefootError
from surefoot.findings.process import Toolchain
from surefoot.findings.tools import mypy
from surefoot.findings.tools.bandit import BanditAuditor
from surefoot.findings.tools.deadcode import DeadCodeAuditor
from surefoot.findings.tools.mypy import MypyAuditor
from surefoot.findings.tools.ruff import ComplexityAuditor, RuffAuditor
from surefoot.findings.tools.secrets import SecretsAuditor
from surefoot.findings.tree import python_files
from surefoot.kernel.ports import Auditor, Processes
from surefoot.values import Audit, AuditorResult, AuditorState


def default_auditors(
    processes: Processes,
    toolchain: Toolchain,
    root: Path,
    *,
    tests: Auditor | None = None,
    project_python: Path | None = None,
    extra: Sequence[Auditor] = (),
) -> tuple[Auditor, ...]:
    """The auditors that apply to the tree at `root`, in the order of their results.

    Choose them once, on the tree that a run starts from: a run that could choose again could get rid of one by
    removing a configuration file. `tests` runs the project's own, or tells why nobody can; `project_python` is the interpreter
    with the project's dependencies, for mypy.
    """
    chosen: list[Auditor] = []
    if tests is not None:
        chosen.append(tests)
    chosen.append(SecretsAuditor(processes, toolchain))
    if python_files(root):
        chosen.append(RuffAuditor(processes, toolchain))
        if mypy.applies(root):
            chosen.append(MypyAuditor(processes, toolchain, project_python=project_python))
        chosen.append(BanditAuditor(processes, toolchain))
        chosen.append(DeadCodeAuditor(processes, toolchain))
        chosen.append(ComplexityAuditor(processes, toolchain))
    return (*chosen, *extra)


def run_audit(
    auditors: Sequence[Auditor],
    root: Path,
    *,
    parallel: int = 2,
    baseline: Sequence[str] = (),
) -> Audit:
    """Ask all auditors about the tree at `root`, `parallel` at a time; results are in the order of `auditors`."""
    with ThreadPoolExecutor(max_workers=max(parallel, 1)) as pool:
        results = tuple(pool.map(lambda auditor: _ask(auditor, root), auditors))
    return Audit(results=results, baseline=tuple(sorted(set(baseline))))


def _ask(auditor: Auditor, root: Path) -> AuditorResult:
    # What keeps one from looking is its answer, and takes nobody else's away.
    try:
        return auditor.audit(root)
    except SurefootError as error:
        told = str(error)
    except OSError as error:
        told = f"{error.filename or root} cannot be read: {error.strerror}; make it readable, or remove it"
    return AuditorResult(tool=auditor.tool, state=AuditorState.BROKEN, message=told)

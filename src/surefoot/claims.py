"""Checking what documents claim against a checkout: preflight of plans, parity of routes and commands (SPEC B10)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot.errors import UsageError
from surefoot.findings import Raw, findings_of, looks_like_test, python_files
from surefoot.gitops import Repository
from surefoot.preflight import (
    CHECKS,
    Code,
    Inventory,
    Parity,
    Preflight,
    Problem,
    check_parity,
    check_plan,
    take_inventory,
)
from surefoot.values import Audit, AuditorResult, AuditorState, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that was read."""

    name: str
    """Relative to the repository where it lies in it."""
    text: str
    is_list: bool = False
    """One claim a line, and no page."""


def read_code(root: Path) -> Code:
    """A checkout's own Python code, without its tests: what only a test serves is not served."""
    return Code(root, [file for file in python_files(root) if not looks_like_test(file)])


def read_document(path: Path, root: Path, *, is_list: bool = False) -> Document:
    """A plan, a page or a file of claims.

    Raises:
        UsageError: It is not a readable UTF-8 file.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}; name a Markdown file or a file of claims"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text; convert it") from None
    whole = path.resolve()
    inside = whole.is_relative_to(root.resolve())
    name = whole.relative_to(root.resolve()).as_posix() if inside else str(path)
    return Document(name=name, text=text, is_list=is_list)


def preflight(
    repository: Repository, document: Document, checks: Collection[str] = CHECKS
) -> Preflight:
    """Hold a plan against the checkout.

    Raises:
        UsageError: A check is unknown.
    """
    unknown = sorted(set(checks) - set(CHECKS))
    if unknown:
        raise UsageError(f"--check {unknown[0]!r} is unknown; there are {', '.join(CHECKS)}")

    def is_commit(commit: str) -> bool:
        return not repository.git().run("cat-file", "-e", f"{commit}^{{commit}}", ok=None).exit_code

    code = read_code(repository.root)
    return check_plan(document.name, document.text, code, checks=checks, is_commit=is_commit)


def inventory(root: Path) -> Inventory:
    """The routes and commands that a checkout really has."""
    return take_inventory(read_code(root))


def parity(documents: Sequence[Document], real: Inventory) -> tuple[Parity, ...]:
    """Hold the claims of documents against what there is.

    Raises:
        UsageError: They claim nothing, so that nothing would be shown by their passing.
    """
    found = tuple(check_parity(one.name, one.text, real, is_list=one.is_list) for one in documents)
    if not any(one.claims for one in found):
        names = ", ".join(document.name for document in documents)
        raise UsageError(
            f"{names} claims no route and no command that this project could have; "
            "name another file, or see `surefoot parity --list` for what there is"
        )
    return found


def as_audit(tool: str, problems: Sequence[Problem], root: Path) -> Audit:
    """Problems as findings, for the one SARIF writer; each is high: what is built on the claim would not work."""
    raws = [
        Raw(
            rule=problem.rule,
            file=problem.file,
            line=problem.line,
            column=1,
            message=problem.message,
            severity=Severity.HIGH,
            category="integration",
            remediation=problem.mend,
            identity=problem.message,
        )
        for problem in problems
    ]
    found = findings_of(tool, raws, root)
    return Audit(results=(AuditorResult(tool=tool, state=AuditorState.OK, findings=found),))

"""What is judged of a run as a whole, from its state and recorded trees: its proofs, and what reviewers see."""

from collections.abc import Iterable
from dataclasses import replace

from surefoot.kernel.audit_round import mended
from surefoot.kernel.ports import Reviewer, ReviewInput
from surefoot.kernel.proof import Prover, failed
from surefoot.kernel.state import RunState, units_done
from surefoot.kernel.strength import of_new
from surefoot.kernel.vetoes import heard
from surefoot.values import Evidence, Finding, Resolution, TreeId


def ends_of(state: RunState) -> tuple[TreeId, TreeId]:
    """The tree that the run started from, and the one after its last closed turn."""
    assert state.opened is not None  # noqa: S101  # opened by the composition root
    return state.opened.base_tree, state.head_tree or state.opened.base_tree


def whole_proofs(state: RunState, prover: Prover) -> tuple[Evidence, ...]:
    """Everything that speaks for or against the work of all units that are done."""
    base, tree = ends_of(state)
    done = units_done(state)
    proofs = prover.judge(tree, base, done, "base-tests")
    targets = [f for unit in done for f in unit.findings]
    targets += mended(state, prover.findings, tree)
    if targets:
        proofs = (*proofs, prover.findings_gone(tree, base, targets))
    return prover.with_strength(proofs, tree, base)


def proofs_elsewhere(
    state: RunState, prover: Prover, tree: TreeId, onto: TreeId
) -> tuple[Evidence, ...]:
    """Everything that speaks for or against the run's work on another base than its own.

    A test that the run was about and that `onto` passes is one of its own tests now, and guards the work like any other.
    """
    done = units_done(state)
    passed = prover.baseline(onto)[0].passed(t for u in done for t in u.failing)
    left = [(u, tuple(t for t in u.failing if t not in passed)) for u in done]
    units = [replace(u, failing=failing) for u, failing in left if failing or not u.failing]
    proofs = prover.judge(tree, onto, units, "accept")
    return proofs if failed(proofs) else (*proofs, prover.changed_files(tree, onto))


def noticing(state: RunState) -> tuple[str, ...]:
    """New tests that pass on the base, too, and by the run's own measurement each notice what no other test does."""
    tried = state.mutants.get(state.head_tree) if state.head_tree else None
    return () if tried is None else tuple(sorted(of_new(tried.apart, tried)))


def review_input(
    state: RunState, prover: Prover, resolution: Resolution, proofs: tuple[Evidence, ...]
) -> ReviewInput:
    """What a reviewer is shown of the whole change."""
    base, tree = ends_of(state)
    after, excused = prover.seen(tree, base)
    targets = {t for unit in state.units.values() for t in unit.unit.failing}
    shown = _shown(state, prover, resolution, tree)
    return replace(shown, evidence=proofs, tests=after, failing_before=excused - targets)


def objections(
    state: RunState,
    prover: Prover,
    resolution: Resolution,
    reviewers: Iterable[Reviewer],
    tree: TreeId,
) -> tuple[Finding, ...]:
    """What reviewers will hold against the run if it ends with `tree`: those that read the change and no test run."""
    seen = _shown(state, prover, resolution, tree)
    if not seen.diff.files:
        return ()
    reviews = [heard(reviewer, seen) for reviewer in reviewers]
    return tuple(f for review in reviews if review.action == "BLOCK" for f in review.findings)


def _shown(state: RunState, prover: Prover, resolution: Resolution, tree: TreeId) -> ReviewInput:
    """The change that ends with `tree`, without proofs; the tests are those of the base."""
    assert state.opened is not None  # noqa: S101  # see ends_of
    base = state.opened.base_tree
    diff = prover.workspace.diff(base, tree)
    targets = {t for unit in state.units.values() for t in unit.unit.failing}
    baseline, _ = prover.baseline(base)
    is_test = prover.is_test(base)
    tests = frozenset(filter(is_test, diff.paths))
    return ReviewInput(
        issue=state.opened.issue,
        diff=diff,
        contents=prover.contents(diff),
        evidence=(),
        mode=resolution.mode,
        risk_flags=resolution.risk_flags,
        # What the product imports is read as the product's, whatever its name.
        test_paths=tests - prover.of_product(tree, base, tests),
        control_paths=frozenset(p for p in diff.paths if prover.suite.is_control_path(p)),
        tests=baseline,
        failing_before=frozenset(),
        test_texts=prover.texts(tree, {t.split("::", 1)[0] for t in targets}),
    )

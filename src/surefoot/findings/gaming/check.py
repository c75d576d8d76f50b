"""Whether a change bought its clean audit instead of earning it (SPEC B14)."""

from collections.abc import Collection, Mapping
from typing import Final

from surefoot.findings.gaming.answers import bent_answers
from surefoot.findings.gaming.configuration import edited_gates, is_gate_file
from surefoot.findings.gaming.suppressions import added_suppressions
from surefoot.findings.gaming.tests import weakened_tests
from surefoot.findings.gaming.texts import weakened_texts
from surefoot.findings.gaming.told import Contents, Told
from surefoot.findings.gaming.trivial import trivial_tests
from surefoot.findings.raw import Raw, findings_of
from surefoot.values import Finding

_MENDS: Final = {
    "added-suppression": "mend what it hides, or allow it with the flag allow_suppressions",
    "lowered-threshold": "keep the threshold, or allow the change with the flag allow_ci_changes",
    "gate-configuration-changed": "leave it, or allow the change with the flag allow_ci_changes",
    "special-cased-input": "mend it for every input",
    "hard-coded-answer": "compute the answer",
    "swallowed-failure": "catch what is expected, and let the rest be seen",
    "trivial-test": "assert what the code has to do",
    "grown-baseline": "mend the finding, or accept it by hand in a commit of its own",
}
_MEND: Final = "keep the test as it was, or allow the change with the flag allow_test_changes"


def gaming(
    contents: Contents,
    *,
    test_paths: Collection[str],
    control_paths: Collection[str] = (),
    test_texts: Mapping[str, str] | None = None,
) -> tuple[Finding, ...]:
    """Findings of category policy, severity high, against a change as a whole; pure.

    `test_paths` and `control_paths` say which of the changed files hold tests, and which steer runner or gates;
    `test_texts` are tests that the change leaves alone, by path.
    """
    # Nothing on both sides is a file that is not text: that it is here says that it changed.
    contents = {p: (b, a) for p, (b, a) in contents.items() if b is None or b != a}
    gates = frozenset(control_paths) | {path for path in contents if is_gate_file(path)}
    # A conftest that steers the runner is judged as such, not as a test.
    tests = frozenset(test_paths) - gates
    told = (
        *added_suppressions(contents),
        *weakened_tests(contents, tests),
        *weakened_texts(contents, tests),
        *trivial_tests(contents, tests),
        *bent_answers(contents, tests | gates, test_texts or {}),
        *edited_gates(contents, gates),
    )
    return findings_of("policy", (_raw(one) for one in told), None)


def _raw(told: Told) -> Raw:
    return Raw(
        rule=told.rule,
        file=told.file,
        line=told.line,
        column=1 if told.line else 0,
        message=told.message,
        identity=told.message,
        remediation=_MENDS.get(told.rule, _MEND),
    )

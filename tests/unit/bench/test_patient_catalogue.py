"""Real patients are pinned, and have an issue, a regression test and a grading test each."""

import ast

import pytest
from bench.patients.catalogue import CASES, PATIENTS, Patient


def test_the_catalogue_and_the_folders_name_the_same_patients() -> None:
    """No patient without its tests, no tests without a patient, enough of each sort."""
    assert {p.name for p in PATIENTS} == {p.name for p in CASES.iterdir() if p.is_dir()}
    assert len({p.name for p in PATIENTS}) == len(PATIENTS) >= 5
    assert any(p.editable and p.mends.startswith("src/") for p in PATIENTS)
    assert any(need.startswith("PyYAML") for p in PATIENTS for need in p.needs)


@pytest.mark.parametrize("patient", PATIENTS, ids=lambda p: p.name)
def test_a_patient_is_whole(patient: Patient) -> None:
    """Two releases pinned by hash, everything it needs pinned by version, tests that parse and ask something."""
    for release in (patient.buggy, patient.fixed):
        assert len(release.sha256) == 64
        int(release.sha256, 16)
    assert patient.buggy != patient.fixed
    assert patient.fixed.version in patient.changelog
    assert all("==" in need for need in patient.needs)
    assert (patient.folder / "ISSUE.md").read_text("utf-8").startswith("# ")
    for name in ("test_regression.py", "test_hidden.py"):
        tree = ast.parse((patient.folder / name).read_text("utf-8"))
        tests = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        assert any(t.name.startswith("test_") for t in tests)

"""`surefoot doctor` looks at what a run here would need, and at nothing else."""

import json
from pathlib import Path

from tests.integration.conftest import Surefoot

from surefoot.checkup import fence_check
from surefoot.sandbox import ProbeResult
from surefoot.values import SandboxLevel


def checks(told: str, name: str) -> list[str]:
    """The lines of a check, each with whether it holds."""
    return [line for line in told.splitlines() if line[5:].startswith(f"{name} ")]


def test_it_looks_at_the_models_that_a_run_would_ask(surefoot: Surefoot, patient: Path) -> None:
    """A server of the user's own is one; a provider without a key is told as it would stop the run."""
    settings = patient / "surefoot.toml"
    settings.write_text('[run]\nmodel = "openai/x"\nbase_url = "http://127.0.0.1:9/v1"\n')
    assert surefoot("trust", cwd=patient).returncode == 0
    own = checks(surefoot("doctor", cwd=patient).stdout, "model")
    assert own[0].startswith("ok   model      openai/x works")
    settings.write_text('[run]\nmodel = "openai/gpt-5"\n')
    assert surefoot("trust", cwd=patient).returncode == 0
    done = surefoot("doctor", cwd=patient)
    assert done.returncode == 10
    (lacks,) = [c for c in checks(done.stdout, "model") if c.startswith("FAIL model      openai")]
    assert "OPENAI_API_KEY" in lacks


def test_it_tells_all_else_outside_of_a_repository(surefoot: Surefoot, tmp_path: Path) -> None:
    """What is missing is told once, by the check that it belongs to."""
    done = surefoot("doctor", cwd=tmp_path)
    assert done.returncode == 10
    assert checks(done.stdout, "repository")[0].startswith("FAIL")
    assert checks(done.stdout, "model")[0][5:].startswith("model      embedded")


def test_what_is_wrong_stands_under_its_own_name(surefoot: Surefoot, patient: Path) -> None:
    """Settings that cannot be read are told once, and tests that are not found are no fault of the repository."""
    settings = patient / "surefoot.toml"
    settings.write_text("[run\n")
    told = surefoot("doctor", cwd=patient).stdout
    assert [line[5:13] for line in told.splitlines() if "is not TOML" in line] == ["settings"]
    assert checks(told, "repository")[0].startswith("ok")
    assert checks(told, "model")[0][5:].startswith("model      embedded")
    settings.write_text('[test]\npython = "nowhere/python"\n')
    told = surefoot("doctor", cwd=patient).stdout
    assert [c[:4] for c in checks(told, "repository")] == ["ok  "]
    (lacks,) = checks(told, "tests")
    assert lacks.startswith("FAIL tests      `[test] python` is 'nowhere/python'")


def test_a_home_that_cannot_be_written_is_one_check(surefoot: Surefoot, patient: Path) -> None:
    """The others are told all the same."""
    (patient / "file").write_text("")
    done = surefoot("doctor", cwd=patient, env={"SUREFOOT_HOME": str(patient / "file" / "home")})
    assert done.returncode == 10
    (fails,) = checks(done.stdout, "sandbox")
    assert fails.startswith("FAIL")
    assert checks(done.stdout, "tests")[0].startswith("ok")


def test_every_check_that_fails_says_the_mend(
    surefoot: Surefoot, patient: Path, tmp_path: Path
) -> None:
    """A model that is not there, one without a key, one that is denied, no repository: each beside what is wrong."""
    settings = patient / "surefoot.toml"
    settings.write_text(
        '[run]\nmodel = "openai/gpt-5"\n[models]\nuse = ["embedded", "mistral/m"]\ndeny = ["mistral/*"]\n'
    )
    assert surefoot("trust", cwd=patient).returncode == 0
    for cwd in (patient, tmp_path):
        told = json.loads(surefoot("doctor", "--json", cwd=cwd).stdout)["checks"]
        failed = [check for check in told if not check["ok"]]
        assert failed
        assert all(check["mend"] and check["mend"] not in check["detail"] for check in failed)
        if cwd == patient:
            mends = {check["detail"].split()[0]: check["mend"] for check in failed}
            assert "`surefoot models pull`" in mends["embedded"]
            assert mends["openai/gpt-5"].startswith("set it, or name a server of your own")
            assert mends["mistral/m"].startswith("name another one")


def test_a_fence_with_a_hole_names_it_and_the_mend() -> None:
    """What got through is what is wrong, and no mend."""
    results = [
        ProbeResult(name=name, escape_class="x", refused=name == "a", detail=f"{name} did")
        for name in ("a", "b")
    ]
    check = fence_check(SandboxLevel.LANDLOCK, results)
    assert (check.ok, check.detail) == (False, "landlock: 1 of 2 escapes refused; b: b did")
    assert "bubblewrap" in check.mend
    assert fence_check(SandboxLevel.BUBBLEWRAP, results[:1]).ok
    assert not fence_check(SandboxLevel.NONE, results[:1]).ok


def test_what_is_well_needs_no_mend(surefoot: Surefoot, patient: Path) -> None:
    """A program that shows mends has none to show."""
    (patient / "surefoot.toml").write_text("")
    told = json.loads(surefoot("doctor", "--json", cwd=patient).stdout)["checks"]
    assert {check["name"] for check in told if check["ok"]} >= {"settings", "lock"}
    assert [check["mend"] for check in told if check["ok"] and check["mend"]] == []

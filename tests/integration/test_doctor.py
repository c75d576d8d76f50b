"""`surefoot doctor` looks at what a run here would need, and at nothing else."""

from pathlib import Path

from tests.integration.conftest import Surefoot


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


def test_a_home_that_cannot_be_written_is_one_check(surefoot: Surefoot, patient: Path) -> None:
    """The others are told all the same."""
    (patient / "file").write_text("")
    done = surefoot("doctor", cwd=patient, env={"SUREFOOT_HOME": str(patient / "file" / "home")})
    assert done.returncode == 10
    (fails,) = checks(done.stdout, "sandbox")
    assert fails.startswith("FAIL")
    assert checks(done.stdout, "tests")[0].startswith("ok")

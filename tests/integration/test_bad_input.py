"""Bad input gets one clear sentence with the mend, and changes nothing (SPEC F4)."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from surefoot.gitops import Repository
from surefoot.testing.manifest import manifest as manifest_of

Surefoot = Callable[..., subprocess.CompletedProcess[str]]


def manifest(repo: Path) -> dict[str, str]:
    """The checkout, byte for byte."""
    return dict(manifest_of(Repository.discover(repo), home=repo.parent))


def git(cwd: Path, *args: str) -> None:
    """Run git with an identity."""
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    subprocess.run(["git", *who, *args], cwd=cwd, check=True, capture_output=True)


def refuses(done: subprocess.CompletedProcess[str], *words: str, code: int = 1) -> None:
    """One sentence on standard error that holds these words; nothing on standard output."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("surefoot: ")
    for word in words:
        assert word in lines[0]
    assert done.returncode == code
    assert done.stdout == ""


def test_not_a_repository(surefoot: Surefoot, tmp_path: Path) -> None:
    """Outside git there is nothing to start from."""
    place = tmp_path / "plain"
    place.mkdir()
    refuses(surefoot("solve", "x y", cwd=place), "git")
    assert list(place.iterdir()) == []


def test_a_program_that_asked_for_an_object_gets_one(surefoot: Surefoot, tmp_path: Path) -> None:
    """A refusal is the last line of standard output, too, where `--json` was given."""
    for command in (["solve", "x y"], ["status"], ["resume"]):
        done = surefoot(*command, "--json", cwd=tmp_path)
        told = json.loads(done.stdout.splitlines()[-1])
        assert told == {
            "schema": 1,
            "status": "error",
            "reason": done.stderr.strip().removeprefix("surefoot: "),
            "error": "repository",
        }


def test_a_command_line_that_is_not_understood_is_told_to_a_program(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """Whatever is wrong with it, a value or a name, `--json` prints its one object."""
    for wrong in (["--time-limit", "abc"], ["--nope"]):
        done = surefoot("solve", *wrong, "--json", cwd=tmp_path)
        told = json.loads(done.stdout)
        assert (done.returncode, told["status"], told["error"]) == (2, "error", "usage")
        assert wrong[0] in told["reason"]
        assert f"Error: {told['reason']}\n" in done.stderr
        assert surefoot("solve", *wrong, cwd=tmp_path).stdout == ""


def test_words_that_are_not_text(surefoot: Surefoot, patient: Path) -> None:
    """Bytes that are no UTF-8 are named by their escapes, and nothing is begun."""
    odd = os.fsdecode(b"caf\xe9 crashes")
    for args in ([odd], ["--test", odd], ["x y", "--model", odd]):
        refuses(surefoot("solve", *args, cwd=patient), r"caf\udce9 crashes", "UTF-8", code=2)
    # Longer than the name of a file can be, too.
    refuses(surefoot("lock", "--why", os.fsdecode(b"\xe9" * 300), cwd=patient), "UTF-8", code=2)
    assert not (patient / ".surefoot").exists()


def test_a_text_is_no_plan(surefoot: Surefoot, patient: Path) -> None:
    """Also one that is longer than the name of a file can be."""
    refuses(surefoot("run", "the total is wrong " * 20, cwd=patient), "no plans yet", code=2)


def test_an_issue_whose_file_has_such_a_name_is_read(surefoot: Surefoot, patient: Path) -> None:
    """Its name is nothing that is written down."""
    name = os.fsdecode(b"caf\xe9.md")
    (patient / name).write_text("")
    refuses(surefoot("solve", name, cwd=patient), "the issue is empty", code=2)


def test_a_folder_whose_name_is_not_text(surefoot: Surefoot, patient: Path) -> None:
    """No record could name it."""
    odd = patient.with_name(os.fsdecode(b"day\xe9book"))
    patient.rename(odd)
    for command in (["solve", "ISSUE.md"], ["show"]):
        refuses(surefoot(*command, cwd=odd), r"day\udce9book", "another name")
    assert not (odd / ".surefoot").exists()


@pytest.mark.parametrize(
    ("args", "told"),
    [("solve 'x y' --model scripted:nowhere.json", "nowhere.json"), ("solve -", "empty")],
)
def test_a_standard_input_that_is_closed_holds_nothing(
    patient: Path, tmp_path: Path, args: str, told: str
) -> None:
    """There is nobody to ask, and no issue to read."""
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m surefoot {args} <&-', sys.executable],
        cwd=patient,
        env={**os.environ, "SUREFOOT_HOME": str(tmp_path / "home")},
        text=True,
        capture_output=True,
        check=False,
    )
    refuses(done, told, code=done.returncode)
    assert done.returncode in (1, 2)


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", ["", "--json"])
def test_an_output_that_is_full_is_told_on_the_other(
    tmp_path: Path, options: str, unbuffered: str
) -> None:
    """Once, and nothing is left for the interpreter's own end to complain of."""
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m surefoot models list {options} >/dev/full', sys.executable],
        cwd=tmp_path,
        env={
            **os.environ,
            "SUREFOOT_HOME": str(tmp_path / "home"),
            "PYTHONUNBUFFERED": unbuffered,
        },
        text=True,
        capture_output=True,
        check=False,
    )
    refuses(done, "cannot be written: No space left")


def test_a_terminal_that_lacks_characters_gets_their_escapes(
    surefoot: Surefoot, tmp_path: Path
) -> None:
    """What is printed says the same; an object stays one."""
    latin = {"PYTHONIOENCODING": "latin-1"}
    done = surefoot("solve", "\u2713 \U0001f43e", "--model", "✓🐾", cwd=tmp_path, env=latin)
    refuses(done, "git")
    done = surefoot("models", "show", "✓🐾", "--json", cwd=tmp_path, env=latin)
    assert "✓🐾" in json.loads(done.stdout)["reason"]
    assert r"\u2713" in done.stderr


def test_events_are_json_whatever_the_terminal_lacks(surefoot: Surefoot, patient: Path) -> None:
    """A line of a ledger as it stands there, or with escapes that JSON has."""
    assert surefoot("lock", "--why", "é → 🐾", cwd=patient).returncode == 0
    for encoding in ("latin-1", "ascii", "utf-8"):
        env = {"PYTHONIOENCODING": encoding}
        done = surefoot("events", "--all", "--json", cwd=patient, env=env)
        whys = [json.loads(line)["event"]["why"] for line in done.stdout.splitlines()]
        assert whys == ["é → 🐾"]


def test_an_empty_id_names_no_run(surefoot: Surefoot, patient: Path) -> None:
    """As of a variable that is not set: it begins the id of every run, and where there is one it would be that."""
    run = patient / ".surefoot" / "runs" / "20261129-000000-abcd"
    run.mkdir(parents=True)
    (run / "events.jsonl").write_text("")
    for command in ("reject", "accept", "resume", "show"):
        done = surefoot(command, "", cwd=patient)
        assert done.returncode == 2
        assert "no run is called ''" in done.stderr
    assert run.is_dir()


def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    surefoot: Surefoot, patient: Path
) -> None:
    """Whichever of the two is asked for."""
    for option in ("--labelled", "--bundle"):
        done = surefoot("export", option, "/nonexistent/x", cwd=patient)
        assert (done.returncode, done.stdout) == (2, "")
        assert "/nonexistent/x cannot be written: there is no folder" in done.stderr
        assert "Traceback" not in done.stderr
    done = surefoot("audit", "--sarif-out", "x" * 300, cwd=patient)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be written: File name too long" in done.stderr


def test_options_that_would_do_nothing_are_refused(surefoot: Surefoot, patient: Path) -> None:
    """Each with what they belong to."""
    for command in ("verify", "replay"):
        done = surefoot(command, "--trust", cwd=patient)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--trust is about a bundle; give --bundle FILE" in done.stderr
    done = surefoot("run", "--team", "--accept", cwd=patient)
    assert (done.returncode, done.stdout) == (2, "")
    assert "leave --accept out" in done.stderr


def test_bare(surefoot: Surefoot, tmp_path: Path) -> None:
    """A bare repository has no checkout."""
    git(tmp_path, "init", "--bare", "bare.git")
    refuses(surefoot("solve", "x y", cwd=tmp_path / "bare.git"), "bare")


def test_no_commit(surefoot: Surefoot, tmp_path: Path) -> None:
    """Work starts from a commit."""
    git(tmp_path, "init", "empty")
    refuses(surefoot("solve", "x y", cwd=tmp_path / "empty"), "commit")


def test_detached(surefoot: Surefoot, patient: Path) -> None:
    """The result needs a branch to go to."""
    before = manifest(patient)
    git(patient, "checkout", "--detach")
    for command in ("solve", "plan"):
        refuses(surefoot(command, "ISSUE.md", cwd=patient), "branch")
    for command in ("show", "resume"):
        refuses(surefoot(command, cwd=patient), "no runs yet", code=2)
    assert surefoot("models", "list", cwd=patient).returncode == 0
    assert surefoot("doctor", cwd=patient).returncode == 10
    git(patient, "checkout", "main")
    after = manifest(patient)
    changed = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
    assert all("logs" in key or "reflog" in key or "index" in key for key in changed), changed


def test_a_name_that_no_model_has(surefoot: Surefoot, patient: Path) -> None:
    """What can be no model's name is refused where it is only asked about, too."""
    refuses(surefoot("models", "show", "nonsense", cwd=patient), "no model 'nonsense'")


def test_no_tests(surefoot: Surefoot, tmp_path: Path, scripted: str) -> None:
    """Without tests nothing can be proved, and the settings key is named."""
    git(tmp_path, "init", "bald")
    (tmp_path / "bald" / "a.txt").write_text("hello\n")
    git(tmp_path / "bald", "add", ".")
    git(tmp_path / "bald", "commit", "-m", "first")
    refuses(surefoot("solve", "x y", "--model", scripted, cwd=tmp_path / "bald"), "[test]")
    assert not (tmp_path / "bald" / ".surefoot").exists()


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"[run]\nmodle = 1\n", "run.modle is no setting; did you mean mode or model?"),
        (b"[git]\nzzz = 1\n", "git.zzz is no setting; there are "),
        (b"[tset]\n", "tset is no setting; did you mean test?"),
        (b"[run]\nmax_iterations = 0\n", "max_iterations"),
        (b"[run\n", "TOML"),
        (b"\xff\xfe", "TOML"),
        (b"[risk]\nallow_everything = true\n", "allow_everything"),
    ],
)
def test_broken_settings(surefoot: Surefoot, patient: Path, content: bytes, word: str) -> None:
    """The key or the place is named."""
    (patient / "surefoot.toml").write_bytes(content)
    before = manifest(patient)
    refuses(surefoot("solve", "ISSUE.md", cwd=patient), word)
    assert manifest(patient) == before
    assert not (patient / ".surefoot").exists()


@pytest.mark.parametrize(
    ("args", "stdin", "word"),
    [
        (["no/such/file.md"], "", "no/such/file.md"),
        (["."], "", "is a folder"),
        ([""], "", "empty"),
        (["-"], "", "empty"),
        (["x y", "--test", "a"], "", "not several"),
        (["--sarif", "ISSUE.md"], "", "SARIF"),
    ],
)
def test_unreadable_issue(
    surefoot: Surefoot, patient: Path, args: list[str], stdin: str, word: str
) -> None:
    """What cannot be read as an issue is a usage error."""
    refuses(surefoot("solve", *args, cwd=patient, stdin=stdin), word, code=2)
    assert not (patient / ".surefoot").exists()


def test_an_issue_that_is_not_text(surefoot: Surefoot, patient: Path) -> None:
    """Not UTF-8, and too large, each by its own sentence."""
    (patient / "bin.md").write_bytes(b"ab\xff\xfe")
    refuses(surefoot("solve", "bin.md", cwd=patient), "UTF-8", code=2)
    (patient / "big.md").write_bytes(b"a" * 1_000_001)
    refuses(surefoot("solve", "big.md", cwd=patient), "larger", code=2)


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("--model", "openai/x"), "base-url"),
        (("--model", "gpt-best"), "embedded"),
        (("--model", "scripted:nowhere.json"), "nowhere.json"),
    ],
)
def test_a_model_that_cannot_be_asked(
    surefoot: Surefoot, patient: Path, args: tuple[str, ...], word: str
) -> None:
    """The missing piece is named before anything is made."""
    done = surefoot("solve", "ISSUE.md", *args, cwd=patient, env={"OPENAI_API_KEY": ""})
    refuses(done, word)
    assert not (patient / ".surefoot").exists()


def test_a_branch_where_those_of_runs_need_a_folder(
    surefoot: Surefoot, patient: Path, scripted: str
) -> None:
    """Its mend is told, and no run is begun that nobody could go on with."""
    git(patient, "branch", "surefoot")
    done = surefoot("solve", "ISSUE.md", "--model", scripted, "--quiet", cwd=patient)
    refuses(done, "git branch -m surefoot")
    assert "resume" not in done.stderr
    assert not (patient / ".surefoot").exists()


def test_a_state_folder_in_the_checkout(surefoot: Surefoot, patient: Path, scripted: str) -> None:
    """It is refused before anything is written there, or of a run."""
    home = patient / "home"
    done = surefoot(
        *("solve", "ISSUE.md", "--model", scripted, "--quiet"),
        cwd=patient,
        env={"SUREFOOT_HOME": str(home)},
    )
    refuses(done, "inside the checkout", code=2)
    assert not (patient / ".surefoot").exists()
    assert not home.exists()


@pytest.mark.parametrize("model", ["scripted", "auto", None])
@pytest.mark.parametrize("said", ["solve ISSUE.md", "plan ISSUE.md", "models test"])
def test_an_address_without_a_model_that_is_asked_there(
    surefoot: Surefoot, patient: Path, scripted: str, said: str, model: str | None
) -> None:
    """It would have no effect: with a model of this machine, with a choice among all, and with the model of no settings."""
    named = () if model is None else ("--model", scripted if model == "scripted" else model)
    done = surefoot(*said.split(), *named, "--base-url", "http://127.0.0.1:9/v1", cwd=patient)
    refuses(done, "--base-url is the address of a PROVIDER/NAME, and the model is", code=2)
    assert not (patient / ".surefoot").exists()


def test_no_such_run(surefoot: Surefoot, patient: Path) -> None:
    """Commands on runs say when there is none."""
    for command in ("show", "explain", "verify", "diff", "accept", "reject", "resume", "events"):
        refuses(surefoot(command, cwd=patient), "no runs", code=2)


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a small file system with options; skips where mounting is not allowed."""
    places: list[Path] = []

    def mount(options: str) -> Path:
        place = tmp_path / f"disk-{len(places)}"
        place.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip("mounting a small disk is not allowed here")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(
    surefoot: Surefoot, patient: Path, mounted: Callable[[str], Path], scripted: str
) -> None:
    """No space for the worktree: one sentence, and the checkout stays as it was."""
    disk = mounted("size=16k")
    before = manifest(patient)
    done = surefoot(
        "solve", "ISSUE.md", "--model", scripted, cwd=patient, env={"SUREFOOT_HOME": str(disk)}
    )
    refuses(done, "space")
    assert manifest(patient) == before


def test_a_full_disk_leaves_no_half_of_a_file(
    surefoot: Surefoot, patient: Path, mounted: Callable[[str], Path]
) -> None:
    """What was there stays, and with space the same command does its work."""
    disk = mounted("size=1m")
    root, log, rest = disk / "daybook", disk / "found.sarif", disk / "rest"
    shutil.copytree(patient, root)
    (patient / "surefoot.toml").write_text('[audit]\ntools = ["ruff"]\n')
    log.write_text("as it was")
    with contextlib.suppress(OSError), rest.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    before = sorted(root.iterdir())
    refuses(surefoot("init", cwd=root), "space")
    audited = surefoot("audit", "--sarif-out", str(log), cwd=patient)
    assert (audited.returncode, audited.stdout) == (1, "")
    assert "space" in audited.stderr
    assert sorted(root.iterdir()) == before
    assert log.read_text() == "as it was"
    assert {p.name for p in disk.iterdir()} == {"daybook", "found.sarif", "rest"}
    refuses(surefoot("gc", cwd=root), "space")
    rest.unlink()
    assert surefoot("gc", cwd=root).returncode == 0
    shown = ["git", "-C", str(root), "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(shown, capture_output=True, check=True).stdout == b""
    assert surefoot("init", cwd=root).returncode == 0


def test_a_read_only_disk(
    surefoot: Surefoot, patient: Path, mounted: Callable[[str], Path], scripted: str
) -> None:
    """State that cannot be written is named with the mend."""
    disk = mounted("ro")
    before = manifest(patient)
    done = surefoot(
        "solve", "ISSUE.md", "--model", scripted, cwd=patient, env={"SUREFOOT_HOME": str(disk)}
    )
    refuses(done, "writable")
    assert manifest(patient) == before


def test_a_ceiling_without_end_is_refused(surefoot: Surefoot, patient: Path, scripted: str) -> None:
    """Before anything is begun; no ledger could hold it."""
    for option in ("--time-limit", "--budget-usd"):
        done = surefoot("solve", "x y", "--model", scripted, option, "inf", cwd=patient)
        assert (done.returncode, done.stdout) == (2, "")
        assert "inf is no number to stop at" in done.stderr
        assert "Traceback" not in done.stderr
    assert not (patient / ".surefoot").exists()


@pytest.mark.parametrize("command", ["gc --keep-days", "events --all --limit"])
def test_a_number_that_nothing_counts_is_refused(
    surefoot: Surefoot, patient: Path, command: str
) -> None:
    """Days beyond every date, and more events than an index can number."""
    for number, code in (("99999999999999999999", 2), ("36500", 0)):
        done = surefoot(*command.split(), number, cwd=patient)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("home", ["../taken", "/proc/nowhere"])
def test_a_home_that_can_hold_nothing(
    surefoot: Surefoot, patient: Path, home: str, scripted: str
) -> None:
    """A file, or a place that no folder can be made in: each command names it and the mend."""
    (patient / "surefoot.toml").write_text("")
    (patient.parent / "taken").write_text("")
    home = os.path.normpath(patient / home)
    for command in (("audit",), ("solve", "ISSUE.md", "--model", scripted), ("trust",)):
        done = surefoot(*command, cwd=patient, env={"SUREFOOT_HOME": home})
        refuses(done, home, "SUREFOOT_HOME")
    (patient / "surefoot.toml").write_text("[risk]\nallow_network = true\n")
    done = surefoot("events", "--all", cwd=patient, env={"SUREFOOT_HOME": "ISSUE.md"})
    refuses(done, "cannot be read", "SUREFOOT_HOME")


def test_a_locked_repository_runs_nothing(surefoot: Surefoot, patient: Path, scripted: str) -> None:
    """No tool, for whatever command: the lock's reason is told, the answer is no, and unlock opens it again."""
    solved = surefoot("solve", "ISSUE.md", "--model", scripted, "--json", cwd=patient)
    run = json.loads(solved.stdout.splitlines()[-1])
    assert run["status"] == "complete", run["reason"]
    assert surefoot("lock", "--why", "release freeze", cwd=patient).returncode == 0
    before = manifest(patient)
    for command in (
        ("solve", "ISSUE.md", "--model", scripted),
        ("plan", "ISSUE.md", "--model", scripted),
        ("audit",),
        ("verify", run["run_id"], "--rerun-tests"),
        ("accept", run["run_id"]),
    ):
        refuses(surefoot(*command, cwd=patient), "release freeze", "unlock", code=10)
    assert manifest(patient) == before
    assert [p.name for p in (patient / ".surefoot" / "runs").iterdir()] == [run["run_id"]]
    assert surefoot("unlock", cwd=patient).stdout == "unlocked\n"


def test_a_lock_needs_no_settings(surefoot: Surefoot, patient: Path) -> None:
    """Who wants everything to stop does not first mend `surefoot.toml`; who opens it again neither."""
    (patient / "surefoot.toml").write_text("[run\nmode =")
    done = surefoot("lock", "--why", "release freeze", cwd=patient)
    assert (done.returncode, done.stdout) == (0, "locked: release freeze\n")
    assert surefoot("unlock", cwd=patient).stdout == "unlocked\n"
    refuses(surefoot("trust", cwd=patient), "surefoot.toml")


@pytest.mark.parametrize("at", ["main", "linked"])
def test_a_lock_holds_in_every_checkout(surefoot: Surefoot, patient: Path, at: str) -> None:
    """Wherever it is set and wherever it is opened: it is the repository that is locked."""
    linked = patient.parent / "linked"
    git(patient, "worktree", "add", "-q", "-b", "theirs", str(linked))
    here, there = (patient, linked) if at == "main" else (linked, patient)
    assert surefoot("lock", "--why", "release freeze", cwd=here).returncode == 0
    for place in (here, there):
        refuses(surefoot("audit", cwd=place), "release freeze", "unlock", code=10)
    assert surefoot("unlock", cwd=there).stdout == "unlocked\n"
    assert surefoot("unlock", cwd=here).stdout == "it was not locked\n"


@pytest.mark.parametrize("options", [[], ["--json"], ["--quiet"]])
def test_a_mode_that_is_none_is_warned_of(
    surefoot: Surefoot, patient: Path, scripted: str, options: list[str]
) -> None:
    """However little else is shown: such a run only looks."""
    done = surefoot("solve", "--mode", "auto_fix", "--model", scripted, *options, cwd=patient)
    assert done.returncode == 0
    assert "warning: mode 'auto_fix' is unknown and is read as report_only" in done.stderr

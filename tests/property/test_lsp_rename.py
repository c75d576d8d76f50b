"""A rename by the language server changes the name and not one byte beside it."""

import keyword
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from surefoot.gitops import Repository
from surefoot.gitops.workspace import GitWorkspace, open_workspace
from surefoot.sandbox import open_processes
from surefoot.system import SystemClock
from surefoot.testing.repository import ScratchRepository
from surefoot.toolbox.lsp import LanguageServers
from surefoot.toolbox.programs import Programs
from surefoot.values import RunId

CORE = '"""{noise}"""{end}def {name}({arg}):{end}    return "{noise}", {arg}, {arg}.{name}  # {name} {noise}{end}'
USE = 'import core; "{noise}"; "{name}"; core.{name}(1); {arg} = core.{name}{end}from core import {name}'

names = st.from_regex(r"\A[a-zé变_][a-z0-9é变_]{2,9}\Z").filter(lambda s: not keyword.iskeyword(s))
noises = st.text(
    st.characters(codec="utf-8", exclude_characters='"\\\r\n\0', exclude_categories=["Cs"]),
    max_size=12,
)
UNCLEAR = set("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
"""Python's `splitlines`, and so the server, take these for line ends; the protocol does not."""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageServers]:
    processes = open_processes(unsandboxed=False, scratch=tmp_path_factory.mktemp("sandbox"))
    programs = Programs(path="", home=Path("/nonexistent"))
    with LanguageServers(processes, clock=SystemClock(), programs=programs) as opened:
        yield opened
    processes.close()


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitWorkspace]:
    user = ScratchRepository.create(tmp_path_factory.mktemp("user"), os.environ["PATH"])
    user.commit({"README.md": "nothing\n"})
    repository = Repository.discover(user.root, user.env)
    with open_workspace(repository, RunId("run-1"), home=user.home) as opened:
        yield opened


@example(old="helper", new="assist", arg="other", noise="\x0c", end="\n")
@example(old="helper", new="assist", arg="other", noise="\N{GRINNING FACE}é", end="\r\n")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    old=names,
    new=names,
    arg=names,
    noise=noises,
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_a_rename_changes_the_name_and_nothing_else(  # noqa: PLR0917  # as drawn
    servers: LanguageServers,
    workspace: GitWorkspace,
    old: str,
    new: str,
    arg: str,
    noise: str,
    end: str,
) -> None:
    """Every place that means the name, in both files; never a string, a comment, a line end or another name.

    Where server and protocol do not agree on what a line is, it may be refused instead; then nothing is written.
    """
    assume(len({old, new, arg, "core", "return", "import"}) == 6)
    before = {
        "core.py": CORE.format(noise=noise, end=end, name=old, arg=arg),
        "use.py": USE.format(noise=noise, end=end, name=old, arg=arg),
    }
    for path, text in before.items():
        (workspace.path / path).write_bytes(text.encode())
    call = {"action": "rename", "path": "core.py", "line": 2, "symbol": old, "new_name": new}
    outcome = servers.run(call, workspace)
    after = {path: (workspace.path / path).read_bytes().decode() for path in before}
    if not outcome.ok:
        assert UNCLEAR & set(noise), outcome
        assert after == before
        return
    assert after == {
        "core.py": before["core.py"].replace(f"def {old}(", f"def {new}("),
        "use.py": before["use.py"]
        .replace(f"core.{old}", f"core.{new}")
        .replace(f"import {old}", f"import {new}"),
    }

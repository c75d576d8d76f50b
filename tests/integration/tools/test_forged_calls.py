"""A function is kept when its contract holds, callable at once, and each call is held against the contract again."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.integration.tools.conftest import Bench, bench_of

from surefoot.artifacts import Fault, Interface
from surefoot.events.work import ArtifactStored, ToolsOffered
from surefoot.kernel.ports import Processes, Workspace
from surefoot.kernel.selection import Choice
from surefoot.testing.shelf import MemoryShelf
from surefoot.toolbox import specs
from surefoot.toolbox.forged import StateFolder, unpack
from surefoot.values import Digest, ToolOutcome

ERRORS = Interface(kind="tool", name="logs", method="errors")


def test_a_tool_is_kept_and_called_in_the_same_turn(bench: Bench) -> None:
    """It is stored by content, offered like any tool, and its call is on record with what the result rests on."""
    assert [spec.name for spec in bench.box.specs] == ["file_read", "forge"]
    kept = bench.forge()
    assert kept.ok, kept.error
    assert [spec.name for spec in bench.box.specs] == ["file_read", "forge", "logs.errors"]
    outcome = bench.call("logs.errors", {"path": "logs/a.log"})
    assert outcome.output == "2\nrests on logs/a.log"
    assert [type(e) for e in bench.events[:2]] == [ArtifactStored, ToolsOffered]
    (used,) = bench.used
    assert (used.call.ok, used.call.contract, used.call.session) == (True, True, "task-1")
    assert used.sources == ("logs/a.log",)
    stored = unpack(bench.shelf.artifact(used.version.artifact))
    assert (stored.interface, stored.capability) == (ERRORS, "log_analysis")
    assert bench.box.specs[-1].artifact == used.version.artifact


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"source": "def errors(path): return 7"}, "example 1: the result is 7, not 1"),
        ({"source": "def errors(path): return 'many'"}, "'many' is not of type 'integer'"),
        ({"source": "def errors(path): return {1}"}, "set is not JSON serializable"),
        (
            {"source": "def errors(path): return 1/0"},
            "ZeroDivisionError: division by zero (line 1)",
        ),
        ({"source": "import os\ndef errors(path): os.system('id')"}, "must not use os.system"),
        ({"source": "import os\ndef errors(path): os._exit(3)"}, "without a result (exit code 3)"),
        (
            {
                "source": "import os\ndef errors(path):\n    for place in range(3, 9):\n        try: os.write(place, b'[]')\n        except OSError: pass\n    os._exit(0)"
            },
            "without a result (exit code 0)",
        ),
        ({"reads": ["data/*"]}, "it read 'logs/b.log', but its contract declares data/*"),
        ({"source": "def errors(path): open('/etc/passwd'); return 1"}, "it read '/etc/passwd'"),
        (
            {
                "source": "import io, pathlib\ndef errors(path): io.FileIO(pathlib.Path('/etc/passwd')); return 1"
            },
            "it read '/etc/passwd'",
        ),
        (
            {"source": "def errors(path): open('/etc/passwd'); return 1", "reads": ["*"]},
            "it read '/etc/passwd', but its contract declares *",
        ),
        (
            {"source": "def errors(path): raise WrongBoundary('ask x')"},
            "another tool's work: ask x",
        ),
        ({"examples": [{"input": {"path": 3}, "output": 1}]}, "parameter 'path' is 3"),
        ({"source": "import socket\ndef errors(path): return 1"}, "import of 'socket'"),
        ({"name": "file_read"}, 'is "file_read"; expected a match of'),
        ({"purpose": "short"}, "at least 10 characters"),
        ({"output_schema": {"$ref": "#/$defs/count"}}, "output_schema cannot be applied"),
        ({"source": "def errors(path): return chr(0xDC80)"}, "surrogates not allowed"),
    ],
)
def test_what_does_not_work_is_not_kept(
    bench: Bench, changes: dict[str, object], said: str
) -> None:
    """The outcome says exactly why, and nothing is stored or offered."""
    outcome = bench.forge(**changes)
    assert not outcome.ok
    assert said in outcome.error
    assert not bench.events


def test_a_tool_writes_nothing(bench: Bench) -> None:
    """The worktree cannot be written by it, whatever it declares."""
    source = "def errors(path):\n    open('logs/new.log', 'w').write('x')\n    return 1\n"
    assert (
        "Read-only" in bench.forge(source=source).error
        or "denied" in bench.forge(source=source).error
    )
    assert not (bench.workspace.path / "logs/new.log").exists()


def test_arguments_that_do_not_fit_do_not_run(bench: Bench) -> None:
    """The first time costs the tool nothing; the second in a row used up the guard's tries."""
    bench.forge()
    first = bench.call("logs.errors", {"file": "logs/a.log"})
    assert not first.fits
    assert "there is no parameter 'file'; it takes path (required)" in first.error
    assert not bench.used
    bench.call("logs.errors", {})
    (used,) = bench.used
    assert used.call.faults == (Fault.GUARDRAIL_EXHAUSTED,)
    assert bench.call("logs.errors", {"path": "logs/a.log"}).ok


def test_a_result_that_breaks_the_contract_is_not_handed_over(bench: Bench) -> None:
    """What fitted in the examples and does not now is a failed contract."""
    source = "def errors(path):\n    return 1 if 'b.log' in path else -1\n"
    bench.forge(source=source)
    outcome = bench.call("logs.errors", {"path": "logs/a.log"})
    assert not outcome.ok
    assert "does not fit output_schema at $: -1 is less than the minimum of 0" in outcome.error
    assert bench.used[0].call.contract is False


def test_what_no_text_can_say_fails_the_call(bench: Bench) -> None:
    """A name that is not UTF-8, as a folder may have one, is no result and no state, and ends neither the turn nor the tool."""
    source = "def errors(path, state):\n    state.set('last', path if path == 'a' else chr(0xDC80))\n    return 1\n"
    bench.forge(source=source, examples=[{"input": {"path": "a"}, "output": 1}])
    outcome = bench.call("logs.errors", {"path": "b"})
    assert not outcome.ok
    assert "surrogates not allowed" in outcome.error
    assert bench.call("logs.errors", {"path": "a"}).ok


def test_undeclared_data_is_a_violation(bench: Bench) -> None:
    """The result is not handed over, and the call is guilty of it."""
    source = "def errors(path):\n    open(path)\n    return 1\n"
    bench.forge(source=source)
    outcome = bench.call("logs.errors", {"path": "secrets.txt"})
    assert "it read 'secrets.txt', but its contract declares logs/*.log" in outcome.error
    assert bench.used[0].call.faults == (Fault.PROVENANCE,)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("'logs/new.db'", ""),
        ("':memory:'", ""),
        ("'secrets.txt'", "'secrets.txt'"),
        ("pathlib.Path('secrets.txt')", "'secrets.txt'"),
        ("'file:secrets.txt?mode=ro', uri=True", "'secrets.txt'"),
        ("'file:///etc/pass%77d?mode=ro', uri=True", "'/etc/passwd'"),
    ],
)
def test_a_database_is_a_file_that_is_read(bench: Bench, name: str, read: str) -> None:
    """SQLite opens it behind Python's back, and it is held against the contract like any other."""
    source = f"import contextlib, pathlib, sqlite3\ndef errors(path):\n    with contextlib.suppress(sqlite3.Error):\n        sqlite3.connect({name})\n    return 1\n"
    outcome = bench.forge(source=source, reads=["logs/*"])
    assert outcome.ok is not bool(read), outcome
    assert f"it read {read}" in outcome.error or not read


def test_the_same_failure_twice_used_up_its_tries(bench: Bench) -> None:
    """By a second call with the same arguments, or by the failure policy of the tool itself."""
    bench.forge()
    for _ in range(2):
        bench.call("logs.errors", {"path": "logs/none.log"})
    assert [used.call.faults for used in bench.used] == [(), (Fault.OUTCOME_EXHAUSTED,)]
    bench.forge(
        name="logs.other",
        source="def other(path):\n    return sum(' ERROR ' in x for x in open(path))\n",
        on_error="retry_once",
    )
    outcome = bench.call("logs.other", {"path": "logs/none.log"})
    assert outcome.error.endswith("it was tried twice")
    assert bench.used[-1].call.faults == (Fault.OUTCOME_EXHAUSTED,)


def test_methods_of_one_tool_share_their_state(bench: Bench) -> None:
    """By named keys, from call to call; reads and writes are on record, and what failed keeps nothing."""
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    common = {"input_schema": nothing, "output_schema": {}, "reads": []}
    add = "def add(state):\n    state.set('n', state.get('n', 0) + 1)\n    return state.get('n')\n"
    bench.forge(name="count.add", source=add, examples=[{"input": {}, "output": 1}], **common)
    show = "def show(state):\n    return state.get('n')\n"
    bench.forge(name="count.show", source=show, examples=[{"input": {}, "output": None}], **common)
    broken = "def fail(state):\n    state.set('n', 99)\n    return 1 / state.get('ok', 1) if state.get('n') != 99 else {}[1]\n"
    refused = bench.forge(
        name="count.fail", source=broken, examples=[{"input": {}, "output": 1}], **common
    )
    assert not refused.ok
    assert [bench.call("count.add", {}).output for _ in range(2)] == ["1", "2"]
    assert bench.call("count.show", {}).output == "2"
    assert [(u.call.reads, u.call.writes) for u in bench.used] == [
        (("n",), ("n",)),
        (("n",), ("n",)),
        (("n",), ()),
    ]


class Trying(MemoryShelf):
    """A shelf on which the first version serves and the last one is tried beside it."""

    def choose(self, interface: Interface, *, without: object = ()) -> Choice | None:
        """The oldest, with the latest as its challenger."""
        del without
        versions = self._versions[interface]
        return Choice(version=versions[0], reason="incumbent", trial=versions[-1])


def test_a_challenger_runs_beside_the_one_that_serves(
    processes: Processes, workspace: Workspace
) -> None:
    """Its answer goes to nobody and keeps no state; its call is on record as a trial."""
    bench = bench_of(processes, workspace, Trying())
    bench.forge()
    better = "def errors(path):\n    return open(path).read().count(' ERROR ')\n"
    bench.forge(source=better)
    outcome = bench.call("logs.errors", {"path": "logs/a.log"})
    assert outcome.ok
    served, tried = bench.used
    assert (served.chosen, tried.chosen) == ("incumbent", "trial")
    assert served.version != tried.version
    assert tried.call.ok


def test_a_damaged_version_is_not_offered(processes: Processes, workspace: Workspace) -> None:
    """What is stored under a name has to be that tool's content."""
    shelf = MemoryShelf()
    first = bench_of(processes, workspace, shelf)
    first.forge()
    digest = first.box.specs[-1].artifact
    assert digest is not None
    shelf._contents[digest] = b"{}"
    second = bench_of(processes, workspace, shelf)
    assert [spec.name for spec in second.box.specs] == ["file_read", "forge"]


def test_a_tool_of_the_users_goes_before_a_forged_one(
    processes: Processes, workspace: Workspace
) -> None:
    """One of an MCP server, say, that the settings name since: it has the name, once, and gets the calls."""

    class Given:
        spec = specs.spec(
            "logs.errors", "The user's own.", "read", parameters={}, required=(), example={}
        )

        def run(self, parameters: Mapping[str, object], workspace: Workspace) -> ToolOutcome:
            del parameters, workspace
            return ToolOutcome(ok=True, output="the user's own")

    shelf = MemoryShelf()
    assert bench_of(processes, workspace, shelf).forge().ok
    bench = bench_of(processes, workspace, shelf, Given())
    assert [one.name for one in bench.box.specs].count("logs.errors") == 1
    assert bench.call("logs.errors", {}).output == "the user's own"


def test_what_is_offered_is_bounded(processes: Processes, workspace: Workspace) -> None:
    """Twelve at most, and no more text than a prompt has room for."""
    shelf = MemoryShelf()
    bench = bench_of(processes, workspace, shelf)
    bench.forge()
    data = bench.shelf.artifact(Digest(str(bench.box.specs[-1].artifact)))
    for number in range(20):
        one = json.loads(data) | {"name": f"tool_{number}", "purpose": "x" * 100}
        shelf.store(json.dumps(one).encode())
    many = bench_of(processes, workspace, shelf)
    assert len(many.box.specs) == 2 + 12
    for number in range(20):
        one = json.loads(data) | {"name": f"long_{number}", "purpose": "x" * 2_000}
        shelf.store(json.dumps(one).encode())
    few = bench_of(processes, workspace, shelf)
    assert len(few.box.specs) == 2 + 2


def test_damaged_state_fails_the_call_and_not_the_tool(
    processes: Processes, workspace: Workspace, tmp_path: Path
) -> None:
    """The outcome names the file; no scorecard counts what the tool is not to blame for."""

    class OnDisk(MemoryShelf):
        state = StateFolder(tmp_path)

        def kept(self, name: str) -> dict[str, object]:
            return self.state.get(name)

        def keep(self, name: str, writes: Mapping[str, object]) -> None:
            self.state.keep(name, writes)

    bench = bench_of(processes, workspace, OnDisk())
    nothing = {"type": "object", "properties": {}, "additionalProperties": False}
    add = "def add(state):\n    state.set('n', state.get('n', 0) + 1)\n    return state.get('n')\n"
    bench.forge(
        name="count.add",
        source=add,
        input_schema=nothing,
        output_schema={},
        reads=[],
        examples=[{"input": {}, "output": 1}],
    )
    assert [bench.call("count.add", {}).output for _ in range(2)] == ["1", "2"]
    (tmp_path / "count.json").write_text("not JSON")
    assert "count.json is not JSON" in bench.call("count.add", {}).error
    assert len(bench.used) == 2


TOKEN = "xoxb-" + "123456789012-" + "a1B2c3D4e5F6g7H8i9J0k1L2"


def test_a_secret_in_a_result_is_hidden_before_the_result_is_cut(bench: Bench) -> None:
    """Half of one looks like none; so what a model and the ledger are given holds no part of it."""
    made = bench.forge(
        source=f"def errors(before): return 'x' * before + ' {TOKEN} ' + 'y ' * (2 * before)",
        input_schema={
            "type": "object",
            "properties": {"before": {"type": "integer"}},
            "required": ["before"],
            "additionalProperties": False,
        },
        output_schema={"type": "string"},
        examples=[{"input": {"before": 0}, "output": f" {TOKEN} "}],
    )
    assert made.ok, made.error
    cuts = [bench.call("logs.errors", {"before": n}) for n in range(2_600, 2_661, 6)]
    assert all("left out" in cut.output for cut in cuts)
    assert not [cut for cut in cuts if TOKEN[:12] in cut.output]

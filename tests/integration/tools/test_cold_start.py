"""From nothing, at the command line, over several processes: a tool is forged, used, trusted, bettered, and put back."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.integration.conftest import Surefoot
from tests.integration.steps import call, done, script
from tests.integration.tools.conftest import forging

SHAPE = {
    "stance": "forge",
    "capability": "count errors in logs",
    "reuse_basis": "no listed tool does it",
    "intent": "errors of any log are counted by one call",
    "on_error": "return_error",
    "promotion_intent": "durable_tool_candidate",
}
NEWER = """def errors(path):
    if "logs/6.log" < path < "logs/a":
        return -1
    return open(path).read().count(" ERROR ")
"""
"""As good as the first, until it meets the later logs."""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A repository with ten logs, and a test for each of some tasks, all of which fail."""
    root = tmp_path / "logs"
    files = {f"logs/{n}.log": f"{n} INFO x\n" + f"{n} ERROR y\n" * n for n in range(10)}
    files |= {f"tests/test_t{n}.py": _test(n) for n in range(1, 6)}
    files |= {f"t{n}.py": "def times(number):\n    return None\n" for n in range(1, 6)}
    files |= {"surefoot.toml": "[tools]\nenforcement = true\n", "conftest.py": ""}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "logs")):
        subprocess.run(["git", *who, *args], cwd=root, check=True)
    return root


def _test(number: int) -> str:
    return (
        f"from t{number} import times\n\n\ndef test_it():\n"
        f"    assert [times(n) for n in (0, 1, 7)] == [0, {number}, {7 * number}]\n"
    )


def solve(
    surefoot: Surefoot, root: Path, task: int, calls: Sequence[str], *options: str
) -> list[dict[str, Any]]:
    """Have one task solved by a model that makes these calls first; the events of its run."""
    edit = call(
        "file_edit",
        path=f"t{task}.py",
        search="    return None",
        replace=f"    return number * {task}",
    )
    file = root.parent / f"rules{task}.json"
    file.write_text(json.dumps(script([*calls, edit, done()])))
    options = ("--model", f"scripted:{file}", "--strategy", "agent", "--json", *options)
    ran = surefoot("solve", "--test", f"tests/test_t{task}.py::test_it", *options, cwd=root)
    assert ran.stdout, ran.stderr
    result = json.loads(ran.stdout.splitlines()[-1])
    assert result["status"] == "complete", result["reason"]
    file.unlink()
    told = surefoot("events", str(result["run_id"]), "--json", cwd=root)
    return [json.loads(line)["event"] for line in told.stdout.splitlines()]


def uses(numbers: Sequence[int]) -> list[str]:
    """Calls of the tool, each on another log."""
    return [call("logs.errors", path=f"logs/{n}.log") for n in numbers]


def forge(**changes: object) -> str:
    """An answer that forges, with the shape of the decision."""
    return json.dumps({**json.loads(call("forge", **forging(**changes))), **SHAPE})


def states(events: Sequence[Mapping[str, Any]]) -> list[str]:
    """The states that the life cycle went through in a run."""
    decided = [e["record"] for e in events if e["kind"] == "promotion.decided"]
    return [r["after"] for r in decided if r["after"] != r["before"]]


def served(events: Sequence[Mapping[str, Any]]) -> list[tuple[str, bool]]:
    """The artifact that served each call, and whether it worked."""
    used = [e for e in events if e["kind"] == "artifact.used" and e["chosen"] != "trial"]
    return [(e["version"]["artifact"], e["call"]["ok"]) for e in used]


def trusted(surefoot: Surefoot, root: Path) -> str:
    """Two tasks, in processes of their own: the tool is forged, used at once, and durable after ten calls; its artifact."""
    why = ("--reason", "nothing was ever forged here", "--apply")
    assert surefoot("tools", "policy", "approve", *why, cwd=root).returncode == 0
    first = solve(surefoot, root, 1, [forge(), *uses(range(5))])
    called = [e for e in first if e["kind"] == "tool.called"]
    assert [e["tool"] for e in called] == ["forge", *["logs.errors"] * 5, "file_edit"]
    assert all(e["shape"] for e in called)
    artifact = str(called[1]["artifact"])
    assert served(first) == [(artifact, True)] * 5
    assert states(first) == ["probation"]
    second = solve(surefoot, root, 2, uses(range(5, 10)))
    assert served(second) == [(artifact, True)] * 5
    assert states(second) == ["durable"]
    return artifact


def listed(surefoot: Surefoot, root: Path) -> list[tuple[str, str, bool]]:
    """Artifact and state of every version, and whether it serves."""
    told = surefoot("tools", "list", "--json", cwd=root).stdout.splitlines()[-1]
    return [(t["artifact"], t["state"], t["serves"]) for t in json.loads(told)["tools"]]


def test_a_tool_is_forged_used_and_trusted(surefoot: Surefoot, logs: Path) -> None:
    """In probation by its first use, durable after ten calls over two tasks, and so it is listed."""
    artifact = trusted(surefoot, logs)
    assert listed(surefoot, logs) == [(artifact, "durable", True)]


@pytest.mark.soak
def test_a_tool_is_bettered_and_put_back(surefoot: Surefoot, logs: Path) -> None:
    """A newer version serves only after its gate, the incumbent is back in the very next call, and each run replays.

    So whatever serves has earned it.
    """
    old = trusted(surefoot, logs)
    third = solve(surefoot, logs, 3, [forge(source=NEWER), *uses(range(5))])
    assert served(third) == [(old, True)] * 5
    assert states(third) == ["probation"]
    fourth = solve(surefoot, logs, 4, uses(range(1, 6)))
    assert served(fourth) == [(old, True)] * 5
    assert states(fourth) == ["durable"]
    fifth = solve(surefoot, logs, 5, uses((0, 7, 8, 9, 7)))
    assert [(a == old, ok) for a, ok in served(fifth)] == [
        (False, True),
        (False, False),
        (False, False),
        (True, True),
        (True, True),
    ]
    assert states(fifth) == ["degraded"]
    assert sorted(state for _, state, _ in listed(surefoot, logs)) == ["degraded", "durable"]
    for run in sorted((logs / ".surefoot" / "runs").iterdir()):
        replayed = surefoot("replay", run.name, "--json", cwd=logs)
        assert json.loads(replayed.stdout.splitlines()[-1])["divergence"] is None

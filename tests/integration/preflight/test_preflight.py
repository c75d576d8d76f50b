"""`surefoot preflight` and `surefoot parity` as they are typed."""

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from jsonschema import Draft4Validator
from sarif import loader
from tests.integration.preflight.documents import PAGE, example, lay_out
from typer.testing import CliRunner

from surefoot.claims import as_audit, preflight, read_document
from surefoot.cli.main import app
from surefoot.findings import write_sarif
from surefoot.gitops import Repository
from surefoot.preflight import Problem
from surefoot.values import Audit, AuditorResult, AuditorState, Finding, Severity

ROOT = PAGE.parents[2]
SCHEMA = json.loads((ROOT / "tests" / "data" / "sarif-2.1.0-rtm.5.json").read_text("utf-8"))


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    exit_code: int
    out: str
    err: str


def surefoot(cwd: Path, *arguments: str) -> Done:
    """A command as it is typed in a folder, without the cost of a process."""
    with contextlib.chdir(cwd):
        result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return Done(result.exit_code, result.stdout, result.stderr)


def problems(root: Path) -> tuple[Problem, ...]:
    document = read_document(root / "PLAN.md", root)
    return preflight(Repository.discover(root), document).problems


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as a repository; each test rewrites what it breaks and puts it back."""
    return lay_out(tmp_path_factory.mktemp("example"), example())


def broken(root: Path, file: str, old: str, new: str) -> tuple[Problem, ...]:
    """The problems after one replacement."""
    text = (root / file).read_text("utf-8")
    assert text.count(old) >= 1, old
    (root / file).write_text(text.replace(old, new, 1), "utf-8")
    try:
        return problems(root)
    finally:
        (root / file).write_text(text, "utf-8")


def test_the_plan_of_the_reference_page_passes(checked: Path) -> None:
    """The page's example holds, as typed, with exit code 0 and a count of what was looked at."""
    done = surefoot(checked, "preflight", "PLAN.md", "--check", "integration", "--check", "routes")
    assert done.out == "PLAN.md: 1 contracts, 2 claimed routes: nothing wrong\n"
    assert done.exit_code == 0


BROKEN = [
    (
        "missing-callee",
        "PLAN.md",
        "(anchor):** `shop/stock.py::Stock.reserve`",
        "(anchor):** `shop/stock.py::Stock.hold`",
    ),
    ("missing-callee", "shop/stock.py", "def reserve(", "def hold("),
    (
        "missing-callee",
        "PLAN.md",
        "(anchor):** `shop/stock.py::Stock.reserve`",
        "(anchor):** `shop/stock.py::Stock.reserve` [NEW]",
    ),
    ("missing-caller", "PLAN.md", "`shop/web.py::order`", "`shop/web.py::orders`"),
    ("wrong-parameter", "PLAN.md", "| `count` | no", "| `amount` | no"),
    ("wrong-parameter", "PLAN.md", "| `count` | no", "| `count` | yes"),
    ("wrong-parameter", "PLAN.md", "| no | `2` |", "| no | `3` |"),
    (
        "wrong-parameter",
        "PLAN.md",
        "| `note` | no | default | `None` | `str | None` | none |\n",
        "",
    ),
    ("wrong-type", "PLAN.md", "`2` | `int` | `int`", "`2` | `int` | `str`"),
    ("wrong-type", "PLAN.md", "`2` | `int` | `int`", "`2` | `str` | `int`"),
    ("wrong-type", "PLAN.md", "`item` | `str` | `str`", "`item` | `bytes` | `str`"),
    ("stale-call", "shop/web.py", "count=2", "count=3"),
    ("stale-call", "PLAN.md", "stock.reserve(item, count=2)", "stock.hold(item, count=2)"),
    ("wrong-call", "PLAN.md", "stock.reserve(item, count=2)", "stock.reserve(item, amount=2)"),
    ("wrong-call", "PLAN.md", "stock.reserve(item, count=2)", "stock.reserve(count=2)"),
    ("wrong-signature", "PLAN.md", "count: int = 1, *,", "count: int = 1,"),
    ("wrong-signature", "shop/stock.py", "count: int = 1", "count: int = 4"),
    ("wrong-signature", "shop/stock.py", "-> bool", "-> int"),
    ("missing-failure", "PLAN.md", "| `OutOfStock` |", "| `Unknown` |"),
    ("missing-failure", "shop/stock.py", "return True", "raise RuntimeError(item)"),
    ("missing-return", "PLAN.md", "| whether it was reserved |", "| TBD |"),
    ("wrong-return", "PLAN.md", "| `bool` | whether", "| `str` | whether"),
    ("wrong-return", "PLAN.md", "reserved | no |", "reserved | yes, it wants a number |"),
    ("incomplete-contract", "PLAN.md", "only the stock knows what is left.", "…"),
    ("incomplete-contract", "PLAN.md", "| never: it passes 2 |", "|  |"),
    (
        "missing-input",
        "PLAN.md",
        "| Guide | Present | `GUIDE.md` |",
        "| Guide | Present | `PLAN.md` |",
    ),
    ("missing-input", "PLAN.md", "| Functions | Present | `shop/stock.py::Stock.reserve` |\n", ""),
    ("missing-input", "PLAN.md", "| Diffs | Pending |", "| Diffs | Present |"),
    ("missing-contract", "PLAN.md", "## Integration Contract: order", "## Contract: order"),
    ("missing-route", "PLAN.md", "`GET /orders/{item}` [NEW]", "`GET /order/{item}`"),
    ("wrong-method", "PLAN.md", "`GET /orders/{item}` [NEW]", "`GET /orders/{item}`"),
    (
        "unmounted-route",
        "shop/web.py",
        "@app.post",
        "from fastapi import APIRouter\nrouter = APIRouter()\n@router.post",
    ),
]


@pytest.mark.parametrize(("rule", "file", "old", "new"), BROKEN)
def test_one_broken_thing_is_named(checked: Path, rule: str, file: str, old: str, new: str) -> None:
    """Each way of being wrong is named by its rule, at a line of the plan, with what is wrong and the mend."""
    found = broken(checked, file, old, new)
    assert rule in {problem.rule for problem in found}
    for problem in found:
        assert problem.file == "PLAN.md"
        assert 1 <= problem.line <= len((checked / "PLAN.md").read_text("utf-8").split("\n"))
        assert problem.message
        assert problem.mend


def test_a_planned_callee_is_held_against_its_own_claims(checked: Path) -> None:
    """A callee that the plan makes may be a file only; its call and its types must still fit what is claimed of it."""
    text = (checked / "PLAN.md").read_text("utf-8")
    planned = text.replace("`shop/stock.py::Stock.reserve`\n", "`shop/later.py:[NEW]`\n")
    planned = planned.replace("`shop/web.py::order`", "`shop/orders.py:[NEW]`")
    assert broken(checked, "PLAN.md", text, planned) == ()
    wrong = planned.replace("`int` | `int`", "`int` | `str`")
    wrong = wrong.replace("| `item` | yes | `item`", "| `item` | yes | from `x`")
    assert [p.rule for p in broken(checked, "PLAN.md", text, wrong)] == ["wrong-type"]


def test_a_part_may_begin_below_its_label(checked: Path) -> None:
    """An anchor, a sentence or a call on a line of its own counts for the label above it; a rule is nothing."""
    text = (checked / "PLAN.md").read_text("utf-8")
    below = text.replace("exists:** only", "exists:**\n\nonly").replace(
        "(anchor):** ", "(anchor):**\n"
    )
    below = below.replace(
        "```python\nstock.reserve(item, count=2)\n```", "`stock.reserve(item, count=2)`"
    )
    assert broken(checked, "PLAN.md", text, below) == ()
    ruled = text.replace("exists:** only the stock knows what is left.", "exists:**\n\n---")
    found = broken(checked, "PLAN.md", text, ruled)
    assert [problem.rule for problem in found] == ["incomplete-contract"]


def test_contracts_may_have_numbers(checked: Path, tmp_path: Path) -> None:
    """A contract whose heading counts it is held against the code like any other, also beside one without a number."""
    text = (checked / "PLAN.md").read_text("utf-8")
    contract = text[text.index("## Integration Contract") :]
    second = contract.replace("Contract: order", "Contract 2: order").replace("`int`", "`str`")
    (tmp_path / "TWO.md").write_text(f"{text}\n{second}", "utf-8")
    document = read_document(tmp_path / "TWO.md", checked)
    found = preflight(Repository.discover(checked), document, ["integration"])
    assert found.contracts == 2
    assert {problem.rule for problem in found.problems} == {"wrong-type"}


def test_a_contract_in_a_comment_is_none(checked: Path) -> None:
    """What a reader does not see does not count."""
    plan = (checked / "PLAN.md").read_text("utf-8")
    hidden = plan.partition("## Integration Contract")[2]
    found = broken(checked, "PLAN.md", hidden, f"{hidden}\n-->\n")
    assert found == ()
    found = broken(
        checked, "PLAN.md", "## Integration Contract: order", "<!--\n## Integration Contract: order"
    )
    assert {problem.rule for problem in found} == {"missing-contract"}


def test_the_exit_codes_and_the_refusal(checked: Path, tmp_path: Path) -> None:
    """1 with the file and line of what is wrong, 2 when nothing could be answered."""
    plan = tmp_path / "plan.md"
    plan.write_text(
        (checked / "PLAN.md").read_text("utf-8").replace("`int` | `int`", "`int` | `str`")
    )
    done = surefoot(checked, "preflight", str(plan))
    assert done.exit_code == 1
    line = (
        plan.read_text("utf-8").split("\n").index("| `count` | no | `2` | `int` | `str` | none |")
    )
    assert f"{plan}:{line + 1}: wrong-type: parameter 'count' is `int`, not `str`" in done.out
    for arguments in (
        ["preflight", "none.md"],
        ["preflight", "PLAN.md", "--check", "all"],
        ["parity"],
    ):
        done = surefoot(checked, *arguments)
        assert (done.exit_code, done.out) == (2, ""), arguments
        assert done.err
    assert surefoot(tmp_path, "preflight", str(plan)).exit_code == 2


def test_parity_of_a_claims_file(checked: Path, tmp_path: Path) -> None:
    """Each line is a claim; a mark excuses; what is missing is named with what there is instead."""
    claims = tmp_path / "claims"
    claims.write_text(
        "# ours\nPOST /orders/7\nGET /orders/* [NEW]\n/orders/{x}\nnothing --at-all\n"
    )
    done = surefoot(checked, "parity", "--claims", str(claims))
    assert done.exit_code == 1
    assert done.out.startswith(
        f"{claims}:5: missing-command: 'nothing --at-all': there is no program"
    )
    assert done.out.count("\n") == 2
    listed = surefoot(checked, "parity", "--list", "--json")
    assert "/orders/{item}" in {r["path"] for r in json.loads(listed.out)["routes"]}
    assert surefoot(checked, "parity", "GUIDE.md").exit_code == 2


def test_a_page_is_a_page_whatever_its_name(checked: Path, tmp_path: Path) -> None:
    """What is given by --claims is a list of claims, and what is given without is a page."""
    page = tmp_path / "page.mdx"
    page.write_text(
        "# Orders\n\nOrders are taken by `POST /orders/{item}`.\nNothing else is said.\n"
    )
    done = surefoot(checked, "parity", str(page))
    assert (done.exit_code, done.out) == (0, f"1 claims in {page}: nothing wrong\n")
    claims = tmp_path / "claims.md"
    claims.write_text("/nowhere\n")
    done = surefoot(checked, "parity", "--claims", str(claims))
    assert done.exit_code == 1
    assert done.out.startswith(f"{claims}:1: missing-route: /nowhere is served by nothing")


def sarif_opens(data: bytes, path: Path, tool: str, rules: set[str]) -> None:
    """The log is valid by the official schema, and a public viewer reads the same results from it."""
    Draft4Validator(SCHEMA).validate(json.loads(data))
    path.write_bytes(data)
    opened = loader.load_sarif_file(str(path))
    assert opened.get_distinct_tool_names() == [tool]
    records = opened.get_records()
    assert {record["Code"].split(" ")[0] for record in records} == rules
    assert all(record["Location"] and record["Line"] for record in records)
    assert opened.get_result_count() == len(records)


def test_sarif_opens_in_a_viewer(checked: Path, tmp_path: Path) -> None:
    """Preflight's and parity's problems stand in the log at their place in the plan."""
    found = broken(checked, "PLAN.md", "`2` | `int` | `int`", "`2` | `str` | `str`")
    data = write_sarif(as_audit("preflight", found, checked))
    sarif_opens(data, tmp_path / "a.sarif", "preflight", {"wrong-type"})


def test_sarif_of_an_audit_opens_in_a_viewer(tmp_path: Path) -> None:
    """An audit's log, too, with every severity."""
    findings = tuple(
        Finding(
            finding_id=f"ruff:{severity}:1",
            tool="ruff",
            rule=f"R-{severity}",
            severity=severity,
            category="lint",
            file="a b.py",
            line=3,
            column=1,
            message="wrong",
            fingerprint=f"{number:032x}",
        )
        for number, severity in enumerate(Severity)
    )
    result = AuditorResult(tool="ruff", state=AuditorState.OK, findings=findings)
    data = write_sarif(Audit(results=(result,)))
    sarif_opens(data, tmp_path / "a.sarif", "ruff", {f"R-{s}" for s in Severity})


def test_surefoot_holds_what_it_says_of_itself() -> None:
    """Surefoot's own plan and pages pass: what `make test` runs."""
    pages = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs" / "how-to").glob("*.md"))
    plan = "docs/plans/preflight.md"
    done = surefoot(ROOT, "preflight", plan)
    assert done.exit_code == 0, done.out + done.err
    done = surefoot(ROOT, "parity", "README.md", "docs/reference/cli.md", *pages)
    assert done.exit_code == 0, done.out + done.err

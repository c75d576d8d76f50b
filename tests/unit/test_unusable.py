"""What is said of a baseline that nothing can be built on."""

import pytest

from surefoot.kernel.summary import unusable
from surefoot.values import ReportState, TestReport

USAGE = """ERROR: usage: pytest [options] [file_or_dir] [...]
pytest: error: unrecognized arguments: --cov=semver
  inifile: setup.cfg
  rootdir: /tmp/semver

"""
CONFTEST = """ImportError while loading conftest '/tmp/shop/conftest.py'.
conftest.py:2: in <module>
    import app
app.py:9: in <module>
    DB = connect(os.environ["DB_URL"])
E   KeyError: 'DB_URL'

During handling of the above exception, another exception occurred:
conftest.py:4: in <module>
    raise NotConfigured(text)
E   shop.NotConfigured: set DB_URL
E     or write shop.ini
"""


def report(state: ReportState, *, reason: str = "", output: str = "") -> TestReport:
    return TestReport(command=(), state=state, exit_code=None, reason=reason, output=output)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (USAGE, "(pytest: error: unrecognized arguments: --cov=semver)"),
        (CONFTEST, "(shop.NotConfigured: set DB_URL)"),
        (CONFTEST[: CONFTEST.index("\n\n")], "(KeyError: 'DB_URL')"),
        ("collected 0 items\n\nno tests ran in 0.01s\n", "(no tests ran in 0.01s)"),
        ("3 errors found\nthe end\n", "(the end)"),
        ("", "`[test] command`"),
    ],
)
def test_the_line_that_names_an_error_is_told(output: str, told: str) -> None:
    """A project whose plugin is not installed is told which option is unknown, and not only that it has no tests."""
    assert unusable(report(ReportState.NOTHING_COLLECTED, output=output)).endswith(told)


def test_what_was_raised_is_told_rather_than_that_nothing_ran() -> None:
    """The exit code of a run whose conftest cannot be imported speaks of its arguments."""
    said = unusable(
        report(ReportState.NOTHING_COLLECTED, reason="no test was found", output=CONFTEST)
    )
    assert said.endswith("(shop.NotConfigured: set DB_URL)")


@pytest.mark.parametrize("state", [ReportState.TIMEOUT, ReportState.CRASHED])
def test_what_ended_it_is_told(state: ReportState) -> None:
    """A limit, a signal or an exit code, and the test that ran."""
    said = unusable(report(state, reason="the time of 300 s was up in t.py::a", output="x"))
    assert said.endswith(": the time of 300 s was up in t.py::a (x)")


@pytest.mark.parametrize(
    "state", [ReportState.FOREIGN_CODE, ReportState.TOOL_MISSING, ReportState.FORGED]
)
def test_what_surefoot_found_out_is_told_whole(state: ReportState) -> None:
    """The runner knows nothing of it, whatever it printed; and its file and mend are not cut."""
    found = f"/home/u/{'long/' * 60}x.py was imported: mend it"
    said = unusable(report(state, output="ERROR: other\n1 failed\n", reason=found))
    assert said.endswith(f": {found}")

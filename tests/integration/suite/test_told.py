"""Test ids as they may be told."""

from tests.integration.suite.conftest import Open, Write, candidate

from surefoot.policy.redaction import redact
from surefoot.suite import ToldSuite
from surefoot.values import ReportState

TESTS = """import pytest
from urls import host


@pytest.mark.parametrize("url", ["http://a:first4secret(at)x/", "http://a:second4secret(at)x/"])
def test_host(url):
    assert host(url) == "x"


def test_plain():
    assert host("http://y/") == "y"
""".replace("(at)", "@")  # an audit of this file knows a password where it stands
TOLD = "tests/test_urls.py::test_host[http://a:[redacted:url-password]@x/]"
OTHER = f"{TOLD}#2"
PLAIN = "tests/test_urls.py::test_plain"


def test_ids_hide_secrets_and_stay_ids(write: Write, open_suite: Open) -> None:
    """Two ids that would be told alike are numbered; each can be run again, in a worker, and by another process."""
    code = "def host(url):\n    return url.rpartition('@')[2].strip('/').rpartition('/')[2]\n"
    root = write({"urls.py": code, "tests/test_urls.py": TESTS})
    suite = ToldSuite(open_suite(root), redact)
    whole = suite.run(root)
    assert whole.state is ReportState.COMPLETE
    assert whole.collected == (TOLD, OTHER, PLAIN)
    assert suite.run(root, [OTHER]).passing == (OTHER,)
    later = ToldSuite(open_suite(root), redact)
    assert later.run(root, [OTHER, PLAIN]).passing == (OTHER, PLAIN)
    broken = candidate("urls.py", "def host(url):\n    return 'y'\n")
    with later.worker(root, [OTHER, PLAIN]) as worker:
        assert worker.attempt(broken, [PLAIN]).report.passing == (PLAIN,)
        assert worker.attempt(broken, [OTHER]).report.failing == (OTHER,)
        assert worker.trace(OTHER, ["urls.py"]).test_id == OTHER
    assert set(later.watch(root)) - {""} == {TOLD, OTHER, PLAIN}

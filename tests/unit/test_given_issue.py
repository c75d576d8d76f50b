"""What `solve` is given becomes an issue."""

import json
import os
from pathlib import Path

import pytest

from surefoot.cli.solve import from_root, read_issue
from surefoot.errors import UsageError


def log(path: Path, text: str) -> Path:
    """A SARIF file with one result that says `text`."""
    place = {"physicalLocation": {"artifactLocation": {"uri": "a.py"}, "region": {"startLine": 1}}}
    result = {"ruleId": "R1", "message": {"text": text}, "locations": [place]}
    run = {"tool": {"driver": {"name": "t"}}, "results": [result]}
    path.write_text(json.dumps({"version": "2.1.0", "runs": [run]}))
    return path


def test_a_large_sarif_file_is_read_whole(tmp_path: Path) -> None:
    """It may be larger than an issue's text may."""
    (finding,) = read_issue(None, [], log(tmp_path / "f.sarif", "x " * 700_000), tmp_path).findings
    assert (finding.rule, finding.file) == ("R1", "a.py")


def test_a_large_text_is_refused(tmp_path: Path) -> None:
    """With its limit."""
    issue = tmp_path / "ISSUE.md"
    issue.write_text("x " * 700_000)
    with pytest.raises(UsageError, match="larger than"):
        read_issue(str(issue), [], None, tmp_path)


def test_a_test_has_a_name(tmp_path: Path) -> None:
    """Before the suite is run to look for it."""
    for tests in ([""], ["test_a.py::test_a", " "]):
        with pytest.raises(UsageError, match="--test is empty"):
            read_issue(None, tests, None, tmp_path)


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("tests/test_core.py::test_one", "services/api/tests/test_core.py::test_one"),
        (
            "tests/test_core.py::T::test_one[a/b]",
            "services/api/tests/test_core.py::T::test_one[a/b]",
        ),
        ("./tests", "services/api/tests"),
        ("../../tests/test_all.py", "tests/test_all.py"),
        ("services/api/tests/test_core.py", "services/api/tests/test_core.py"),
        ("tests/test_all.py::test_two", "tests/test_all.py::test_two"),
        ("../../../elsewhere.py", "../../../elsewhere.py"),
        ("TestOne", "TestOne"),
    ],
)
def test_a_test_is_named_from_where_the_user_is(tmp_path: Path, named: str, found: str) -> None:
    """As a shell completes it, or by its id, which begins at the repository's root."""
    root, folder = tmp_path / "shop", tmp_path / "shop" / "services" / "api"
    for place in (
        folder / "tests/test_core.py",
        root / "tests/test_all.py",
        tmp_path / "elsewhere.py",
    ):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("")
    issue = read_issue(None, [named], None, folder)
    assert from_root(issue, folder, root).tests == (found,)
    assert from_root(issue, folder / "tests" / "..", root).tests == (found,)


@pytest.mark.parametrize("text", ["\u4fee" * 100, "Исправьте ошибку " * 9, "x y " * 200, "a" * 300])
def test_a_text_of_any_length_is_a_text(text: str, tmp_path: Path) -> None:
    """Also one of more bytes than the name of a file can have, and fewer characters."""
    issue = read_issue(text, [], None, tmp_path)
    assert (issue.source, issue.text) == ("text", text)
    named = read_issue(None, [f"{text} > adds"], None, tmp_path)
    assert from_root(named, tmp_path, tmp_path) == named


def test_a_file_at_a_long_path_is_read(tmp_path: Path) -> None:
    """A path may be longer than a name."""
    folder = tmp_path / ("d" * 200) / ("e" * 200)
    folder.mkdir(parents=True)
    (folder / "ISSUE.md").write_text("it breaks")
    assert read_issue(str(folder / "ISSUE.md"), [], None, tmp_path).source == "file"


def test_a_file_that_may_not_be_looked_at_is_told(tmp_path: Path) -> None:
    """As one that cannot be read, not written; words after such a path are a text."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    us = os.geteuid()
    for folder in tmp_path.resolve().parents:
        if us == 0 and folder.stat().st_uid == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    tmp_path.chmod(0o711)
    try:
        if us == 0:
            os.seteuid(65534)
        with pytest.raises(UsageError, match="cannot be read: Permission denied"):
            read_issue(str(closed / "ISSUE.md"), [], None, tmp_path)
        assert read_issue(f"{closed}/x is not readable", [], None, tmp_path).source == "text"
    finally:
        os.seteuid(us)


def test_a_byte_order_mark_is_no_part_of_an_issue(tmp_path: Path) -> None:
    """Its title is the subject of a commit."""
    (tmp_path / "ISSUE.md").write_bytes(
        b"\xef\xbb\xbf# Totals forget the discount\r\n\r\nalways\r\n"
    )
    issue = read_issue(str(tmp_path / "ISSUE.md"), [], None, tmp_path)
    assert issue.title == "Totals forget the discount"

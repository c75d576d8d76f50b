"""Databases that may be made again are made by one process at a time."""

import sqlite3
from pathlib import Path

import pytest

from surefoot.tables import make_tables

SCHEMA = "CREATE TABLE rows (text TEXT); CREATE INDEX by_text ON rows (text);"


def texts(db: sqlite3.Connection) -> list[str]:
    return [text for (text,) in db.execute("SELECT text FROM rows")]


def test_what_another_process_has_made_meanwhile_stays(tmp_path: Path) -> None:
    """It asks for the version, finds none, and before it can begin the other one has made the tables and filled them."""
    path = tmp_path / "rows.db"

    class Late(sqlite3.Connection):
        """Held up before it begins."""

        held = True

        def execute(self, sql: str, *given: object) -> sqlite3.Cursor:
            if self.held and sql == "BEGIN IMMEDIATE":
                self.held = False
                other = sqlite3.connect(path, isolation_level=None)
                make_tables(other, 1, ("rows",), SCHEMA)
                other.execute("INSERT INTO rows VALUES ('theirs')")
                other.close()
            return super().execute(sql, *given)

    late = sqlite3.connect(path, isolation_level=None, factory=Late)
    make_tables(late, 1, ("rows",), SCHEMA)
    assert texts(late) == ["theirs"]
    late.close()


def test_tables_of_another_version_are_made_anew_and_those_of_this_one_kept(tmp_path: Path) -> None:
    """What they held meant something else; a schema that fails leaves all as it was."""
    db = sqlite3.connect(tmp_path / "rows.db", isolation_level=None)
    for version, kept in ((1, []), (1, ["mine"]), (2, [])):
        make_tables(db, version, ("rows",), SCHEMA)
        assert texts(db) == kept
        db.execute("INSERT INTO rows VALUES ('mine')")
    with pytest.raises(sqlite3.OperationalError):
        make_tables(
            db, 3, ("rows",), "CREATE TABLE rows (text TEXT); CREATE TABLE rows (text TEXT);"
        )
    assert texts(db) == ["mine"]
    db.close()

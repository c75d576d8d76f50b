"""The tables of a database that can be made again at any time: of this version, or made anew."""

import sqlite3
from collections.abc import Iterable


def make_tables(db: sqlite3.Connection, version: int, names: Iterable[str], schema: str) -> None:
    """Make the tables `names` by the statements of `schema`, in place of those of another version; a no-op where it has them.

    The version is asked again within the transaction: another process may have made the tables since, and filled them.
    """
    if _version(db) == version:
        return
    with db:
        db.execute("BEGIN IMMEDIATE")
        if _version(db) == version:
            return
        for name in names:
            db.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in schema.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {version}")


def _version(db: sqlite3.Connection) -> int:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    return int(version)

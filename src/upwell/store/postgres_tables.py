"""The tables of PostgreSQL: those of SQLite with the sites of many harvests in each, and a view of each table for the site at hand.

A view shows the rows of the site that the transaction has chosen (`upwell.site`), and what is inserted through it gets that site. So the SQL
of the state is the same as for SQLite, where a file has one site. All is in the schema `upwell`.
"""

import psycopg

from upwell.store.state_errors import newer_version
from upwell.store.state_tables import ADDED_COLUMNS, TABLES, VERSION, Table

__all__ = ["LEASES", "SCHEMA", "create_tables", "statement"]

SCHEMA = "upwell"
LEASES = 1970369381  # "upwe" as a number: the class of our advisory locks, so that they meet no other program's
KINDS = {  # SQLite's types; "C" sorts texts by their bytes, as SQLite does
    "TEXT": 'TEXT COLLATE "C"', "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA",
}  # fmt: skip
SITE = "current_setting('upwell.site')::integer"
SHARED_TABLES = """
CREATE TABLE about_tables (version INTEGER NOT NULL);
CREATE TABLE sites (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT UNIQUE NOT NULL, token TEXT NOT NULL DEFAULT '');
CREATE UNLOGGED TABLE paces (host TEXT PRIMARY KEY, next_start TIMESTAMPTZ NOT NULL);
"""


def statement(sql: str) -> str:
    """A statement of the state as PostgreSQL takes it."""
    return sql.replace("%", "%%").replace("?", "%s").replace("ON CONFLICT (", "ON CONFLICT (site, ")


def create_tables(db: psycopg.Connection, shown_address: str) -> None:
    """Creates the tables of a new database, and upgrades those of an older version; one process does, others wait for it."""
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LEASES,))
        if db.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.about_tables",)).fetchone() == (None,):
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}; SET LOCAL search_path = {SCHEMA};{SHARED_TABLES}")
            for table in TABLES:
                db.execute(_definition(table))
            db.execute(f"INSERT INTO about_tables VALUES ({VERSION})")  # noqa: S608 # a number
            return
        (version,) = db.execute(f"SELECT version FROM {SCHEMA}.about_tables").fetchone() or (VERSION,)  # noqa: S608 # a name above
        if version > VERSION:
            raise newer_version(shown_address, version)
        if version < VERSION:
            db.execute(f"SET LOCAL search_path = {SCHEMA}")
            _upgrade(db, version)


def _upgrade(db: psycopg.Connection, version: int) -> None:
    """Adds what later versions have: columns, then tables; the views are made anew."""
    for older_version in range(version, VERSION):
        for table_name, column, kind in ADDED_COLUMNS[older_version]:
            db.execute(f"ALTER TABLE all_{table_name} ADD COLUMN {column} {KINDS[kind]}")
    db.execute("ALTER TABLE sites ADD COLUMN IF NOT EXISTS token TEXT NOT NULL DEFAULT ''")  # since version 3
    for table in TABLES:
        db.execute(f"DROP VIEW IF EXISTS {table.name}")
        db.execute(_definition(table))
    db.execute(f"UPDATE about_tables SET version = {VERSION}")  # noqa: S608 # a number


def _definition(table: Table) -> str:
    """The statements that create a table, its index and its view."""
    columns = ", ".join(f"{name} {KINDS[kind]}" for name, kind in table.columns.items())
    order = ", rowid BIGINT GENERATED ALWAYS AS IDENTITY" if table.is_in_order else ""
    key = ", ".join(table.key)
    indexes = [table.index] if table.index else []
    if table.is_in_order:
        indexes.append(("rowid",))
    index = "".join(
        f"CREATE INDEX IF NOT EXISTS {table.name}_by_{names[-1]} ON all_{table.name} (site, {', '.join(names)});"
        for names in indexes
    )
    shown = ", ".join([*table.columns, "site", *(["rowid"] if table.is_in_order else [])])
    view = f"SELECT {shown} FROM all_{table.name} WHERE site = {SITE}"  # noqa: S608 # names of tables and columns
    return (
        f"CREATE TABLE IF NOT EXISTS all_{table.name} "
        f"(site INTEGER NOT NULL DEFAULT {SITE}, {columns}{order}, PRIMARY KEY (site, {key})); {index} "
        f"CREATE VIEW {table.name} AS {view}"
    )

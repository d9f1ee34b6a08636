"""How the records of one run of a harvest compare with those of the runs before."""

from collections.abc import Iterator
from typing import Any

from upwell.store.database import Reader
from upwell.store.state_records import row_of

__all__ = ["changes", "keys_by_change", "keys_by_query", "last_sights"]


def keys_by_query(db: Reader, run: int) -> dict[str, set[str]]:
    """The keys of the records that each query brought in a run."""
    keys: dict[str, set[str]] = {}
    for query, key in db.execute("SELECT query, key FROM sights WHERE run = ? ORDER BY query, key", (run,)):
        keys.setdefault(query, set()).add(key)
    return keys


def last_sights(db: Reader, run: int) -> dict[int, dict[str, set[str]]]:
    """The runs before one, the oldest first: which query brought which records that came in no later run since."""
    sights: dict[int, dict[str, set[str]]] = {}
    for run_number, query, key in db.execute(
        "SELECT run, query, key FROM sights JOIN (SELECT key, MAX(run) AS run FROM sights WHERE run < ? GROUP BY key) AS latest "
        "USING (key, run) JOIN records USING (key) ORDER BY run, query, key",
        (run,),
    ):
        sights.setdefault(run_number, {}).setdefault(query, set()).add(key)
    return sights


def keys_by_change(db: Reader, run: int) -> dict[str, list[str]]:
    """The keys of all records, by how a run compares with those before: new, changed, unchanged or unseen."""
    changed = {key for (key,) in db.execute("SELECT key FROM history WHERE run = ?", (run,))}
    keys: dict[str, list[str]] = {"new": [], "changed": [], "unchanged": [], "unseen": []}
    for key, first_run, last_run in db.execute("SELECT key, first, last FROM records ORDER BY rowid"):
        if first_run == run:
            keys["new"].append(key)
        elif last_run < run:
            keys["unseen"].append(key)
        else:
            keys["changed" if key in changed else "unchanged"].append(key)
    return keys


def changes(db: Reader, run: int) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """What a run changed: `new`, `changed` or `gone`, the row before and the row now ({} where there is none)."""
    for key, text in db.execute("SELECT key, row FROM records WHERE first = ? ORDER BY rowid", (run,)):
        yield "new", {}, {"_key": key, **(row_of(text) or {})}
    for before, now in db.execute(
        "SELECT history.row, records.row FROM history LEFT JOIN records ON records.key = history.key "
        "WHERE history.run = ? ORDER BY history.key",
        (run,),
    ):
        yield "changed" if now else "gone", row_of(before) or {}, row_of(now) or {}

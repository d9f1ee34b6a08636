"""The state of a harvest: stored outcomes, merged records, and the errors when it cannot be written."""

import random
import sqlite3
from pathlib import Path

import pytest

from upwell.errors import CannotKeep
from upwell.model import Outcome, Record, Request, Response
from upwell.store.state import State

ORIGIN = {"_source": "http://h/s", "_query": "q", "_page": "p1"}


def answer(request: Request, body: bytes = b"x", status: int = 200) -> Response:
    return Response(request=request, url=request.url, status=status, headers={"Content-Type": "text/html"}, body=body)


def test_outcomes_are_replayed_in_order(tmp_path: Path) -> None:
    """First the error, then the answer; after that nothing, or the answer again where it may be reused."""
    path, request = tmp_path / "state.sqlite", Request(url="http://h/?q=1", query="1")
    with State(path) as state:
        state.store(request, Outcome(error="down", sent=5))
        state.store(request, Outcome(response=answer(request, b"\xff\x00"), sent=2, bytes=9))
    with State(path) as state:
        first, second = state.replay(request), state.replay(request)
        assert first is not None
        assert second is not None
        assert second.response is not None
        assert (first.error, first.sent, second.response.body, second.bytes) == ("down", 5, b"\xff\x00", 9)
        assert state.replay(request) is None
        again = state.replay(request, reuse=True)
        assert again is not None
        assert again.sent == 0
        assert state.replay(Request(url="http://h/?q=1", method="POST", body=b"a")) is None


def test_trailing_errors_are_forgotten(tmp_path: Path) -> None:
    """When the state is opened, errors after the last answer are deleted, so that their requests are sent again; earlier ones stay."""
    path = tmp_path / "state.sqlite"
    failed_early, answered, failed_late = (Request(url=f"http://h/{n}") for n in range(3))
    with State(path) as state:
        state.store(failed_early, Outcome(error="early"))
        state.store(answered, Outcome(response=answer(answered)))
        state.store(failed_late, Outcome(error="late"))
    with State(path) as state:
        assert state.replay(failed_early) is not None
        assert state.replay(failed_late) is None


def test_records_are_merged_and_counted_once_for_each_page(tmp_path: Path) -> None:
    """A second sight fills gaps; the same page again, as in a replay, changes nothing."""
    with State(tmp_path / "state.sqlite") as state:
        first = [Record(key="a", url=None, path="/x", text="", fields={"n": "1"})]
        second = [Record(key="a", url=None, path="/x", text="", fields={"n": "other", "m": "2"})]
        assert state.add(first, ORIGIN) == [True]
        assert state.add(second, {**ORIGIN, "_page": "p2"}) == [False]
        state.add(second, {**ORIGIN, "_page": "p2"})
        (row,) = state.rows()
        assert row == {
            "_key": "a", "_source": "http://h/s", "_url": None, "_query": "q", "_page": "p1", "_path": "/x", "_seen": 2, "_fetched": None, "n": "1", "m": "2",
        }  # fmt: skip


def test_a_later_run_finds_new_changed_and_unseen_records() -> None:
    """A changed row replaces the old one, which goes into the history; records that are gone leave the table."""
    with State() as state:
        state.add([Record(key=k, url=None, path="", text="", fields={"n": k}) for k in "abc"], ORIGIN)
        state.start_next_run()
        state.add([Record(key=k, url=None, path="", text="", fields={"n": n}) for k, n in ("aA", "bb", "dd")], ORIGIN)
        assert state.keys_by_change() == {"new": ["d"], "changed": ["a"], "unchanged": ["b"], "unseen": ["c"]}
        state.move_to_history(["c"])
        assert [(row["_key"], row["n"]) for row in state.rows()] == [("a", "A"), ("b", "b"), ("d", "d")]


def test_a_locked_a_damaged_and_a_missing_place(tmp_path: Path) -> None:
    """Each error says what to do about it, and nothing is changed."""
    path = tmp_path / "state.sqlite"
    with State(path) as state:
        state.set_note("a", "b")
        with pytest.raises(CannotKeep, match="another process"):
            State(path)
    (tmp_path / "bad.sqlite").write_bytes(b"not a database, but long enough to look at" * 100)
    with pytest.raises(CannotKeep, match="damaged"):
        State(tmp_path / "bad.sqlite")
    with pytest.raises(CannotKeep, match="writable"):
        State(tmp_path / "no" / "folder" / "state.sqlite")
    assert sqlite3.connect(path).execute("SELECT value FROM about WHERE name = 'a'").fetchone() == ("b",)


def test_a_full_disk(tmp_path: Path) -> None:
    """SQLite's limit on pages stands in for the disk's: the error says what to do, and what was stored stays."""
    with State(tmp_path / "state.sqlite") as state:
        state._db.execute("PRAGMA max_page_count = 20")
        request = Request(url="http://h/")
        large = Outcome(response=answer(request, random.Random(0).randbytes(1_000_000)))  # no secrets
        with pytest.raises(CannotKeep, match="full"):
            state.store(request, large)
        assert state.note("version") == "2"
